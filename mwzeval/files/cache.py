"""What this machine has worked out before: checksums of files, and data derived from files.

Both are only remembered, never needed: whatever is stale, damaged or unwritable is worked out anew.
`MWZEVAL_CACHE` names another folder than the user's cache directory.

The seal of a file covers what it is for: the sources' checksums, the revision of the code that
made it, the version of mwzeval. It proves that a file is whole, not who wrote it: anybody can make
a seal. Who wrote it is told by the file system: only folders and files are read that belong to the
user (or to root), and that nobody else can write to.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mwzeval.errors import DataError, MwzevalError
from mwzeval.files.writing import write_atomically
from mwzeval.version import __version__

CACHE_VARIABLE = "MWZEVAL_CACHE"
KEPT_PER_NAME = 3
"""How many derived files of one name stay: two data folders can take turns without rebuilding."""

RACY_NANOSECONDS = 2_000_000_000
"""A file changed so shortly before it was read may change again within the same timestamp (as in
git; the coarsest timestamps in use, FAT's, count two seconds)."""

ABANDONED_SECONDS = 3600.0

logger = logging.getLogger("mwzeval")


def cache_directory() -> Path:
    """Return the folder for downloads and derived data: `MWZEVAL_CACHE`, or the user's cache."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        # Not by Path: this keeps symbolic links, and "~nobody" as it stands.
        return Path(os.path.abspath(os.path.expanduser(chosen)))  # noqa: PTH100, PTH111
    import platformdirs

    return Path(platformdirs.user_cache_dir("mwzeval", appauthor=False))


@dataclass(frozen=True, slots=True)
class Checksums:
    """Hexadecimal checksums of a file's content; `git_blob` is the id git gives to that content."""

    sha256: str
    git_blob: str


def checksums_of(path: Path) -> Checksums:
    """Read the whole file and return its checksums. Raises `DataError` when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return _hash(stream, os.fstat(stream.fileno()).st_size)
    except OSError as error:
        raise _unreadable(path, error) from None


def remembered_checksums(path: Path) -> Checksums:
    """Return the checksums of a file without reading it again when it has not changed since.

    Raises `DataError` when it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            before = time.time_ns()
            identity = _identity(path, os.fstat(stream.fileno()))
            place = _memory_of(identity)
            known = _recall(place, identity)
            if known is not None:
                return known
            checksums = _hash(stream, os.fstat(stream.fileno()).st_size)
            unchanged = _identity(path, os.fstat(stream.fileno())) == identity
    except OSError as error:
        raise _unreadable(path, error) from None
    if unchanged:
        _remember(place, identity, before, checksums)
    return checksums


def fingerprint(path: Path) -> str:
    """Return the sha256 of a file's content, remembered while the file does not change."""
    return remembered_checksums(path).sha256


def combined_fingerprint(paths: Mapping[str, Path]) -> str:
    """Return one sha256 for several named files; their order does not matter, their names do."""
    return _sha256_of([[name, fingerprint(paths[name])] for name in sorted(paths)])


def derive(
    name: str, sources: Sequence[Path], revision: int | str, build: Callable[[], Any]
) -> Any:
    """Return what `build()` makes of the source files, from the user's cache when it is there.

    The value has passed through JSON (tuples are lists, keys are strings) also when it was just
    built, so the first start and the second see the same. Raise `revision` when `build` changes.
    Raises `DataError` when a source cannot be read, `ValueError` for a name that is not fit for a
    file, and whatever `build` raises.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise ValueError(f"not fit for a file name: {name!r}")
    key = _key(name, sources, revision)
    target = cache_directory() / "derived" / f"{name}-{key[:32]}.json.zst"
    body = _unsealed(target, key)
    if body is not None:
        return _decoded(body)
    text = json.dumps(build(), allow_nan=False, separators=(",", ":")).encode()
    # A source that changed while it was being read has made neither the old value nor the new one.
    if _key(name, sources, revision) == key and _write(target, _sealed(_compressed(text), key)):
        _tidy(target.parent, name, keep=target)
    return json.loads(text)


def _key(name: str, sources: Sequence[Path], revision: int | str) -> str:
    return _sha256_of([name, revision, __version__, [fingerprint(path) for path in sources]])


def _sha256_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _hash(stream: BinaryIO, size: int) -> Checksums:
    sha256 = hashlib.sha256()
    git_blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    while block := stream.read(1 << 20):
        sha256.update(block)
        git_blob.update(block)
    return Checksums(sha256.hexdigest(), git_blob.hexdigest())


def _identity(path: Path, status: os.stat_result) -> list[str | int]:
    real = os.path.realpath(path)
    # The change time too: it moves when somebody rewrites a file and restores its mtime.
    return [real, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


_MODIFIED = 2


def _memory_of(identity: list[str | int]) -> Path:
    # A file per path: processes that run at once need no lock and lose nothing of each other's.
    return cache_directory() / "checksums" / f"{_sha256_of(identity[0])[:32]}.json"


def _recall(place: Path, identity: list[str | int]) -> Checksums | None:
    body = _unsealed(place, key=str(identity[0]))
    if body is None:
        return None
    entry = json.loads(body)
    racy = entry["recorded"] - int(identity[_MODIFIED]) < RACY_NANOSECONDS
    if entry["identity"] != identity or racy:
        return None
    return Checksums(entry["sha256"], entry["git_blob"])


def _remember(place: Path, identity: list[str | int], recorded: int, checksums: Checksums) -> None:
    if recorded - int(identity[_MODIFIED]) < RACY_NANOSECONDS:
        return
    entry = {
        "identity": identity,
        "recorded": recorded,
        "sha256": checksums.sha256,
        "git_blob": checksums.git_blob,
    }
    _write(place, _sealed(json.dumps(entry).encode(), key=str(identity[0])))


def _sealed(body: bytes, key: str) -> bytes:
    """Return the body behind a checksum of it and of what it is for.

    The header is a frame that zstd skips, so that `zstd -d` still reads a derived file.
    """
    digest = hashlib.sha256(os.fsencode(key) + b"\0" + body).digest()
    return b"\x50\x2a\x4d\x18" + len(digest).to_bytes(4, "little") + digest + body


_HEADER_BYTES = 4 + 4 + 32


def _unsealed(path: Path, key: str) -> bytes | None:
    try:
        reason = _distrust(path.parent.stat())
        if reason:
            _tell_once(
                path.parent,
                f"the cache folder {path.parent} {reason}, so its files are worked out anew; "
                f"{CACHE_VARIABLE} can name another folder",
            )
            return None
        with path.open("rb") as stream:
            reason = _distrust(os.fstat(stream.fileno()))
            content = stream.read()
    except OSError:
        return None
    body = content[_HEADER_BYTES:]
    if not reason and content != _sealed(body, key):
        reason = "is damaged"
    if reason:
        _tell_once(path.parent, f"the cache file {path} {reason}, so it is worked out anew")
    return None if reason else body


def _distrust(status: os.stat_result) -> str | None:
    """Return why somebody else may have written this file or folder; None when nobody can have.

    Windows has no such owners and modes; there, a user's cache is closed to others from the start.
    """
    if sys.platform == "win32":
        return None
    if status.st_uid not in (0, os.geteuid()):
        return "belongs to another user"
    return _OPEN if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else None


_OPEN = "can be written by others"


def _compressed(text: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=9).compress(text)


def _decoded(body: bytes) -> Any:
    import zstandard

    return json.loads(zstandard.ZstdDecompressor().decompress(body))


def _write(target: Path, content: bytes) -> bool:
    folder = target.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = _distrust(folder.stat())
        if reason == _OPEN:
            folder.chmod(0o700)
        elif reason:
            return False  # told when it was to be read
        # What others left here may be a link, and its mode would be kept.
        target.unlink(missing_ok=True)
        write_atomically(target, content)
        target.chmod(0o600)
    except (OSError, MwzevalError) as error:
        _tell_once(
            cache_directory(),
            f"the cache folder {cache_directory()} cannot be written, so every start reads all "
            f"data anew ({error}); {CACHE_VARIABLE} can name another folder",
        )
        return False
    return True


_told: set[Path] = set()


def _tell_once(folder: Path, message: str) -> None:
    if folder not in _told:
        _told.add(folder)
        logger.warning("%s", message)


def _tidy(folder: Path, name: str, keep: Path) -> None:
    """Remove the oldest files of this name, and what killed processes left half written."""
    own = re.compile(re.escape(name) + r"-[0-9a-f]{32}\.json\.zst")
    kept: list[tuple[float, Path]] = []
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):  # another process tidies as well
                modified = path.stat().st_mtime
                if path.name.startswith(".") and path.name.endswith(".tmp"):
                    if modified < time.time() - ABANDONED_SECONDS:
                        path.unlink()
                elif own.fullmatch(path.name) and path != keep:
                    kept.append((modified, path))
    for _, path in sorted(kept, reverse=True)[KEPT_PER_NAME - 1 :]:
        with suppress(OSError):
            path.unlink()


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path} cannot be read: {error.strerror or error}")
