#!/usr/bin/env bash
# Packs the sample photos into tar shards and reads them with other people's readers.
set -euo pipefail
cd "$(dirname "$0")/.."
work=target/readers
rm -rf "$work"
mkdir -p "$work/photos/even" "$work/photos/odd"
n=0
for photo in tests/fixtures/kodak/*.png; do
  cp "$photo" "$work/photos/$([ $((n % 2)) -eq 0 ] && echo even || echo odd)/"
  n=$((n + 1))
done
# As `cargo test` builds it: the example brings the libraries' features of tests, without which all
# of them would be compiled once more.
"${CARGO:-cargo}" build --quiet --workspace --bin fdconvert --example fake_driver
fdconvert=${CARGO_TARGET_DIR:-target}/debug/fdconvert
"$fdconvert" pack "$work/photos" "$work/shards" --format wds --shard-count 5 \
  --jpeg-quality 90 --max-side 256 --quiet
"$fdconvert" unpack "$work/shards" "$work/files" --quiet
# Splits, a data card and a description for Croissant, of the same samples.
"$fdconvert" pack "$work/shards" "$work/described" --format wds --shard-count 5 \
  --split train=0.75,val=0.25 --sidecars fdx,card,croissant --quiet
"$fdconvert" pack "$work/photos" "$work/mixed" --format mixed --shard-count 5 \
  --ratio 0.4 --quiet
"$fdconvert" unpack "$work/mixed" "$work/mixed-files" --quiet
# JPEGs and PNGs in one set, under names with capitals, marks and blanks.
mkdir -p "$work/both/a" "$work/both/jack-o'-lantern"
n=0
find "$work/files" -name '*.jpg' | sort | head -4 | while read -r photo; do
  n=$((n + 1))
  case $n in
    1) cp "$photo" "$work/both/a/x.JPEG" ;;
    2) cp "$photo" "$work/both/a/y (2), v1.5.jpeg" ;;
    3) cp "$photo" "$work/both/jack-o'-lantern/ONE.JPG" ;;
    4) cp "$photo" "$work/both/jack-o'-lantern/w.jpg" ;;
  esac
done
cp tests/fixtures/kodak/PhotoCD_PCD0992_01.png "$work/both/a/k.png"
"$fdconvert" pack "$work/both" "$work/both-shards" --format wds --shard-count 2 --quiet
"$fdconvert" unpack "$work/both-shards" "$work/both-files" --quiet
diff -r "$work/both" "$work/both-files"
python=python3
if python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet datasets pillow; then
  python="$work/venv/bin/python"
  "$work/venv/bin/pip" install --quiet webdataset ||
    echo "webdataset: cannot be installed here"
  if "$work/venv/bin/pip" install --quiet pycocotools; then
    "$python" tests/readers/check_annotations.py "$fdconvert" "$work/annotations"
  else
    echo "pycocotools: cannot be installed here"
  fi
  "$work/venv/bin/pip" install --quiet mlcroissant ||
    echo "mlcroissant: cannot be installed here"
else
  echo "datasets: cannot be installed here, only the standard library judges"
fi
export HF_HOME="$PWD/$work/hf" HF_HUB_OFFLINE=1
"$python" tests/readers/check.py "$work/files" "$work/shards"
# Readers that cannot be installed beside these (FFCV, MosaicML Streaming): OTHER_PYTHONS names the
# Pythons of their environments.
for other in "$python" ${OTHER_PYTHONS:-}; do
  "$other" tests/readers/check_fields.py "$fdconvert" "$work/fields"
done
"$python" tests/readers/check.py "$work/mixed-files" "$work/mixed/png" "$work/mixed/bmp"
"$python" tests/readers/check_both.py "$work/both" "$work/both-shards"
# It unpacks shards into its cache, by their names.
CROISSANT_CACHE="$PWD/$work/croissant" \
  "$python" tests/readers/check_croissant.py "$work/files" "$work/described"
CROISSANT_CACHE="$PWD/$work/croissant" \
  "$python" tests/readers/check_croissant_parquet.py "$fdconvert" "$work/both" "$work/by-croissant"
"$python" tests/readers/check_card.py "$work/described"
"$python" tests/readers/check_metadata.py "$fdconvert" tests/fixtures/kodak "$work/metadata"
# Parquet, there and back: what datasets wrote is read as well.
"$fdconvert" pack "$work/both" "$work/both.parquet" --quiet
"$python" tests/readers/check_parquet.py "$work/both" "$work/both.parquet" \
  "$work/theirs.parquet" "$work/ours"
if [ -e "$work/theirs.parquet" ]; then
  "$fdconvert" verify "$work/theirs.parquet" --deep --quiet
  "$fdconvert" unpack "$work/theirs.parquet" "$work/ours" --quiet
  "$python" tests/readers/check_parquet.py "$work/both" "$work/both.parquet" \
    "$work/theirs.parquet" "$work/ours"
fi
