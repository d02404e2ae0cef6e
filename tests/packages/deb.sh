#!/usr/bin/env bash
# The .deb and the .tar.gz: unpacked into a root that holds nothing but them and what they say they depend on, program and examples run.
#   deb.sh <source> <build>
source_dir=$1 build_dir=$2
source "$source_dir/tests/packages/common.sh"
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v $tool > /dev/null || { echo "no $tool here: packages are not tried"; exit 77; }
done
grep -q '^TESSERA_STATIC:BOOL=ON' "$build_dir/CMakeCache.txt" || { echo "a build without libtessera.a: packages are not tried"; exit 77; }

(cd "$build_dir" && cpack --config CPackConfig.cmake -B "$work/packages") > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work/packages"
ls -- *.deb *.tar.gz

# The archive is a prefix.
mkdir "$work/archive"
tar -xzf ./*.tar.gz -C "$work/archive" --strip-components=1
consume archive "$work/archive"
"$work/archive/bin/tessera" --version

# The packages depend on libraries and on each other, and on nothing of this machine.
depends=$(dpkg-deb -f tessera_[0-9]*.deb Depends)
echo "tessera depends on $depends"
[[ $depends == *libc6* ]] || { echo "the package does not say that it needs libc6"; exit 1; }
[[ $(dpkg-deb -f tessera-dev_*.deb Depends) == "tessera (= "* ]] || { echo "tessera-dev does not depend on its tessera"; exit 1; }

root=$work/root
mkdir "$root"
dpkg-deb -x tessera_[0-9]*.deb "$root"
"$root/usr/bin/tessera" --version
dpkg-deb -x tessera-dev_*.deb "$root"
consume root "$root/usr"

# A separate root: the packages and the libraries of their dependencies, recursively.
declare -A seen=()
queue=$(sed 's/([^)]*)//g; s/,/ /g; s/|[^,]*//g' <<< "$depends")
while [[ -n ${queue// } ]]; do
  more=""
  for package in $queue; do
    [[ -z ${seen[$package]:-} ]] || continue
    seen[$package]=1
    for file in $(dpkg -L "$package" 2> /dev/null | grep -E '^/(usr/)?lib(64)?/.*\.so' || true); do
      [[ -d $file ]] || { mkdir -p "$root$(dirname "$file")"; cp -a "$file" "$root$file"; }
    done
    more+=" $(dpkg-query -W -f='${Depends}' "$package" 2> /dev/null | sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g')"
  done
  queue=$more
done
for folder in lib lib64; do  # links into usr on a merged system
  if [[ -L /$folder ]]; then
    if [[ -d $root/$folder ]]; then mkdir -p "$root/usr/$folder"; cp -a "$root/$folder/." "$root/usr/$folder/"; rm -rf "${root:?}/$folder"; fi
    ln -sfn "usr/$folder" "$root/$folder"
  fi
done
cp "$work/root-c/embed" "$work/root-cpp/embed_static" "$root/"
enter=(chroot "$root")
[[ $(id -u) == 0 ]] || enter=(unshare -r chroot "$root")
"${enter[@]}" /usr/bin/tessera --version > /dev/null 2>&1 || { "${enter[@]}" /usr/bin/tessera --version 2>&1 | head -3; [[ $(id -u) == 0 ]] && exit 1; echo "chroot is not allowed here: the root was not entered"; exit 0; }
mkdir -p "$root/tmp" "$root/proc"
"${enter[@]}" /usr/bin/tessera example /tmp/t.csv --rows 300 --quiet
"${enter[@]}" /usr/bin/tessera fit /tmp/t.csv --model /tmp/t.tessera --method tvae --epochs 1 --batch-size 50 --quiet
"${enter[@]}" /usr/bin/tessera sample /tmp/t.tessera --rows 20 --output /tmp/s.csv --quiet
[[ $(wc -l < "$root/tmp/s.csv") == 21 ]]
"${enter[@]}" /usr/bin/env 2> /dev/null && { echo "the root is not clean"; exit 1; }
LD_LIBRARY_PATH=/usr/lib "${enter[@]}" /embed /tmp/m
"${enter[@]}" /embed_static /tmp/m
