"""What a command is going to write, before it reads anything: no input, and where it can be."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import STANDARD_INPUT, is_url

STANDARD_OUTPUT = ("-", "/dev/stdout")
WRITTEN = ("output", "mentions")
"""Arguments that name what is written."""

READ = frozenset(
    {
        *(
            "against",
            "agent_prompt",
            "dataset",
            "dev",
            "dialogues",
            "encoder",
            "entities",
            "fail_below",
            "file",
            "files",
            "folder",
            "goal_model",
            "input",
            "knowledge",
        ),
        *("model", "ontology", "policy", "pool", "prices", "targets"),
        *("templates", "tools", "training", "user_parameters", "user_prompt"),
    }
)
"""Arguments that name what is read: files, or folders that are read as a whole."""

Identity = tuple[int, int] | str
"""Device and inode; of what is not there yet the path without symbolic links."""


def refuse_overwriting(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` when two outputs, or an output and another argument, are the same file.

    Files are the same whatever they are called: by `..`, symbolic or hard links, patterns.
    """
    given = vars(arguments)
    written: dict[Identity, str] = {}
    for option in WRITTEN:
        path = given.get(option)
        if not isinstance(path, str) or path == STANDARD_INPUT:
            continue
        identity = _identity(path)
        if identity is None:
            continue
        if identity in written:
            other = written[identity]
            raise UsageError(f"--{option} and --{other} are the same file: {_shown(path)}")
        written[identity] = option
    if not written:
        return
    for name in sorted(READ & given.keys()):
        for path in _files(given[name]):
            identity = _standard_input() if path == STANDARD_INPUT else _identity(path)
            if identity in written:
                option = written[identity]
                raise UsageError(
                    f"--{option} {_shown(given[option])} is also read ({_shown(path)}), and would "
                    "be overwritten: name another file"
                )


def check_outputs(arguments: argparse.Namespace) -> None:
    """Raise `MwzevalError` when an output cannot be written: before the work, not after it.

    `-o` of parsers with the default `writes_folder` is a folder, which is made when it is needed.
    """
    from mwzeval.files.writing import check_writable

    for option in WRITTEN:
        path = getattr(arguments, option, None)
        is_folder = option == "output" and getattr(arguments, "writes_folder", False)
        if isinstance(path, str) and path not in STANDARD_OUTPUT and not is_folder:
            check_writable(path)


def _files(value: Any) -> Iterator[str]:
    """Yield what may be names of files in an argument, patterns as the files that match."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _files(each)
    elif isinstance(value, str):
        from mwzeval.arguments import named_runs

        yield value
        if runs := named_runs(value):
            yield from _files(runs[1])
        if any(sign in value for sign in "*?[") and not is_url(value):
            import glob

            yield from glob.iglob(value, recursive=True)  # noqa: PTH207


def _identity(path: str) -> Identity | None:
    """Return what a file or folder is known by; None for devices, pipes and impossible names."""
    try:
        return _known_by(Path(path).stat())
    except FileNotFoundError:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None


def _standard_input() -> Identity | None:
    try:
        return _known_by(os.fstat(sys.stdin.fileno()))
    except (OSError, ValueError, AttributeError):
        return None


def _known_by(status: os.stat_result) -> Identity | None:
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return None


def _shown(path: str) -> str:
    return shorten(path, 300)
