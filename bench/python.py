"""What the Python package costs beside the program: CPU seconds of the import, and of rows as each kind of table.

python.py <model.tessera> [rows]
"""

import resource
import sys


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


before = cpu_seconds()
import tessera  # noqa: E402

print(f"import  {cpu_seconds() - before:.3f} s")
path, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
for module in ("pandas", "polars", "pyarrow"):
    __import__(module)  # their own imports are not ours
model = tessera.load(path)

before = cpu_seconds()
stream = sys.modules["pyarrow"].RecordBatchReader.from_stream(model.sample(rows, out="rows", calibrate="off"))
assert sum(batch.num_rows for batch in stream) == rows
print(f"batches {cpu_seconds() - before:.2f} s")
for out in ("arrow", "pandas", "polars"):
    before = cpu_seconds()
    model.sample(rows, out=out, calibrate="off", progress=False)
    print(f"{out:<7} {cpu_seconds() - before:.2f} s")
