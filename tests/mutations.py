"""Ways to damage a file: its structure, types, encoding, compression and size."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import zstandard

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 1e308, 10**400, "", " ", "x", "\ud800", "\u202e\x1b[31m"),
    *([], {}, [[]], {"": {}}, [None], ["x", 1], {"x": [1]}, "0" * 5000),
)
NOT_JSON = ("NaN", "-Infinity", "1e999", "01", "'x'", "{,}", "[1,]", "9" * 5000)

Mutation = Callable[[bytes, Random], bytes]


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of everything in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places_of(inner)


def _parsed(raw: bytes) -> tuple[Any, bool]:
    """Return the value of JSON, or of JSON Lines as a list, and whether it was lines."""
    try:
        return json.loads(raw), False
    except ValueError:
        return [json.loads(line) for line in raw.splitlines() if line.strip()], True


def _written(value: Any, is_lines: bool) -> bytes:
    if is_lines and isinstance(value, list):
        return "\n".join(json.dumps(line) for line in value).encode()
    return json.dumps(value).encode()


def structure(raw: bytes, rng: Random) -> bytes:
    """Remove, rename, double or replace a part of a JSON value; of other files some lines."""
    try:
        value, is_lines = _parsed(raw)
    except (ValueError, UnicodeDecodeError):
        return lines(raw, rng)
    places = list(places_of(value)) if isinstance(value, dict | list) else []
    if not places or rng.random() < 0.05:
        return _written(rng.choice(VALUES), False)
    for _ in range(rng.randint(1, 3)):
        # Every depth alike: most of what is in a file lies deep down.
        container, key = rng.choice(places[: 4 ** rng.randint(1, 8)])
        kind = rng.choice(("drop", "type", "type", "type", "wrap", "rename", "swap"))
        if (isinstance(container, list) and key >= len(container)) or (
            isinstance(container, dict) and key not in container
        ):
            continue
        if kind == "drop":
            del container[key]
        elif kind == "wrap":
            container[key] = [container[key]]
        elif kind == "rename" and isinstance(container, dict):
            container[f"{key}x"] = container.pop(key)
        elif kind == "swap":
            other, there = rng.choice(places)
            if isinstance(other, list) and there < len(other):
                container[key] = json.loads(json.dumps(other[there]))
        else:
            container[key] = rng.choice(VALUES)
    return _written(value, is_lines)


def lines(raw: bytes, rng: Random) -> bytes:
    """Drop, double, shorten or fill columns of a line."""
    rows = raw.split(b"\n")
    at = rng.randrange(len(rows))
    row = rows[at]
    rows[at] = rng.choice((b"", row + b"\n" + row, row[: len(row) // 2], b"\t" + row, b"\t\t\t"))
    if rng.random() < 0.3:
        rows[at] = row.replace(b"\t", b" ") + b"\0"
    return b"\n".join(rows)


def syntax(raw: bytes, rng: Random) -> bytes:
    """Put what is no JSON somewhere after a colon or comma."""
    ends = [place for place, byte in enumerate(raw) if byte in b":,["] or [0]
    at = rng.choice(ends) + 1
    return raw[:at] + rng.choice(NOT_JSON).encode() + raw[at:]


def damage(raw: bytes, rng: Random) -> bytes:
    """Flip, cut, double or insert bytes."""
    damaged = bytearray(raw)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(damaged) + 1)
        kind = rng.choice(("flip", "cut", "drop", "double", "insert"))
        if kind == "flip" and at < len(damaged):
            damaged[at] ^= 1 << rng.randrange(8)
        elif kind == "cut" and rng.random() < 0.3:
            del damaged[at:]
        elif kind == "drop":
            del damaged[at : at + rng.randint(1, 40)]
        elif kind == "double":
            damaged[at:at] = damaged[at : at + 60]
        else:
            damaged[at:at] = rng.randbytes(rng.randint(1, 9))
    return bytes(damaged)


def encoding(raw: bytes, rng: Random) -> bytes:
    """Save text in another encoding."""
    text = raw.decode("utf-8", errors="replace") + "é名"
    name = rng.choice(("utf-16", "utf-32", "latin-1", "gb18030", "cp1252", "utf-8-sig"))
    return text.encode(name, errors="replace")


def compression(raw: bytes, rng: Random) -> bytes:
    """Pack a file and damage it, or pack it as something else."""
    pack: Callable[[bytes], bytes] = rng.choice((gzip.compress, zstandard.compress))
    kind = rng.choice(("whole", "damaged", "cut", "tail", "twice", "zip"))
    if kind == "whole":
        return pack(structure(raw, rng))
    if kind == "damaged":
        return damage(pack(raw), rng)
    if kind == "cut":
        return pack(raw)[: -rng.randint(1, 20)]
    if kind == "tail":
        return pack(raw) + b"tail"
    if kind == "twice":
        return pack(pack(raw))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("other.json", raw)
    return archive.getvalue()


def size(raw: bytes, rng: Random) -> bytes:
    """Return what is far larger than it looks, in each of the ways there are."""
    return rng.choice(
        (
            lambda: zstandard.compress(bytes(10**7)) * 1000,
            lambda: zstandard.compress(b"[" * 10**7) * 100,
            lambda: gzip.compress(b"[" + b"{}," * 10**7 + b"{}]", 1),
            lambda: gzip.compress(b'{"a":' * 10**6, 1),
            lambda: gzip.compress(b"1\n" * 10**6, 1),
            lambda: gzip.compress(b'"' + b"x" * 10**8 + b'"', 1),
            lambda: b"",
            lambda: b" \n" * 10**6,
            lambda: b"[" * 10**5,
        )
    )()


MUTATIONS: tuple[Mutation, ...] = (
    *(structure, structure, structure, structure),
    *(syntax, damage, encoding, compression, size),
)


def special(place: Path, kind: str) -> None:
    """Put what is no file where one was."""
    place.unlink()
    if kind == "folder":
        place.mkdir()
    elif kind == "loop":
        place.symlink_to(place)
    elif kind == "zeros":
        place.symlink_to("/dev/zero")
    elif kind == "sparse":
        with place.open("wb") as stream:
            stream.truncate(3 * 10**9)


SPECIAL = ("missing", "folder", "loop", "zeros", "sparse")
