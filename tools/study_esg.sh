#!/bin/sh
# The studies of ESG in docs/BENCHMARKS.md: study_esg.sh [STUDY...], or all of them.
#
# Prints one table a study, with the program in $WEFT, over $SEEDS paired seeds of $JOBS jobs:
# deadlines met and dollars for a thousand jobs, each with half of its 95 % confidence interval,
# and how both compare with the first policy's.
set -eu

weft=${WEFT:-build/weft}
seeds=${SEEDS:-16}
jobs=${JOBS:-3000}
folder=scenarios/esg
baselines="esg;infless;fast-gshare;orion;aquatope"

# compare SETTING LEVEL RATE POLICIES [options]: policies are separated by ';'.
compare() {
    setting=$1
    level=$2
    rate=$3
    policies=$4
    shift 4
    "$weft" compare "$folder/$level.yaml" --policies "$policies" --rates "$rate" \
        --seeds "$seeds" --jobs "$jobs" --json "$@" |
        python3 -B tools/study_esg.py "$setting"
}

head() {
    echo "$1"
    python3 -B tools/study_esg.py --head
}

# Three loads and three deadlines.
settings() {
    head "settings"
    for level in strict moderate relaxed; do
        compare "$level-light" $level 18.66 "$baselines"
        compare "$level-normal" $level 37.31 "$baselines"
        compare "$level-heavy" $level 74.63 "$baselines"
    done
}

# What each part of esg is good for.
ablations() {
    head "ablations"
    parts="esg;esg:share=0;esg:batch=0;esg:adapt=0;esg:split=0;esg:locality=0;esg:k=1;esg:wait=0"
    parts="$parts;esg:group=1;esg:margin=0;esg:prewarm=0;esg:recheck=0"
    compare strict-light strict 18.66 "$parts"
    compare moderate-normal moderate 37.31 "$parts"
    compare relaxed-heavy relaxed 74.63 "$parts"
}

# Run times that policies know only to so many per cent.
errors() {
    head "profile errors"
    for error in 0% 10% 30%; do
        compare "error-$error" moderate 37.31 "$baselines" --set profile_error=$error
    done
}

# More than the cluster can take.
overload() {
    head "overload"
    for rate in 100 150 200; do
        compare "rate-$rate" moderate $rate "$baselines"
    done
}

# Beside policies that place tasks first.
others() {
    head "others"
    own="esg;place=compass,order=esg,dispatch=esg,cache=compass;compass;least-work;jit"
    compare strict-light strict 18.66 "$own"
    compare moderate-normal moderate 37.31 "$own"
}

if [ $# -eq 0 ]; then
    set -- settings ablations errors overload others
fi
for study in "$@"; do
    "$study"
    echo
done
