"""Tables of users on their way into the library and back."""

from __future__ import annotations

import ctypes as c
from collections.abc import Mapping
from typing import Any

from . import _files, _frames
from ._arrow import Incoming, Rows, Stream
from ._library import type_dict


def take(data: Any, index: bool, context: Any, types: Mapping[str, str] | None = None) -> Any:
    """The library of a table, and the table with the column types that its rows do not carry."""
    given = type_dict(types)
    if isinstance(data, Rows):
        return _frames.default(), _frames.Taken(data, {}, given)
    paths = _files.path_list(data)
    if paths is None:
        kind = _frames.of(data)
        taken = kind.take(data, index)
        _frames.check_names(taken.rows)
        return kind, taken._replace(types={**taken.types, **given})
    csv = _files.are_csv(paths)
    options = _files.csv_options(given if csv else None)
    rows = Rows(lambda stream: _files.open_table(context, paths, options, stream))
    return _frames.default(), _frames.Taken(rows, {}, {} if csv else given)


def incoming(table: tuple[_frames.Frames, _frames.Taken]) -> Incoming:
    """The stream of one of several tables that are read at the same time."""
    kind, taken = table
    return Incoming(kind.apart(taken.rows))


def once(stream: Stream) -> Rows:
    """The rows of a stream, which can be read once."""

    def open_stream(out: Stream) -> None:
        c.memmove(c.byref(out), c.byref(stream), c.sizeof(Stream))
        stream.release = None

    return Rows(open_stream)
