"""Runs the tests of the Python package against a library.

    run.py <libtessera.so> [pattern]

Exit code 77: a package that the tests need is missing.
"""

import os
import pathlib
import sys
import unittest

here = pathlib.Path(__file__).resolve().parent
library, pattern = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "test_*.py"
try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401

    if pattern == "test_*.py":
        import duckdb  # noqa: F401
        import polars  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}. tools/setup.sh installs what is needed where CI is set")
    sys.exit(77)

os.environ["TESSERA_LIBRARY"] = os.path.abspath(library)
sys.dont_write_bytecode = True
sys.path[:0] = [str(here.parent.parent / folder) for folder in ("python", "packaging/tessera-sdv")]
found = unittest.defaultTestLoader.discover(str(here), pattern)
sys.exit(not unittest.TextTestRunner(verbosity=1, warnings="ignore").run(found).wasSuccessful())
