#!/usr/bin/env bash
# Builds a release of the commit that is checked out into the folder OUT: a wheel and the command for
# each machine, for glibc 2.28 and later, a wheel for macOS, which has not been run yet, the source
# package, and their checksums.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: scripts/release.sh OUT}
mkdir -p "$out"
[ -z "$(ls "$out")" ] || { echo "release: $out is not empty" >&2; exit 1; }
out=$(realpath "$out")
glibc=2.28
work=$(realpath "${CARGO_TARGET_DIR:-target}")/release-build

# From a copy of the commit, with its time in place of that of the build.
rm -rf "$work/source"
git clone --quiet . "$work/source"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0

[ -x "$work/venv/bin/maturin" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check \
  'maturin[zig]>=1.9.4,<2' 'cargo-zigbuild>=0.20,<1'
export PATH="$work/venv/bin:$PATH"

cd "$work/source"
version=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "fdconvert-cli"))')
maturin sdist --out "$out"
for machine in x86_64 aarch64; do
  target=$machine-unknown-linux-gnu
  if [ ! -d "$(rustc --print target-libdir --target "$target")" ]; then
    echo "release: left out: $machine; \`rustup target add $target\` installs what it needs"
    continue
  fi
  # In folders of their own: maturin and cargo-zigbuild name different linkers.
  CARGO_TARGET_DIR=$work/wheel maturin build --release --locked --zig --target "$target" \
    --compatibility "manylinux_${glibc/./_}" --out "$out"
  CARGO_TARGET_DIR=$work/command cargo zigbuild --release --locked --features avif,jxl --target "$target.$glibc" \
    --package fdconvert-cli --bin fdconvert
  name=fdconvert-$version-$target
  rm -rf "${work:?}/$name"
  mkdir "$work/$name"
  cp "$work/command/$target/release/fdconvert" README.md CHANGELOG.md LICENSE-* "$work/$name"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" \
    --use-compress-program='gzip -n9' -cf "$out/$name.tar.gz" "$name"
done

# What macOS has and zig lacks is linked by its name alone; macOS looks the symbols up.
stub() {
  mkdir -p "$(dirname "$work/macos/$1")"
  cat >"$work/macos/$1.tbd" <<STUB
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: $2
exports:
  - targets: [ arm64-macos ]
    symbols: [ ]
...
STUB
}
target=aarch64-apple-darwin
if [ -d "$(rustc --print target-libdir --target "$target")" ]; then
  stub libobjc /usr/lib/libobjc.A.dylib
  for framework in CoreFoundation/A Foundation/C Security/A; do
    name=${framework%/*}
    stub "$name.framework/$name" "/System/Library/Frameworks/$name.framework/Versions/${framework#*/}/$name"
  done
  CARGO_TARGET_DIR=$work/wheel \
    CARGO_TARGET_AARCH64_APPLE_DARWIN_RUSTFLAGS="-C link-arg=-F$work/macos -C link-arg=-L$work/macos" \
    maturin build --release --locked --zig --target "$target" --out "$out"
else
  echo "release: left out: macOS; \`rustup target add $target\` installs what it needs"
fi
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
