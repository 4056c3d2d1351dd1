"""Invalid predictions: all problems are reported with position and correction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.scoring.baselines import gold_file
from mwzeval.crosswoz.scoring.evaluation import evaluate, validate
from mwzeval.errors import InputError, Problem, UsageError
from tests.crosswoz.small_world import small_gold

GOLD = small_gold()
FIELDS = {
    "nlu": ["user_acts", "system_acts_nlu"],
    "dst": ["state"],
    "policy": ["system_acts"],
    "sim": ["user_acts", "user_state"],
    "e2e": ["response", "state", "selected"],
}
Plain = dict[str, Any]


def predictions(track: str) -> Plain:
    """Return the gold data of the small world as predictions for a track."""
    return gold_file(GOLD.fold, track, FIELDS[track], conditioning="predicted_history")


def change(file: Plain, operation: str) -> Plain:
    """Set or delete a value of a file, such as `set 1/0/turn 1`; return the file."""
    verb, path, *value = operation.split(" ", 2)
    *above, last = [
        int(name) if number and name.isdecimal() else name
        for number, name in enumerate(path.split("/"))
    ]
    holder: Any = file
    for key in above:
        holder = holder[key]
    if verb == "del":
        del holder[last]
    else:
        holder[last] = json.loads(value[0])
    return file


def test_errors_in_predictions_are_reported_with_their_position() -> None:
    lines = (Path(__file__).with_name("bad_predictions.tsv")).read_text("utf-8").splitlines()[1:]
    failures = []
    for line in lines:
        track, operation, kind, dialogue, turn, key, names = line.split("\t")
        file = change(predictions(track), operation)
        problems = validate(file, GOLD, file="x.json")
        first = next((problem for problem in problems if problem.kind == kind), None)
        found = first and (
            *(first.severity, first.file, first.dialogue or "", first.key or ""),
            *("" if first.turn is None else str(first.turn), names in first.message),
        )
        if found != ("error", "x.json", dialogue, key, turn, True):
            failures.append((line, found))
        with pytest.raises(InputError):
            evaluate(file, GOLD)
    assert not failures
    assert len(lines) > 30


@pytest.mark.parametrize("track", FIELDS)
def test_gold_predictions_have_no_problems(track: str) -> None:
    assert validate(predictions(track), GOLD) == []


def test_all_problems_are_reported_together() -> None:
    file = predictions("nlu")
    for operation in (
        'set 1/0/user_acts/0 ["Infrom", "景点", "门票", "免费"]',
        'set 1/1/user_acts/0 ["x"]',
        "del 1/2/user_acts",
        "del 2",
    ):
        change(file, operation)
    with pytest.raises(InputError) as raised:
        evaluate(file, GOLD)
    kinds = {problem.kind for problem in raised.value.problems}
    assert kinds == {"unknown-intent", "not-an-act", "missing-field", "missing-dialogues"}


def test_lenient_evaluation_counts_unknown_slots_as_wrong() -> None:
    file = predictions("dst")
    file["2"][0]["state"]["酒店"]["酒店设备"] = "暖气"
    options = Options(lenient=True)
    evaluated = evaluate(file, GOLD, options)
    assert [p.kind for p in evaluated.warnings] == ["unknown-slot"]
    joint = next(s for s in evaluated.report().scores if s.name == "dst.joint_full")
    assert joint.value == pytest.approx(80)  # four of five turns


def test_allowed_partial_predictions_are_scored_with_their_coverage() -> None:
    file = predictions("nlu")
    del file["1"]
    report = evaluate(file, GOLD, Options(allow_partial=True)).report()
    assert report.meta["coverage"] == {
        "dialogues": {"scored": 1, "of": 2},
        "exchanges": {"scored": 1, "of": 5},
    }
    assert "n:1" in str(report.scores[0].signature)


def test_repeated_acts_count_once_and_acts_may_be_strings() -> None:
    file = predictions("nlu")
    file["1"][0]["user_acts"] *= 3
    for name in ("1", "2"):
        for exchange in file[name]:
            exchange["user_acts"] = ["+".join(act) for act in exchange["user_acts"]]
    evaluated = evaluate(file, GOLD)
    (problem,) = evaluated.warnings
    assert (problem.kind, problem.count) == ("repeated-act", 4)
    assert evaluated.report().metrics["nlu"]["f1"]["total"] == 100


def test_spelling_variants_are_normalised_and_counted() -> None:
    file = predictions("nlu")
    file["1"][1]["system_acts_nlu"] = [["Inform", "景点", "电话", "０１０－１　010-2"]]
    evaluated = evaluate(file, GOLD)
    assert evaluated.report().metrics["nlu"]["f1"]["total"] == 100
    (problem,) = evaluated.warnings
    assert (problem.kind, problem.count, problem.dialogue) == ("other-spelling", 1, "1")
    file = predictions("dst")
    file["2"][0]["state"] = {"酒店": {"酒店设施": "暖气", "酒店类型": " 经济"}}
    found = evaluate(file, GOLD)
    assert [p.kind for p in found.warnings] == ["other-spelling"]
    dst = found.report().metrics["dst"]
    assert dst["joint_full"]["total"] == pytest.approx(80)
    assert dst["joint_full_normalised"]["total"] == 100


def test_predictions_of_another_fold_are_reported() -> None:
    gold = Gold(GOLD.fold, lambda: {"train": frozenset({"77", "78"})})
    options = Options(("nlu",), allow_partial=True)
    for file, kind in (
        ({"77": [], "78": []}, "other-fold"),
        ({"1": predictions("nlu")["1"], "77": []}, "unknown-dialogue"),
    ):
        (problem,) = (p for p in validate(file, gold, options) if p.kind == kind)
        assert "train" in problem.message


def test_corpus_files_are_refused_as_predictions() -> None:
    (problem, *_) = validate({"1": {"messages": [], "goal": []}}, GOLD, Options(("nlu",)))
    assert problem.kind == "corpus-file"


def test_gbk_encoded_files_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "gbk.json"
    text = json.dumps(predictions("nlu"), ensure_ascii=False)
    for content, is_gbk in ((text.encode("gbk"), True), (b'{"1": "\xff\xfe\xff"}', False)):
        path.write_bytes(content)
        (problem,) = validate(path, GOLD)
        assert problem.kind == "not-utf8"
        assert ("GBK" in problem.message) is is_gbk


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty-file"),
        ("{", "not-json"),
        ("[]", "shape"),
        ("{}", "empty"),
        ('{"1": [], "1": []}', "repeated-key"),
        ('{"dialogue_id": "1", "turns": []}\n{"dialogue_id": "1", "turns": []}\n', "repeated-key"),
        ('{"dialogue_id": "1", "turns": []}\n{"dialogue_id": "2"}\n', "shape"),
        ('{"_meta": 5, "1": []}', "shape"),
    ],
)
def test_broken_files_are_reported_with_their_problem_kind(
    tmp_path: Path, text: str, kind: str
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, "utf-8")
    assert kind in [problem.kind for problem in validate(path, GOLD, Options(("nlu",)))]


def test_json_and_jsonl_files_have_equal_scores(tmp_path: Path) -> None:
    file = predictions("dst")
    dialogues = [{"dialogue_id": name, "turns": file[name]} for name in ("1", "2")]
    lines = [json.dumps(line) for line in ({"_meta": file["_meta"]}, *dialogues)]
    expected = evaluate(file, GOLD).report().scores
    for name, text in (("a.json", json.dumps(file)), ("b.jsonl", "\n".join(lines))):
        (tmp_path / name).write_text(text, "utf-8")
        assert evaluate(tmp_path / name, GOLD).report().scores == expected


def test_unknown_option_values_are_refused_with_suggestions() -> None:
    with pytest.raises(UsageError, match='"policy"'):
        Options(("polic",))
    with pytest.raises(UsageError, match="predicted_history"):
        Options(conditioning="history")


def warnings(file: Plain) -> list[Problem]:
    return list(evaluate(file, GOLD).warnings)


@pytest.mark.parametrize(
    ("track", "key", "empty"), [("dst", "state", {}), ("policy", "system_acts", [])]
)
def test_fields_that_are_always_empty_are_reported(track: str, key: str, empty: object) -> None:
    file = predictions(track)
    for name in ("1", "2"):
        file[name] = [{**exchange, key: empty} for exchange in file[name]]
    (problem,) = warnings(file)
    assert (problem.dialogue, problem.turn, problem.key) == ("1", 0, key)
    file["2"][0][key] = predictions(track)["2"][0][key]
    assert warnings(file) == []


@pytest.mark.parametrize("value", ["none", "无", "未提及", " None "])
def test_placeholder_values_of_unfilled_slots_are_reported(value: str) -> None:
    file = predictions("dst")
    file["1"][1]["state"]["景点"]["门票"] = file["2"][0]["state"]["酒店"]["酒店类型"] = value
    (problem,) = warnings(file)
    assert (problem.kind, problem.count) == ("unfilled-value", 2)
    assert (problem.dialogue, problem.turn, problem.key) == ("1", 1, "state.景点.门票")


def test_overlong_responses_are_refused() -> None:
    file = predictions("e2e")
    file["1"][0]["response"] = "好的" * 5_000
    assert validate(file, GOLD) == []
    file["1"][0]["response"] += "。"
    (problem,) = validate(file, GOLD)
    assert (problem.kind, problem.dialogue) == ("too-long", "1")
