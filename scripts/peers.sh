#!/usr/bin/env bash
# Measures other loaders beside ours, and writes tables, charts and the record of docs/benchmarks.md.
# Environments and the prepared images stay in WORK (target/peers) for the next time; some 20 GB.
# WHEEL names an fdconvert that is built already, and ROUNDS=0 leaves it at that.
set -euo pipefail
cd "$(dirname "$0")/.."

images=${1:?"name a folder of JPEGs: make peers IMAGES=DIR"}
work=${WORK:-target/peers}
python=$work/venvs/torch/bin/python
peers() { "$1" benches/loaders/peers.py --venvs "$work/venvs" "${@:2}"; }

# What is measured is this commit, or WHEEL: another one is installed over what an earlier run left.
# What an interrupted run has prepared is made again.
wanted=${WHEEL:+$(sha256sum <"$WHEEL")}
wanted=${wanted:-$(git rev-parse HEAD)}
if [ "$(cat "$work/installed" 2>/dev/null)" != "$wanted" ]; then
  peers "${PYTHON:-python3}" install ${WHEEL:+--wheel "$WHEEL"}
  echo "$wanted" >"$work/installed"
fi
if [ ! -e "$work/prepared" ]; then
  rm -rf "$work/data"
  peers "$python" prepare "$images" "$work/data"
  touch "$work/prepared"
fi
[ "${ROUNDS:-5}" -gt 0 ] || exit 0
rm -f docs/peers/record.json
mkdir -p docs/peers
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
  peers "$python" measure "$work/data"
done
peers "$python" write
