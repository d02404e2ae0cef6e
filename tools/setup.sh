#!/usr/bin/env bash
# Installs what the build needs and this machine lacks: by apt when it can, else it prints the one line to run. Does not touch the network when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build nlohmann-json3-dev libfmt-dev libfast-float-dev libcli11-dev libgtest-dev libbenchmark-dev pkgconf dpkg-dev)

command -v dpkg-query > /dev/null || { echo "setup: this is not a Debian system; install the counterparts of: ${packages[*]}" >&2; exit 0; }

# What only parts of the tests need, which say so where it is missing: libFuzzer, and an Arrow C++ that Debian does not have.
optional=()
[[ ${CI:-} == true ]] && optional=(clang libclang-rt-dev python3-venv)

is_there() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null) == installed ]]; }
missing=()
for package in "${packages[@]}"; do is_there "$package" || missing+=("$package"); done
missing_optional=()
for package in "${optional[@]}"; do is_there "$package" || missing_optional+=("$package"); done

# pyarrow's wheel carries the headers and libraries of Arrow C++ (docs/parquet.md).
python_packages() {
  [[ ${CI:-} == true && ! -x build/python/bin/python3 ]] || return 0
  mkdir -p build
  { python3 -m venv build/python && build/python/bin/pip install -q --retries 1 --timeout 30 pyarrow; } > /dev/null 2>&1 || echo "setup: pyarrow cannot be installed: Parquet is not tested" >&2
}
if (( ${#missing[@]} + ${#missing_optional[@]} == 0 )); then
  python_packages
  exit 0
fi

install="apt-get install -y --no-install-recommends ${missing[*]}"
if [[ $(id -u) == 0 ]]; then
  as_root=()
elif sudo -n true 2> /dev/null || { [[ -t 0 ]] && command -v sudo > /dev/null; }; then
  as_root=(sudo)
else
  echo "setup: missing: ${missing[*]}. Run this, then start again:" >&2
  echo "  su -c 'apt-get update && $install'" >&2
  exit 1
fi

echo "setup: installing ${missing[*]} ${missing_optional[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
(( ${#missing[@]} == 0 )) || "${as_root[@]}" $install
(( ${#missing_optional[@]} == 0 )) || "${as_root[@]}" apt-get install -y --no-install-recommends "${missing_optional[@]}" || echo "setup: without ${missing_optional[*]}" >&2
python_packages
