#!/usr/bin/env bash
# Checks the page of `fdconvert view`: its types, that what is committed below dist is what the
# sources give, and in a browser what it does. VIEW_ADDRESS names a real server to look at; without
# it a mock stands in. Installs Debian's chromium where that works without asking for a password;
# elsewhere the browser's part is skipped, and said so.
set -euo pipefail
cd "$(dirname "$0")/../crates/view/web"

fail() {
  echo "check-view: $1" >&2
  exit 1
}

command -v npm >/dev/null || fail "npm is missing; install Node 20 or later"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
  fail "node is $(node --version); 20 is the least"
npm ci --no-audit --no-fund --ignore-scripts --loglevel=error ||
  fail "npm cannot install what package-lock.json names; is the registry within reach?"
npm run --silent types
npm run --silent check
echo "check-view: the types are right, and dist is what the sources give"

browser=${CHROMIUM:-/usr/bin/chromium}
export CHROMIUM=$browser

install() {
  local as_root
  command -v apt-get >/dev/null || return 1
  if [ "$(id -u)" -eq 0 ]; then
    as_root="env"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n env"
  else
    return 1
  fi
  apt() {
    $as_root DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes "$@" >&2
  }
  get() {
    apt install --no-install-recommends chromium fonts-liberation
  }
  echo "check-view: installing chromium" >&2
  # The lists of packages may be missing or old, as in a fresh container.
  get || { apt update && get; }
}

if [ ! -x "$browser" ] && ! { install && [ -x "$browser" ]; }; then
  echo "check-view: SKIPPED what needs a browser: there is no $browser, and it cannot be installed" \
    "here; install chromium, or name another with CHROMIUM=..." >&2
  exit 0
fi

results=$(mktemp)
trap 'rm -f "$results"' EXIT
status=0
node --test --test-concurrency=1 \
  --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=tap --test-reporter-destination="$results" \
  tests/*.test.mjs || status=$?
grep -E '^# (tests|pass|fail|cancelled|skipped) ' "$results"
exit "$status"
