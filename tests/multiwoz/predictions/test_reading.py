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
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.reading import (
    Findings,
    check_dialogues,
    predictions_of_text,
    read_predictions,
)
from tests.places import ROOT, sample_predictions

ID = "smp0021"  # of 3 turns
TURN = {"response": "a [name]", "state": {}, "active_domains": ["hotel"]}
GOOD = (ROOT / "predictions" / "sample-good.json").read_bytes()


def one(**changed: Any) -> str:
    """A file of one turn, with some of its keys changed."""
    return json.dumps({ID: [{**TURN, **changed}]})


def without(key: str, **instead: Any) -> str:
    return json.dumps({ID: [{k: v for k, v in TURN.items() if k != key} | instead]})


SHAPE = 'expected an object of dialogues, {"sng0073": [turn, …], …}, '
AT = f'dialogue "{ID}"'
BAD_FILES: list[tuple[str, str, str, str]] = [
    # what, content, kind, message with its place
    ("empty file", "", "empty-file", "the file is empty"),
    ("blank file", " \n\t\n", "empty-file", "the file is empty"),
    ("cut file", '{"a": [}', "not-json", "not valid JSON: line 1, column 8: Expecting value"),
    ("third line", '{\n"a":\n x}', "not-json", "not valid JSON: line 3, column 2: Expecting value"),
    ("two values", "{} {}", "not-json", "not valid JSON: line 1, column 4: Extra data"),
    ("NaN", one(state={"hotel": {"stars": float("nan")}}), "not-json",
     "not valid JSON: line 1: NaN is not a number that JSON can hold"),
    ("infinity", "\n\n-Infinity", "not-json",
     "not valid JSON: line 3: -Infinity is not a number that JSON can hold"),
    ("deep lists", "[" * 100_000, "not-json",
     "not valid JSON: nested too deeply to be read"),
    ("deep objects", '{"a":' * 100_000, "not-json",
     "not valid JSON: nested too deeply to be read"),
    ("control character", '{"a": "\x01"}', "not-json",
     "not valid JSON: line 1, column 8: Invalid control character at"),
    ("a list", "[]", "shape", SHAPE + "found a list"),
    ("text", '"a"', "shape", SHAPE + "found text"),
    ("a number", "3.5", "shape", SHAPE + "found a number"),
    ("true", "true", "shape", SHAPE + "found true or false"),
    ("null", "null", "shape", SHAPE + "found null"),
    ("no dialogue", "{}", "empty", "there is no dialogue in it"),
    ("no turns", json.dumps({ID: []}), "empty", f"{AT}: the dialogue has no turns"),
    ("turns by number", json.dumps({ID: {"0": TURN}}), "shape",
     f"{AT}: expected a list of turns, found an object"),
    ("turns of text", json.dumps({ID: ["hello"]}), "shape",
     f"{AT}, turn 0: expected an object, found text: write {{\"response\": \"…\"}}"),
    ("dialogue twice", f'{{"{ID}": [{json.dumps(TURN)}], "{ID}": [{json.dumps(TURN)}]}}',
     "repeated-key", f"{AT}: the dialogue is given more than once"),
    ("response twice", f'{{"{ID}": [{{"response": "[name]", "response": "b"}}]}}', "repeated-key",
     f'{AT}, turn 0: given more than once in one object: "response"'),
    ("domain twice",
     f'{{"{ID}": [{{"response": "[name]", "state": {{"taxi": {{}}, "taxi": {{}}}}}}]}}',
     "repeated-key", f'{AT}, turn 0: given more than once in one object: "taxi"'),
    ("slot twice",
     f'{{"{ID}": [{{"response": "a", "state": {{"taxi": {{"a": "b", "a": "c"}}}}}}]}}',
     "repeated-key", f'{AT}, turn 0: given more than once in one object: "a"'),
    ("file name as id", json.dumps({"SMP0021.json": [TURN], "smp0022": [TURN]}), "unknown-dialogue",
     'dialogue "SMP0021.json": write the id in lower case and without file ending, as the fold has '
     "it"),
    ("foreign id", json.dumps({"wozs0099x": [TURN]}), "unknown-dialogue",
     'dialogue "wozs0099x": not in the test fold of sample'),
    ("misspelled id", json.dumps({"smmp0021": [TURN]}), "unknown-dialogue",
     'dialogue "smmp0021": not in the test fold of sample — did you mean "smp0021"?'),
    ("__proto__ as id", json.dumps({"__proto__": [TURN]}), "unknown-dialogue",
     'dialogue "__proto__": not in the test fold of sample'),
    ("control characters in id", json.dumps({"a\x1b[31m\n": [TURN]}), "unknown-dialogue",
     'dialogue "a\\x1b[31m\\n": not in the test fold of sample'),
    ("more turns than there are", json.dumps({ID: [TURN] * 4}), "too-many-turns",
     f"{AT}: has 4 system turns; the test fold of sample has 3 — predict one response per system "
     "turn"),
    ("no response", without("response"), "missing-response",
     f'{AT}, turn 0, key "response": the turn has no response'),
    ("misspelled response", without("response", respone="a"), "missing-response",
     f'{AT}, turn 0, key "response": the turn has no response — was this meant: "respone"?'),
    ("number as response", one(response=5), "shape",
     f'{AT}, turn 0, key "response": expected text, found a number'),
    ("null as response", one(response=None), "shape",
     f'{AT}, turn 0, key "response": expected text, found null: write ""'
     " if the system says nothing"),
    ("list as state", one(state=[]), "shape",
     f'{AT}, turn 0, key "state": a state is an object of domains, found a list'),
    ("null as state", one(state=None), "shape",
     f'{AT}, turn 0, key "state": a state is an object of domains, found null'),
    ("text beside a flat slot", one(state={"hotel": "cheap", "hotel-area": "north"}), "shape",
     f'{AT}, turn 0, key "state.hotel": a domain\'s state is an object of slots, found text'),
    ("text as domain state", one(state={"hotel": "cheap"}), "shape",
     f'{AT}, turn 0, key "state.hotel": a domain\'s state is an object of slots, found text'),
    ("number as value", one(state={"hotel": {"stars": 4}}), "shape",
     f'{AT}, turn 0, key "state.hotel.stars": a slot\'s value is text, found a number: write "4"'),
    ("truth as value", one(state={"hotel": {"parking": True}}), "shape",
     f'{AT}, turn 0, key "state.hotel.parking": a slot\'s value is text, found true or false'),
    ("object as value", one(state={"__proto__": {"x": {}}}), "shape",
     f'{AT}, turn 0, key "state.__proto__.x": a slot\'s value is text, found an object'),
    ("list of numbers as value", one(state={"hotel": {"stars": [4]}}), "shape",
     f'{AT}, turn 0, key "state.hotel.stars": a slot\'s value is text, found a number: write "4"'),
    ("text as active domains", one(active_domains="hotel"), "shape",
     f'{AT}, turn 0, key "active_domains": expected a list of domain names, found text'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [pytest.param(*case[1:], id=case[0]) for case in BAD_FILES],
)
@pytest.mark.exhaustive(but=10)
def test_bad_input_is_told_with_its_place_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, kind: str, message: str
) -> None:
    file, output = tmp_path / "bad.json", tmp_path / "out.json"
    file.write_text(content, encoding="utf-8")
    arguments = ["--corpus", "sample", "-i", str(file)]
    assert main(["evaluate", "-bsrd", *arguments, "-o", str(output)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"error: {file}: {message}\n"
    assert not output.exists()

    assert main(["validate", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err == ""
    result = json.loads(shown.out)
    assert result["valid"] is False
    errors = [problem for problem in result["problems"] if problem["severity"] == "error"]
    assert [problem["kind"] for problem in errors] == [kind]
    assert message.endswith(errors[0]["message"])


def test_all_errors_are_told_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bad = [{**TURN, "response": 1}, {**TURN, "state": 2}, {"state": {"taxi": {"leave": 3}}}]
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({ID: bad, "x": []}))
    assert main(["evaluate", "-s", "--corpus", "sample", "-i", str(file), "-o", "never"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == [
        "expected text, found a number",
        "a state is an object of domains, found a number",
        "the turn has no response",
        'write "3"',
        "the dialogue has no turns",
    ]


def test_only_the_first_of_very_many_errors_are_spelled_out() -> None:
    with pytest.raises(InputError) as caught:
        Evaluator(success=True, corpus="sample").evaluate({f"x{n}": [TURN] for n in range(500)})
    assert len(caught.value.problems) == 501
    lines = str(caught.value).splitlines()
    assert len(lines) == 2  # none of them is in the fold; each of them is not
    assert lines[-1].endswith("(500 times)")
    different = [Problem("x", f"problem {number}", count=2) for number in range(30)]
    lines = str(InputError(different)).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "… and 20 more (`mwzeval validate` lists all of them)"


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
        ("dialogue_id,turn,response\nsmp0021,0,hello\n", "mine.csv", "CSV"),
        ("dialogue_id,turn,response\nsmp0021,0,hello\n", "mine.json", "CSV"),
        ("{'smp0021': [{'response': 'hello'}]}", "mine.json", "json.dump"),
        ('{"smp0021": [{"response": "hel', "mine.json", "cut off"),
        ('{"smp0021": [{"response": "hello"},', "mine.json", "cut off"),
        ('{"version": 2, "status": "success", "eval": {"a": NaN}}', "a.json", "compare --items"),
        ('{"version": 2, "status": "success", "eval": {"a": 1}}', "a.json", "compare --items"),
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


@pytest.mark.parametrize(("name", "remedy"), [("a.zip", "unpack"), ("a.eval", "--items")])
def test_archives_have_a_remedy(name: str, remedy: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("mine.json", json.dumps(WELL))
    with pytest.raises(InputError, match=remedy):
        read_predictions(tmp_path / name)


def complete(*changes: tuple[int, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """All sample dialogues, with changes to the turns of the first ones: (dialogue, changes)."""
    predictions = sample_predictions("good")
    names = list(predictions)
    for dialogue, change in changes:
        predictions[names[dialogue]][0].update(change)
    return predictions


FIRST, SECOND = list(sample_predictions("good"))[:2]
WARNINGS: list[tuple[str, Any, str, str, int, tuple[Any, ...]]] = [
    # what, predictions, kind, message, count, place (dialogue, turn, key)
    ("an unknown key", complete((0, {"acts": 1}), (1, {"acts": 2})), "unknown-key",
     'a turn\'s key "acts" is not known and not used', 2, (FIRST, 0, "acts")),
    ("a misspelled key", complete((1, {"active_domain": []})), "unknown-key",
     'a turn\'s key "active_domain" is not known and not used — did you mean "active_domains"?',
     1, (SECOND, 0, "active_domain")),
    ("__proto__", complete((0, {"__proto__": {"state": 1}})), "unknown-key",
     'a turn\'s key "__proto__" is not known and not used', 1, (FIRST, 0, "__proto__")),
    ("a list as value", complete((0, {"state": {"hotel": {"area": ["east", "west"]}}}),
     (1, {"state": {"hotel": {"stars": []}}})), "list-value",
     "a list stands as a slot's value; its first item is used", 2, (FIRST, 0, "state.hotel.area")),
    ("an unknown domain", complete((1, {"state": {"hotl": {"area": "a", "stars": "2"}}})),
     "unknown-domain", 'unknown domain "hotl" — did you mean "hotel"?', 1,
     (SECOND, 0, "state.hotl")),
    ("an unknown slot", complete((0, {"state": {"hotel": {"price range ": "a", "pricerang": "b"}}}),
     (1, {"state": {"hotel": {"pricerang": "b"}}})), "unknown-slot",
     'unknown slot "pricerang" in domain "hotel" — did you mean "pricerange"?', 2,
     (FIRST, 0, "state.hotel.pricerang")),
    ("an unknown placeholder", complete((0, {"response": "[restaurant_nam] [Restaurant_Nam]s"})),
     "unknown-placeholder",
     'unknown placeholder "[restaurant_nam]" is dropped — did you mean "restaurant_name"?', 2,
     (None, None, None)),
    ("no placeholder at all",
     {name: [{**turn, "response": re.sub(r"\[\w+\]", "it", turn["response"])} for turn in turns]
      for name, turns in complete().items()}, "lexicalized",
     "no response has a placeholder like [restaurant_name]: they look lexicalised, and are "
     "delexicalised with the database for scoring; --responses lexicalized says that "
     "it is meant", 1, (None, None, None)),
    ("some without state", complete((0, {})) | {FIRST: [{"response": "[name]",
     "active_domains": []}] * 3}, "partial-state",
     "states: gold (3 of 452 turns have none); compare only with policy-optimization results", 1,
     (None, None, None)),
    ("some without active domains", complete() | {FIRST: [{"response": "[name]", "state": {}}] * 3},
     "partial-active_domains",
     "active domains: estimated from the states, for all turns (3 of 452 turns have none)", 1,
     (None, None, None)),
    ("a turn too few", {n: t[1:] if n == FIRST else t for n, t in complete().items()},
     "fewer-turns", "1 of the fold's 452 turns are not in the predictions; the scores are of the "
     "451 that are, and not comparable to those of the whole fold", 1, (None, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("predictions", "kind", "message", "count", "place"),
    [pytest.param(*case[1:], id=case[0]) for case in WARNINGS],
)
@pytest.mark.exhaustive(but=2)
def test_what_may_be_a_mistake_is_counted_and_scored_unless_strict(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    predictions: Any,
    kind: str,
    message: str,
    count: int,
    place: tuple[str | None, int | None, str | None],
) -> None:
    file, output = tmp_path / "odd.json", tmp_path / "out.json"
    file.write_text(json.dumps(predictions), encoding="utf-8")
    problem = Problem(kind, message, "warning", str(file), *place, count)

    assert main(["evaluate", "-s", "-i", str(file), "-o", str(output)]) == 0
    times = f" ({count} times)" if count > 1 else ""
    assert capsys.readouterr().err == (f"wrote {output}\nwarning: {problem.shared()}{times}\n")
    warnings = json.loads(output.read_text())["meta"]["warnings"]
    assert [(w["kind"], w["message"], w["count"]) for w in warnings] == [(kind, message, count)]
    assert tuple(warnings[0].get(key) for key in ("dialogue", "turn", "key")) == place
    output.unlink()

    assert main(["evaluate", "-s", "-i", str(file), "-o", str(output), "--strict"]) == 2
    assert capsys.readouterr().err == f"error: {problem}{times}\n"
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
    assert (listed["success"], listed["dst"]) == (plain["success"], plain["dst"])


def test_predictions_without_mistakes_have_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    for system in ("good", "weak-tracker", "no-phone"):
        file = ROOT / "predictions" / f"sample-{system}.json"
        assert main(["validate", "--strict", "-i", str(file)]) == 0
        assert json.loads(capsys.readouterr().out) == {"valid": True, "problems": []}


def test_state_tracking_alone_needs_no_responses() -> None:
    predictions = sample_predictions("good")
    expected = Evaluator(dst=True, corpus="sample").evaluate(predictions)["dst"]
    for turns in predictions.values():
        for turn in turns:
            del turn["response"]
    assert Evaluator(dst=True, corpus="sample").evaluate(predictions)["dst"] == expected
    with pytest.raises(InputError, match="the turn has no response"):
        Evaluator(dst=True, success=True, corpus="sample").evaluate(predictions)


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
        st.sampled_from(["response", "state", "active_domains", "hotel", "[name]"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["response", "state", "active_domains", "hotel", "area", "a\x00"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)  # fmt: skip


inputs = st.one_of(
    json_values,
    json_values.map(lambda turns: {ID: turns}),
    json_values.map(lambda turn: {ID: [turn]}),
    json_values.map(lambda state: {ID: [{"response": "[name]", "state": state}]}),
)


@given(inputs)
def test_whatever_comes_is_scored_or_refused(evaluator: Evaluator, value: Any) -> None:
    problems = evaluator.validate(value)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        with pytest.raises(InputError) as caught:
            evaluator.evaluate(value)
        assert list(caught.value.problems) == errors
    else:
        assert evaluator.evaluate(value)["success"] is not None


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
        ("a.jsonl.gz", gzip.compress(LINES)),
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
    ("name", "content", "kind", "message"),
    [
        ("a.json.gz", gzip.compress(GOOD)[:-9], "unreadable", "not a complete gzip file"),
        ("a.json.gz", gzip.compress(GOOD)[:99], "unreadable", "not a complete gzip file"),
        ("a.json.gz", GOOD, "unreadable", "not a complete gzip file"),
        ("cut.json.zst", zst(GOOD)[:-9], "unreadable", "not a complete zstd file"),
        ("cut.json.zst", zst(GOOD)[:99], "unreadable", "not a complete zstd file"),
        ("a.json.zst", GOOD, "unreadable", "not a complete zstd file"),
        ("a.json.gz", gzip.compress(b""), "empty-file", "the file is empty"),
        ("a.json", b'{"a":\n "\xff"}', "not-utf8", "line 2, byte 3 of it is not UTF-8"),
        ("a.json", GOOD.decode().encode("utf-16"), "not-utf8", "line 1, byte 1 of it is not UTF-8"),
        ("a.jsonl", LINES.replace(b"\n\n", b"\nx\n", 1), "not-json", "line 2, column 1: Expecting"),
        ("a.jsonl", b'\n\n{"dialogue": "a"}', "shape", "line 3: expected"),
        ("a.jsonl", b'[1]\n{"dialogue": 1, "turns": []}', "shape", "line 2: expected"),
        ("a.jsonl", LINES + b"\n" + LINES, "repeated-key", "the dialogue was given before"),
        ("a.jsonl", b'{"dialogue": "a", "turns": [], "turns": []}', "repeated-key", '"turns"'),
        ("missing.json", None, "unreadable", "No such file"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_damaged_files_are_told_as_such(
    tmp_path: Path, name: str, content: bytes | None, kind: str, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_predictions(tmp_path / name)
    assert {problem.kind for problem in caught.value.problems} == {kind}
    assert {problem.file for problem in caught.value.problems} == {str(tmp_path / name)}


def test_a_folder_is_no_predictions_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read: Is a directory"):
        read_predictions(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_predictions("a\0b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"corpus": "multiwoz-2.5"},
            'unknown corpus "multiwoz-2.5" — did you mean "multiwoz-2.4"?',
        ),
        ({"fold": "tset"}, 'unknown fold "tset" — did you mean "test"?'),
        ({"rules": "2022"}, 'unknown rules "2022"'),
    ],
)
def test_an_unknown_choice_is_refused_with_those_there_are(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Evaluator(success=True, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
    assert "(known: " in str(caught.value)


def test_a_response_has_a_length_that_can_be_scored() -> None:
    findings = Findings("a.json")
    turns = [{"response": "x" * 100_000}, {"response": "x" * 100_001}]
    check_dialogues({"sng0073": turns}, findings, need_responses=True)
    assert [(p.kind, p.turn, p.key) for p in findings.errors] == [("too-long", 1, "response")]
