#!/usr/bin/env bash
# Measures other loaders beside ours, and writes tables, charts and the record of docs/benchmarks.md.
# Environments and the prepared images stay in WORK (target/peers) for the next time; some 20 GB.
set -euo pipefail
cd "$(dirname "$0")/.."

images=${1:?"name a folder of JPEGs: make peers IMAGES=DIR"}
work=${WORK:-target/peers}
python=$work/venvs/torch/bin/python
peers() { "$1" benches/loaders/peers.py --venvs "$work/venvs" "${@:2}"; }

[ -x "$python" ] || peers "${PYTHON:-python3}" install
[ -d "$work/data" ] || peers "$python" prepare "$images" "$work/data"
rm -f docs/peers/record.json
mkdir -p docs/peers
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
  peers "$python" measure "$work/data"
done
peers "$python" write
