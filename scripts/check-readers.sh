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
cargo run --quiet -- pack "$work/photos" "$work/shards" --format wds --shard-count 5 \
  --jpeg-quality 90 --max-side 256 --quiet
cargo run --quiet -- unpack "$work/shards" "$work/files" --quiet
cargo run --quiet -- pack "$work/photos" "$work/mixed" --format mixed --shard-count 5 \
  --ratio 0.4 --quiet
cargo run --quiet -- unpack "$work/mixed" "$work/mixed-files" --quiet
python=python3
if python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet datasets pillow; then
  python="$work/venv/bin/python"
else
  echo "datasets: cannot be installed here, only the standard library judges"
fi
export HF_HOME="$PWD/$work/hf" HF_HUB_OFFLINE=1
"$python" tests/readers/check.py "$work/files" "$work/shards"
"$python" tests/readers/check.py "$work/mixed-files" "$work/mixed/png" "$work/mixed/bmp"
