#!/usr/bin/env bash
# Everything there is to measure on a GPU, as one page of Markdown, in less than ten minutes:
#
#     benches/gpu/record.sh [FOLDER OF JPEGS] > record.md
#
# Correctness, images per second, kernels and nvJPEG by the example `record`, then PyTorch's
# decoders and what decoding costs a step of training. A machine without a GPU is told so, and that
# is not a failure. RECORD names a program that was built before, PYTHON the interpreter with torch.
set -euo pipefail
cd "$(dirname "$0")/../.."

record=${RECORD:-}
if [ -z "$record" ]; then
  "${CARGO:-cargo}" build --quiet --release -p fdconvert-gpu-emul --example record
  record=${CARGO_TARGET_DIR:-target}/release/examples/record
fi
"$record" --seconds "${SECONDS_ON_GPU:-300}" "$@"
"${PYTHON:-python3}" benches/gpu/torch_rivals.py --seconds "${SECONDS_IN_TORCH:-200}" ${1:+--folder "$1"}
