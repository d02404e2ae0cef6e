#!/usr/bin/env bash
# What `cmake --install` leaves is all that a C and a C++ program need, where it was put and where it is moved to.
#   install.sh <source> <build>
source_dir=$1 build_dir=$2
source "$source_dir/tests/packages/common.sh"

cmake --install "$build_dir" --prefix "$work/prefix" > "$work/log" || { cat "$work/log"; exit 1; }
cd "$work/prefix"
for file in bin/tessera lib/libtessera.so lib/libtessera.so.1 include/tessera/tessera.h include/tessera/tessera.hpp lib/cmake/tessera/tesseraConfig.cmake lib/pkgconfig/tessera.pc \
            share/man/man1/tessera.1 share/bash-completion/completions/tessera share/zsh/vendor-completions/_tessera share/doc/tessera/reference.md; do
  [[ -s $file ]] || { echo "$file is missing or empty"; exit 1; }
done
if grep -rlI -e "$build_dir" -e "$source_dir" lib/cmake lib/pkgconfig share include; then echo "these files know the place they were built in"; exit 1; fi
! readelf -d bin/tessera lib/libtessera.so | grep -E 'R(UN)?PATH' | grep -F "$build_dir" > /dev/null || { echo "a library path points into the build"; exit 1; }

# The manual is made of --help, the reference of the headers: each option and function must have come through.
for option in --model --where --rows --types --holdout; do grep -qF -- "${option//-/\\-}" share/man/man1/tessera.1 || { echo "the manual lacks $option"; exit 1; }; done
for option in --model --where --holdout; do grep -qF -- "$option" share/bash-completion/completions/tessera || { echo "the completion lacks $option"; exit 1; }; done
bash -n share/bash-completion/completions/tessera
grep -ohE '^TESSERA_API .*tessera_[a-z_0-9]+\(' include/tessera/*.h | grep -oE 'tessera_[a-z_0-9]+\(' | while read -r function; do
  grep -E '^### ' share/doc/tessera/reference.md | grep -F "\`$function)\`" > /dev/null || { echo "the reference lacks $function)"; exit 1; }
done

consume here "$work/prefix" -DWITH_FMT=ON
consume_by_pkgconfig "$work/prefix"
mkdir -p "$work/some where/else"
mv "$work/prefix" "$work/some where/else/moved"
consume moved "$work/some where/else/moved"
mv "$work/some where/else/moved" "$work/moved"
consume_by_pkgconfig "$work/moved"
"$work/moved/bin/tessera" info --json > /dev/null
runs_with "$work/moved/bin/tessera" "$work/moved"
