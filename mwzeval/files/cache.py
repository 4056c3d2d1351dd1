"""The user's cache: checksums of files, and data derived from files.

All cached data can be recomputed. Cached data are recomputed if the cache cannot be read or
written, or if other users could have written to the cache. `MWZEVAL_CACHE` sets the folder of the
cache.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from mwzeval.errors import DataError, MwzevalError, UsageError, shorten
from mwzeval.files.writing import write_atomically
from mwzeval.version import __version__

CACHE_VARIABLE = "MWZEVAL_CACHE"
KEPT_PER_NAME = 3
"""The number of derived files that are kept per name, so that two data folders can be used in
turn."""

logger = logging.getLogger("mwzeval")


def cache_directory() -> Path:
    """Return the folder for downloads and derived data: `MWZEVAL_CACHE`, or the user's cache.

    Raises:
        UsageError: If the folder is relative to the home directory of an unknown user (`~name`).
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        # `Path.resolve` would follow symbolic links.
        expanded = os.path.expanduser(chosen)  # noqa: PTH111
        if expanded.startswith("~"):
            raise UsageError(
                f'{CACHE_VARIABLE} is "{shorten(chosen)}", but there is no such user: name a '
                "folder; write ./~ for a name that begins with ~"
            )
        return Path(os.path.abspath(expanded))  # noqa: PTH100
    import platformdirs

    return Path(platformdirs.user_cache_dir("mwzeval", appauthor=False))


@dataclass(frozen=True, slots=True)
class Checksums:
    """Hexadecimal checksums of a file's content; `git_blob` is its object id in git."""

    sha256: str
    git_blob: str

    @classmethod
    def of(cls, content: bytes) -> Checksums:
        """Return the checksums of a file with this content."""
        git_blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        return cls(hashlib.sha256(content).hexdigest(), git_blob.hexdigest())


def checksums_of(path: Path) -> Checksums:
    """Read a whole file and return the checksums of its content.

    Raises `DataError` if the file cannot be read.
    """
    sha256 = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            git_blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
            while block := stream.read(1 << 20):
                sha256.update(block)
                git_blob.update(block)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return Checksums(sha256.hexdigest(), git_blob.hexdigest())


def remembered_checksums(path: Path) -> Checksums:
    """Return the checksums of a file, from the cache unless the file has changed.

    Raises `DataError` if the file cannot be read.
    """
    try:
        status = path.stat()
    except OSError:
        return checksums_of(path)  # raises the error
    # A change of the file sets the change time even if a program restores the modification time.
    times = status.st_mtime_ns, status.st_ctime_ns
    key = _sha256_of([os.path.realpath(path), status.st_size, *times, status.st_ino])
    place = cache_directory() / "checksums" / f"{key[:32]}.json.zst"
    if known := _read(place):
        return Checksums(*json.loads(known))
    checksums = checksums_of(path)
    _write(place, json.dumps(astuple(checksums)))
    return checksums


def combined_fingerprint(paths: Mapping[str, Path]) -> str:
    """Return a SHA-256 checksum of several files with their names, independent of their order."""
    return _sha256_of([[name, remembered_checksums(paths[name]).sha256] for name in sorted(paths)])


def derive(
    name: str, sources: Sequence[Path], revision: int | str, build: Callable[[], Any]
) -> Any:
    """Return the value that `build()` computes from the sources; use the cache if possible.

    The returned value is always converted to JSON and back. Increase `revision` when `build`
    changes. `name` is the prefix of the cached file's name. Raises `DataError` if a source file
    cannot be read.
    """

    def key() -> str:
        read = [remembered_checksums(path).sha256 for path in sources]
        return _sha256_of([name, revision, __version__, read])

    before = key()
    place = cache_directory() / "derived" / f"{name}-{before[:16]}.json.zst"
    text = _read(place)
    if text is None:
        text = json.dumps(build(), allow_nan=False, separators=(",", ":"))
        if key() == before:  # no source changed during reading
            _write(place, text)
            with suppress(OSError):  # another process may remove them, too
                found = place.parent.glob(f"{name}-{'[0-9a-f]' * 16}.json.zst")
                newest = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
                for path in newest[KEPT_PER_NAME:]:
                    path.unlink()
    return json.loads(text)


def _sha256_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _read(place: Path) -> str | None:
    import zstandard

    with suppress(OSError, ValueError, zstandard.ZstdError):
        if _is_private(place.parent):
            return zstandard.ZstdDecompressor().decompress(place.read_bytes()).decode()
    return None


def _write(place: Path, text: str) -> None:
    import zstandard

    compressor = zstandard.ZstdCompressor(level=9, write_checksum=True)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(place.parent):
            write_atomically(place, compressor.compress(text.encode()))
    except (OSError, MwzevalError):
        _warn(cache_directory(), "cannot be written, so every command has to parse all data again")


def _is_private(folder: Path) -> bool:
    """Return whether only the user (or root) can have written files in the folder."""
    if sys.platform == "win32":  # a user's cache is private by default
        return True
    status = folder.stat()
    if status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return True
    _warn(folder, "belongs to another user or is writable by others, so it is not used")
    return False


@functools.cache
def _warn(folder: Path, problem: str) -> None:
    logger.warning(
        "the cache folder %s %s; set %s to use another folder", folder, problem, CACHE_VARIABLE
    )
