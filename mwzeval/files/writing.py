"""Files that are written whole or not at all: beside the one that they become, then renamed.

A process that is killed leaves what it was writing, and the next one that writes there removes it.
As long as it lives it holds a lock on it, which the system takes away with the process, whatever
becomes of its number. Names say the host: on a folder that several machines share, the locks of
another one may not be seen.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from platform import node
from typing import IO, Any
from uuid import uuid4

from mwzeval.errors import MwzevalError, shorten

fcntl: Any
try:
    import fcntl
except ImportError:  # where there are no such locks, nothing is swept
    fcntl = None

FOLDER = ".folder"
"""How the name of a folder ends that is being written."""
UNFIT = re.compile(r"[^A-Za-z0-9.]")
"""What a name of a host does not bring into the name of a file."""


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a whole file or nothing (see `written_atomically`). Raises `MwzevalError`."""
    # A lone surrogate has no UTF-8; as an escape it is what JSON would write.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    with written_atomically(path) as stream:
        stream.write(data)


@contextmanager
def written_atomically(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield a binary stream to a file that is there as a whole in the end, or as it was before.

    It is a temporary file in the same folder, then renamed. A symbolic link keeps pointing where it
    points; a device or pipe is written directly. Raises `MwzevalError` when the place cannot be
    written, or holds a file that is read-only.
    """
    check_writable(path)
    with named_where_unwritable(path):
        place = Path(path)
        if place.exists() and not place.is_file():
            with place.open("wb") as stream:
                yield stream
            return
        with _replacement(Path(os.path.realpath(place))) as stream:
            yield stream


def check_writable(path: str | Path) -> None:
    """Raise `MwzevalError` when a file cannot be written there, as far as can be told before."""
    name = shorten(str(path), 300)
    with named_where_unwritable(path):
        if "\0" in str(path):
            raise OSError("no name of a file has a NUL in it")
        place = Path(os.path.realpath(path))
        if place.is_dir():
            raise MwzevalError(f"cannot write {name}: it is a directory")
        if str(path).endswith(os.sep):
            raise MwzevalError(f"cannot write {name}: that would be a directory")
        if place.exists():
            if place.is_file() and not _is_writable(place):
                raise MwzevalError(
                    f"cannot write {name}: the file is read-only; name another one, or make it "
                    "writable (chmod u+w)"
                )
            return
        folder = place.parent
        if not folder.is_dir():
            raise MwzevalError(f"cannot write {name}: there is no folder {_folder_of(path)}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise MwzevalError(f"cannot write {name}: nothing may be written in its folder")


def _folder_of(path: str | Path) -> str:
    return shorten(str(Path(path).parent), 300)


@contextmanager
def folder_written_atomically(path: Path) -> Iterator[Path]:
    """Yield the absolute path of a folder that becomes `path` in the end, and is gone otherwise.

    Raises `MwzevalError` when the place cannot be written, or holds something by then.
    """
    with named_where_unwritable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_folders(path.parent)
        temporary = path.parent.absolute() / f"{_prefix()}{uuid4().hex[:12]}{FOLDER}"
        temporary.mkdir()
        try:
            with _locked_folder(temporary):
                yield temporary
                temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def reserve(file: Path, size: int) -> None:
    """Raise `OSError` where `file` cannot grow by so many bytes, since the disk is full.

    That is for libraries that do not come back from it.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    grown = file.stat().st_size if file.exists() else 0
    trial = file.with_name(f"{file.name}.tmp")
    try:
        with trial.open("wb") as stream:
            os.posix_fallocate(stream.fileno(), grown, size)
    finally:
        trial.unlink(missing_ok=True)


@contextmanager
def named_where_unwritable(path: str | Path) -> Iterator[None]:
    """Turn what goes wrong when a file is written into an `MwzevalError` that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise MwzevalError(f"cannot write {shorten(str(path), 300)}: {reason}") from None


def _is_writable(file: Path) -> bool:
    """Tell whether a file may be replaced: to the superuser everything is writable, but read-only
    means what it says."""
    return bool(file.stat().st_mode & 0o222) and os.access(file, os.W_OK)


@contextmanager
def _replacement(target: Path) -> Iterator[IO[bytes]]:
    """Yield a binary stream whose content replaces the target at the end, with its permissions.

    Raises `OSError`; whatever is raised, also in the block, the target stays as it was.
    """
    _sweep(target.parent)
    temporary, stream = _begun(target.parent)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            # Still locked: nobody may sweep it before it has its name.
            if fcntl is not None:
                temporary.replace(target)
        if fcntl is None:
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _begun(folder: Path) -> tuple[Path, IO[bytes]]:
    """Return a new file that is locked, and its stream."""
    while True:
        path = folder / f"{_prefix()}{uuid4().hex[:12]}.tmp"
        stream = path.open("xb")
        # Between the two calls somebody may have swept it.
        if not _lock(stream.fileno()) or os.fstat(stream.fileno()).st_nlink:
            return path, stream
        stream.close()


@cache
def _sweep(folder: Path) -> None:
    """Remove what killed processes of this host have left in a folder; once a process."""
    with suppress(OSError):
        for path in folder.glob(f"{_prefix()}*.tmp"):
            _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    if fcntl is None:
        return
    with suppress(OSError):
        # Neither a link nor a pipe is ours.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode) and _lock(file):
                path.unlink()
        finally:
            os.close(file)


def _sweep_folders(folder: Path) -> None:
    """Remove folders that killed processes of this host have left in a folder."""
    with suppress(OSError):
        for path in folder.glob(f"{_prefix()}*{FOLDER}"):
            if fcntl is not None and not path.is_symlink():
                with suppress(OSError), _locked_folder(path) as is_abandoned:
                    if is_abandoned:
                        shutil.rmtree(path)


@contextmanager
def _locked_folder(path: Path) -> Iterator[bool]:
    """Lock a folder; yield whether that was possible."""
    if fcntl is None:
        yield False
        return
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield _lock(file)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Lock an open file for as long as it is open; tell whether that was possible."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _prefix() -> str:
    return f".mwzeval-{UNFIT.sub('', node())[:64]}-"
