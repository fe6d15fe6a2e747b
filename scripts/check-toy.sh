#!/usr/bin/env bash
# Adds a format by one folder and one line of formats/lib.rs, and uses it everywhere; then removes
# both again. It works on the sources themselves: in a copy Cargo would compile every crate once more,
# also those that know nothing of formats.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "toy: $1" >&2
  exit 1
}

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
[ ! -e formats/toy ] || fail "formats/toy exists; an earlier run was killed: remove it, and its line from formats/lib.rs"
! grep -q toy:: formats/lib.rs || fail "formats/lib.rs names toy; an earlier run was killed: remove that line"
work=$(mktemp -d)
cp -p formats/lib.rs "$work/lib.rs"
remove() {
  rm -rf formats/toy
  cp -p "$work/lib.rs" formats/lib.rs
}
trap 'remove; rm -rf "$work"' EXIT

# What knows of formats is compiled once more for a minute's use, so it is not optimized.
plain=()
for crate in formats loader reader view; do
  plain+=(--config "profile.dev.package.fdconvert-$crate.opt-level=0")
done

cp -r xtask/toy formats/toy
sed -i 's|^    // Last, because it accepts any folder.$|    toy: toy::Toy,\n&|' formats/lib.rs
grep -q 'toy::Toy' formats/lib.rs

# With the command, by whose features the libraries are built already; alone it would take Parquet's,
# all macros and what depends on them once more.
cargo test --quiet "${plain[@]}" -p fdconvert-formats -p fdconvert-cli --lib toy::
cargo build --quiet "${plain[@]}" --workspace --bin fdconvert --example fake_driver --example loader
fdconvert=$target/debug/fdconvert
mkdir -p "$work/photos/a" "$work/photos/b"
cp tests/fixtures/kodak/*_0*.png "$work/photos/a"
cp tests/fixtures/kodak/*_1*.png "$work/photos/b"
$fdconvert pack --help | grep -q '\btoy\b'
$fdconvert pack "$work/photos" "$work/photos.toy"
$fdconvert inspect "$work/photos.toy"
$fdconvert verify "$work/photos.toy" --deep
$fdconvert unpack "$work/photos.toy" "$work/again"
diff -r "$work/photos" "$work/again" --exclude '*.json*'
"$target/debug/examples/loader" "$work/photos.toy" | tail -1

remove
echo "toy: added by one folder and one line, used, and removed"
