#!/usr/bin/env bash
# Whether making checkpoints takes time where reading is the bound: packs a folder of JPEGs with and
# without them, from storage of several rates, in rounds that go through all cases in turn.
#
#     benches/index_cost.sh FOLDER [THREADS...]
set -euo pipefail
folder=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
fdconvert=${FDCONVERT:-target/release/fdconvert}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -shared -fPIC benches/slow_read.c -o "$work/slow.so" -ldl -lpthread
echo "threads MB/s index seconds cpu-seconds"
for _ in 1 2 3; do
  for threads in "${@:-$(nproc)}"; do
    for rate in 100 200 300 400 0; do
      for index in off on; do
        rm -rf "$work/out.beton"
        SLOW_MBS=$rate LD_PRELOAD=$work/slow.so /usr/bin/time -f "%e %U %S" -o "$work/time" \
          "$fdconvert" pack "$folder" "$work/out.beton" -q --threads "$threads" --jpeg-index $index \
          >/dev/null
        read -r wall user system <"$work/time"
        awk "BEGIN { print \"$threads $rate $index $wall\", $user + $system }"
      done
    done
  done
done
