# What both package tests do: build examples/embed_* against a prefix and run them, with nothing of the build tree in sight.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
generator=()
command -v ninja > /dev/null && generator=(-G Ninja)

# The libraries a program runs with come from below a folder.
runs_with() {
  local found
  found=$(ldd "$1" | sed -n 's/.*libtessera.* => \(.*\) (0x.*/\1/p')
  [[ $found == "$2"/* ]] || { echo "$1 runs with '$found', not with the library below $2"; exit 1; }
}

# consume <name> <prefix> [options of cmake…]: both examples/embed_* through find_package, shared and static.
consume() {
  local name=$1 prefix=$2 language build
  shift 2
  for language in c cpp; do
    build=$work/$name-$language
    cmake "${generator[@]}" -S "$source_dir/examples/embed_$language" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF "$@" > "$work/log" \
      || { cat "$work/log"; exit 1; }
    cmake --build "$build" > "$work/log" || { cat "$work/log"; exit 1; }
    runs_with "$build/embed" "$prefix"
    "$build/embed" "$work/model"
    if [[ -x $build/embed_static ]]; then
      ! ldd "$build/embed_static" | grep libtessera > /dev/null || { echo "the static program is tied to the shared library"; exit 1; }
      "$build/embed_static" "$work/model"
    fi
  done
}

# consume_by_pkgconfig <prefix>
consume_by_pkgconfig() {
  local prefix=$1 flags
  command -v pkg-config > /dev/null || { echo "no pkg-config here: not tried"; return; }
  flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --define-prefix --cflags --libs tessera)
  [[ $flags == *"$prefix/"* ]] || { echo "pkg-config says '$flags', which is not below $prefix"; exit 1; }
  # shellcheck disable=SC2086
  "${CC:-cc}" -std=c99 -Wall -Wextra -Werror "$source_dir/examples/embed_c/main.c" -o "$work/by_pkgconfig" $flags -lm -Wl,-rpath,"$prefix/lib"
  "$work/by_pkgconfig" "$work/model"
  # shellcheck disable=SC2086
  "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror "$source_dir/examples/embed_cpp/main.cpp" -o "$work/by_pkgconfig" $flags -Wl,-rpath,"$prefix/lib"
  "$work/by_pkgconfig" "$work/model"
}
