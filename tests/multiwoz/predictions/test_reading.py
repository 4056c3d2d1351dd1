"""Invalid input: each kind has its message, position and exit code."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions import (
    Booking,
    Turn,
    check_dialogues,
    read_predictions,
)
from mwzeval.scores.findings import Findings
from tests.command_lines import Run
from tests.parts import lines_of
from tests.places import GOOD, read_json, sample_file, sample_predictions, without, write_json

ID = "smp0021"  # has 3 turns
TURN = {"response": "a [name]", "state": {}, "active_domains": ["hotel"]}
BOOKING = {"domain": "hotel", "slots": {"name": "the lodge", "stay": "3"}}
GOOD_BYTES = Path(GOOD).read_bytes()


def one_turn(*lacking: str, **changed: Any) -> str:
    """Return the content of a file with one turn, without some keys or with changed keys."""
    return json.dumps({ID: [{k: v for k, v in TURN.items() if k not in lacking} | changed]})


MISFITS: dict[str, dict[str, Any]] = {
    "response": {"response": None},
    "state": {"state": []},
    "state.hotel": {"state": {"hotel": "cheap"}},
    "state.taxi": {"state": {"taxi": "cheap", "taxi-leave": "10:00"}},
    "state.hotel.stars": {"state": {"hotel": {"stars": 4}}},
    "state.hotel.area": {"state": {"hotel": {"area": [4]}}},
    "state.__proto__.x": {"state": {"__proto__": {"x": {}}}},
    "active_domains": {"active_domains": "hotel"},
    "bookings": {"bookings": {}},
    "bookings[1]": {"bookings": [BOOKING, "hotel"]},
    "bookings[0].domain": {"bookings": [{"slots": {}}]},
    "bookings[0].slots": {"bookings": [{"domain": "hotel"}]},
    "bookings[0].slots.stay": {"bookings": [{"domain": "hotel", "slots": {"stay": 3}}]},
    "calls[0].function": {"calls": [{}]},
    "calls[0].arguments": {"calls": [{"function": "a", "arguments": 1}]},
    "calls[0].slots": {"calls": [{"function": "a", "slots": []}]},
}
"""Reported key → changes that give a value the wrong type."""
BAD_FILES: list[tuple[str, str, str, int | None, str | None]] = [
    # id, content, kind, turn, key
    ("empty file", "", "empty-file", None, None),
    ("cut file", '{"a": [}', "not-json", None, None),
    ("NaN", one_turn(state={"hotel": {"stars": float("nan")}}), "not-json", None, None),
    ("a list", "[]", "shape", None, None),
    ("no dialogue", "{}", "empty", None, None),
    ("no turns", json.dumps({ID: []}), "empty", None, None),
    ("turns by number", json.dumps({ID: {"0": TURN}}), "shape", None, None),
    ("dialogue twice", f'{{"{ID}": [], "{ID}": [{json.dumps(TURN)}]}}', "repeated-key", None, None),
    ("response twice", f'{{"{ID}": [{{"response": "[name]", "response": "b"}}]}}', "repeated-key",
     0, None),
    ("slot twice", one_turn(state={"taxi": {"a": "b"}}).replace('"a": "b"', '"a": "b", "a": "c"'),
     "repeated-key", 0, None),
    ("file name as id", json.dumps({"SMP0021.json": [TURN], "smp0022": [TURN]}),
     "unknown-dialogue", None, None),
    ("__proto__ as id", json.dumps({"__proto__": [TURN]}), "unknown-dialogue", None, None),
    ("control characters in id", json.dumps({"a\x1b[31m\n": [TURN]}),
     "unknown-dialogue", None, None),
    ("too many turns", json.dumps({ID: [TURN] * 4}), "too-many-turns", None, None),
    ("no response", one_turn("response"), "missing-response", 0, "response"),
    ("misspelled response", one_turn("response", respone="a"), "missing-response", 0, "response"),
    ("null as state", one_turn(state=None), "shape", 0, "state"),
    *((key, one_turn(**changed), "shape", 0, key) for key, changed in MISFITS.items()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "kind", "turn", "key"),
    [pytest.param(*case[1:], id=case[0]) for case in BAD_FILES],
)
def test_input_errors_are_reported_with_their_place_and_exit_code_2(
    tmp_path: Path, run: Run, content: str, kind: str, turn: int | None, key: str | None
) -> None:
    file, output = tmp_path / "bad.json", tmp_path / "out.json"
    file.write_text(content, encoding="utf-8")
    arguments = ["--corpus", "sample", "-i", str(file)]
    evaluated = run("evaluate", "-bsrd", *arguments, "-o", str(output))
    assert (evaluated.code, evaluated.out, output.exists()) == (2, "", False)
    assert evaluated.err.startswith(f"error: {file}: ")

    validated = run("validate", *arguments)
    assert (validated.code, validated.err) == (2, "")
    result = json.loads(validated.out)
    assert result["valid"] is False
    errors = [problem for problem in result["problems"] if problem["severity"] == "error"]
    places = [(problem["kind"], problem.get("turn"), problem.get("key")) for problem in errors]
    assert places == [(kind, turn, key)]


def test_all_errors_are_reported_together() -> None:
    bad: list[Any] = [
        {**TURN, "response": 1},
        {**TURN, "state": 2},
        {"state": {"taxi": {"leave": 3}}},
    ]
    problems = Evaluator(success=True, corpus="sample").validate({ID: bad, "x": []})
    errors = [problem for problem in problems if problem.severity == "error"]
    assert [(error.kind, error.turn) for error in errors] == [
        *(("shape", 0), ("shape", 1), ("missing-response", 2), ("shape", 2), ("empty", None))
    ]


def test_error_messages_list_only_the_first_of_many_errors() -> None:
    with pytest.raises(InputError) as caught:
        Evaluator(success=True, corpus="sample").evaluate({f"x{n}": [TURN] for n in range(500)})
    assert len(caught.value.problems) == 501
    lines = str(caught.value).splitlines()
    assert len(lines) == 2  # one message for 500 unknown dialogues, one for the missing dialogues
    assert "500" in lines[-1]
    different = [Problem("x", f"problem {number}", count=2) for number in range(30)]
    lines = str(InputError(different)).splitlines()
    assert len(lines) == 21
    assert "20" in lines[-1]


def flat(state: dict[str, dict[str, str]], before: str = "") -> dict[str, str]:
    return {f"{d}-{before}{slot}": v for d, slots in state.items() for slot, v in slots.items()}


def in_lists(state: dict[str, dict[str, str]]) -> dict[str, dict[str, list[str]]]:
    return {d: {slot: [value, "x"] for slot, value in slots.items()} for d, slots in state.items()}


WELL = sample_predictions("good")
READ_AS_MEANT: list[tuple[str, Any, str | None]] = [
    ("wrapped", {"predictions": WELL}, None),
    ("wrapped with a name", {"model": "mine", "predictions": WELL}, None),
    ("a list", [{"dialogue_id": name, "turns": turns} for name, turns in WELL.items()], None),
    ("capitals", {name.upper(): turns for name, turns in WELL.items()}, "other-ids"),
    ("file names", {f"{name.upper()}.json": turns for name, turns in WELL.items()}, "other-ids"),
    *(
        (
            f"flat {before}",
            {
                name: [{**turn, "state": flat(turn["state"], before)} for turn in turns]
                for name, turns in WELL.items()
            },
            "flat-state",
        )
        for before in ("", "semi-", "book-")
    ),
    (
        "lists of values",
        {
            name: [{**turn, "state": in_lists(turn["state"])} for turn in turns]
            for name, turns in WELL.items()
        },
        "list-value",
    ),
]


@pytest.mark.parametrize(
    ("written", "kind"), [pytest.param(*case[1:], id=case[0]) for case in READ_AS_MEANT]
)
def test_equivalent_predictions_get_equal_scores(written: Any, kind: str | None) -> None:
    evaluator = Evaluator(success=True, bleu=True, dst=True, corpus="sample")
    report, expected = evaluator.evaluate(written), evaluator.evaluate(WELL)
    assert [score.value for score in report.scores] == [score.value for score in expected.scores]
    assert [warning.kind for warning in report.warnings] == [kind] * (kind is not None)


@pytest.mark.parametrize(
    ("records", "remedy"),
    [
        ([{"dialogue_id": "smp0021", "turn": 0, "response": "hello"}], "group the turns"),
        ([{"id": "smp0021", "turns": WELL["smp0021"]}], '"dialogue_id"'),
    ],
)
def test_errors_for_records_that_are_not_dialogues_suggest_a_remedy(
    records: Any, remedy: str
) -> None:
    with pytest.raises(InputError, match=f"read as mwzeval's own format.*{remedy}"):
        Evaluator(success=True, corpus="sample").evaluate(records)


def complete(*changes: tuple[int, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return all sample dialogues with changes, (dialogue, changes), in some first turns."""
    predictions = sample_predictions("good")
    names = list(predictions)
    for dialogue, change in changes:
        predictions[names[dialogue]][0].update(change)
    return predictions


FIRST, SECOND = list(sample_predictions("good"))[:2]
WARNINGS: list[tuple[str, Any, str, int, tuple[Any, ...]]] = [
    # id, predictions, kind, count, place (dialogue, turn, key)
    ("an unknown key", complete((0, {"acts": 1}), (1, {"acts": 2})), "unknown-key",
     2, (FIRST, 0, "acts")),
    ("a misspelled key", complete((1, {"active_domain": []})), "unknown-key",
     1, (SECOND, 0, "active_domain")),
    ("__proto__", complete((0, {"__proto__": {"state": 1}})), "unknown-key",
     1, (FIRST, 0, "__proto__")),
    ("a list as value", complete((0, {"state": {"hotel": {"area": ["east", "west"]}}}),
     (1, {"state": {"hotel": {"stars": []}}})), "list-value", 2, (FIRST, 0, "state.hotel.area")),
    ("an unknown domain", complete((1, {"state": {"hotl": {"area": "a", "stars": "2"}}})),
     "unknown-domain", 1, (SECOND, 0, "state.hotl")),
    ("an unknown slot", complete((0, {"state": {"hotel": {"price range ": "a", "pricerang": "b"}}}),
     (1, {"state": {"hotel": {"pricerang": "b"}}})), "unknown-slot", 2,
     (FIRST, 0, "state.hotel.pricerang")),
    ("an unknown placeholder", complete((0, {"response": "[restaurant_nam] [Restaurant_Nam]s"})),
     "unknown-placeholder", 2, (None, None, None)),
    ("a placeholder with a hyphen", complete((0, {"response": "[taxi-type] [Taxi-Type]"}),
     (1, {"response": "[hotel_name] is in [a-b] [name](hotel-name)"})),
     "unknown-placeholder", 2, (None, None, None)),
    ("no placeholder at all",
     {name: [{**turn, "response": re.sub(r"\[\w+\]", "it", turn["response"])} for turn in turns]
      for name, turns in complete().items()}, "lexicalized", 1, (None, None, None)),
    ("one dialogue without states", complete((0, {})) | {FIRST: [{"response": "[name]",
     "active_domains": []}] * 3}, "partial-state", 1, (None, None, None)),
    ("one without active domains", complete() | {FIRST: [{"response": "[name]", "state": {}}] * 3},
     "partial-active_domains", 1, (None, None, None)),
    ("one turn missing", {n: t[1:] if n == FIRST else t for n, t in complete().items()},
     "fewer-turns", 1, (None, None, None)),
]  # fmt: skip


def test_possible_mistakes_are_counted_in_one_warning() -> None:
    evaluator = Evaluator(success=True, corpus="sample")
    failures = []
    for name, predictions, kind, count, place in WARNINGS:
        problems = evaluator.validate(predictions, file="odd.json")
        found = [(p.severity, p.kind, p.count, (p.dialogue, p.turn, p.key)) for p in problems]
        if found != [("warning", kind, count, place)]:
            failures.append((name, found))
    assert not failures


def test_possible_mistakes_are_warnings_unless_strict(tmp_path: Path, run: Run) -> None:
    output = tmp_path / "out.json"
    _, predictions, kind, count, place = WARNINGS[0]
    file = write_json(tmp_path / "odd.json", predictions)
    evaluate = ["evaluate", "-s", "-i", file, "-o", str(output)]
    scored = run(*evaluate)
    assert (scored.code, "warning: " in scored.err) == (0, True)
    (warning,) = read_json(output)["meta"]["warnings"]
    assert (warning["kind"], warning["count"]) == (kind, count)
    assert tuple(warning.get(key) for key in ("dialogue", "turn", "key")) == place
    output.unlink()
    refused = run(*evaluate, "--strict")
    assert (refused.code, output.exists()) == (2, False)
    assert refused.err.startswith(f"error: {file}")
    for code, options in ((0, []), (2, ["--strict"])):
        validated = run("validate", "-i", file, *options)
        assert (validated.code, json.loads(validated.out)["valid"]) == (code, not code)


def test_predictions_without_mistakes_have_no_problems(run: Run) -> None:
    for system in ("good", "weak-tracker", "no-phone"):
        validated = run("validate", "--strict", "-i", sample_file(system))
        assert (validated.code, json.loads(validated.out)) == (0, {"valid": True, "problems": []})


def test_state_tracking_scores_do_not_require_responses() -> None:
    expected = Evaluator(dst=True, corpus="sample").evaluate(WELL).metrics["dst"]
    silent = without(WELL, "response")
    assert Evaluator(dst=True, corpus="sample").evaluate(silent).metrics["dst"] == expected
    with pytest.raises(InputError) as caught:
        Evaluator(dst=True, success=True, corpus="sample").evaluate(silent)
    assert {problem.kind for problem in caught.value.problems} == {"missing-response"}


# Files


LINES = lines_of(WELL).replace(b"\n", b"\n\n")
ARCHIVE = io.BytesIO()
with zipfile.ZipFile(ARCHIVE, "w") as archive:
    archive.writestr("mine.json", GOOD_BYTES)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", GOOD_BYTES),
        ("a.json", b"\xef\xbb\xbf" + GOOD_BYTES),
        ("no ending", GOOD_BYTES),
        ("a.json.gz", gzip.compress(GOOD_BYTES)),
        ("a.json.gz", gzip.compress(GOOD_BYTES[:999]) + gzip.compress(GOOD_BYTES[999:])),
        ("a.json.zst", zstandard.compress(GOOD_BYTES)),
        ("a.json.zst", zstandard.compress(GOOD_BYTES[:999]) + zstandard.compress(GOOD_BYTES[999:])),
        ("a.jsonl", LINES),
        ("a.jsonl", LINES.replace(b"\n", b"\r\n")),
        ("a.jsonl.zst", zstandard.compress(LINES)),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_predictions_are_read_plain_compressed_and_by_line(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_predictions(tmp_path / name) == WELL


def test_predictions_are_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GOOD_BYTES)))
    assert read_predictions("-") == WELL


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.json", b'{"a":\n "\xff"}', "not-utf8"),
        ("a.json", GOOD_BYTES.decode().encode("utf-16"), "not-utf8"),
        ("a.zip", ARCHIVE.getvalue(), "zip"),
        ("a.jsonl", LINES.replace(b"\n\n", b"\nx\n", 1), "not-json"),
        ("a.jsonl", b'\n\n{"dialogue": "a"}', "shape"),
        ("a.jsonl", b'[1]\n{"dialogue": 1, "turns": []}', "shape"),
        ("a.jsonl", LINES + b"\n" + LINES, "repeated-key"),
        ("a.jsonl", b'{"dialogue": "a", "turns": [], "turns": []}', "repeated-key"),
        ("missing.json", None, "unreadable"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_unreadable_files_are_errors_with_the_file_name(
    tmp_path: Path, name: str, content: bytes | None, kind: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / name)
    found = {(problem.kind, problem.file) for problem in caught.value.problems}
    assert found == {(kind, str(tmp_path / name))}


@pytest.mark.parametrize(
    ("options", "near"),
    [
        ({"corpus": "multiwoz-2.5"}, "multiwoz-2.4"),
        ({"fold": "tset"}, '"test"'),
        ({"rules": "2022"}, "2023"),
        ({"input_format": "mesages"}, "messages"),
        ({"responses": "lexicalised"}, '"lexicalized"'),
    ],
)
def test_errors_for_unknown_options_list_the_valid_choices(
    options: dict[str, str], near: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Evaluator(success=True, **options)  # type: ignore[arg-type]
    assert near in str(caught.value)


def checked(turn: dict[str, Any]) -> tuple[Turn, Findings]:
    findings = Findings()
    ((typed,),) = check_dialogues({ID: [turn]}, findings, need_responses=True).values()
    return typed, findings


@pytest.mark.parametrize(
    ("turn", "bookings"),
    [
        ({}, None),
        ({"bookings": []}, ()),
        ({"bookings": [BOOKING]}, (Booking("hotel", {"name": "the lodge", "stay": "3"}),)),
        ({"bookings": ({"domain": "taxi", "slots": {}},)}, (Booking("taxi", {}),)),
    ],
)
def test_bookings_are_read(turn: dict[str, Any], bookings: Any) -> None:
    typed, findings = checked({"response": "a", **turn})
    assert (typed.bookings, findings.problems) == (bookings, [])


@pytest.mark.parametrize("items", ["bookings", "calls"])
def test_unknown_keys_of_bookings_and_calls_are_reported_and_ignored(items: str) -> None:
    item = BOOKING if items == "bookings" else {"function": "a"}
    typed, findings = checked({"response": "a", items: [{**item, "slot": {}}]})
    assert typed == checked({"response": "a", items: [item]})[0]
    (warning,) = findings.warnings
    assert (warning.kind, warning.key) == ("unknown-key", f"{items}[0]")


def test_responses_above_the_length_limit_are_errors() -> None:
    assert not checked({"response": "x" * 100_000})[1].problems
    (error,) = checked({"response": "x" * 100_001})[1].errors
    assert (error.kind, error.turn, error.key) == ("too-long", 0, "response")
