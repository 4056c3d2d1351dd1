"""Output: the result on standard output; messages, warnings and progress on standard error."""

from __future__ import annotations

import codecs
import json
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from typing import Any, TypeVar

from mwzeval.errors import (
    SHOWN_PROBLEMS,
    MwzevalWarning,
    Problem,
    counted,
    printable,
    shorten,
    some_of,
)

ESCAPING = "mwzeval.escaping"
"""The error handler of standard streams, which writes unencodable characters as JSON escapes."""
NAMED_FILES = 3
PROGRESS_VARIABLE = "MWZEVAL_PROGRESS"
PROGRESS_DELAY = 1.0
Item = TypeVar("Item")


def prepare_streams() -> None:
    """Replace closed standard streams by the null device, and escape unencodable characters."""
    codecs.register_error(ESCAPING, _escaped)
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open until exit
    sys.stdout = sys.stdout or nowhere
    sys.stderr = sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=ESCAPING)


def notify(message: str) -> None:
    """Print a one-line message to standard error; a full disk or a closed pipe is ignored."""
    tqdm: Any = sys.modules.get("tqdm")  # progress bars must move aside
    try:
        (tqdm.tqdm.write if tqdm else print)(printable(message), file=sys.stderr)
    except OSError:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - stays open


@contextmanager
def warnings_behind(*of_files: Iterable[Problem], can_be_validated: bool = True) -> Iterator[None]:
    """Print the `warning_lines` of files to standard error at the end of a `with` block."""
    try:
        yield
    finally:
        sys.stdout.flush()  # On a terminal the warnings follow the result.
        for line in warning_lines(of_files, can_be_validated=can_be_validated):
            notify(line)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each `MwzevalWarning` once, on one line without its location in the code."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        printed: set[str] = set()

        def line(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, MwzevalWarning):
                show(message, category, *where, **more)
            elif str(message) not in printed:
                printed.add(str(message))
                notify(f"warning: {message}")

        warnings.simplefilter("always", MwzevalWarning)
        warnings.showwarning = line
        yield


def warning_lines(
    of_files: Iterable[Iterable[Problem]], *, can_be_validated: bool = True
) -> list[str]:
    """Return a line for each kind of warning in each file, with the first message and the count.

    Equal lines about several files are merged. If `can_be_validated` is false, each warning has its
    own line (up to `SHOWN_PROBLEMS`), because `mwzeval validate` cannot list the warnings.
    """
    kinds: dict[tuple[object, ...], dict[str, Problem]] = {}
    for problem in (problem.shared() for of_file in of_files for problem in of_file):
        own = () if can_be_validated else (problem.message,)
        of_kind = kinds.setdefault((problem.file, problem.kind, *own), {})
        of_kind.setdefault(problem.message, problem)
    files: dict[str, dict[str, None]] = {}
    for first, *others in (found.values() for found in kinds.values()):
        times = counted("", first.count)
        if others:
            in_all = sum(problem.count for problem in others)
            times += f", and {len(others):,} more of this kind"
            times += f" ({in_all:,} times)" if in_all > len(others) else ""
        file_names = files.setdefault(f"{replace(first, file=None)}{times}", {})
        file_names |= {} if first.file is None else {first.file: None}
    lines = []
    for text, names in files.items():
        place = f"{some_of([*names], NAMED_FILES)}: " if names else ""
        lines.append(f"warning: {place}{text}")
    if len(lines) > SHOWN_PROBLEMS:
        lines[SHOWN_PROBLEMS:] = [f"… and {len(lines) - SHOWN_PROBLEMS} more warnings"]
    if len(kinds) < sum(map(len, kinds.values())):
        lines.append(
            "`mwzeval validate` with the same options lists each warning with its location"
        )
    return lines


@contextmanager
def counting(total: int, units: str, *, shown: bool = True) -> Iterator[Callable[[int], object]]:
    """Show a progress bar within a `with` block; yield the function that advances it by `n`.

    The progress bar is shown only on a terminal, unless `MWZEVAL_PROGRESS=0`.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    is_plain = os.environ.get("TERM") == "dumb" or os.environ.get(PROGRESS_VARIABLE) == "0"
    if not shown or not is_terminal or is_plain:
        yield lambda n: None
        return
    from tqdm import tqdm  # slow to import

    # The monitor thread would be copied to worker processes.
    tqdm.monitor_interval = 0
    look = {"leave": False, "dynamic_ncols": True, "miniters": 1, "unit_scale": units == "B"}
    with tqdm(total=total, unit=f" {units}", delay=PROGRESS_DELAY, **look) as bar:
        yield bar.update


def followed(items: Collection[Item], units: str, *, shown: bool = True) -> Iterator[Item]:
    """Yield the items, and show a progress bar that counts them."""
    with counting(len(items), units, shown=shown) as update:
        for item in items:
            yield item
            update(1)


def write_result(text: str, format_name: str) -> None:
    """Write a rendered result to standard output.

    HTML is always in UTF-8. In LaTeX, characters that the stream cannot encode become "?".
    """
    stream = sys.stdout
    if isinstance(stream, TextIOWrapper) and format_name == "html":
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        return
    if isinstance(stream, TextIOWrapper) and format_name == "latex":
        text = text.encode(stream.encoding, "replace").decode(stream.encoding)
    stream.write(text)


def write_output(path: str, content: str | bytes, about: str = "", *, quiet: bool = False) -> None:
    """Write a file atomically, and print a message unless `quiet`. Raises `MwzevalError`."""
    from mwzeval.files.writing import write_atomically

    is_replaced = os.path.isfile(path)  # noqa: PTH113 - a name may contain a NUL
    write_atomically(path, content)
    if not quiet:
        sys.stdout.flush()  # On a terminal the line follows the result.
        notify(f"wrote {shorten(path, 300)}{about}" + " (replaced)" * is_replaced)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Return the JSON escapes of unencodable characters, and the position after them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
