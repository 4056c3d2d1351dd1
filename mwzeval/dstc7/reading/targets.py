"""Ground truth: which candidates are correct in each example, as a tab-separated file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mwzeval.dstc7.reading.kinds import note
from mwzeval.dstc7.reading.tracks import NONE, candidate_id, example_id
from mwzeval.errors import InputError
from mwzeval.files.reading import read_text
from mwzeval.scores.findings import Findings

Targets = Mapping[str, tuple[str, ...]]
"""Canonical example id → canonical ids of its correct candidates, in the order of the file."""


def read_targets(
    path: str | Path, findings: Findings | None = None, *, repeats: bool = False
) -> Targets:
    """Return the targets of a file, `example-id<TAB>id[,id...]` and perhaps further columns.

    Columns behind the second are ignored. `NONE`, in any case, says that no candidate is correct.
    An id given twice is kept once, unless `repeats` are wanted. With `findings` problems go there,
    else errors raise `InputError`.
    """
    name = str(path)
    notes = Findings(file=name) if findings is None else findings.of_file(name)
    try:
        text = read_text(path)
    except InputError as error:
        if [problem.kind for problem in error.problems] != ["empty-file"]:
            raise
        text = ""
    targets = parse_targets(text, notes, repeats=repeats)
    if findings is None:
        notes.check()
    return targets


def parse_targets(text: str, findings: Findings, *, repeats: bool = False) -> Targets:
    """Return the targets in a text; problems go to `findings`.

    Of an example that comes twice the last line is kept.
    """
    targets: dict[str, tuple[str, ...]] = {}
    empty = True
    for number, line in lines_of(text.removeprefix("\ufeff")):
        empty = False
        raw_example, tab, rest = line.partition("\t")
        identity = example_id(raw_example)
        if not tab or identity is None:
            what = "no example-id" if tab else "one column only"
            expected = "expected example-id, tab, ids with commas between"
            note(findings, "malformed-targets", f"line {number}: {what}; {expected}")
            continue
        pieces = map(candidate_id, rest.partition("\t")[0].split(","))
        given = [piece for piece in pieces if piece]
        correct = tuple(given if repeats else dict.fromkeys(given))
        if not correct:
            message = f"line {number}: no answer (write NONE when no candidate is correct)"
            note(findings, "malformed-targets", message, example=identity)
            continue
        if NONE in correct and set(correct) != {NONE}:
            message = f"line {number}: NONE stands alone or not at all"
            note(findings, "malformed-targets", message, example=identity)
            continue
        if identity in targets:
            message = f"line {number}: the example was given before"
            note(findings, "duplicate-target-example", message, example=identity)
        targets[identity] = correct
    if empty:
        note(findings, "no-targets", "there are no targets in it")
    return targets


def write_targets(targets: Targets) -> str:
    """Return the text of a file of targets."""
    return "".join(f"{example}\t{','.join(correct)}\n" for example, correct in targets.items())


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line) of the lines that are not blank.

    Only LF and CRLF end a line: an utterance may hold U+2028 and other separators.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if line.strip():
            yield number, line
