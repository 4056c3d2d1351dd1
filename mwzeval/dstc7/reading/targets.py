"""Ground truth: which candidates are correct in each example."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mwzeval.dstc7.reading.dialogues import Example
from mwzeval.dstc7.reading.findings import Findings
from mwzeval.dstc7.reading.tracks import NONE, candidate_id, example_id
from mwzeval.dstc7.reading.tsv import lines_of
from mwzeval.errors import InputError
from mwzeval.files.json_files import read_text

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
            findings.add("malformed-targets", f"line {number}: {what}; {expected}")
            continue
        pieces = map(candidate_id, rest.partition("\t")[0].split(","))
        given = [piece for piece in pieces if piece]
        correct = tuple(given if repeats else dict.fromkeys(given))
        if not correct:
            message = f"line {number}: no answer (write NONE when no candidate is correct)"
            findings.add("malformed-targets", message, example=identity)
            continue
        if NONE in correct and set(correct) != {NONE}:
            message = f"line {number}: NONE stands alone or not at all"
            findings.add("malformed-targets", message, example=identity)
            continue
        if identity in targets:
            message = f"line {number}: the example was given before"
            findings.add("duplicate-target-example", message, example=identity)
        targets[identity] = correct
    if empty:
        findings.add("no-targets", "there are no targets in it")
    return targets


def targets_of(examples: Iterable[Example], *, none_allowed: bool = True) -> Targets:
    """Return the targets that train and dev files hold themselves; `[]` becomes NONE.

    Examples that do not say what is correct are left out. Raises `InputError` when an example has
    no correct answer though there must be one (any subtask but 4).
    """
    findings = Findings()
    targets: dict[str, tuple[str, ...]] = {}
    for example in examples:
        if example.correct is None:
            continue
        if not example.correct and not none_allowed:
            findings.add(
                "malformed-targets",
                "no correct answer, which only subtask 4 knows",
                example=example.example_id,
            )
        ids = dict.fromkeys(candidate.candidate_id for candidate in example.correct)
        targets[example.example_id] = tuple(ids) or (NONE,)
    findings.check()
    return targets


def write_targets(targets: Targets) -> str:
    """Return the text of a file of targets."""
    return "".join(f"{example}\t{','.join(correct)}\n" for example, correct in targets.items())
