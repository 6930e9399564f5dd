#!/bin/bash
# Gather what checks the GPU engine on a machine with an NVIDIA GPU and PyTorch, and nothing else.
#
# usage: tools/gpu_bundle.sh BUILD PACKAGES.tgz [VIT.tgz]
#
# BUILD is a build folder with bin/weft and bin/gpu, PACKAGES.tgz the models of test/gpu/models.py,
# compiled for the card, VIT.tgz those of ViT, which run.sh compiles otherwise and leaves in $OUT.
# Fills the folder that BUNDLE names, or build/gpu_bundle; run its run.sh there.
case ${1:-} in
-h | --help) sed '1d; /^#/!Q; s/^# \{0,1\}//' "$0" && exit 0 ;;
esac
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "gpu_bundle.sh: usage: gpu_bundle.sh BUILD PACKAGES.tgz [VIT.tgz]" >&2
    exit 2
fi
set -eu
cd "$(dirname "$0")/.."
build=$1
packages=$2
vit=${3:-}
bundle=${BUNDLE:-build/gpu_bundle}

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/tools" "$bundle/test/gpu"
for program in "$build"/bin/weft "$build"/bin/gpu/*; do
    strip -o "$bundle/bin/$(basename "$program")" "$program"
done
# The C library is the machine's own; the rest may not be there.
ldd "$build"/bin/weft "$build"/bin/gpu/* | awk '/=> \// { print $3 }' | sort -u |
    grep -Ev '/(libc|libm|libdl|libpthread|librt)\.so' | while read -r library; do
    cp -L "$library" "$bundle/lib/"
done
cp "$packages" "$bundle/packages.tgz"
[ -z "$vit" ] || cp "$vit" "$bundle/vit.tgz"
cp tools/usage.py tools/weft_export.py "$bundle/tools/"
cp test/gpu/*.py "$bundle/test/gpu/"
cp test/gpu/run.sh "$bundle/run.sh"
du -sm "$bundle" | awk '{ print $1 " MiB in " $2; if ($1 > 60) exit 1 }'
