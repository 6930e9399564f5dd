#!/bin/bash
# Check and measure models on the GPU of this machine. tools/gpu_bundle.sh puts this file where the
# rest is.
#
# usage: run.sh [PART...]
#
# Parts: compile (the packages that are not in the bundle; they are left in $OUT), check (the parts
# of the engine), graphs (what makes them slower), loads (weights of 20 MB to 1 GB), engine (the
# engine in its process), and those of serve.py: profile, outputs, overhead, cache, shares, faults,
# steady; and mix.py: mix. All of them if none is named.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=
parts=${*:-compile check graphs loads engine outputs overhead cache shares faults mix}

export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONUNBUFFERED=1
WEFT_TORCH=$(python3 -c 'import torch; print(torch.__path__[0])')/lib
export WEFT_TORCH
export WEFT_CACHE=$work/cache

has() {
    case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu --format=csv,noheader || true
mkdir "$work/packages" "$work/models"
tar xzf packages.tgz -C "$work/packages"
[ ! -f vit.tgz ] || tar xzf vit.tgz -C "$work/packages"
if has compile && [ ! -d "$work/packages/vit_1" ]; then
    time python3 test/gpu/prepare.py compile "$work/compiled" vit:1,8
    for rows in 1 8; do
        cp -r "$work/compiled/vit/b$rows" "$work/packages/vit_$rows"
    done
    [ -z "${OUT:-}" ] || tar czf "$OUT/vit.tgz" -C "$work/packages" vit_1 vit_8
fi
nets="r18 r50 bert"
[ ! -d "$work/packages/vit_1" ] || nets="r18 r50 vit bert"
# shellcheck disable=SC2086 # One word for each net.
time python3 test/gpu/prepare.py "$work/packages" "$work/models" $nets
for net in $nets; do
    mkdir -p "$work/repository/$net/1"
    mv "$work/models/$net" "$work/repository/$net/1/model.cuda"
done
for net in $nets; do
    ln -s "$work/repository/$net/1/model.cuda" "$work/models/$net"
done
cd "$work/models"
# shellcheck disable=SC2086 # The same.
! has check || time "$here/bin/gpu_check" $nets || failed="$failed check"
! has graphs || time "$here/bin/gpu_graphs" $nets || failed="$failed graphs"
! has loads || time "$here/bin/gpu_loads" "$work" 20 50 100 200 500 1000 || failed="$failed loads"
# shellcheck disable=SC2086
! has engine || time "$here/bin/gpu_engine" $nets || failed="$failed engine"
for part in profile outputs overhead cache shares faults steady; do
    ! has "$part" ||
        time python3 "$here/test/gpu/serve.py" "$part" "$here/bin" "$work/repository" ||
        failed="$failed $part"
done
! has mix || time python3 "$here/test/gpu/mix.py" "$here/bin" "$work/repository" "$work/mix" ||
    failed="$failed mix"
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
