#!/usr/bin/env bash
# Builds the Python package, installs the wheel into an environment of its own, runs its tests and
# holds its type stubs against it. PROFILE=release builds what `pip install .` builds.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=$target/python-venv
wheels=$target/python-wheels

fail() {
  echo "check-python: $1" >&2
  exit 1
}

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "$python is missing or older than Python 3.11; name another with PYTHON=..."
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" ||
  fail "no virtual environment; on Debian and Ubuntu install python3-venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  'maturin>=1.9.4,<2' pytest numpy mypy pillow pycocotools tifffile imagecodecs rasterio ||
  fail "pip cannot install maturin, pytest, numpy, mypy, Pillow, pycocotools, tifffile, imagecodecs and rasterio; is the package index within reach?"

rm -rf "$wheels"
# By default the profile and the features of `cargo test`, so that the libraries are built already.
features=()
[ "${PROFILE:-dev}" != dev ] || features=(--features tested)
CARGO_TARGET_DIR=$target "$venv/bin/maturin" build --profile "${PROFILE:-dev}" --out "$wheels" \
  --interpreter "$venv/bin/python" "${features[@]}"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
  --force-reinstall "$wheels"/*.whl
# Stands in for the driver of a GPU, which it does not take to test the loader's batches there.
"${CARGO:-cargo}" build --quiet --workspace --example fake_driver
FDCONVERT_FAKE_CUDA=$("$target/debug/examples/fake_driver")
export FDCONVERT_FAKE_CUDA
# Away from the sources, so that what is installed is what is tested.
"$venv/bin/python" -P -m pytest -q -rs -p no:cacheprovider
"$venv/bin/python" -P -m mypy --cache-dir "$target/mypy" crates/python/python \
  crates/python/tests
"$venv/bin/python" -P -m mypy.stubtest fdconvert --ignore-unused-allowlist \
  --mypy-config-file pyproject.toml \
  --allowlist crates/python/tests/stubtest-allowlist.txt
