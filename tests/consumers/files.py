"""Parquet and Arrow files from and to pyarrow, through the program: types, values, missing values, several files; files that are broken.

    files.py <tessera>

A row of a table whose rows are all alike is given back by a model of that table as it was; it has five rows, because a
number that fewer share is not learned (docs/quality/privacy.md). Exit code 77: pyarrow or the plugin is missing.
"""
import datetime as dt
import decimal
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq
except ImportError as missing:
    print(f"skipped: {missing}. pip install pyarrow")
    sys.exit(77)

program = os.path.abspath(sys.argv[1])


def run(*arguments, code=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == code, f"{arguments}: {done.returncode}, not {code}\n{done.stderr}"
    return done


if not json.loads(run("info", "--json").stdout)["parquet_and_arrow"]["available"]:
    print("skipped: this build has no libtessera_arrow.so")
    sys.exit(77)

os.chdir(tempfile.mkdtemp(prefix="tessera_files_"))
D = decimal.Decimal
moment = dt.datetime(2024, 2, 29, 23, 59, 58, 123456)
COLUMNS = {
    **{f"int{b}": (getattr(pa, f"int{b}")(), -(2 ** (b - 1))) for b in (8, 16, 32, 64)},
    **{f"uint{b}": (getattr(pa, f"uint{b}")(), 2**b - 1) for b in (8, 16, 32, 64)},
    "float32": (pa.float32(), 0.10000000149011612),
    "float64": (pa.float64(), -1.5e300),
    "decimal": (pa.decimal128(38, 10), D("-1234567890123456789012345678.0123456789")),
    "bool": (pa.bool_(), False),
    "string": (pa.string(), "Zürich, a text of more than twelve bytes"),
    "date": (pa.date32(), dt.date(1969, 12, 31)),
    "ms": (pa.timestamp("ms"), moment.replace(microsecond=123000)),
    "us_zoned": (pa.timestamp("us", "UTC"), moment.replace(tzinfo=dt.timezone.utc)),
    "time": (pa.time64("us"), dt.time(0, 0, 1, 5)),
    "missing": (pa.int32(), None),
}
WRITERS = {
    "parquet": pq.write_table,
    "arrow": lambda t, path: feather.write_feather(t, path, compression="uncompressed"),
    "arrows": lambda t, path: pa.ipc.new_stream(path, t.schema).write_table(t),
}
READERS = {
    "parquet": pq.read_table,
    "arrow": lambda path: pa.ipc.open_file(path).read_all(),
    "arrows": lambda path: pa.ipc.open_stream(path).read_all(),
}


def fit(data, model="m.tessera"):
    run("fit", *data, "--model", model, "--epochs", "0", "--quiet", "--force")


def sample(path, rows, model="m.tessera"):
    run("sample", model, "--rows", str(rows), "--output", path, "--quiet", "--force")


# Every type goes in and comes out, through every kind of file.
alike = pa.table({n: pa.array([v] * 5, t) for n, (t, v) in COLUMNS.items()})
for kind in WRITERS:
    WRITERS[kind](alike, f"alike.{kind}")
    fit([f"alike.{kind}"])
    for to in READERS:
        sample(f"back.{to}", 5)
        back = READERS[to](f"back.{to}")
        for name in COLUMNS:
            assert back[name].to_pylist() == alike[name].to_pylist(), f"{kind} to {to}: {name}: {back[name].to_pylist()}"
            if COLUMNS[name][1] is not None:
                assert back.schema.field(name).type == alike.schema.field(name).type, f"{kind} to {to}: {name} is {back.schema.field(name).type}"

# Texts that are numbers, dates or booleans stay texts.
texts = {"n": ["7", "12"], "on": ["31.12.2023", "01.02.2024"], "is": ["True", "False"], "code": ["007", "x"]}
spelled = pa.table({n: pa.array(v * 30) for n, v in texts.items()})
for kind in WRITERS:
    WRITERS[kind](spelled, f"spelled.{kind}")
    fit([f"spelled.{kind}"])
    for to in READERS:
        sample(f"back.{to}", 60)
        back = READERS[to](f"back.{to}")
        assert back.schema.types == spelled.schema.types, f"{kind} to {to}: {back.schema}"
        for name in ("is", "code"):
            assert set(back[name].to_pylist()) == set(texts[name]), f"{kind} to {to}: {name}"
        assert {int(n) for n in back["n"].to_pylist()} == {7, 12}, f"{kind} to {to}"

# Given cells of every kind of file, as they were.
fit(["spelled.parquet"])
for kind in WRITERS:
    WRITERS[kind](spelled.select(["n", "on"]).slice(0, 6), f"given.{kind}")
    run("sample", "m.tessera", "--given", f"given.{kind}", "--output", "back.parquet", "--quiet", "--force")
    back = pq.read_table("back.parquet")
    assert back.select(["n", "on"]).equals(spelled.select(["n", "on"]).slice(0, 6)), f"{kind}: {back}"
WRITERS["parquet"](pa.table({"n": ["7", "8"]}), "given.parquet")
said = run("sample", "m.tessera", "--given", "given.parquet", "--output", "back.parquet", "--quiet", "--force", code=3).stderr
assert "given.parquet, row 2" in said, said
WRITERS["parquet"](pa.table({"code": ["x", "007"], "rows": [3, 2]}), "counts.parquet")
run("sample", "m.tessera", "--counts", "counts.parquet", "--output", "back.parquet", "--quiet", "--force")
assert pq.read_table("back.parquet")["code"].to_pylist() == ["x"] * 3 + ["007"] * 2

# Whatever fit accepts can be sampled to every kind of file; what could not is refused by fit, naming the column.
def spread(kind, low, high):
    """The ends of a type's range among small values, missing ones, and 40 different ones."""
    few = [low, high, None, 0, 1, 1] * 7
    return [pa.array(few, pa.int64() if low < 0 else pa.uint64()).cast(kind), pa.array([7 * i * i + 1 for i in range(40)], pa.int64()).cast(kind, safe=False)]


def moments(kind, unit):
    inside, beyond = [0, 1, None, -1, 40000 * 86400], [0, 2**63 - 1, -(2**63)]
    scaled = [None if v is None else v * unit for v in inside] * 8
    return [pa.array(scaled, pa.int64()).cast(kind), pa.array([i * 86399 * unit for i in range(40)], pa.int64()).cast(kind), pa.array(beyond * 10, pa.int64()).cast(kind)]


words, bytes_ = ["red", "green", None, "Zürich, a text of more than twelve bytes"] * 8, [b"red", b"gr\xc3\xbcn", None, b"a longer text of bytes"] * 8
ids = [f"ID-{i * 7919 % 1000:04d}" for i in range(40)]
arrays = [pa.nulls(40), pa.array([True, None, False] * 13), pa.array([b"\xff\xfe"] * 40), pa.array([[1]] * 40), pa.array([{"a": 1}] * 40), pa.array([b"ab"] * 40, pa.binary(2))]
for bits in (8, 16, 32, 64):
    arrays += spread(getattr(pa, f"int{bits}")(), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) + spread(getattr(pa, f"uint{bits}")(), 0, 2**bits - 1)
for kind, most in ((pa.float16(), 65504.0), (pa.float32(), 3.4e38), (pa.float64(), 1.7e308)):
    arrays += [pa.array([most, -most, 0.1, None] * 10, pa.float64()).cast(kind), pa.array([i / 7 for i in range(40)], pa.float64()).cast(kind), pa.array([float("inf")] * 40, kind)]
for kind, text in ((pa.decimal32(9, 2), "1234567.89"), (pa.decimal64(18, 3), "123456789012345.678"), (pa.decimal128(38, 10), "1234567890123456789012345678.0123456789"),
                   (pa.decimal128(5, -2), "1234500"), (pa.decimal256(76, 40), "1." + "1" * 40)):
    arrays += [pa.array([D(text), -D(text), None, D(0)] * 10, kind), pa.array([D(i).scaleb(-kind.scale) for i in range(40)], kind)]
for kind in (pa.string(), pa.large_string(), pa.string_view()):
    arrays += [pa.array(words, kind), pa.array(ids, kind)]
for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
    arrays += [pa.array(bytes_, kind), pa.array([i.encode() for i in ids], kind)]
for unit, per_second in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
    for kind in (pa.timestamp(unit), pa.timestamp(unit, "Europe/Berlin"), pa.duration(unit)):
        arrays += moments(kind, per_second)
arrays += [pa.array([0, 1, None, 86399] * 10, pa.int32()).cast(pa.time32("s")), pa.array([0, 1, None, 86399999999999] * 10, pa.int64()).cast(pa.time64("ns"))]
arrays += [pa.array([0, 19000, None, -719162, 2932896] * 8, pa.int32()).cast(pa.date32()), pa.array([2**31 - 1] * 40, pa.int32()).cast(pa.date32()), pa.array([0, 86400000, None] * 13, pa.int64()).cast(pa.date64())]
arrays += [pa.array(words).dictionary_encode(), pa.array(bytes_).dictionary_encode(), pa.array([1, 5, None] * 13).dictionary_encode(), pa.array([0, 1, None] * 13, pa.timestamp("s")).dictionary_encode(),
           pa.RunEndEncodedArray.from_arrays(pa.array([20, 40], pa.int32()), pa.array(["a", "b"]))]
accepted, refused = [], []
cases = [(array, {}) for array in arrays] + [(pa.array([i * 86400 for i in range(40)], pa.timestamp("s")), {"tessera.type": "identifier"}), (pa.array(list(range(40)), pa.date32()), {"tessera.type": "category"})]
for array, metadata in cases:
    field = pa.field("the column", array.type, metadata=metadata)
    with pa.ipc.new_file("one.arrow", pa.schema([field])) as file:
        file.write_batch(pa.record_batch([array], schema=pa.schema([field])))
    done = subprocess.run([program, "fit", "one.arrow", "--model", "one.tessera", "--epochs", "0", "--quiet", "--force"], capture_output=True, text=True)
    assert done.returncode in (0, 3), f"{array.type}: {done.returncode} {done.stderr}"
    assert done.returncode == 0 or "the column" in done.stderr, f"{array.type}: {done.stderr}"
    assert done.returncode == 0 or ("one.arrow" in done.stderr and "Arrow stream" not in done.stderr), f"{array.type}: {done.stderr}"
    (accepted if done.returncode == 0 else refused).append((array, metadata))
assert len(refused) == 4 + 3 + 6 + 1, [str(a.type) for a, _ in refused]  # nested, fixed-size and not UTF-8; infinities; moments and a date beyond the calendar
size = 36
fields = [pa.field(f"{i} {a.type}", a.type, metadata=m) for i, (a, m) in enumerate(accepted)]
with pa.ipc.new_file("accepted.arrow", pa.schema(fields)) as file:
    file.write_batch(pa.record_batch([pa.concat_arrays([a] * 2).slice(0, size) if len(a) < size else a.slice(0, size) for a, _ in accepted], schema=pa.schema(fields)))
fit(["accepted.arrow"])
run("sample", "m.tessera", "--rows", "50", "--output", "accepted.csv", "--quiet")
for kind in READERS:
    sample(f"accepted.{kind}", 50)
    back = READERS[kind](f"accepted.{kind}")
    assert back.num_rows == 50 and back.schema.names == [f.name for f in fields], kind
    for f in fields:  # binary stays binary, in the layout that files have; a dictionary of it is one of texts
        if str(f.type).split("_")[0] in ("binary", "large") and "string" not in str(f.type):
            assert "binary" in str(back.schema.field(f.name).type), (f.name, back.schema.field(f.name).type)

# Missing values and dictionaries: what is read is what pyarrow reads. The rows are the same in every kind of file.
random.seed(1)
rows = 5000
words = pa.DictionaryArray.from_arrays(pa.array([random.choice([0, 1, 2, None]) for _ in range(rows)], pa.int8()), pa.array(["red", "green", "blue"]))
numbers = pa.array([None if random.random() < 0.1 else round(random.gauss(10, 3), 2) for _ in range(rows)])
table = pa.table({"word": words, "plain": words.cast(pa.string()), "number": numbers, "n": pa.array([random.randrange(1000) for _ in range(rows)], pa.uint16())})
pq.write_table(table, "all.parquet", row_group_size=700)
seen = {c["name"]: c for c in json.loads(run("inspect", "all.parquet", "--json").stdout)["columns"]}
for name in ("word", "plain", "number", "n"):
    assert seen[name]["missing"] == table[name].null_count, name
for name in ("word", "plain"):
    values = table[name].to_pylist()
    assert {t["value"]: t["count"] for t in seen[name]["top"]} == {w: values.count(w) for w in ("red", "green", "blue")}
present = [v for v in numbers.to_pylist() if v is not None]
assert (seen["number"]["min"], seen["number"]["max"]) == (min(present), max(present))
fit(["all.parquet"])
assert "uint16" in run("inspect", "m.tessera").stdout, "the Arrow type of a column that came as another than its rows have by themselves"
for kind in READERS:
    sample(f"rows.{kind}", 3000)
parquet = READERS["parquet"]("rows.parquet")
assert parquet.num_rows == 3000 and all(READERS[kind](f"rows.{kind}").to_pylist() == parquet.to_pylist() for kind in READERS)
assert parquet["word"].null_count > 0 and set(parquet["word"].to_pylist()) == {"red", "green", "blue", None}
assert parquet.schema.field("n").type == pa.uint16()

# Several files, named and by a pattern, are the table that they make together.
for i in range(3):
    pq.write_table(table.slice(i * 2000, 2000), f"part{i}.parquet")
whole = open("rows.parquet", "rb").read()
for data in (["part0.parquet", "part1.parquet", "part2.parquet"], ["part?.parquet"]):
    fit(data)
    sample("rows.parquet", 3000)
    assert open("rows.parquet", "rb").read() == whole, data

# Broken files are refused with their name, whatever is broken; never a crash.
for kind in WRITERS:
    path = f"alike.{kind}"
    bytes_ = open(path, "rb").read()
    broken = [bytes_[: len(bytes_) * k // 7] for k in range(1, 7)] + [bytes_[:-1], bytes_[:4] + bytes([255] * 50) + bytes_[54:]]
    broken += [bytes_[:12] + random.randbytes(len(bytes_) - 24) + bytes_[-12:] for _ in range(8)]
    for i, content in enumerate(broken):
        open(f"bad.{kind}", "wb").write(content)
        done = subprocess.run([program, "fit", f"bad.{kind}", "--model", "bad.tessera", "--epochs", "0", "--quiet", "--force"], capture_output=True, text=True)
        assert done.returncode in (0, 3), f"{kind} {i}: {done.returncode} {done.stderr}"
        if done.returncode != 0:
            assert f"bad.{kind}" in done.stderr, done.stderr
for i in range(60):  # a byte here and there: pages that do not decompress, counts that are not met
    content = bytearray(open("alike.parquet", "rb").read())
    for _ in range(3):
        content[random.randrange(4, len(content) - 8)] ^= 1 << random.randrange(8)
    open("bad.parquet", "wb").write(content)
    done = subprocess.run([program, "inspect", "bad.parquet"], capture_output=True, text=True)
    assert done.returncode in (0, 3), f"bit errors {i}: {done.returncode} {done.stderr}"
open("noise.parquet", "wb").write(random.randbytes(5000))
run("fit", "noise.parquet", "--model", "bad.tessera", "--epochs", "0", code=3)
print(f"{len(COLUMNS)} types through {len(WRITERS)} kinds of files")
