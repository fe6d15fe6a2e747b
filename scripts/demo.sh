#!/usr/bin/env bash
# A tour of the command on the images that come with the repository. Each command line is printed before
# it runs and can be pasted into a terminal. It ends with comparisons, and fails where a byte of an
# image is lost.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1
out=$2

say() {
  printf '\n$ %s\n' "$*"
  "$@"
}

rm -rf "$out"
mkdir -p "$out"
images=tests/fixtures/kodak
say "$program" pack $images "$out/small.beton" --jpeg-quality 90 --max-side 256
say "$program" pack $images "$out/kodak.beton"
say "$program" inspect "$out/kodak.beton" --samples 3
say "$program" verify "$out/kodak.beton" --deep
say "$program" unpack "$out/kodak.beton" "$out/kodak"
say "$program" pack "$out/kodak" "$out/again.beton"
# The files differ in the run that they record, which has another source.
say "$program" diff "$out/kodak.beton" "$out/again.beton"
say "$program" pack $images "$out/same.beton" --threads 1
cmp "$out/kodak.beton" "$out/same.beton"

printf '\n%s\n' "Packed, unpacked and packed again: the same samples. Packed twice: the same file, byte for byte."
