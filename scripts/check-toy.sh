#!/usr/bin/env bash
# Adds a format to a copy of the sources, by one folder and one line of formats/lib.rs, and uses it
# everywhere; then removes both again, and compares.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
copy=$target/toy/fdconvert
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=$target

# Files keep their times, so that a second run compiles little.
rm -rf "$copy/formats"
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard |
  tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory "$copy"
cd "$copy"
cp -r xtask/toy formats/toy
sed -i 's|^    // Last: any folder is one.$|    toy: toy::Toy,\n&|' formats/lib.rs
grep -q 'toy::Toy' formats/lib.rs

cargo test --quiet -p fdconvert-formats -p fdconvert-cli -p fdconvert-python --lib toy::
cargo build --quiet --workspace --bin fdconvert --example fake_driver --example loader
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

rm -r formats/toy
sed -i '/toy::Toy/d' formats/lib.rs
diff -r "$OLDPWD/formats" formats
echo "toy: added by one folder and one line, used, and removed"
