#!/usr/bin/env bash
# Checks that the command and the Python package, with the features that they have by default,
# compile for macOS and Windows. Their C and assembly is compiled, too: for Windows by mingw-w64,
# for macOS by zig, which comes from PyPI. Nothing is linked or run.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target/platforms CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false

venv=$CARGO_TARGET_DIR/venv
[ -x "$venv/bin/cargo-zigbuild" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'cargo-zigbuild>=0.20,<1' 'ziglang>=0.13,<1'
# cargo-zigbuild calls `python3 -m ziglang` where there is no zig.
export PATH=$venv/bin:$PATH

what=(--locked --package fdconvert-cli --package fdconvert-python)
for platform in x86_64-pc-windows-gnu aarch64-apple-darwin; do
  [ -d "$(rustc --print target-libdir --target "$platform")" ] || rustup target add "$platform"
done
echo "Windows (x86_64-pc-windows-gnu)"
cargo check --quiet --target x86_64-pc-windows-gnu "${what[@]}"
echo "macOS (aarch64-apple-darwin)"
cargo-zigbuild check --quiet --target aarch64-apple-darwin "${what[@]}"
