"""Arguments that several verbs share, and checks of the files that they name.

An argument that names a file to read has `type=InputFile`, so that no output overwrites it.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import STANDARD_INPUT, is_url
from mwzeval.statistics.bootstrap import SAMPLES, SEED
from mwzeval.statistics.intervals import CONFIDENCE

STANDARD_OUTPUT = ("-", "/dev/stdout")
OUTPUTS = ("output", "mentions")
"""Arguments that name outputs."""
FORMATS = ("text", "json", "jsonl", "csv", "markdown", "latex")
"""Formats of tables; some verbs have more."""


class InputFile(str):
    """The name of a file, pattern or folder that is read."""

    __slots__ = ()


def add_files(
    parser: argparse.ArgumentParser, what: str, metavar: str = "INPUT", *, several: bool = True
) -> None:
    """Add input files, with or without `-i`; `files_of` and `file_of` return them."""
    parser.add_argument("files", type=InputFile, nargs="*", metavar=metavar, help="the same as -i")
    parser.add_argument(
        "-i",
        "--input",
        type=InputFile,
        action="append",
        default=[],
        metavar=metavar,
        help=what + "; may come again" * several,
    )
    parser.set_defaults(what_is_read=metavar)


def add_items(parser: argparse.ArgumentParser) -> None:
    """Add `--items` and the options that name its columns."""
    parser.add_argument(
        "--items",
        action="store_true",
        help="files are of any benchmark, with scores of single items: CSV, TSV, JSON, JSON Lines, "
        "logs of inspect_ai, results of tau-bench and tau2-bench, samples of "
        "lm-evaluation-harness; told apart by their shape",
    )
    for column, what in (
        ("item", "what is scored"),
        ("cluster", "what items share that are not independent, such as a text"),
        ("trial", "which of several attempts at an item it is"),
    ):
        parser.add_argument(
            f"--{column}-column",
            metavar="NAME",
            help=f"with --items: which column says {what} (default: by its name); a.b is b in a",
        )


def files_of(
    arguments: argparse.Namespace, at_most: int | None = None, *, required: bool = True
) -> list[str]:
    """Return the input files; exit with 2 for none (if `required`) or more than `at_most`.

    Raises `UsageError` if standard input is named twice.
    """
    files: list[str] = [*arguments.input, *arguments.files]
    if required and not files:
        arguments.parser.error(f"the following arguments are required: {arguments.what_is_read}")
    if at_most is not None and len(files) > at_most:
        arguments.parser.error(f"name one {arguments.what_is_read}: {len(files)} were given")
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    return files


def file_of(arguments: argparse.Namespace) -> str:
    """Return the only input file or folder; exit with 2 if there are none or several."""
    return files_of(arguments, at_most=1)[0]


def named_runs(argument: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the name and the files of a system given as `NAME=RUN,RUN`; None for other arguments.

    An existing file with such a name is a file, also if the names of runs have commas.
    """
    name, _, runs = argument.partition("=")
    if not (name and runs) or "/" in name or _is_there(argument):
        return None
    return name, tuple(_run_files(runs.split(",")))


def _run_files(parts: Sequence[str]) -> Iterator[str]:
    start = 0
    while start < len(parts):
        ends = range(len(parts), start + 1, -1)
        end = next((end for end in ends if _is_there(",".join(parts[start:end]))), start + 1)
        yield ",".join(parts[start:end])
        start = end


def _is_there(path: str) -> bool:
    with suppress(OSError, ValueError):
        return Path(path).exists()
    return False


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add `--data`."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the public files (default: MWZEVAL_DATA, else a cache that is filled "
        "by download when needed, unless MWZEVAL_OFFLINE=1)",
    )


def add_intervals(parser: argparse.ArgumentParser) -> None:
    """Add `--ci`."""
    parser.add_argument(
        "--ci",
        nargs="?",
        type=_confidence,
        const=CONFIDENCE,
        metavar="PERCENT",
        help="print an interval with every score (default: 95 %%)",
    )


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """Add `--samples` and `--seed`."""
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help="resamples (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, metavar="N", help="seed of resampling (%(default)s)"
    )


def _confidence(text: str) -> float:
    try:
        value = float(text.rstrip("%"))
    except ValueError:
        message = f"a percentage, such as 95, not {text!r} (if this is a file: put it before --ci)"
        raise argparse.ArgumentTypeError(message) from None
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"a percentage between 0 and 100, such as 95, not {text}")
    return value / 100 if value > 1 else value


def level(text: str) -> float:
    """Return a level of significance."""
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"a level is between 0 and 1, such as 0.05, not {text}")
    return value


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = ()) -> None:
    """Add `-f`, the output format."""
    choices = formats or FORMATS
    parser.add_argument(
        "-f",
        "--format",
        default="text",
        choices=choices,
        help=f"what is printed: {', '.join(choices)} (default: text)",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add `--places`, the number of decimals in tables."""
    parser.add_argument(
        "--places",
        type=int,
        choices=range(13),
        metavar="N",
        help="decimals (default: as is customary)",
    )


Identity = tuple[int, int] | str
"""Device and inode; for files that do not exist, the path without symbolic links."""


def refuse_overwriting(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` if two outputs, or an output and an input, are the same file.

    Files are compared by device and inode, so links, `..` and patterns are followed.
    """
    given = vars(arguments)
    written: dict[Identity, str] = {}
    for option in OUTPUTS:
        path = given.get(option)
        if not isinstance(path, str) or path == STANDARD_INPUT or not (identity := _identity(path)):
            continue
        if identity in written:
            other = written[identity]
            raise UsageError(f"--{option} and --{other} are the same file: {shorten(path, 300)}")
        written[identity] = option
    for path in _inputs(list(given.values())) if written else ():
        identity = _identity(path)
        if identity in written:
            option = written[identity]
            raise UsageError(
                f"--{option} {shorten(given[option], 300)} is also read ({shorten(path, 300)}), "
                "and would be overwritten: name another file"
            )


def check_outputs(arguments: argparse.Namespace) -> None:
    """Raise `MwzevalError` if an output cannot be written, before the work begins.

    `-o` of parsers with the default `writes_folder` is a folder, which is not checked.
    """
    from mwzeval.files.writing import check_writable

    for option in OUTPUTS:
        path = getattr(arguments, option, None)
        is_folder = option == "output" and getattr(arguments, "writes_folder", False)
        if isinstance(path, str) and path not in STANDARD_OUTPUT and not is_folder:
            check_writable(path)


def _inputs(value: Any) -> Iterator[str]:
    """Yield the input files in the value of an argument, and the files that match patterns."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _inputs(item)
    elif isinstance(value, InputFile):
        yield value
        if runs := named_runs(value):
            yield from _inputs(list(map(InputFile, runs[1])))
        if any(sign in value for sign in "*?[") and not is_url(value):
            import glob

            yield from glob.iglob(value, recursive=True)  # noqa: PTH207


def _identity(path: str) -> Identity | None:
    """Return the identity of a file or folder; None for devices, pipes and invalid names."""
    try:
        status = os.fstat(sys.stdin.fileno()) if path == STANDARD_INPUT else Path(path).stat()
    except FileNotFoundError:
        return os.path.realpath(path)
    except (OSError, ValueError, AttributeError):
        return None
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return None
