#!/bin/bash
# Make the tables of docs/studies/weft.md, on seeds on which nothing was chosen.
#
# usage: study_weft.sh TABLE...
#
# TABLE is compass, forks, esg, overload, nona, rows, bound, combined, compositions, free,
# robustness, ablation, small, cards, haste or all. Prints Markdown (tools/study_weft_table.py).
# What has run is kept in build/kept (tools/kept.py): a table that was interrupted goes on where it
# was.
#
# Settings, in the environment: WEFT (build/weft); SEEDS (201..216); FOLDER for the scenarios that
# are made (build/kept/scenarios); POLICIES, between semicolons, instead of those of each table, to
# make a few lines again when only these have changed; TRACES, a folder of traces for Compass's
# workload, if there are any, run at three rates; and those of tools/kept.py.
case ${1:-} in
-h | --help) sed '1d; /^#/!Q; s/^# \{0,1\}//' "$0" && exit 0 ;;
esac
if [ $# -lt 1 ]; then
  echo "study_weft.sh: usage: study_weft.sh TABLE..." >&2
  exit 2
fi
set -eu
cd "$(dirname "$0")/.."

weft=${WEFT:-build/weft}
seeds=${SEEDS:-201..216}
folder=${FOLDER:-build/kept/scenarios}

some='compass;heft;jit;least-work;po2;fair;esg;weft'
placing='compass;nona;heft;jit;least-work;po2;hash;fifo;fair;expert;opportunistic;weft'
alone='compass;nona;heft;jit;least-work;po2;fair;esg;first-fit;infless;fast-gshare;orion;weft'
mixed='place=compass,order=esg,dispatch=esg,cache=compass'
binding="esg;orion;infless;fast-gshare;aquatope;$mixed;weft"
faulty='compass;esg;jit;least-work;weft'

# table NAME SCENARIO RATES POLICIES [OPTION...]: a line for each rate, or for `-` one.
table() {
  local name=$1 scenario=$2 rates=$3 policies=${POLICIES:-$4} rate
  shift 4
  for rate in ${rates//,/ }; do
    printf '%s\t' "$name" "$scenario" "$rate" "$policies" "$@"
    printf -- '--set\tseeds=%s\n' "$seeds"
  done
}

# shares_of SCENARIO SHARES: these shares of the rate that a scenario names.
shares_of() {
  local rate
  rate=$(sed -n 's/^arrivals:.*rate: \([0-9.]*\)\/s.*/\1/p' "$1")
  awk -v rate="$rate" -v shares="$2" 'BEGIN {
    n = split(shares, each, ",")
    for (i = 1; i <= n; i++) printf "%s%.1f", (i > 1 ? "," : ""), rate * each[i]
  }'
}

compass() {
  local each made
  table compass scenarios/compass/held-out.yaml 1,2,3,4,4.5 "$some" --jobs 3000
  for each in burst gamma trace; do
    table compass-arrivals "scenarios/compass/$each.yaml" - "$some"
  done
  for each in ${TRACES:+"$TRACES"/*.csv}; do
    made=$folder/compass/$(basename "$each" .csv).yaml
    cp -r scenarios/compass "$folder"
    cp "$each" "$folder/compass"
    sed "s|trace: trace.csv|trace: $(basename "$each"), rate: 3/s|" scenarios/compass/trace.yaml \
      >"$made"
    table compass-traces "$made" 3,4,4.5 "$some" --jobs 4000
  done
}

# make_fork BRANCHES WORKERS: a fork of tasks of 3 ms.
make_fork() {
  local branches
  branches=$(seq -f '      t%g: {function: f, after: [s]}' "$1" | sed ':a;N;$!ba;s/\n/\\n/g')
  sed '/^      t[0-9]*:/d; /^      e:/d' scenarios/compass/fork.yaml |
    sed "s/count: 4/count: $2/
      s/^      s: .*/&\n$branches\n      e: {function: f, after: [$(seq -s ', ' -f 't%g' "$1")]}/" \
      >"$folder/fork-$1-on-$2.yaml"
}

forks() {
  local branches workers rates
  for branches in 8 16 64; do
    for workers in 2 8; do
      make_fork $branches $workers
      rates=$(awk -v b=$branches -v w=$workers 'BEGIN {
        full = w / ((b + 2) * 0.003)
        printf "%.2f,%.2f,%.2f", full * 0.1, full * 0.5, full * 0.8
      }')
      table forks "$folder/fork-$branches-on-$workers.yaml" "$rates" \
        'compass;compass:adjust=0;heft;least-work;jit;weft' --jobs 2000
    done
  done
}

esg() {
  local each
  for each in strict moderate relaxed; do
    table esg "scenarios/esg/$each.yaml" 18.66,37.31,74.63 "$binding" --jobs 2000
  done
}

# With and without refusal.
overload() {
  local each policies='esg;weft;weft:strict=1'
  policies+=';admit=deadline:strict,order=esg,dispatch=esg,tick=esg'
  policies+=';admit=deadline:strict,order=weft,dispatch=weft,tick=weft,place=weft,cache=weft'
  for each in strict moderate relaxed; do
    table overload "scenarios/esg/$each.yaml" 100 "$policies" --jobs 4000
    table overload-beyond "scenarios/esg/$each.yaml" 150,200 'weft' --jobs 4000
  done
}

nona() {
  local often=(--set rows.load=1ms)
  table nona scenarios/nona/nona.yaml 750,1500,2250,3000 "$placing" "${often[@]}" --jobs 3000
  table nona scenarios/nona/parallel.yaml 150,500,1000,1500,2000 "$placing" "${often[@]}" \
    --jobs 3000
  table nona scenarios/nona/racks.yaml 50,200,350 "$placing" "${often[@]}" --jobs 2000
  table nona scenarios/nona/network-bound.yaml 50,200,400 "$placing" "${often[@]}" --jobs 2000
}

# Rows that come less and less often.
rows() {
  local each every
  for each in parallel:1000 nona:1500 racks:200; do
    for every in 1ms 10ms 100ms 1s; do
      table rows "scenarios/nona/${each%:*}.yaml" "${each#*:}" 'nona;fair;weft:fade=0;weft' \
        --jobs 1500 --set rows.load=$every --set rows.cache=$every
    done
  done
}

# Beside the bound of docs/studies/nona.md, on its seeds.
bound() {
  local each
  for each in nona:750,1500,2250 racks:50,125,350 sizes:4167 diamond:0.1,20 one-link:100,600; do
    seeds=1..4 table bound "scenarios/nona/${each%:*}.yaml" "${each#*:}" 'nona;weft' \
      --set rows.load=1ms --jobs 2000
  done
}

# Workloads of seed 3 of the generator: nothing was chosen on them.
make_combined() {
  [ -e "$folder/combined" ] || python3 -B scenarios/combined/generate.py "$folder/combined" 3
}

combined() {
  local each
  make_combined
  for each in "$folder"/combined/*.yaml; do
    table "combined-$(basename "$each" .yaml)" "$each" \
      "$(shares_of "$each" 0.1,0.2,0.4,0.6,0.8,1,1.25,1.5,1.75,2)" "$alone" --jobs 1000
  done
}

# Every composition of a placement, a dispatch, an order and a cache policy, eight at a time.
compositions() {
  local each i list=() place dispatch order cache parts
  make_combined
  for place in ${placing//;/ } ''; do
    for dispatch in esg first-fit infless fast-gshare orion ''; do
      case "$place/$dispatch" in
      ?*/infless | ?*/fast-gshare | ?*/orion | /) continue ;;
      esac
      for order in edf esg weft ''; do
        for cache in compass ''; do
          parts=${place:+place=$place,}${order:+order=$order,}
          parts+=${dispatch:+dispatch=$dispatch,}${cache:+cache=$cache,}
          list+=("${parts%,}")
        done
      done
    done
  done
  for each in "$folder"/combined/*.yaml; do
    for ((i = 0; i < ${#list[@]}; i += 8)); do
      table "compositions-$(basename "$each" .yaml)" "$each" "$(shares_of "$each" 0.2,0.6)" \
        "$(IFS=';' && echo "${list[*]:i:8}");weft" --jobs 500 --seeds 4
    done
  done
}

# Units of devices without a price, and 16 devices of one machine: workloads of seed 5.
free() {
  local each policies="esg;orion;compass;$mixed;order=edf,dispatch=esg,cache=compass;weft:gather=0"
  [ -e "$folder/free" ] || {
    python3 -B scenarios/combined/generate.py "$folder/free" 5
    sed -i '/^  prices:/d' "$folder"/free/*.yaml
    sed 's/count: 16, device/count: 1, devices: 16, device/; s/cpu: 16}/cpu: 255}/' \
      "$folder/free/memory.yaml" >"$folder/free/one-machine.yaml"
  }
  for each in both bursts links memory one-machine racks wrong; do
    each=$folder/free/$each.yaml
    table free "$each" "$(shares_of "$each" 0.2,0.6,1)" "$policies;weft" --jobs 1000
  done
}

# make_faulty WORKLOAD NAME FAULTS: a copy of a combined workload in which these happen.
make_faulty() {
  awk -v faults="$3" '/^faults:/ { next } /^workflows:/ { print "faults: " faults } { print }' \
    "$folder/combined/$1.yaml" | sed 's|^profile: |profile: combined/|' >"$folder/$1-$2.yaml"
}

robustness() {
  local each fault
  for each in slow loss; do
    table robustness "scenarios/compass/$each.yaml" - "$faulty"
  done
  table robustness scenarios/compass/held-out.yaml 3 "$faulty" --jobs 3000 \
    --set profile_error=50%
  make_combined
  for each in memory whole; do
    make_faulty $each lost '[{at: 5s, crash: 3}, {at: 10s, crash: 9}]'
    make_faulty $each parted \
      '[{at: 5s, partition: 8, for: 2s}, {at: 12s, partition: 4, for: 2s}]'
    for fault in lost parted; do
      table robustness "$folder/$each-$fault.yaml" \
        "$(shares_of "$folder/combined/$each.yaml" 0.3)" "$faulty" --jobs 1000
    done
  done
}

# Each option of the rule so that its part of it is left out.
options_of_weft() {
  "$weft" policies weft |
    awk '$1 == "OPTION" { is_row = 1; next } NF < 4 { is_row = 0 }
      is_row { print $1 "=" ($1 == "sample" ? 4096 : $1 == "parts" ? 1 : 0) }'
}

ablation() {
  local each policies=weft option often=(--set rows.load=1ms --jobs 2000 --seeds 8)
  for option in $(options_of_weft); do
    policies+=";weft:$option"
  done
  make_combined
  table ablation scenarios/compass/held-out.yaml 4.5 "$policies" --jobs 3000
  table ablation scenarios/compass/slow.yaml - "$policies"
  table ablation scenarios/nona/racks.yaml 350 "$policies" "${often[@]}"
  table ablation scenarios/nona/parallel.yaml 1500 "$policies" "${often[@]}"
  table ablation scenarios/nona/nona.yaml 2250 "$policies" "${often[@]}"
  table ablation scenarios/nona/one-link.yaml 100,600 "$policies" "${often[@]}"
  table ablation scenarios/compass/held-out.yaml 3 "$policies" --jobs 3000 --set memory=7GB
  for each in nona:1500 racks:200; do
    table ablation "scenarios/nona/${each%:*}.yaml" "${each#*:}" "$policies" --jobs 2000 \
      --seeds 8 --set rows.load=100ms --set rows.cache=100ms
  done
  table ablation scenarios/esg/strict.yaml 74.63 "$policies" --jobs 2000 --seeds 8
  table ablation scenarios/esg/strict.yaml 100 "$policies" --jobs 4000 --seeds 8
  for each in memory links racks wrong whole-bursts; do
    table ablation "$folder/combined/$each.yaml" \
      "$(shares_of "$folder/combined/$each.yaml" 0.4)" "$policies" --jobs 1000 --seeds 8
  done
  for each in both links; do
    table ablation "$folder/combined/$each.yaml" \
      "$(shares_of "$folder/combined/$each.yaml" 1)" "$policies" --jobs 1000 --seeds 8
  done
}

# The demo's picture on one machine: what a server had by default before, and one queue.
small() {
  local policies='place=compass:pool,order=weft,dispatch=first-fit:paying,cache=compass'
  policies+=';fifo;compass;esg;weft;weft:give_up=0'
  table small scenarios/picture/picture.yaml 3,7,9 "$policies" --jobs 3000
}

# One card without prices: that default, whole devices, and quarters.
cards() {
  local each policies
  policies='place=compass:pool:keep=16,order=weft,dispatch=first-fit:gpu=4:paying,cache=compass'
  policies+=';weft:parts=1;weft'
  for each in streams shares; do
    table cards "scenarios/gpu/$each.yaml" 1428,5795,8692 "$policies" --jobs 12000 --seeds 4
  done
}

# What idle units, whole forks and shared queues are worth.
haste() {
  local each without='weft:haste=0:fork=0:pool=0'
  make_combined
  for each in both bursts links memory racks wrong; do
    each=$folder/combined/$each.yaml
    table haste "$each" "$(shares_of "$each" 0.2,0.6)" \
      "$without;weft;order=edf,dispatch=esg,cache=compass" --jobs 1000 --seeds 8
  done
  table haste scenarios/gpu/shares.yaml 1428,5713,8569 "$without;weft" --jobs 8000 --seeds 8
  table haste scenarios/esg/strict.yaml 74.63 "$without;weft" --jobs 2000 --seeds 8
  table haste scenarios/nona/diamond.yaml 0.1,20 "$without;weft;nona" --set rows.load=1ms \
    --jobs 1500
  table haste scenarios/nona/one-link.yaml 100,600 "$without;weft;nona" --set rows.load=1ms \
    --jobs 1500
}

all() {
  compass && forks && esg && overload && nona && rows && bound && small && cards && haste &&
    robustness && ablation && combined && compositions && free
}

# make TABLE...: what belongs to each table.
make() {
  local name
  for name in "$@"; do
    case $name in
    compass | forks | esg | overload | nona | small | robustness | ablation | combined) "$name" ;;
    compositions | free | haste | rows | bound | cards | all) "$name" ;;
    *)
      echo "study_weft.sh: no table '$name'" >&2
      return 2
      ;;
    esac
  done
}

mkdir -p "$folder"
list=$(make "$@")
WEFT=$weft tools/study_weft_table.py <<<"$list"
