"""The command ``tessera``: the program that was built with the package."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import _errors


def main() -> NoReturn:
    """Replaces this process by the program, with the same arguments."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tessera")
    try:
        os.execv(program, ["tessera", *sys.argv[1:]])
    except OSError as error:
        raise _errors.UnsupportedError(f"{program}: {error.strerror}. Install the package with pip install .") from None
