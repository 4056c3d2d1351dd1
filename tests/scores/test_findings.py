"""Problems of an input: errors, doubts and warnings, with places and counts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mwzeval.errors import InputError, Problem
from mwzeval.scores import findings as module
from mwzeval.scores.explanation import Explanation, count_reasons
from mwzeval.scores.findings import Coverage, Findings, Place, items_of, misfit


def problem_counts(findings: Findings) -> list[tuple[str, str, int]]:
    return [(problem.severity, problem.kind, problem.count) for problem in findings.problems]


def test_errors_are_listed_singly_and_equal_warnings_are_counted() -> None:
    findings = Findings("p.json")
    for turn in range(3):
        findings.warning("odd", "is odd", dialogue="d", turn=turn)
        findings.error("bad", "is bad", dialogue="d", turn=turn)
    assert problem_counts(findings) == [("error", "bad", 1)] * 3 + [("warning", "odd", 3)]
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
def test_lenient_mode_accepts_doubts_and_strict_mode_rejects_warnings(
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


def test_findings_are_merged_in_order() -> None:
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


def test_raised_problems_are_collected() -> None:
    findings = Findings()
    with findings.collecting():
        raise InputError([Problem("bad", "is bad"), Problem("odd", "is odd", "warning")])
    assert problem_counts(findings) == [("error", "bad", 1), ("warning", "odd", 1)]


def test_problems_above_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_problems_report_turn_positions_of_the_input_file() -> None:
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


SHAPE = {"id": str, "values": {str: [str]}, "kind": frozenset(("A", "B")), "note?": float}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        ({"note": 1, "other": None}, ""),
        ({"values": {"x": ["a", 1]}}, "values.x[1]: expected a text, found 1"),
        ({"values": []}, "values: expected an object, found []"),
        ({"kind": "a"}, 'kind: expected one of A, B, found "a" — did you mean "A"?'),
        ({"note": "1"}, 'note: expected a number, found "1"'),
    ],
)
def test_schema_mismatches_name_their_location(changes: dict[str, Any], expected: str) -> None:
    assert misfit({"id": "1", "values": {"x": ["a"]}, "kind": "A"} | changes, SHAPE) == expected


def of_files(folder: Path, **contents: str) -> tuple[list[str], list[str]]:
    """Return the ids of the items in a folder and the error messages."""
    for name, content in contents.items():
        (folder / name.replace("_", ".")).write_text(content, encoding="utf-8")
    findings, known = Findings(), ("1", "2", "3")
    ids = [
        item["id"]
        for item, _ in items_of(str(folder), "id", {"x": [int]}, known, findings, but={"c.json"})
    ]
    return ids, [problem.message for problem in findings.errors]


def test_items_are_read_from_arrays_and_objects_of_all_json_files(tmp_path: Path) -> None:
    item = {"x": [1]}
    ids, errors = of_files(
        tmp_path,
        a_json=json.dumps([{"id": "2", **item}]),
        b_json=json.dumps({"1": item, "3": item}),
        c_json="[3]",
        d_json_bak="no JSON",
        e_jsonl="no JSON",
    )
    assert (ids, errors) == (["2", "1", "3"], [])


def test_all_mismatches_and_repeated_keys_are_errors_with_short_messages(tmp_path: Path) -> None:
    ids, errors = of_files(tmp_path, a_json='[{"id": "1", "x": [1, "2", null], "x": ["3"]}]')
    assert ids == []
    assert errors == ['repeated in one object: "x"', 'x[0]: expected a whole number, found "3"']
    assert of_files(tmp_path, a_json='{"1": {"x": [1]}, "1": {"x": [2]}}') == (
        ["1"],
        ['repeated in one object: "1"'],
    )
    assert of_files(tmp_path, a_json='[{"id": "1", "x": [null, "2"]}]')[1] == [
        "x[0]: expected a whole number, found null",
        'x[1]: expected a whole number, found "2"',
    ]
    (error,) = of_files(tmp_path, a_json=json.dumps([{"id": "4" * 10**6, "x": [1]}]))[1]
    assert len(error) < 200
    findings = Findings()
    findings.warning("long", "x" * 10**6)
    assert len(findings.warnings[0].message) < 2_000


def test_coverage_is_complete_if_every_unit_is_scored() -> None:
    coverage = Coverage()
    for is_scored, is_complete in ((True, True), (False, False), (True, False)):
        coverage.count("turns", is_scored)
        assert coverage.is_complete == is_complete
    assert coverage == {"turns": {"scored": 2, "of": 3}}
