#!/bin/sh
# Make what is generated here again.
#
# usage: generate.sh FOLDER
#
# FOLDER gets traces/, random/, nona/operators/, esg/, combined/ and gpu/ as they lie beside this
# script; a test compares them.
#
# Settings, in the environment: WEFT (build/weft).
case ${1:-} in
-h | --help) sed '1d; /^#/!Q; s/^# \{0,1\}//' "$0" && exit 0 ;;
esac
if [ $# -ne 1 ] || [ "${1#-}" != "$1" ]; then
    echo "generate.sh: usage: generate.sh FOLDER" >&2
    exit 2
fi
set -eu

weft=${WEFT:-build/weft}
folder=$1
mix=document=4,speech=3,image=5

mkdir -p "$folder/traces"
# Ten minutes of the demo's workflows: even, in bursts, and like a day in five minutes.
"$weft" generate trace --kind poisson --rate 10/s --jobs 6000 --workflows "$mix" --seed 1 \
    -o "$folder/traces/steady.csv"
"$weft" generate trace --kind burst --rate 6/s --burst-rate 46/s --every 10s --length 1s \
    --jobs 6000 --workflows "$mix" --seed 1 -o "$folder/traces/bursty.csv"
"$weft" generate trace --kind gamma --rate 10/s --cv 4 --jobs 6000 --workflows "$mix" --seed 1 \
    -o "$folder/traces/clumped.csv"
"$weft" generate trace --kind diurnal --rate 10/s --period 5m --swing 80% --jobs 6000 \
    --workflows "$mix" --seed 1 -o "$folder/traces/daily.csv"

"$weft" generate workflows --count 8 --seed 1 -o "$folder/random"

# Networks as graphs of operators, on servers without a GPU.
mkdir -p "$folder/nona"
"$weft" generate operators -o "$folder/nona/operators" --networks \
    alexnet,vgg16,resnet18,densenet121,gpt2,googlenet,inception-v3,hydra,mobilenet-v2

# The applications of ESG, from a formula.
python3 -B scenarios/esg/generate.py "$folder/esg"

# Several problems at once.
python3 -B scenarios/combined/generate.py "$folder/combined"

# More models than a GPU has memory for.
python3 -B scenarios/gpu/generate.py "$folder/gpu"
