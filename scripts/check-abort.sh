#!/usr/bin/env bash
# Where a panic ends the program, too, a machine without a driver or a library is told so: builds a
# small program that way and runs it with libraries that are not there.
set -euo pipefail
cd "$(dirname "$0")/.."

"${CARGO:-cargo}" rustc --quiet -p fdconvert-gpu --example probe -- -C panic=abort
said=$(FDCONVERT_CUDA_LIB=/nowhere/libcuda.so FDCONVERT_NVJPEG_LIB=/nowhere/libnvjpeg.so \
  "${CARGO_TARGET_DIR:-target}/debug/examples/probe")
for expected in "panics abort" "no GPU: no CUDA driver: /nowhere/libcuda.so"; do
  grep -qF "$expected" <<<"$said" || {
    printf 'check-abort: "%s" is missing from:\n%s\n' "$expected" "$said" >&2
    exit 1
  }
done
echo "check-abort: ok, $(wc -l <<<"$said") lines"
