#!/usr/bin/env bash
# Measures `fdconvert view` in a browser over 1,280,000 samples, on this disk and in a store that
# answers after 65 ms: memory, first answer, first screen, jumps, filters, elements, long tasks.
# Prints the figures beside their bars, and ends with 1 where one is exceeded. For an idle machine;
# needs npm and chromium, as check-view.sh does.
#
#   scripts/check-view-large.sh [FOLDER]     the beton is made there once (900 MB) and kept
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "check-view-large: $1" >&2
  exit 1
}

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$(realpath -m "${1:-$target/view-large}")
browser=${CHROMIUM:-/usr/bin/chromium}
command -v npm >/dev/null || fail "npm is missing; install Node 20 or later"
[ -x "$browser" ] || fail "there is no $browser; scripts/check-view.sh installs it"

# With PROFILE=dev one sees whether it runs; the figures mean nothing then.
profile=${PROFILE:-release}
programs=$target/${profile/dev/debug}
CARGO_TARGET_DIR=$target cargo build --profile "$profile" --workspace --bin fdconvert --bin xtask \
  --example many
(cd crates/view/web && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error)

# A folder in the folder is a bucket of the store.
bucket=$folder/many
mkdir -p "$bucket"
[ -s "$bucket/many.beton" ] || "$programs/examples/many" "$bucket/many.beton"
CHROMIUM=$browser exec node crates/view/web/large.mjs "$programs" "$folder"
