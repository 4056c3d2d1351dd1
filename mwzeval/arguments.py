"""Arguments that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mwzeval.errors import UsageError
from mwzeval.files.reading import STANDARD_INPUT
from mwzeval.statistics.bootstrap import SAMPLES, SEED
from mwzeval.statistics.intervals import CONFIDENCE

FORMATS = ("text", "json", "jsonl", "csv", "markdown", "latex")
"""Formats of tables; some verbs have more."""


def add_files(
    parser: argparse.ArgumentParser, what: str, metavar: str = "INPUT", *, several: bool = True
) -> None:
    """Add files or folders, with `-i` or without; `files_of` or `file_of` returns them."""
    parser.add_argument("files", nargs="*", metavar=metavar, help="the same as -i")
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar=metavar,
        help=what + "; may come again" * several,
    )
    parser.set_defaults(what_is_read=metavar)


def add_items(parser: argparse.ArgumentParser) -> None:
    """Add what says that files have scores of items, and in which columns."""
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
    """Return the files of the command line; none (if `required`) or too many is wrong usage.

    Raises `UsageError` for standard input that is to be read twice.
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
    """Return the one file or folder that `add_files` was given; any other number is bad use."""
    return files_of(arguments, at_most=1)[0]


def named_runs(argument: str) -> tuple[str, tuple[str, ...]] | None:
    """Return name and files of a system that is given as `NAME=RUN,RUN`; None for a single file.

    What exists under such a name is a file, and so is a run with commas in its name.
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
    """Add where data come from."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the public files (default: MWZEVAL_DATA, else a cache that is filled "
        "by download when needed, unless MWZEVAL_OFFLINE=1)",
    )


def add_intervals(parser: argparse.ArgumentParser) -> None:
    """Add intervals."""
    parser.add_argument(
        "--ci",
        nargs="?",
        type=_confidence,
        const=CONFIDENCE,
        metavar="PERCENT",
        help="print an interval with every score (default: 95 %%)",
    )


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """Add how resamples are drawn."""
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


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = ()) -> None:
    """Add `-f`, the format of what is printed."""
    choices = formats or FORMATS
    parser.add_argument(
        "-f",
        "--format",
        default="text",
        choices=choices,
        help=f"what is printed: {', '.join(choices)} (default: text)",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the number of decimals in tables."""
    parser.add_argument(
        "--places", type=_places, metavar="N", help="decimals (default: as is customary)"
    )


def _places(text: str) -> int:
    places = int(text)
    if not 0 <= places <= 12:
        raise ValueError(text)
    return places
