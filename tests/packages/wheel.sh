#!/usr/bin/env bash
# The wheel of the library that was built: manylinux by auditwheel, installed into a venv that holds nothing else, and used there.
#   wheel.sh <source> <build>
set -euo pipefail
source_dir=$1 build_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$source_dir"/{pyproject.toml,CMakeLists.txt,README.md,LICENSE,packaging,python,tools} "$work/"
[[ -x $source_dir/build/python-wheel/bin/auditwheel ]] || { echo "no auditwheel in build/python-wheel: tools/setup.sh installs it where CI is set"; exit 77; }
mkdir "$work/build"
ln -s "$source_dir/build/python-wheel" "$work/build/python-wheel"
bash "$work/tools/wheel.sh" "$build_dir"
cd "$work/dist"
ls -l ./*.whl
[[ $(ls) == tessera-*-py3-none-manylinux_*.whl$'\n'tessera_sdv-*-py3-none-any.whl ]] || { echo "a manylinux wheel and that of tessera-sdv are expected, each for every Python 3"; exit 1; }

python3 -m venv "$work/empty"
"$work/empty/bin/pip" install --quiet --no-index --no-deps ./*.whl
cd "$work/empty"  # with nothing of the sources in sight
env -u PYTHONPATH -u TESSERA_LIBRARY "$work/empty/bin/python" - "$work" << 'END'
import os, sys
import tessera
work = sys.argv[1]
rows = os.path.join(work, "rows.csv")
model = tessera.fit(tessera.example(500, out="rows"), epochs=1)
model.sample(20, where="age >= 40", out=rows)
model.save(os.path.join(work, "m.tessera"))
assert len(open(rows).readlines()) == 21
assert tessera.load(os.path.join(work, "m.tessera")).schema["age"].type == "integer"
assert tessera.__file__.startswith(work), tessera.__file__
try:
    model.sample(3, out="pandas")
    raise SystemExit("pandas in an empty venv?")
except tessera.UnsupportedError as error:
    print(error)
END
env -u PYTHONPATH -u TESSERA_LIBRARY "$work/empty/bin/tessera" sample "$work/m.tessera" --rows 3 --output - --quiet | wc -l | grep -x 4 > /dev/null || { echo "the command of the wheel does not sample"; exit 1; }
