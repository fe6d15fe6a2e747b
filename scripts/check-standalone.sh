#!/usr/bin/env bash
# Programs outside the workspace: one packs, opens and loads with `fdconvert` alone, one links
# `fdconvert-reader`, whose tree is counted.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# With the profile of the workspace most libraries of others are what its tests were built of. Ours
# are compiled once more, for programs that run once, so they are not optimized.
profile=(--config Cargo.toml)
for crate in codec core formats fractal jpeg jpeg-decode loader pipeline profile reader resize storage; do
  profile+=(--config "profile.dev.package.fdconvert-$crate.opt-level=0")
done

run() {
  local program=examples/standalone/$1
  shift
  # The versions of the workspace; what is not used is dropped from the copy.
  cp Cargo.lock "$program/Cargo.lock"
  CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false \
    cargo run --quiet "${profile[@]}" --manifest-path "$program/Cargo.toml" -- "$@"
}

cp Cargo.lock examples/standalone/read/Cargo.lock
crates=$(cargo tree --manifest-path examples/standalone/read/Cargo.toml \
  --package fdconvert-reader --edges normal,build --prefix none --no-dedupe |
  sed 's/ (.*//' | sort -u)
echo "fdconvert-reader: $(wc -l <<<"$crates") crates in its tree"
mkdir -p "$work/photos/a" "$work/photos/b"
cp tests/fixtures/kodak/*_0*.png "$work/photos/a"
cp tests/fixtures/kodak/*_1*.png "$work/photos/b"
run pack "$work/photos" "$work/kodak.beton"
run read "$work/kodak.beton"
