#!/bin/bash
# Check and measure models on the GPU of this machine. tools/gpu_bundle.sh puts this file where the
# rest is.
#
# usage: run.sh [plan] [first | second | third | PART...]
#
# Parts: compile (the packages that are not in the bundle; they are left in $OUT), check (the parts
# of the engine), graphs (what makes them slower, and what it takes to record them), loads (weights
# of 20 MB to 1 GB, into new memory and into memory that was used), engine (the engine in its
# process), and those of serve.py: profile, outputs, overhead, cache, shares, faults, steady; and
# mix.py: mix. First, second and third are calls of at most ten minutes each; all of them together
# if nothing is named. `plan` only says how long each part may take.
#
# Each part is ended at its limit, and then the next one runs. What it printed goes to $OUT; its
# results are printed again at the end, the failed parts last.
#
# $MODELS names a folder with models that are ready (NET/1/model.cuda), instead of packages.tgz;
# $SCALE makes the parts of serve.py that much longer.
set -u
cd "$(dirname "$0")" || exit 1
here=$PWD
first="check loads outputs overhead cache faults"
second="engine graphs mix"
third="shares steady"

# Seconds: what was seen, and half as much again.
limit_of() {
    case $1 in
    compile) echo 300 ;;
    prepare) echo 90 ;;
    check) echo 60 ;;
    graphs) echo 150 ;;
    loads) echo 45 ;;
    engine) echo 90 ;;
    profile) echo 40 ;;
    outputs) echo 60 ;;
    overhead) echo 60 ;;
    cache) echo 190 ;;
    shares) echo 400 ;;
    faults) echo 80 ;;
    mix) echo 270 ;;
    steady) echo 100 ;;
    *) echo 0 ;;
    esac
}

# Lines of results.
lines_of() {
    case $1 in
    check) echo '^(all outputs|copies|.*[0-9] us)' ;;
    outputs) echo '^(alone|loaded|WRONG)' ;;
    engine) echo '^(engine|share|swap|fault|restart|beside|all faults)' ;;
    profile) echo '^profiled' ;;
    loads) echo '^(pinned|load|  )' ;;
    *) echo "^($1|fault|WRONG)" ;;
    esac
}

plan=
[ "${1:-}" != plan ] || { plan=yes && shift; }
parts=
for word in ${*:-first second third}; do
    case $word in
    first) parts="$parts $first" ;;
    second) parts="$parts $second" ;;
    third) parts="$parts $third" ;;
    *) parts="$parts $word" ;;
    esac
done
has() {
    case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

if [ -n "$plan" ]; then
    total=0
    for part in prepare $parts; do
        echo "$part: at most $(limit_of "$part") s"
        total=$((total + $(limit_of "$part")))
    done
    echo "together at most $total s"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logs=${OUT:-$work/logs}
mkdir -p "$logs"
failed=
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONUNBUFFERED=1
export WEFT_CACHE=$work/cache
if [ -z "${WEFT_TORCH:-}" ]; then
    WEFT_TORCH=$(python3 -c 'import torch; print(torch.__path__[0])')/lib
    export WEFT_TORCH
fi
# As many rows and policies as fit.
rows="one by one,batches,quarters,4 streams,default,priorities,esg streams,weft streams"
export SHARES=${SHARES:-$rows}
export POLICIES=${POLICIES:-compass default weft}
export SECONDS_STEADY=${SECONDS_STEADY:-60}

# Do part $1, of which the rest is the command.
part() {
    local name=$1 start=$SECONDS status
    shift
    timeout --kill-after=10 "$(limit_of "$name")" "$@" >"$logs/$name.log" 2>&1
    status=$?
    echo "$name: $((SECONDS - start)) s of $(limit_of "$name"), exit $status"
    [ $status -eq 0 ] || failed="$failed $name"
    return 0
}

nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu --format=csv,noheader || true
mkdir "$work/packages" "$work/models" "$work/repository"
if [ -n "${MODELS:-}" ]; then
    cp -r "$MODELS"/. "$work/repository"
    nets=$(ls "$work/repository")
else
    tar xzf packages.tgz -C "$work/packages"
    [ ! -f vit.tgz ] || tar xzf vit.tgz -C "$work/packages"
    if has compile && [ ! -d "$work/packages/vit_1" ]; then
        part compile python3 test/gpu/prepare.py compile "$work/compiled" vit:1,8
        for rows in 1 8; do
            cp -r "$work/compiled/vit/b$rows" "$work/packages/vit_$rows"
        done
        [ -z "${OUT:-}" ] || tar czf "$OUT/vit.tgz" -C "$work/packages" vit_1 vit_8
    fi
    nets="r18 r50 bert"
    [ ! -d "$work/packages/vit_1" ] || nets="r18 r50 vit bert"
    # shellcheck disable=SC2086 # One word for each net.
    part prepare python3 test/gpu/prepare.py "$work/packages" "$work/models" $nets
    [ -z "$failed" ] || { cat "$logs/prepare.log" && exit 1; }
    for net in $nets; do
        mkdir -p "$work/repository/$net/1"
        mv "$work/models/$net" "$work/repository/$net/1/model.cuda"
    done
fi
for net in $nets; do
    ln -s "$work/repository/$net/1/model.cuda" "$work/models/$net"
done
cd "$work/models" || exit 1
# shellcheck disable=SC2086 # One word for each net.
! has check || part check "$here/bin/gpu_check" $nets
# shellcheck disable=SC2086
! has graphs || part graphs "$here/bin/gpu_graphs" $nets
# shellcheck disable=SC2086
! has loads || part loads "$here/bin/gpu_loads" "$work" ${LOADS:-20 50 100 200 500 1000}
# shellcheck disable=SC2086
! has engine || part engine "$here/bin/gpu_engine" $nets
for name in profile outputs overhead cache shares faults; do
    ! has "$name" ||
        part "$name" python3 "$here/test/gpu/serve.py" "$name" "$here/bin" "$work/repository"
done
! has mix || part mix python3 "$here/test/gpu/mix.py" "$here/bin" "$work/repository" "$work/mix"
! has steady ||
    part steady python3 "$here/test/gpu/serve.py" steady "$here/bin" "$work/repository"

for name in $parts; do
    [ -f "$logs/$name.log" ] || continue
    echo "── $name"
    grep -E "$(lines_of "$name")" "$logs/$name.log" | cut -c1-220
    case " $failed " in *" $name "*) tail -n 5 "$logs/$name.log" | cut -c1-300 ;; esac
done
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
