#!/bin/sh
# The studies of Compass in docs/BENCHMARKS.md: study_compass.sh [STUDY...], or all of them.
#
# Prints the tables of `weft compare`, with the program in $WEFT, over $SEEDS seeds of $JOBS jobs.
set -eu

weft=${WEFT:-build/weft}
seeds=${SEEDS:-16}
jobs=${JOBS:-3000}
scenarios=scenarios/compass
baselines="compass;compass:adjust=0;compass:original;jit;heft;hash"

# compare SCENARIO POLICIES [options]: policies are separated by ';'.
compare() {
    scenario=$1
    policies=$2
    shift 2
    "$weft" compare "$scenarios/$scenario.yaml" --policies "$policies" --seeds "$seeds" \
        --jobs "$jobs" "$@"
    echo
}

rates() {
    compare compass "$baselines" --rates 0.5,1,1.5,2,2.5,3,3.5,4
}

# Seeds on which no option was chosen.
held_out() {
    compare held-out "$baselines" --rates 0.5,1,1.5,2,2.5,3,3.5,4
}

adjust() {
    compare compass "compass:adjust=0;compass" --rates 0.5,1,1.5,2,2.5,3,3.5,4
    compare compass "compass:original:adjust=0;compass:original" --rates 0.5,1,2,3,4
}

noise() {
    compare compass "compass:adjust=0;compass;compass:original" --rates 1,2,3 --set noise=99%
}

slow() {
    compare slow "compass:adjust=0;compass;compass:original;jit"
}

loss() {
    compare loss "compass;compass:original;jit;hash"
}

arrivals() {
    for scenario in burst gamma trace; do
        compare "$scenario" "compass;compass:original;jit;hash"
    done
}

stale_load() {
    for interval in 1ms 10ms 50ms 200ms 1s; do
        echo "rows.load=$interval"
        compare compass "compass;compass:original;jit" --rates 3 --set rows.load=$interval
    done
}

stale_cache() {
    for interval in 10ms 100ms 1s 10s; do
        echo "rows.cache=$interval"
        compare compass "compass;compass:original;jit" --rates 3 --set rows.cache=$interval
    done
}

ablation() {
    compare compass "compass;compass:cache=0;compass:load=0;compass:adjust=0;compass:crowd=0;\
compass:crowd=0:eviction=0;compass:spread=0;compass:jitter=0" --rates 2,4
}

cache() {
    for memory in 8GB 14GB; do
        echo "memory=$memory"
        compare compass "place=hash,cache=compass;place=hash;place=hash,cache=lru;compass;\
place=compass;place=compass,cache=lru" --rates 2 --set memory=$memory
    done
}

memory() {
    for memory in 6GB 8GB 24GB; do
        echo "memory=$memory"
        compare compass "compass;compass:original;jit;hash" --rates 2,4 --set memory=$memory
    done
}

workers() {
    for workers in 5 10 20 60 240; do
        compare compass "compass;compass:original;jit;hash" --rates 4 --set workers=$workers
    done
}

spare() {
    for workers in 20 60 240; do
        compare compass "hash;compass;compass:spread=0;compass:original;jit" --rates 4 \
            --set workers=$workers --set memory=24GB --jobs 12000
    done
}

mixed() {
    compare mixed "compass;compass:original;jit;heft;hash" --rates 2,4
}

crowd() {
    for interval in 10ms 100ms 500ms; do
        echo "rows.load=$interval"
        compare compass "compass;compass:jitter=0;compass:original;jit" --rates 36 \
            --set workers=60 --set rows.load=$interval
    done
}

# Eighteen tasks of 3 ms: at 18.5/s one machine is full.
forks() {
    for workers in 2 4 8; do
        compare fork "compass;compass:adjust=0;heft;least-work" --set workers=$workers \
            --rates $((workers * 185 / 100)),$((workers * 925 / 100)),$((workers * 148 / 10))
    done
}

half() {
    compare compass "compass" --rates 1 --set workers=5
    compare compass "compass:original;jit;least-work;hash" --rates 1 --set workers=10
    compare compass "compass" --rates 2 --set workers=5
    compare compass "compass:original;jit;least-work;hash" --rates 2 --set workers=10
    compare compass "compass" --rates 2 --set workers=5 --set memory=8GB
    compare compass "compass:original;jit;least-work;hash" --rates 2 --set workers=10 \
        --set memory=8GB
}

all="rates held_out adjust noise slow loss arrivals stale_load stale_cache ablation cache memory"
all="$all workers spare mixed crowd half forks"
for study in ${*:-$all}; do
    case " $all " in
    *" $study "*) ;;
    *)
        echo "study_compass.sh: no study '$study'; there are: $all" >&2
        exit 2
        ;;
    esac
    echo "== $study =="
    "$study"
done
