"""Bad input: each kind of it has its message, its place and its exit code."""

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

from mwzeval.cli import main
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.reading import (
    Booking,
    Turn,
    check_dialogues,
    predictions_of_text,
    read_predictions,
)
from mwzeval.scores.findings import Findings
from tests.places import ROOT, sample_predictions

ID = "smp0021"  # of 3 turns
TURN = {"response": "a [name]", "state": {}, "active_domains": ["hotel"]}
BOOKING = {"domain": "hotel", "slots": {"name": "the lodge", "stay": "3"}}
GOOD = (ROOT / "predictions" / "sample-good.json").read_bytes()


def one(**changed: Any) -> str:
    """A file of one turn, with some of its keys changed."""
    return json.dumps({ID: [{**TURN, **changed}]})


def without(key: str, **instead: Any) -> str:
    return json.dumps({ID: [{k: v for k, v in TURN.items() if k != key} | instead]})


BAD_FILES: list[tuple[str, str, str, int | None, str | None]] = [
    # what, content, kind, turn, key
    ("empty file", "", "empty-file", None, None),
    ("cut file", '{"a": [}', "not-json", None, None),
    ("NaN", one(state={"hotel": {"stars": float("nan")}}), "not-json", None, None),
    ("a list", "[]", "shape", None, None),
    ("no dialogue", "{}", "empty", None, None),
    ("no turns", json.dumps({ID: []}), "empty", None, None),
    ("turns by number", json.dumps({ID: {"0": TURN}}), "shape", None, None),
    ("dialogue twice", f'{{"{ID}": [{json.dumps(TURN)}], "{ID}": [{json.dumps(TURN)}]}}',
     "repeated-key", None, None),
    ("response twice", f'{{"{ID}": [{{"response": "[name]", "response": "b"}}]}}',
     "repeated-key", 0, None),
    ("slot twice",
     f'{{"{ID}": [{{"response": "a", "state": {{"taxi": {{"a": "b", "a": "c"}}}}}}]}}',
     "repeated-key", 0, None),
    ("file name as id", json.dumps({"SMP0021.json": [TURN], "smp0022": [TURN]}),
     "unknown-dialogue", None, None),
    ("foreign id", json.dumps({"wozs0099x": [TURN]}), "unknown-dialogue", None, None),
    ("__proto__ as id", json.dumps({"__proto__": [TURN]}), "unknown-dialogue", None, None),
    ("control characters in id", json.dumps({"a\x1b[31m\n": [TURN]}),
     "unknown-dialogue", None, None),
    ("more turns than there are", json.dumps({ID: [TURN] * 4}), "too-many-turns", None, None),
    ("no response", without("response"), "missing-response", 0, "response"),
    ("misspelled response", without("response", respone="a"), "missing-response", 0, "response"),
    ("null as response", one(response=None), "shape", 0, "response"),
    ("list as state", one(state=[]), "shape", 0, "state"),
    ("null as state", one(state=None), "shape", 0, "state"),
    ("text beside a flat slot", one(state={"hotel": "cheap", "hotel-area": "north"}),
     "shape", 0, "state.hotel"),
    ("text as domain state", one(state={"hotel": "cheap"}), "shape", 0, "state.hotel"),
    ("number as value", one(state={"hotel": {"stars": 4}}), "shape", 0, "state.hotel.stars"),
    ("object as value", one(state={"__proto__": {"x": {}}}), "shape", 0, "state.__proto__.x"),
    ("list of numbers as value", one(state={"hotel": {"stars": [4]}}),
     "shape", 0, "state.hotel.stars"),
    ("text as active domains", one(active_domains="hotel"), "shape", 0, "active_domains"),
    ("object as bookings", one(bookings={}), "shape", 0, "bookings"),
    ("text as booking", one(bookings=[BOOKING, "hotel"]), "shape", 0, "bookings[1]"),
    ("booking of no domain", one(bookings=[{"slots": {}}]), "shape", 0, "bookings[0].domain"),
    ("booking of no slots", one(bookings=[{"domain": "hotel"}]), "shape", 0, "bookings[0].slots"),
    ("number as booked", one(bookings=[{"domain": "hotel", "slots": {"stay": 3}}]), "shape", 0,
     "bookings[0].slots.stay"),
    ("call of no function", one(calls=[{}]), "shape", 0, "calls[0].function"),
    ("number as arguments", one(calls=[{"function": "a", "arguments": 1}]), "shape", 0,
     "calls[0].arguments"),
    ("list of slots", one(calls=[{"function": "a", "slots": []}]), "shape", 0, "calls[0].slots"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "kind", "turn", "key"),
    [pytest.param(*case[1:], id=case[0]) for case in BAD_FILES],
)
def test_bad_input_is_told_with_its_place_and_exits_with_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str,
    kind: str,
    turn: int | None,
    key: str | None,
) -> None:
    file, output = tmp_path / "bad.json", tmp_path / "out.json"
    file.write_text(content, encoding="utf-8")
    arguments = ["--corpus", "sample", "-i", str(file)]
    assert main(["evaluate", "-bsrd", *arguments, "-o", str(output)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: {file}: ")
    assert not output.exists()

    assert main(["validate", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err == ""
    result = json.loads(shown.out)
    assert result["valid"] is False
    errors = [problem for problem in result["problems"] if problem["severity"] == "error"]
    places = [(problem["kind"], problem.get("turn"), problem.get("key")) for problem in errors]
    assert places == [(kind, turn, key)]


def test_all_errors_are_told_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bad = [{**TURN, "response": 1}, {**TURN, "state": 2}, {"state": {"taxi": {"leave": 3}}}]
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({ID: bad, "x": []}))
    assert main(["evaluate", "-s", "--corpus", "sample", "-i", str(file), "-o", "never"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 5


def test_only_the_first_of_very_many_errors_are_spelled_out() -> None:
    with pytest.raises(InputError) as caught:
        Evaluator(success=True, corpus="sample").evaluate({f"x{n}": [TURN] for n in range(500)})
    assert len(caught.value.problems) == 501
    lines = str(caught.value).splitlines()
    assert len(lines) == 2  # none of them is in the fold; each of them is not
    assert "500" in lines[-1]
    different = [Problem("x", f"problem {number}", count=2) for number in range(30)]
    lines = str(InputError(different)).splitlines()
    assert len(lines) == 21
    assert "20" in lines[-1]


def flat(state: dict[str, dict[str, str]], before: str = "") -> dict[str, str]:
    return {f"{d}-{before}{slot}": value for d, of in state.items() for slot, value in of.items()}


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
]


@pytest.mark.parametrize(
    ("written", "kind"), [pytest.param(*case[1:], id=case[0]) for case in READ_AS_MEANT]
)
def test_other_ways_to_write_the_same_predictions_are_read(written: Any, kind: str | None) -> None:
    evaluator = Evaluator(success=True, bleu=True, dst=True, corpus="sample")
    report, expected = evaluator.evaluate(written), evaluator.evaluate(WELL)
    assert [score.value for score in report.scores] == [score.value for score in expected.scores]
    assert [warning.kind for warning in report.warnings] == [kind] * (kind is not None)


@pytest.mark.parametrize(
    ("text", "name", "remedy"),
    [
        ("{'smp0021': [{'response': 'hello'}]}", "mine.json", "line 1, column 2"),
        ('{"smp0021": [{"response": "hel', "mine.json", "cut off"),
        ('{"smp0021": [{"response": "hello"},', "mine.json", "cut off"),
    ],
)
def test_files_that_are_not_json_have_a_remedy(text: str, name: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        predictions_of_text(text, name)


@pytest.mark.parametrize(
    ("records", "remedy"),
    [
        ([{"dialogue_id": "smp0021", "turn": 0, "response": "hello"}], "group the turns"),
        ([{"id": "smp0021", "turns": WELL["smp0021"]}], '"dialogue_id"'),
    ],
)
def test_records_that_are_not_dialogues_have_a_remedy(records: Any, remedy: str) -> None:
    with pytest.raises(InputError, match=f"read as mwzeval's own format.*{remedy}"):
        Evaluator(success=True, corpus="sample").evaluate(records)


def test_an_archive_has_a_remedy(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("mine.json", json.dumps(WELL))
    with pytest.raises(InputError, match="unpack"):
        read_predictions(tmp_path / "a.zip")


def complete(*changes: tuple[int, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """All sample dialogues, with changes to the turns of the first ones: (dialogue, changes)."""
    predictions = sample_predictions("good")
    names = list(predictions)
    for dialogue, change in changes:
        predictions[names[dialogue]][0].update(change)
    return predictions


FIRST, SECOND = list(sample_predictions("good"))[:2]
WARNINGS: list[tuple[str, Any, str, int, tuple[Any, ...]]] = [
    # what, predictions, kind, count, place (dialogue, turn, key)
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
    ("some without state", complete((0, {})) | {FIRST: [{"response": "[name]",
     "active_domains": []}] * 3}, "partial-state", 1, (None, None, None)),
    ("some without active domains", complete() | {FIRST: [{"response": "[name]", "state": {}}] * 3},
     "partial-active_domains", 1, (None, None, None)),
    ("a turn too few", {n: t[1:] if n == FIRST else t for n, t in complete().items()},
     "fewer-turns", 1, (None, None, None)),
]  # fmt: skip


def test_what_may_be_a_mistake_is_counted() -> None:
    evaluator = Evaluator(success=True, corpus="sample")
    failures = []
    for name, predictions, kind, count, place in WARNINGS:
        problems = evaluator.validate(predictions, file="odd.json")
        found = [(p.severity, p.kind, p.count, (p.dialogue, p.turn, p.key)) for p in problems]
        if found != [("warning", kind, count, place)]:
            failures.append((name, found))
    assert not failures


def test_what_may_be_a_mistake_is_scored_unless_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "odd.json", tmp_path / "out.json"
    _, predictions, kind, count, place = WARNINGS[0]
    file.write_text(json.dumps(predictions), encoding="utf-8")
    evaluate = ["evaluate", "-s", "-i", str(file), "-o", str(output)]
    assert main(evaluate) == 0
    assert "warning: " in capsys.readouterr().err
    (warning,) = json.loads(output.read_text())["meta"]["warnings"]
    assert (warning["kind"], warning["count"]) == (kind, count)
    assert tuple(warning.get(key) for key in ("dialogue", "turn", "key")) == place
    output.unlink()

    assert main([*evaluate, "--strict"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {file}")
    assert not output.exists()

    assert main(["validate", "-i", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["valid"] is True
    assert main(["validate", "-i", str(file), "--strict"]) == 2
    assert json.loads(capsys.readouterr().out)["valid"] is False


def test_the_first_item_of_a_list_is_the_value() -> None:
    as_lists = sample_predictions("good")
    for turns in as_lists.values():
        for turn in turns:
            turn["state"] = {
                domain: {slot: [value, "another"] for slot, value in slots.items()}
                for domain, slots in turn["state"].items()
            }
    evaluator = Evaluator(success=True, dst=True, corpus="sample")
    plain, listed = evaluator.evaluate(sample_predictions("good")), evaluator.evaluate(as_lists)
    assert listed.metrics == plain.metrics


def test_predictions_without_mistakes_have_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    for system in ("good", "weak-tracker", "no-phone"):
        file = ROOT / "predictions" / f"sample-{system}.json"
        assert main(["validate", "--strict", "-i", str(file)]) == 0
        assert json.loads(capsys.readouterr().out) == {"valid": True, "problems": []}


def test_state_tracking_alone_needs_no_responses() -> None:
    predictions = sample_predictions("good")
    expected = Evaluator(dst=True, corpus="sample").evaluate(predictions).metrics["dst"]
    for turns in predictions.values():
        for turn in turns:
            del turn["response"]
    assert Evaluator(dst=True, corpus="sample").evaluate(predictions).metrics["dst"] == expected
    with pytest.raises(InputError) as caught:
        Evaluator(dst=True, success=True, corpus="sample").evaluate(predictions)
    assert {problem.kind for problem in caught.value.problems} == {"missing-response"}


# Files


def zst(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


def lines(predictions: dict[str, Any]) -> bytes:
    dialogues = (json.dumps({"dialogue": d, "turns": t}) for d, t in predictions.items())
    return "\n\n".join(dialogues).encode()


LINES = lines(sample_predictions("good"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", GOOD),
        ("a.json", b"\xef\xbb\xbf" + GOOD),
        ("no ending", GOOD),
        ("a.json.gz", gzip.compress(GOOD)),
        ("a.json.gz", gzip.compress(GOOD[:999]) + gzip.compress(GOOD[999:])),
        ("a.json.zst", zst(GOOD)),
        ("a.json.zst", zst(GOOD[:999]) + zst(GOOD[999:])),
        ("a.jsonl", LINES),
        ("a.jsonl", LINES.replace(b"\n", b"\r\n")),
        ("a.jsonl.zst", zst(LINES)),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_predictions_are_read_plain_compressed_and_by_line(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_predictions(tmp_path / name) == sample_predictions("good")


def test_predictions_are_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GOOD)))
    assert read_predictions("-") == sample_predictions("good")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.json", b'{"a":\n "\xff"}', "not-utf8"),
        ("a.json", GOOD.decode().encode("utf-16"), "not-utf8"),
        ("a.jsonl", LINES.replace(b"\n\n", b"\nx\n", 1), "not-json"),
        ("a.jsonl", b'\n\n{"dialogue": "a"}', "shape"),
        ("a.jsonl", b'[1]\n{"dialogue": 1, "turns": []}', "shape"),
        ("a.jsonl", LINES + b"\n" + LINES, "repeated-key"),
        ("a.jsonl", b'{"dialogue": "a", "turns": [], "turns": []}', "repeated-key"),
        ("missing.json", None, "unreadable"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_damaged_files_are_told_as_such(
    tmp_path: Path, name: str, content: bytes | None, kind: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / name)
    assert {problem.kind for problem in caught.value.problems} == {kind}
    assert {problem.file for problem in caught.value.problems} == {str(tmp_path / name)}


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
def test_an_unknown_choice_is_refused_with_those_there_are(
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
def test_an_unknown_key_of_an_item_is_told_and_not_used(items: str) -> None:
    item = BOOKING if items == "bookings" else {"function": "a"}
    typed, findings = checked({"response": "a", items: [{**item, "slot": {}}]})
    assert typed == checked({"response": "a", items: [item]})[0]
    (warning,) = findings.warnings
    assert (warning.kind, warning.key) == ("unknown-key", f"{items}[0]")


def test_a_response_has_a_length_that_can_be_scored() -> None:
    assert not checked({"response": "x" * 100_000})[1].problems
    (error,) = checked({"response": "x" * 100_001})[1].errors
    assert (error.kind, error.turn, error.key) == ("too-long", 0, "response")
