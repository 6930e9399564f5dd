#!/bin/bash
# Check the GPU engine on this machine. tools/gpu_bundle.sh puts this file where the rest is.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONUNBUFFERED=1
WEFT_TORCH=$(python3 -c 'import torch; print(torch.__path__[0])')/lib
export WEFT_TORCH

mkdir "$work/packages"
tar xzf packages.tgz -C "$work/packages"
time python3 test/gpu/prepare.py "$work/packages" "$work/models"
cd "$work/models"
time "$here/bin/gpu_check" r18 r50 bert
time "$here/bin/gpu_engine" r18 r50 bert
