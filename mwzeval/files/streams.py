"""Files of any size with a dialogue a line, and the files that a pattern stands for.

Patterns may be URLs that fsspec understands: `s3://bucket/run-*.jsonl.zst`, `memory://…`, `gs://…`.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.files.json_files import not_utf8, parse_beginning
from mwzeval.files.reading import is_url, part_limit, pieces, remote, required_fsspec, too_large

SENSIBLE_LINE = 2**22
"""Bytes; the first line of a file that has one dialogue a line is shorter."""
VALUE_BYTES = 2**16
"""What of a file is read to tell its kind: its header, or the first of its dialogues."""


def is_pattern(path: str) -> bool:
    """Tell whether a path has wildcards, and is not the name of a file all the same."""
    return glob.has_magic(path) and (is_url(path) or not Path(path).exists())


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that patterns stand for: those of a pattern sorted by name, in their order.

    Raises `InputError` for a pattern without any file, `UsageError` for a file that comes twice,
    `DependencyError` for a URL that cannot be read here.
    """
    files: list[str] = []
    problems = []
    for pattern in patterns:
        found = _matching(pattern) if is_pattern(pattern) else [pattern]
        if not found:
            problems.append(Problem("no-files", "matches no file", file=shorten(pattern, 300)))
        files += found
    if problems:
        raise InputError(problems)
    twice = sorted(file for file, times in Counter(files).items() if times > 1)
    if twice:
        raise UsageError(f"given more than once: {', '.join(twice)}")
    return files


def _matching(pattern: str) -> list[str]:
    if not is_url(pattern):
        return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))  # noqa: PTH113, PTH207
    with remote(pattern):
        system, path = required_fsspec().core.url_to_fs(pattern)
        return sorted(system.unstrip_protocol(found) for found in system.glob(path))


def shortest_ends(paths: Sequence[str]) -> list[str]:
    """Return each file's name, with as much of its folders as tells it from the others.

    >>> shortest_ends(["runs/1/ours.json", "runs/2/ours.json", "runs/2/theirs.json"])
    ['1/ours.json', '2/ours.json', 'theirs.json']
    """
    parts = [PurePath(path).parts for path in paths]
    ends: dict[tuple[str, ...], str] = {}
    for length in range(1, max(map(len, parts), default=0) + 1):
        alike = Counter(own[-length:] for own in set(parts))
        for own in set(parts).difference(ends):
            if alike[own[-length:]] == 1:
                ends[own] = str(PurePath(*own[-length:]))
    return [ends.get(own, path) for own, path in zip(parts, paths, strict=True)]


def beginning(path: str) -> bytes:
    """Return the first bytes of a file, decompressed; so many as are read at a time.

    Raises `InputError` when it cannot be read.
    """
    return next(pieces(path), b"")


def beginning_value(path: str) -> Any:
    """Return the JSON value that a file begins with, or as much of it as its first bytes have.

    Of JSON Lines it is the first line; None when it is no JSON. Raises `InputError` when the file
    cannot be read.
    """
    text = beginning(path)[:VALUE_BYTES].decode("utf-8-sig", "ignore")
    return parse_beginning(text)


def first_line(path: str) -> bytes:
    """Return the first line of a file, without its end if it is no line of sensible length."""
    begin, read = b"", 0
    for piece in pieces(path):
        begin = (begin + piece).lstrip()
        read += len(piece)
        if b"\n" in begin or read > SENSIBLE_LINE:
            break
    return begin.partition(b"\n")[0]


def lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) of each line that is not blank; memory is that of one line.

    Raises `InputError` when the file cannot be read to its end, is empty, or is not UTF-8.
    """
    number = 0
    some = False
    for number, line in enumerate(_split(pieces(path), path), start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError([not_utf8(path, number, error.start + 1)]) from None
        if text.strip():
            some = True
            yield number, text
    if not some:
        raise InputError([Problem("empty-file", "the file is empty", file=path)])


def _split(read: Iterator[bytes], name: str) -> Iterator[bytes]:
    begun: list[bytes] = []
    length, number, longest = 0, 1, part_limit()
    for piece in read:
        first, *others = piece.split(b"\n")
        begun.append(first)
        length += len(first)
        for following in (*others, None):
            if length > longest:
                raise too_large(name, f"line {number}", longest)
            if following is not None:
                yield b"".join(begun)
                begun, length, number = [following], len(following), number + 1
    if length:
        yield b"".join(begun)
