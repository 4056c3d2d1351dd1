"""Atomic writing: files and folders are written completely or not at all.

Files and folders are written to a temporary folder next to their final path and then moved.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from mwzeval.errors import MwzevalError, shorten


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file completely or not at all (see `written_atomically`). Raises `MwzevalError`."""
    # A lone surrogate cannot be encoded as UTF-8; it becomes an escape, as in JSON.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    with written_atomically(path) as stream:
        stream.write(data)


@contextmanager
def written_atomically(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield a binary stream whose content becomes the file at the end of the block.

    If the block raises an error, an existing file is unchanged. An existing file keeps its
    permissions, and a symbolic link keeps its target; a device or pipe is written directly. Raises
    `MwzevalError` if the file cannot be written or is read-only.
    """
    check_writable(path)
    with named_where_unwritable(path):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
            return
        with TemporaryDirectory(prefix=".mwzeval-", dir=target.parent) as folder:
            temporary = Path(folder, "file")
            with temporary.open("wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)


@contextmanager
def folder_written_atomically(path: Path) -> Iterator[Path]:
    """Yield the absolute path of a new folder that is renamed to `path` at the end of the block.

    Raises `MwzevalError` if the folder cannot be written, or if `path` is a folder that is not
    empty.
    """
    with named_where_unwritable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".mwzeval-", dir=path.parent.absolute()) as folder:
            temporary = Path(folder, "folder")
            temporary.mkdir()
            yield temporary
            temporary.rename(path)


def check_writable(path: str | Path) -> None:
    """Raise `MwzevalError` if a file clearly cannot be written at this path."""
    with named_where_unwritable(path):
        if "\0" in str(path):
            raise OSError("a file name must not contain a NUL character")
        if not str(path):
            raise OSError("the output has no name")
        place = Path(os.path.realpath(path))
        if place.is_dir() or str(path).endswith(os.sep):
            raise OSError("that is a directory")
        if place.is_file():
            # The superuser could overwrite read-only files, but this function refuses them, too.
            if not (place.stat().st_mode & 0o222 and os.access(place, os.W_OK)):
                raise OSError("the file is read-only: name another file, or use chmod u+w")
        elif not place.exists():
            if not place.parent.is_dir():
                raise OSError(f"there is no folder {shorten(str(Path(path).parent), 300)}")
            if not os.access(place.parent, os.W_OK | os.X_OK):
                raise OSError("its folder is not writable")


@contextmanager
def named_where_unwritable(path: str | Path) -> Iterator[None]:
    """Convert an `OSError` during writing to a `MwzevalError` that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise MwzevalError(f"cannot write {shorten(str(path), 300)}: {reason}") from None
