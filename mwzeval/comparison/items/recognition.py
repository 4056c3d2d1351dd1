"""Which format a file of scores has, by its shape; its name does not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mwzeval.comparison.items.harness_samples import is_harness_sample, read_harness_samples
from mwzeval.comparison.items.inspect_logs import (
    is_inspect_log,
    read_inspect_archive,
    read_inspect_log,
)
from mwzeval.comparison.items.plain_json import read_plain, read_plain_lines
from mwzeval.comparison.items.separated import read_separated
from mwzeval.comparison.items.sheet import Sheet
from mwzeval.comparison.items.tau_results import (
    is_tau2_results,
    is_tau_results,
    read_tau2_results,
    read_tau_results,
)
from mwzeval.errors import InputError, MwzevalError
from mwzeval.files.json_files import parse_json, parse_json_lines, read_text
from mwzeval.files.reading import is_url, is_zip

LOGS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Sheet]], ...] = (
    (is_inspect_log, read_inspect_log),
    (is_tau_results, read_tau_results),
    (is_tau2_results, read_tau2_results),
)
"""What tells a log of a program, and what reads it."""


def read_sheet(file: str) -> Sheet:
    """Return the rows of a file of any known format. Raises `InputError` where there are none."""
    if not is_url(file) and is_zip(file):
        return read_inspect_archive(file)
    text = read_text(file)
    if text.lstrip()[:1] not in ("{", "["):
        return read_separated(text, file)
    if _has_lines(text, file):
        return _of_lines(list(parse_json_lines(text, file, constants=True)), file)
    return _of_value(parse_json(text, file, constants=True), file)


def is_log(file: str) -> bool:
    """Tell whether a file has a format in which a program for evaluation writes its results."""
    try:
        if not is_url(file) and is_zip(file):
            return bool(read_inspect_archive(file).rows)
        text = read_text(file)
        if text.lstrip()[:1] not in ("{", "["):
            return False
        if _has_lines(text, file):
            text = text.strip().partition("\n")[0]
        value = parse_json(text, file, constants=True)
    except MwzevalError:
        return False
    return _is_list_of_samples(value) or any(tells(value) for tells, _ in LOGS)


def _has_lines(text: str, file: str) -> bool:
    """Tell whether the first line is a JSON value by itself, and more follows."""
    first, _, rest = text.strip().partition("\n")
    if not rest.strip():
        return False
    try:
        parse_json(first, file, constants=True)
    except InputError:
        return False
    return True


def _of_lines(values: list[tuple[int, Any]], file: str) -> Sheet:
    if is_harness_sample(values[0][1]):
        return read_harness_samples([(f"line {n}", value) for n, value in values], file)
    return read_plain_lines(values, file)


def _of_value(value: Any, file: str) -> Sheet:
    for tells, read in LOGS:
        if tells(value):
            return read(value, file)
    if _is_list_of_samples(value):
        listed = value if isinstance(value, list) else [value]
        return read_harness_samples([(f"sample {n}", of) for n, of in enumerate(listed, 1)], file)
    return read_plain(value, file)


def _is_list_of_samples(value: Any) -> bool:
    listed = value if isinstance(value, list) else [value]
    return bool(listed) and is_harness_sample(listed[0])
