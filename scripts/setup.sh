#!/usr/bin/env bash
# Makes sure that what Cargo cannot build is there: a C compiler, cmake and nasm, which
# libjpeg-turbo is built with, and the C++ compiler that the GPU's kernels are tested with on the
# CPU and that libFuzzer needs. `--python` adds what the environment of the Python package's tests
# is made with, `--gate` valgrind, which counts instructions for `make gate`, `--aarch64` what
# builds for that processor and emulates it, and `--platforms` the C compilers for Windows.
# Installs with apt-get where that works without asking for a password; elsewhere it says what
# to install. Prints nothing when nothing is missing.
set -euo pipefail

tools=(cc c++ cmake nasm)
for option in "$@"; do
  case "$option" in
    --python) tools+=(python3 ensurepip) ;;
    --gate) tools+=(valgrind) ;;
    --aarch64) tools+=(aarch64-linux-gnu-gcc qemu-aarch64-static) ;;
    --platforms) tools+=(python3 ensurepip x86_64-w64-mingw32-gcc x86_64-w64-mingw32-g++) ;;
    *)
      echo "setup: unknown option $option; there are --python, --gate, --aarch64 and --platforms" >&2
      exit 2
      ;;
  esac
done

if ! command -v cargo >/dev/null; then
  echo "setup: cargo is missing; install Rust from https://rustup.rs and open a new terminal" >&2
  exit 1
fi

is_there() {
  case "$1" in
    ensurepip) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing_packages() {
  local tool
  for tool in "${tools[@]}"; do
    is_there "$tool" && continue
    case "$tool" in
      cc) echo gcc libc6-dev ;;
      c++) echo g++ ;;
      # Debian and Ubuntu ship Python without what fills a virtual environment.
      ensurepip) echo python3-venv ;;
      aarch64-linux-gnu-gcc) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
      qemu-aarch64-static) echo qemu-user-static ;;
      x86_64-w64-mingw32-gcc) echo gcc-mingw-w64-x86-64 ;;
      x86_64-w64-mingw32-g++) echo g++-mingw-w64-x86-64 ;;
      *) echo "$tool" ;;
    esac
  done
}

# shellcheck disable=SC2207  # Names of packages hold no spaces.
packages=($(missing_packages))
[ ${#packages[@]} -eq 0 ] && exit 0

explain() {
  echo "setup: $1" >&2
  echo "setup: please install ${packages[*]} (names as in Debian and Ubuntu) and try again" >&2
  exit 1
}

command -v apt-get >/dev/null || explain "there is no apt-get here"
if [ "$(id -u)" -eq 0 ]; then
  as_root="env"
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root="sudo -n env"
else
  explain "installing packages needs root, or sudo without a password"
fi

apt() {
  $as_root DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes "$@" >&2
}

install() {
  apt install --no-install-recommends "${packages[@]}"
}

echo "setup: installing ${packages[*]}" >&2
# The lists of packages may be missing or old, as in a fresh container.
install || { apt update && install; } || explain "apt-get failed"
[ -z "$(missing_packages)" ] || explain "apt-get succeeded, but a tool is still missing"
