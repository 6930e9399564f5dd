#!/bin/bash
# Check and measure models on the GPU of this machine. tools/gpu_bundle.sh puts this file where the
# rest is.
#
# usage: run.sh [plan] [first | second | third | fourth | rest | PART...]
#
# Parts: compile (the packages that are not in the bundle), check (the parts of the engine), graphs
# (what makes them slower, and what it takes to record them), loads (weights of 20 MB to 1 GB, into
# new memory and into memory that was used), engine (the engine in its process), and those of
# serve.py: profile, outputs, overhead, beside, cache, shares, more_shares, steady; of faults.py:
# faults, revise; and mix.py: mix. First, second and third are calls of at most ten minutes each,
# what is wanted most in front; fourth is ten minutes of `steady`. `rest`, which is also what runs
# if nothing is named, are all parts of the first three calls that have not succeeded yet. `plan`
# only says how long each part may take.
#
# A call ends in time: each part is ended at its limit, or when the call has to end; one for which
# there is not time enough is left out, and named at the end; `steady` takes what is left. Models
# that were made, what parts printed, and which have succeeded, are kept in $KEEP for the next call;
# $OUT gets all that parts printed so far (logs.tgz) and the tables of it, which come last.
#
# $CALL: the seconds of a call. $MODELS names a folder with models that are ready
# (NET/1/model.cuda), instead of packages.tgz; $SCALE makes the parts of serve.py that much longer,
# $SLOW all limits.
case ${1:-} in
-h | --help) sed '1d; /^#/!Q; s/^# \{0,1\}//' "$0" && exit 0 ;;
esac
set -u
cd "$(dirname "$0")" || exit 1
here=$PWD
compiled=
[ -f vit.tgz ] || compiled=compile
first="$compiled outputs overhead loads engine beside check faults revise"
second="cache mix shares"
third="more_shares graphs steady"

# Seconds: what was seen, or is expected, and half as much again.
limit_of() {
    echo $(($(usual_of "$1") * ${SLOW:-1}))
}
usual_of() {
    case $1 in
    compile) echo 250 ;;
    prepare) echo 90 ;;
    check) echo 60 ;;
    graphs) echo 150 ;;
    loads) echo 45 ;;
    engine) echo 100 ;;
    profile) echo 40 ;;
    outputs) echo 60 ;;
    overhead) echo 60 ;;
    beside) echo 100 ;;
    cache) echo 190 ;;
    shares | more_shares) echo 270 ;;
    faults) echo 110 ;;
    revise) echo 60 ;;
    mix) echo 300 ;;
    steady) echo 700 ;;
    *) echo 0 ;;
    esac
}

# Seconds without which a part is not worth its beginning.
least_of() {
    case $1 in
    steady) echo 45 ;;
    *) echo $(($(limit_of "$1") * 55 / 100)) ;;
    esac
}

started=$SECONDS
call=${CALL:-590}
keep=${KEEP:-${TMPDIR:-/tmp}/weft-gpu-kept}
tail_s=8 # For tables, and for processes to end.
left() {
    echo $((call - (SECONDS - started) - tail_s))
}

plan=
[ "${1:-}" != plan ] || { plan=yes && shift; }
parts=
for word in ${*:-rest}; do
    case $word in
    first) parts="$parts $first" ;;
    second) parts="$parts $second" ;;
    third) parts="$parts $third" ;;
    fourth) parts="$parts steady" ;;
    rest)
        for name in $first $second $third; do
            [ -f "$keep/done/$name" ] || parts="$parts $name"
        done
        ;;
    *)
        [ "$(limit_of "$word")" -gt 0 ] || { echo "run.sh: no part '$word'" >&2 && exit 2; }
        parts="$parts $word"
        ;;
    esac
done

if [ -n "$plan" ]; then
    total=0
    for part in prepare $parts; do
        if [ "$part" = steady ]; then
            echo "steady: what is left, at least $(least_of steady) s"
        else
            echo "$part: at most $(limit_of "$part") s"
            total=$((total + $(limit_of "$part")))
        fi
    done
    echo "together at most $total s, of $call in a call"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logs=$keep/logs
mkdir -p "$logs" "$keep/done"
failed=
left_out=
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONUNBUFFERED=1
export WEFT_CACHE=$work/cache
if [ -z "${WEFT_TORCH:-}" ]; then
    WEFT_TORCH=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").origin)')
    WEFT_TORCH=$(dirname "$WEFT_TORCH")/lib
    export WEFT_TORCH
fi
# Those about which least is known in front.
rows="default,one by one,composed,4 streams,priorities,sevenths,weft,esg"
more_rows="esg streams,batches,quarters,8 streams,paying"
export POLICIES=${POLICIES:-weft compass composed}

# Do part $1, of which the rest is the command, in the time that is left.
part() {
    local name=$1 start=$SECONDS status limit
    shift
    limit=$(limit_of "$name")
    [ "$(left)" -ge "$limit" ] || limit=$(left)
    if [ "$limit" -lt "$(least_of "$name")" ]; then
        left_out="$left_out $name"
        return 0
    fi
    rm -f "$keep/done/$name"
    PART_SECONDS=$limit timeout --kill-after=5 "$limit" "$@" >"$logs/$name.log" 2>&1
    status=$?
    echo "$name: $((SECONDS - start)) s of $limit, exit $status"
    [ $status -ne 0 ] || touch "$keep/done/$name"
    [ $status -eq 0 ] || failed="$failed $name"
    [ -z "${OUT:-}" ] || tar czf "$OUT/logs.tgz" -C "$keep" logs
    return 0
}

! command -v nvidia-smi >/dev/null ||
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu --format=csv,noheader

# ── Models, unless an earlier call has left them ───────────────────────────────────────────
repository=$keep/repository
if [ ! -f "$keep/done/models" ]; then
    rm -rf "$repository" && mkdir -p "$repository"
    if [ -n "${MODELS:-}" ]; then
        cp -r "$MODELS"/. "$repository"
    else
        mkdir "$work/packages" "$work/models"
        tar xzf packages.tgz -C "$work/packages"
        for archive in vit.tgz "$keep/vit.tgz"; do
            [ ! -f "$archive" ] || tar xzf "$archive" -C "$work/packages"
        done
        case " $parts " in *" compile "*)
            if [ ! -d "$work/packages/vit_1" ]; then
                part compile python3 test/gpu/prepare.py compile "$work/compiled" vit:1,8
                for count in 1 8; do
                    [ ! -f "$keep/done/compile" ] ||
                        cp -r "$work/compiled/vit/b$count" "$work/packages/vit_$count"
                done
                [ ! -d "$work/packages/vit_1" ] ||
                    tar czf "$keep/vit.tgz" -C "$work/packages" vit_1 vit_8
                [ -z "${OUT:-}" ] || [ ! -f "$keep/vit.tgz" ] || cp "$keep/vit.tgz" "$OUT/"
            fi
            ;;
        esac
        nets="r18 r50 bert"
        [ ! -d "$work/packages/vit_1" ] || nets="r18 r50 vit bert"
        # shellcheck disable=SC2086 # One word for each net.
        part prepare python3 test/gpu/prepare.py "$work/packages" "$work/models" $nets
        [ -f "$keep/done/prepare" ] || { cat "$logs/prepare.log" && exit 1; }
        for net in $nets; do
            mkdir -p "$repository/$net/1"
            mv "$work/models/$net" "$repository/$net/1/model.cuda"
        done
        # Without ViT, the next call that can compile makes all of them again.
        [ -d "$work/packages/vit_1" ] || failed="$failed vit"
    fi
    case " $failed " in *" vit "*) ;; *) touch "$keep/done/models" ;; esac
fi
nets=
mkdir -p "$work/nets"
for net in r18 r50 vit bert; do
    if [ -d "$repository/$net" ]; then
        nets="$nets $net"
        ln -s "$repository/$net/1/model.cuda" "$work/nets/$net"
    fi
done

# ── Parts, in the order that they were named ───────────────────────────────────────────────
cd "$work/nets" || exit 1
for name in $parts; do
    case $name in
    compile) ;;
    # shellcheck disable=SC2086 # One word for each net.
    check | graphs | engine) part "$name" "$here/bin/gpu_$name" $nets ;;
    # shellcheck disable=SC2086
    loads) part loads "$here/bin/gpu_loads" "$work" ${LOADS:-20 50 100 200 500 1000} ;;
    faults | revise)
        part "$name" python3 "$here/test/gpu/faults.py" "$name" "$here/bin" "$repository"
        ;;
    mix) part mix python3 "$here/test/gpu/mix.py" "$here/bin" "$repository" "$work/mix" ;;
    shares)
        SHARES=${SHARES:-$rows} part shares python3 "$here/test/gpu/serve.py" shares \
            "$here/bin" "$repository"
        ;;
    more_shares)
        SHARES=${SHARES:-$more_rows} part more_shares python3 "$here/test/gpu/serve.py" shares \
            "$here/bin" "$repository"
        ;;
    *) part "$name" python3 "$here/test/gpu/serve.py" "$name" "$here/bin" "$repository" ;;
    esac
done

# ── Results ────────────────────────────────────────────────────────────────────────────────
for name in $failed; do
    [ -f "$logs/$name.log" ] || continue
    echo "── $name failed"
    tail -n 6 "$logs/$name.log" | cut -c1-300
done
python3 "$here/test/gpu/tables.py" "$logs" | tee "${OUT:-$work}/tables.md"
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$left_out" ] || echo "no time was left for:$left_out (run.sh$left_out)"
[ -z "$failed" ]
