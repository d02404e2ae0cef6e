"""This package's note in a model file: a text in the metadata of the safetensors header, ignored by other readers."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

_KEY = "python"


def annotated(model: bytes, note: dict[str, Any]) -> bytes:
    """The bytes of a model file with a note.

    >>> header = json.dumps({"__metadata__": {}}).encode()
    >>> import io
    >>> note(io.BytesIO(annotated(len(header).to_bytes(8, "little") + header, {"kind": "pandas"})))
    {'kind': 'pandas'}
    """
    length = int.from_bytes(model[:8], "little")
    header = json.loads(model[8 : 8 + length])
    header["__metadata__"][_KEY] = json.dumps(note, ensure_ascii=False)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + model[8 + length :]


def note(file: BinaryIO) -> dict[str, Any]:
    """The note of a model file that the library has accepted; empty if another program wrote the file."""
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return dict(json.loads(header["__metadata__"].get(_KEY, "{}")))
