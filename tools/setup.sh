#!/usr/bin/env bash
# Install the Debian packages that building and testing need, and only those that are missing;
# then let fetch.sh fetch ONNX Runtime and UCX, and fetch_models.py the models, which are not Debian
# packages. Does nothing, and says so in one line each, when everything is there.
case ${1:-} in
-h | --help) sed '1d; /^#/!Q; s/^# \{0,1\}//' "$0" && exit 0 ;;
esac
if [ $# -gt 0 ]; then
    echo "setup.sh: usage: setup.sh" >&2
    exit 2
fi
set -eu

# package, and what it is for
packages='
build-essential     gcc and the C library; the builds dev, asan, tsan and release
cmake               describes the build
ninja-build         runs the build
pkg-config          finds libraries
clang               the second compiler, and libFuzzer
clang-format        formatting, and its check
clang-tidy          static analysis in make check
libclang-rt-14-dev  sanitizer and fuzzer run-time of clang
libcmocka-dev       the framework of the tests
libonnx-testdata    a model for each operator of ONNX, with its results
libuv1-dev          event loop of the runtime
libyaml-dev         workflow and scenario documents
libturbojpeg0-dev   JPEG pictures, in functions/
libspng-dev         PNG pictures, in functions/
libsndfile1-dev     sound files, in functions/
libsamplerate0-dev  sounds of other sampling rates, in functions/
libjansson-dev      profiles, reports and traces in JSON
pocketsphinx-testdata recordings with their text, for tests and the demo
libssl-dev          TLS of the server
openssl             certificates, in tests of that
curl                the examples of docs/SERVING.md, as a test
python3             tools/ and the tests of them
python3-yaml        the test of what docs/KUBERNETES.md shows
python3-pip         downloads ONNX Runtime and UCX: tools/fetch.sh
wrk                 load for bench/peers, which compares Weft with other servers
etcd-server         the directory of clusters, in tests of it
tmux                tests of what the demo shows on a terminal
'

names=$(awk 'NF { print $1 }' <<<"$packages")

# The names that are not installed, one per line.
missing() {
    # shellcheck disable=SC2086 # one argument per name
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' $names 2>/dev/null |
        awk '$1 == "installed" { print $2 }' | sort -u >"$installed" || true
    sort <<<"$names" | comm -23 - "$installed"
}

explain() {
    while read -r name; do
        grep "^$name " <<<"$packages"
    done <<<"$1" | sed 's/^/  /'
}

# Everything but running real models works without them.
fetch() {
    "$(dirname "$0")/fetch.sh" && "$(dirname "$0")/fetch_models.py" ||
        echo "setup: without that models cannot be run, and tests of it are skipped" >&2
}

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; please provide what these packages do:"
    explain "$names"
    fetch
    exit 0
fi

installed=$(mktemp)
trap 'rm -f "$installed"' EXIT

absent=$(missing)
if [ -z "$absent" ]; then
    echo "setup: everything is there"
    fetch
    exit 0
fi

echo "setup: these Debian packages are missing:"
explain "$absent"
if [ "$(id -u)" -ne 0 ]; then
    echo "setup: installing them needs root; run 'sudo tools/setup.sh' once" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "setup: apt-get update"
apt-get update -qq || echo "setup: the package lists are old; trying with those" >&2
echo "setup: apt-get install" $absent
# shellcheck disable=SC2086
if ! apt-get install -qq -y --no-install-recommends $absent >"$installed.log" 2>&1; then
    tail -n 20 "$installed.log" >&2
fi
rm -f "$installed.log"

absent=$(missing)
if [ -n "$absent" ]; then
    echo "setup: could not install:" $absent >&2
    exit 1
fi
echo "setup: done"
fetch
