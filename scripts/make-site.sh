#!/usr/bin/env bash
# Builds the documentation as one folder, target/site (SITE=DIR: another): the book with its search,
# the pages of the Rust libraries as `make doc` left them, those of the Python package as
# `make python` installed it. Then it checks every link.
set -euo pipefail
cd "$(dirname "$0")/.."
MDBOOK_VERSION=0.5.4
target=${CARGO_TARGET_DIR:-target}
site=${SITE:-$target/site}
tools=$target/site-tools
python=${PYTHON:-$target/python-venv/bin/python}

fail() {
  echo "make-site: $1" >&2
  exit 1
}

pip_install() {
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$@"
}

# A program that somebody else built, named by its hash; elsewhere it is compiled.
install_mdbook() {
  pip_install --require-hashes --requirement .ci/mdbook.txt ||
    "${CARGO:-cargo}" install mdbook --version "$MDBOOK_VERSION" --locked --quiet --debug \
      --no-default-features --features search --root "$tools"
}

package=$("$python" -P -c 'import fdconvert; print(fdconvert.__path__[0])' 2>/dev/null) ||
  fail "$python has no fdconvert; \`make python\` makes one, PYTHON=... names another"
[ -d "$target/doc/fdconvert" ] || fail "$target/doc is missing; \`make doc\` makes it"
[ -x "$tools/bin/python" ] || python3 -m venv "$tools"
[ -x "$tools/bin/mdbook" ] || install_mdbook
[ -x "$tools/bin/pdoc" ] || pip_install --requirement .ci/pdoc.txt

rm -rf "$site"
mkdir -p "$(dirname "$site")"
# Its warnings are failures: a page that is missing, a tag that is not closed.
"$tools/bin/mdbook" build docs --dest-dir "$(realpath -m "$site")" 2>&1 | tee "$target/mdbook.log"
! grep -E '^ *(WARN|ERROR)' "$target/mdbook.log" || fail "the book has warnings"
mkdir -p "$site/api"
cp -a "$target/doc" "$site/api/rust"
PYTHONPATH=$(dirname "$package") "$tools/bin/pdoc" fdconvert --output-directory "$site/api/python" \
  --no-show-source --docformat markdown
scripts/check-links.py "$site" api/rust/
echo "site: $site/index.html, $(du -sh "$site" | cut -f1)"
