#!/usr/bin/env bash
# Runs the tests of what has NEON code, and of what uses it, on an emulated aarch64: make aarch64.
# Packages are named with PACKAGES, arguments for Cargo follow.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
scripts/setup.sh --aarch64
rustup target add --toolchain "$(rustup show active-toolchain | cut -d' ' -f1)" "$target" 2>&1 |
  grep -v 'up to date' || true

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
packages=()
for crate in ${PACKAGES:-jpeg jpeg-decode resize codec loader}; do
  packages+=(-p "fdconvert-$crate")
done
# The decoders of the wheels and releases, as in a test of the workspace. Left out are
# a test of memory, because the emulator keeps some of each thread that ended, and one that starts
# itself, which needs a kernel that knows the emulator.
"${CARGO:-cargo}" test --target "$target" "${packages[@]}" --lib --tests \
  --features fdconvert-codec/avif,fdconvert-codec/jxl "$@" \
  -- --skip a_thousand_loaders_leave_nothing_behind --skip killed_runs_go_on_exactly
