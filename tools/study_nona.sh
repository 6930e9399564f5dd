#!/bin/sh
# The studies of Nona in docs/BENCHMARKS.md: study_nona.sh [STUDY...], or all of them.
#
# Prints the tables of `weft compare`, with the program in $WEFT, over $SEEDS seeds of $JOBS jobs,
# of all policies or those in $POLICIES.
# Rows are told every millisecond, so that policies which look at queues see them as they are.
set -eu

weft=${WEFT:-build/weft}
seeds=${SEEDS:-8}
jobs=${JOBS:-10000}
scenarios=scenarios/nona
policies="nona;expert;expert:split=2;fair;fifo;opportunistic;po2;least-work;hash;heft;compass"
policies=${POLICIES:-$policies}

# compare SCENARIO [options]
compare() {
    scenario=$1
    shift
    "$weft" compare "$scenarios/$scenario.yaml" --policies "$policies" --seeds "$seeds" \
        --jobs "$jobs" --set rows.load=1ms "$@"
    echo
}

# The first rate of each is one at which all policies are stable; the tables say who is not.
rates() {
    compare nona --rates 750,1500,2250
    compare parallel --rates 150,500,1000,1500
    compare network-bound --rates 25,50,100,200,400
    compare racks --rates 50,75,100,125,150,200,300,350
}

# Half as many seeds: a search is ten runs of each. At rates near saturation, which are high, a run
# is short: of much fewer jobs one cannot tell.
saturation() {
    seeds=$(((seeds + 1) / 2))
    for scenario in nona parallel network-bound racks; do
        compare "$scenario" --saturation
    done
    # Who divides the servers among the jobs keeps a job on one of them once there are many jobs.
    policies="fair;fifo"
    compare network-bound --rates 400,600,850,1000,1300,1700,2100,2500
    # What was promised to a worker and is still on its way counts as work there. So once a machine
    # waits for every other rack it stays in its own: in runs that last, some come to a halt late.
    policies="nona;fair;fifo;opportunistic;po2;least-work;hash"
    jobs=$((6 * jobs))
    compare racks --rates 150,250,350
}

# predict SCENARIO TIMES RATE...: what was expected, and what came of it in TIMES as many jobs:
# short runs start empty and end before a queue at 0.9 is as long as it becomes.
predict() {
    scenario=$1
    times=$2
    shift 2
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cp -r "$scenarios" "$folder/nona"
    for rate in "$@"; do
        "$weft" solve "$scenarios/$scenario.yaml" --rate "$rate" -o "$folder/nona/mixture.json" \
            | head -n 1
        grep -v '^policy:' "$scenarios/$scenario.yaml" >"$folder/nona/case.yaml"
        printf 'policy: nona:drift=0\nmixture: mixture.json\n' >>"$folder/nona/case.yaml"
        "$weft" compare "$folder/nona/case.yaml" --policies "nona:drift=0" --rates "$rate" \
            --seeds "$seeds" --jobs "$((times * jobs))" | sed -n '3p'
    done
    rm -rf "$folder"
    echo
}

prediction() {
    predict sizes 40 2500 4167 5833 7500
    predict one-link 10 364 600 1200 1818 2545 3272
    predict nona 20 909 1515 2121 2727
    predict parallel 2 500 1000 1680 2112
    predict network-bound 2 250 500 750
    predict racks 4 50 125 200 290 350 380
}

# How much state-aware policies owe to rows that are fresh.
stale() {
    for interval in 1ms 10ms 100ms; do
        echo "rows.load=$interval"
        compare nona --rates 1500 --set rows.load=$interval
    done
}

all="rates saturation prediction stale"
for study in ${*:-$all}; do
    case " $all " in
    *" $study "*) ;;
    *)
        echo "study_nona.sh: no study '$study'; there are: $all" >&2
        exit 2
        ;;
    esac
    echo "== $study =="
    "$study"
done
