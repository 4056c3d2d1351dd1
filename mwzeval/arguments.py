"""Arguments that several commands share, and checks of input and output files.

Every argument that names an input file has `type=InputFile`; no output may overwrite such a file.
"""

from __future__ import annotations

import argparse
import glob
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import STANDARD_INPUT, is_url
from mwzeval.metrics.measure import Resampling
from mwzeval.statistics.bootstrap import SAMPLES, SEED
from mwzeval.statistics.intervals import CONFIDENCE

STANDARD_OUTPUT = ("-", "/dev/stdout")
OUTPUTS = ("output", "mentions")
FORMATS = ("text", "json", "jsonl", "csv", "markdown", "latex")
"""The table formats that every command accepts; some commands accept more formats."""


class InputFile(str):
    """The name of a file, pattern or folder that a command reads."""

    __slots__ = ()


def add_files(
    parser: argparse.ArgumentParser, what: str, metavar: str = "INPUT", *, several: bool = True
) -> None:
    """Add an argument for input files, which may also follow `-i`; see `files_of` and `file_of`."""
    parser.add_argument("files", type=InputFile, nargs="*", metavar=metavar, help="the same as -i")
    parser.add_argument(
        "-i",
        "--input",
        type=InputFile,
        action="append",
        default=[],
        metavar=metavar,
        help=what + "; may be repeated" * several,
    )
    parser.set_defaults(what_is_read=metavar)


def files_of(
    arguments: argparse.Namespace, at_most: int | None = None, *, required: bool = True
) -> list[str]:
    """Return the input files; exit with 2 if there are too many, or none although `required`.

    Raises `UsageError` if standard input is named twice.
    """
    files: list[str] = [*arguments.input, *arguments.files]
    if required and not files:
        arguments.parser.error(f"the following arguments are required: {arguments.what_is_read}")
    if at_most is not None and len(files) > at_most:
        arguments.parser.error(f"name one {arguments.what_is_read}: got {len(files)}")
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    return files


def file_of(arguments: argparse.Namespace) -> str:
    """Return the only input file or folder; exit with 2 if there is none or more than one."""
    return files_of(arguments, at_most=1)[0]


def named_runs(argument: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the name and the files of `NAME=RUN,RUN`; None for an existing file or other text."""
    name, _, runs = argument.partition("=")
    if not (name and runs) or "/" in name:
        return None
    with suppress(OSError, ValueError):
        if Path(argument).exists():
            return None
    return name, tuple(runs.split(","))


def add_data(parser: argparse._ActionsContainer) -> None:
    """Add `--data`."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the public files (default: MWZEVAL_DATA, else the cache, which "
        "downloads missing files unless MWZEVAL_OFFLINE=1)",
    )


def add_intervals(parser: argparse.ArgumentParser) -> None:
    """Add `--ci`."""
    parser.add_argument(
        "--ci",
        nargs="?",
        type=_confidence,
        const=CONFIDENCE,
        metavar="PERCENT",
        help="print a confidence interval with every score (default: 95 %%)",
    )


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """Add the options `--samples` and `--seed`, from which `resampling_of` makes a `Resampling`."""
    parser.add_argument(
        "--samples",
        type=int,
        default=SAMPLES,
        metavar="N",
        help="number of resamples (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SEED,
        metavar="N",
        help="seed of the resampling (default: %(default)s)",
    )


def resampling_of(arguments: argparse.Namespace, confidence: float = CONFIDENCE) -> Resampling:
    """Return the resampling that the arguments specify. Raises `UsageError`."""
    return Resampling(confidence, arguments.samples, arguments.seed)


def number(
    fits: Callable[[Any], bool], expected: str, kind: Callable[[str], Any] = float
) -> Callable[[str], Any]:
    """Return a function for argparse's `type` that accepts only the numbers that `expected`
    describes."""

    def parsed(text: str) -> Any:
        with suppress(ValueError):
            value = kind(text)
            if fits(value):
                return value
        raise argparse.ArgumentTypeError(f"expected {expected}, not {text!r}")

    return parsed


level = number(lambda value: 1e-6 <= value < 1, "a level from 0.000001 to 1, such as 0.05")


def share(text: str) -> float:
    """Return `95`, `95%` or `0.95` as a proportion: 0.95."""
    value = float(text.rstrip("%"))
    return value / 100 if value > 1 else value


_confidence = number(
    lambda value: 0 < value < 1, "a percentage between 0 and 100, such as 95", share
)


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = ()) -> None:
    """Add `-f`, the output format."""
    choices = formats or FORMATS
    parser.add_argument(
        "-f",
        "--format",
        default="text",
        choices=choices,
        help=f"output format: {', '.join(choices)} (default: text)",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add `--places`, the number of decimals in tables."""
    parser.add_argument(
        "--places",
        type=number(lambda places: 0 <= places <= 12, "0 to 12 decimals", int),
        metavar="N",
        help="number of decimals (default: depends on the score)",
    )


Identity = tuple[int, int] | str
"""The identity of a file: its device and inode, or its path without symbolic links if it does not
exist."""


def check_outputs(arguments: argparse.Namespace) -> None:
    """Check, before a command begins its work, that its outputs can be written.

    Raises `UsageError` if an output is the same file as another output or as an input. Files are
    compared by device and inode, so links, `..` and patterns make no difference. Raises
    `MwzevalError` if an output is not writable. If the parser has the default `writes_folder`, the
    folder `-o` is not checked.
    """
    from mwzeval.files.writing import check_writable

    outputs = {
        option: path
        for option in OUTPUTS
        if isinstance(path := getattr(arguments, option, None), str) and path not in STANDARD_OUTPUT
    }
    written: dict[Identity, str] = {}
    for option, path in outputs.items():
        identity = _identity(path)
        other = written.setdefault(identity, option) if identity else option
        if other != option:
            raise UsageError(f"--{option} and --{other} name the same file: {shorten(path, 300)}")
    for path in _inputs(list(vars(arguments).values())) if written else ():
        if option := written.get(_identity(path) or "", ""):
            raise UsageError(
                f"--{option} {shorten(outputs[option], 300)} is also an input "
                f"({shorten(path, 300)}) and would be overwritten: name another file"
            )
    for option, path in outputs.items():
        if option != "output" or not getattr(arguments, "writes_folder", False):
            check_writable(path)


def _inputs(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _inputs(item)
    elif isinstance(value, InputFile):
        yield value
        if runs := named_runs(value):
            yield from _inputs(list(map(InputFile, runs[1])))
        if any(sign in value for sign in "*?[") and not is_url(value):
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
