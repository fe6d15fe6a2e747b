#!/usr/bin/env bash
# Counts the instructions of the hot paths, first in the commit BASE and then in the working tree, and
# fails where a path takes over LIMIT more. Both are built and counted here and now, because counts of
# another compiler, C library or valgrind are not comparable. BASE is by default the commit where this
# branch left origin/main; where nothing was committed since then, the last one if files differ from it,
# else the one before.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${LIMIT:=1%}"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/instructions
tree=$work/base

if [ -z "${BASE:-}" ]; then
  BASE=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
  [ "$BASE" != "$(git rev-parse HEAD)" ] || ! git diff --quiet HEAD || BASE=HEAD~1
fi
BASE=$(git rev-parse --verify "$BASE^{commit}")
if ! git cat-file -e "$BASE:crates/hot-paths/benches/hot_paths.rs" 2>/dev/null; then
  echo "gate: skipped: commit ${BASE:0:10} has nothing that could be counted"
  exit 0
fi

# Counts here with these arguments, by the runner that the library of the benchmarks wants.
count() {
  local version runner
  version=$(awk '/^name = "gungraun"/ { getline; gsub(/.* = |"/, ""); print }' Cargo.lock)
  runner=$target/gungraun-runner-$version
  [ -x "$runner/bin/gungraun-runner" ] || env -u CARGO_TARGET_DIR cargo install gungraun-runner \
    --version "$version" --locked --debug --quiet --root "$runner"
  PATH=$runner/bin:$PATH GUNGRAUN_HOME=$work/counts cargo bench --quiet --profile gate \
    --package fdconvert-hot-paths --bench hot_paths -- --parallel=auto "$@"
}

rm -rf "$work/counts"
# Git forgets a tree that was deleted with the target folder; what did not change stays, and what was
# built of it.
git worktree prune
[ -e "$tree" ] || git worktree add --quiet --detach "$tree" "$BASE"
git -C "$tree" checkout --quiet --detach --force "$BASE"
echo "gate: counting ${BASE:0:10}"
(cd "$tree" && CARGO_TARGET_DIR=$work/build count --save-baseline=base) >/dev/null
echo "gate: counting the working tree"
count --baseline=base --callgrind-limits="ir=$LIMIT"
