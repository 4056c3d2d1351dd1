"""What is wrong with an input: errors, doubts and warnings, with places and counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from mwzeval.errors import InputError, Problem
from mwzeval.scores import findings as module
from mwzeval.scores.explanation import Explanation, count_reasons
from mwzeval.scores.findings import Findings, Place


def told(findings: Findings) -> list[tuple[str, str, int]]:
    return [(problem.severity, problem.kind, problem.count) for problem in findings.problems]


def test_errors_come_one_by_one_and_warnings_that_say_the_same_are_counted() -> None:
    findings = Findings("p.json")
    for turn in range(3):
        findings.warning("odd", "is odd", dialogue="d", turn=turn)
        findings.error("bad", "is bad", dialogue="d", turn=turn)
    assert told(findings) == [("error", "bad", 1)] * 3 + [("warning", "odd", 3)]
    first = Problem("odd", "is odd", "warning", "p.json", dialogue="d", turn=0, count=3)
    assert findings.warnings == [first]


@pytest.mark.parametrize(
    ("lenient", "strict", "doubt", "prevented"),
    [
        (False, False, "error", ["unknown"]),
        (True, False, "warning", []),
        (False, True, "error", ["unknown", "odd"]),
        (True, True, "error", ["unknown", "odd"]),
    ],
)
def test_a_doubt_is_scored_when_lenient_and_nothing_is_overlooked_when_strict(
    lenient: bool, strict: bool, doubt: str, prevented: list[str]
) -> None:
    findings = Findings(lenient=lenient, strict=strict)
    findings.doubt("unknown", "is doubtful", then="it counts as wrong")
    findings.warning("odd", "is odd")
    assert findings.problems[0].severity == doubt
    assert ("wrong" in findings.problems[0].message) == lenient
    kinds: list[str] = []
    try:
        findings.check()
    except InputError as error:
        kinds = [problem.kind for problem in error.problems]
    assert kinds == prevented


def test_parts_add_up_in_their_order() -> None:
    parts = [Findings("x.json").of_file(f"{number}.json") for number in range(3)]
    for number, part in enumerate(parts):
        part.error("bad", f"error {number}")
        part.warning("odd", "z is odd", count=number + 1)
        part.warning("a", f"warning {number}")
    whole = Findings()
    for part in parts:
        whole.merge(part)
    whole.sort_warnings()
    assert [problem.file for problem in whole.errors] == ["0.json", "1.json", "2.json"]
    assert [(p.kind, p.message, p.count) for p in whole.warnings] == [
        *(("a", f"warning {number}", 1) for number in range(3)),
        ("odd", "z is odd", 6),
    ]


def test_what_is_raised_elsewhere_is_collected() -> None:
    findings = Findings()
    with findings.collecting():
        raise InputError([Problem("bad", "is bad"), Problem("odd", "is odd", "warning")])
    assert told(findings) == [("error", "bad", 1), ("warning", "odd", 1)]


def test_problems_without_end_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ERRORS", 5)
    monkeypatch.setattr(module, "MOST_WARNINGS", 5)
    parts = [Findings(), Findings()]
    for number in range(12):
        parts[number % 2].error("bad", f"error {number}")
        parts[number % 2].warning("odd", f"warning {number}")
        parts[number % 2].warning("odd", "always")
    parts[0].merge(parts[1])
    counts = dict.fromkeys(("bad", "too-many-errors", "odd", "more-warnings"), 0)
    for problem in parts[0].problems:
        counts[problem.kind] += problem.count
    assert counts == {"bad": 5, "too-many-errors": 7, "odd": 12 + 4, "more-warnings": 8}
    assert len(parts[0].problems) == 6 + 6


def test_turns_stand_where_the_user_wrote_them() -> None:
    findings = Findings("p.json", positions={"d": [1, 3, 5]})
    place = Place(findings, "d", 2)
    place.at("state").error("bad", "is bad")
    place.warning("odd", "is odd", "response")
    findings.of_file("q.json").warning("odd", "is odd")
    assert [(p.file, p.dialogue, p.turn, p.key, p.count) for p in findings.problems] == [
        ("p.json", "d", 5, "state", 1),
        ("p.json", "d", 5, "response", 2),
    ]


def test_reasons_of_equal_counts_are_in_alphabetical_order() -> None:
    def explained(*reasons: tuple[str, str]) -> Explanation:
        found = tuple(SimpleNamespace(code=code, scope=scope) for code, scope in reasons)
        return cast(Explanation, SimpleNamespace(reasons=found))

    explanations = [explained(("b", "x"), ("c", "x")), explained(("a", "x"), ("c", "x"))]
    counts = count_reasons(explanations, lambda reason: [(reason.code, reason.scope)])
    assert list(counts) == [("c", "x"), ("a", "x"), ("b", "x")]
