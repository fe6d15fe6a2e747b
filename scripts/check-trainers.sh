#!/usr/bin/env bash
# Runs the programs of examples/trainers with the frameworks that it pins, in an environment of its own, with the
# wheel that check-python.sh left. Each is killed and resumed; none is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=$target/trainers-venv
wheels=$target/python-wheels
tests=crates/python/tests/test_trainers.py

fail() {
  echo "check-trainers: $1" >&2
  exit 1
}

compgen -G "$wheels/*.whl" >/dev/null || fail "no wheel in $wheels; build it with: make python"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv" ||
  fail "no virtual environment; on Debian and Ubuntu install python3-venv"
# Torch for processors alone, from its own index; that of PyPI, which serves where this is out of reach, brings CUDA.
mapfile -t torch < <(grep '^torch' examples/trainers/requirements.txt)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 0 \
  --index-url https://download.pytorch.org/whl/cpu "${torch[@]}" || echo "check-trainers: torch comes with CUDA"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  -r examples/trainers/requirements.txt pytest pillow ||
  fail "pip cannot install examples/trainers/requirements.txt; is the package index within reach?"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
  --force-reinstall "$wheels"/*.whl
# Away from the sources, so that what is installed is what is tested.
"$venv/bin/python" -P -m pytest -q -rs -p no:cacheprovider "$tests" | tee "$target/trainers.log"
! grep -q skipped "$target/trainers.log" || fail "some were skipped"
