"""Pages: self-contained HTML files."""

from __future__ import annotations

import json
from typing import Any

from ._files import Path
from ._library import lib, path_bytes, read_text


def page(document: dict[str, Any], path: Path | None, overwrite: bool) -> str | None:
    """Writes the page of an evaluation or a training; returns it as text if there is no `path`."""
    text = json.dumps(document, allow_nan=False).encode()
    if path is None:
        return read_text(lib.tessera_report_html, text)
    lib.tessera_report_write(text, path_bytes(path), overwrite)
    return None
