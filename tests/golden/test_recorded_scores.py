"""Numbers of one scoring revision never change: those on embedded data, for every benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.golden import regenerate
from tests.golden.recorded import (
    PACKAGES,
    Difference,
    Number,
    Record,
    current,
    file_of,
    problem,
    unsigned,
)

REGENERATE = "python -m tests.golden.regenerate"


@pytest.mark.parametrize("benchmark", PACKAGES)
def test_numbers_move_only_when_the_scoring_revision_does(benchmark: str) -> None:
    before, now = Record.read(file_of(benchmark)), current(benchmark)
    difference = Difference.between(before, now)
    shown = "\n".join([*list(difference.lines())[:50], problem(before, now) or ""])
    assert not difference.moved or now.revision > before.revision, shown
    advice = f"{shown}run `{REGENERATE} {benchmark}` and look at the difference"
    assert not difference, advice
    assert now.revision == before.revision, advice


def test_a_signature_has_the_revision_of_its_benchmark() -> None:
    cases = {"case": {"metric|n:1|rev:2": {"a": 1.0}}}
    assert unsigned(cases, 2) == record(a=1.0)
    with pytest.raises(ValueError, match="rev:2 is not of scoring revision 3"):
        unsigned(cases, 3)


def record(revision: int = 2, **numbers: Number) -> Record:
    return Record(revision, {"case": {"metric|n:1": numbers}})


@pytest.mark.parametrize(
    ("before", "now", "moved", "added"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-12}, (), ()),
        ({"a": 1.0}, {"a": 1.0 + 1e-6}, ("case: a: 1.0 -> 1.000001",), ()),
        ({"a": 1.0}, {"a": float("nan")}, ("case: a: 1.0 -> nan",), ()),
        ({"a": float("nan")}, {"a": float("nan")}, (), ()),
        ({"a": "x"}, {"a": "y"}, ("case: a: x -> y",), ()),
        ({"a": 1.0, "b": 1.0}, {"a": 1.0}, ("case: b: 1.0 -> gone",), ()),
        ({}, {"a": 0.0}, (), ("case: a",)),
    ],
)
def test_a_moved_number_is_seen(
    before: dict[str, Any],
    now: dict[str, Any],
    moved: tuple[str, ...],
    added: tuple[str, ...],
) -> None:
    difference = Difference.between(record(**before), record(**now))
    assert (difference.moved, difference.added, difference.signed) == (moved, added, ())


def test_another_signature_of_the_same_number_is_no_move() -> None:
    now = Record(2, {"case": {"metric|n:1|fuzzy:90": {"a": 1.0}}})
    difference = Difference.between(record(a=1.0), now)
    assert difference.moved == ()
    assert difference.signed == ("case: metric|n:1|fuzzy:90",)


@pytest.mark.parametrize(
    ("now", "written", "said"),
    [
        (record(a=1.0, b=1.0), False, "as it was"),
        (record(a=1.0, b=2.0), False, "moved: case: b: 1.0 -> 2.0"),
        (record(a=1.0), False, "moved: case: b: 1.0 -> gone"),
        (record(3, a=1.0, b=2.0), True, "scoring revision 3"),
        (record(3, a=1.0, b=1.0), True, "scoring revision 3"),
        (record(1, a=1.0, b=1.0), False, "went down"),
        (record(a=1.0, b=1.0, c=1.0), True, "added: case: c"),
    ],
)
def test_moved_numbers_are_written_only_with_a_raised_revision(
    now: Record, written: bool, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.json"
    record(a=1.0, b=1.0).write(path)
    stands = regenerate.put("mine", path, now)
    told = capsys.readouterr()
    assert said in told.out + told.err
    assert (Record.read(path) == now) == (written or "as it was" in said)
    assert stands == (written or "as it was" in said)
