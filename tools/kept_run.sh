#!/bin/sh
# Run what tools/kept.py has listed, many runs at once.
#
# usage: kept_run.sh FOLDER KEPT [PROCESSES]
#
# FOLDER is what LISTED named: runs are begun in the order of its list. Results go to the folder
# KEPT, each when it is complete; what is there already is not run again, so that this can be
# interrupted at any time, and KEPT be copied to where the tables are made.
#
# Settings, in the environment: WEFT, the program (build/weft).
case ${1:-} in
-h | --help) sed '1d; /^#/!Q; s/^# \{0,1\}//' "$0" && exit 0 ;;
esac
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "kept_run.sh: usage: kept_run.sh FOLDER KEPT [PROCESSES]" >&2
  exit 2
fi
set -eu
weft=$(realpath "${WEFT:-build/weft}")
mkdir -p "$2"
kept=$(realpath "$2")
cd "$1"
export weft kept

# shellcheck disable=SC2016 # Expanded by the shell that is started for each line.
awk '!seen[$1]++' list | tr '\t\n' '\001\000' | xargs -0 -n 1 -P "${3:-$(nproc)}" sh -c '
  IFS=$(printf "\001")
  set -f
  set -- $1
  name=$1 scenario=$2 policy=$3
  shift 3
  [ ! -e "$kept/$name.json" ] || exit 0
  "$weft" compare "$scenario" --policies "$policy" --json "$@" --parallel 1 \
    >"$kept/$name.part" 2>"$kept/$name.error" || [ $? -lt 128 ] || exit 0
  ! grep -q "\"interrupted\": *true" "$kept/$name.part" || exit 0
  [ -s "$kept/$name.part" ] || echo "{\"runs\": []}" >"$kept/$name.part"
  mv "$kept/$name.part" "$kept/$name.json"
  [ -s "$kept/$name.error" ] || rm -f "$kept/$name.error"
' sh
