"""Bad predictions: all that is wrong is found, with its place and what would be right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.predictions.checking import Options
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


def without(key: str) -> Callable[[Plain], None]:
    def change(file: Plain) -> None:
        del file["_meta"][key]

    return change


def setting(value: Any, *path: Any) -> Callable[[Plain], None]:
    """Return a change that puts a value at a place of the file."""

    def change(file: Plain) -> None:
        inner: Any = file
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def dropping(*path: Any) -> Callable[[Plain], None]:
    def change(file: Plain) -> None:
        inner: Any = file
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]

    return change


BAD: list[tuple[str, Callable[[Plain], None], str, dict[str, Any], list[str]]] = [
    ("nlu", setting([], "11"), "unknown-dialogue", {"dialogue": "11"}, ["not in the test fold"]),
    ("nlu", dropping("2"), "missing-dialogues", {}, ['"2"', "--allow-partial"]),
    (
        "nlu",
        dropping("1", 3),
        "wrong-length",
        {"dialogue": "1"},
        ["expected 4 exchanges", "found 3"],
    ),
    ("dst", setting([{}, {}], "2"), "wrong-length", {"dialogue": "2"}, ["not for each turn"]),
    (
        "nlu",
        setting(["Inform", "景点", "门票"], "1", 0, "user_acts", 0),
        "not-an-act",
        {"dialogue": "1", "turn": 0, "key": "user_acts"},
        ["intent, domain, slot and value", "3 parts"],
    ),
    (
        "nlu",
        setting("Inform-景点-门票-免费", "1", 0, "user_acts", 0),
        "not-an-act",
        {"turn": 0},
        ["joined by +, not by -"],
    ),
    ("nlu", setting(7, "1", 0, "user_acts", 0), "not-an-act", {}, ["found a number"]),
    (
        "nlu",
        setting(["Inform", "景点", "门票", 20], "1", 0, "user_acts", 0),
        "not-an-act",
        {},
        ["found a number"],
    ),
    (
        "nlu",
        setting(["Infrom", "景点", "门票", "免费"], "1", 0, "user_acts", 0),
        "unknown-intent",
        {"dialogue": "1", "turn": 0, "key": "user_acts"},
        ['did you mean "Inform"'],
    ),
    (
        "nlu",
        setting(["Inform", "景点点", "门票", "免费"], "1", 0, "user_acts", 0),
        "unknown-domain",
        {},
        ['did you mean "景点"'],
    ),
    (
        "policy",
        setting(["Inform", "景点", "游玩时", "1天"], "1", 0, "system_acts", 0),
        "unknown-slot",
        {"key": "system_acts"},
        ['did you mean "游玩时间"'],
    ),
    (
        "nlu",
        setting(["Inform", "餐馆", "酒店设施-暖气", "是"], "1", 0, "user_acts", 0),
        "unknown-slot",
        {},
        ["only 酒店 has services"],
    ),
    (
        "nlu",
        setting(["General", "thanks", "none", "none"], "1", 3, "user_acts", 0),
        "unknown-kind",
        {"turn": 3},
        ['did you mean "thank"'],
    ),
    (
        "dst",
        setting({"酒店": {"酒店设备": "暖气"}}, "2", 0, "state"),
        "unknown-slot",
        {"dialogue": "2", "turn": 0, "key": "state"},
        ['did you mean "酒店设施"'],
    ),
    (
        "dst",
        setting({"hotel": {"name": "客栈"}}, "2", 0, "state"),
        "unknown-domain",
        {"key": "state"},
        ["known: 景点"],
    ),
    (
        "dst",
        setting({"酒店": {"价格": ["150元"]}}, "2", 0, "state"),
        "shape",
        {"key": "state"},
        ["must be text, found a list", "推荐菜"],
    ),
    ("dst", without("conditioning"), "missing-conditioning", {"key": "_meta"}, ["gold_acts"]),
    (
        "dst",
        setting("gold_previous", "_meta", "conditioning"),
        "unknown-conditioning",
        {},
        ['did you mean "gold_previous_state"'],
    ),
    ("nlu", without("track"), "missing-track", {}, ["--track", "dst"]),
    ("nlu", setting("polcy", "_meta", "track"), "unknown-track", {}, ['did you mean "policy"']),
    ("nlu", setting("train", "_meta", "split"), "other-split", {}, ['"test" is scored']),
    ("nlu", setting("convlab2", "_meta", "revision"), "other-revision", {}, ['"release"']),
    ("nlu", setting("multiwoz", "_meta", "dataset"), "other-dataset", {}, ["crosswoz"]),
    (
        "nlu",
        dropping("1", 2, "user_acts"),
        "missing-field",
        {"dialogue": "1", "turn": 2, "key": "user_acts"},
        ["nlu needs"],
    ),
    (
        "nlu",
        dropping("1", 2, "system_acts_nlu"),
        "missing-field",
        {"turn": 2, "key": "system_acts_nlu"},
        ["nlu needs"],
    ),
    ("e2e", dropping("2", 0, "selected"), "missing-field", {"dialogue": "2"}, ["selected"]),
    ("sim", dropping("2", 0, "user_state"), "missing-field", {"dialogue": "2"}, ["user_state"]),
    (
        "sim",
        dropping("2", 0, "user_state", 1),
        "other-goal",
        {"dialogue": "2", "turn": 0, "key": "user_state"},
        ["3 lines, found 2"],
    ),
    (
        "sim",
        setting([1, "酒店", "名字", "", True], "2", 0, "user_state", 1),
        "other-goal",
        {},
        ["line 1 should be about 1 酒店 名称"],
    ),
    (
        "sim",
        setting([1, "酒店", "名称", ""], "2", 0, "user_state", 1),
        "not-a-line",
        {"key": "user_state"},
        ["expressed"],
    ),
    ("nlu", setting(1, "1", 0, "turn"), "wrong-number", {"turn": 0}, ["stands at 0"]),
    ("nlu", setting(None, "1", 0), "shape", {"turn": 0}, ["expected an object, found null"]),
    ("nlu", setting("x", "1"), "shape", {"dialogue": "1"}, ["found text"]),
    ("e2e", setting(5, "1", 0, "response"), "shape", {"key": "response"}, ["expected text"]),
    ("e2e", setting({"酒店": "客栈"}, "1", 0, "selected"), "shape", {}, ["list of names"]),
    ("e2e", setting({"酒店": [3]}, "1", 0, "selected"), "shape", {}, ["a number among them"]),
    ("dst", setting({"餐管": {}}, "1", 0, "state"), "unknown-domain", {}, ['mean "餐馆"']),
]


@pytest.mark.parametrize(("track", "change", "kind", "place", "words"), BAD)
def test_what_is_wrong_is_found_with_its_place(
    track: str, change: Callable[[Plain], None], kind: str, place: Plain, words: list[str]
) -> None:
    file = predictions(track)
    change(file)
    problems = [p for p in validate(file, GOLD, file="x.json") if p.kind == kind]
    assert problems, [str(p) for p in validate(file, GOLD)]
    assert problems[0].severity == "error"
    assert problems[0].file == "x.json"
    assert {key: getattr(problems[0], key) for key in place} == place
    for word in words:
        assert word in problems[0].message
    with pytest.raises(InputError):
        evaluate(file, GOLD)


@pytest.mark.parametrize("track", FIELDS)
def test_gold_as_prediction_has_no_problem(track: str) -> None:
    assert validate(predictions(track), GOLD) == []


def test_all_problems_come_at_once() -> None:
    file = predictions("nlu")
    setting(["Infrom", "景点", "门票", "免费"], "1", 0, "user_acts", 0)(file)
    setting(["x"], "1", 1, "user_acts", 0)(file)
    dropping("1", 2, "user_acts")(file)
    dropping("2")(file)
    with pytest.raises(InputError) as raised:
        evaluate(file, GOLD)
    kinds = {problem.kind for problem in raised.value.problems}
    assert kinds == {"unknown-intent", "not-an-act", "missing-field", "missing-dialogues"}


def test_a_lenient_check_counts_what_does_not_exist_as_wrong() -> None:
    file = predictions("dst")
    file["2"][0]["state"]["酒店"]["酒店设备"] = "暖气"
    options = Options(lenient=True)
    evaluated = evaluate(file, GOLD, options)
    assert [p.kind for p in evaluated.warnings] == ["unknown-slot"]
    joint = next(s for s in evaluated.report().scores if s.name == "dst.joint_full")
    assert joint.value == pytest.approx(80)  # four of five exchanges


def test_a_part_is_scored_when_allowed_and_its_coverage_is_shown() -> None:
    file = predictions("nlu")
    del file["1"]
    report = evaluate(file, GOLD, Options(allow_partial=True)).report()
    assert report.meta["coverage"]["dialogues"] == {"scored": 1, "of": 2}
    assert report.meta["coverage"]["exchanges"] == {"scored": 1, "of": 5}
    assert "n:1" in str(report.scores[0].signature)


def test_a_repeated_act_counts_once_and_is_told() -> None:
    file = predictions("nlu")
    file["1"][0]["user_acts"] *= 3
    evaluated = evaluate(file, GOLD)
    (problem,) = evaluated.warnings
    assert (problem.kind, problem.count) == ("repeated-act", 4)
    assert evaluated.report().metrics["nlu"]["f1"]["total"] == 100


def test_acts_may_be_texts() -> None:
    file = predictions("nlu")
    for name in ("1", "2"):
        for exchange in file[name]:
            exchange["user_acts"] = ["+".join(act) for act in exchange["user_acts"]]
    assert evaluate(file, GOLD).report().metrics["nlu"]["f1"]["total"] == 100


def test_other_widths_cases_and_blanks_are_normalised_and_counted() -> None:
    file = predictions("nlu")
    file["1"][1]["system_acts_nlu"] = [["Inform", "景点", "电话", "０１０－１　010-2"]]
    evaluated = evaluate(file, GOLD)
    assert evaluated.report().metrics["nlu"]["f1"]["total"] == 100
    (problem,) = evaluated.warnings
    assert (problem.kind, problem.count, problem.dialogue) == ("other-spelling", 1, "1")
    assert "width" in problem.message
    assert "right" in problem.message
    file = predictions("dst")
    file["2"][0]["state"] = {"酒店": {"酒店设施": "暖气", "酒店类型": " 经济"}}
    found = evaluate(file, GOLD)
    assert [p.kind for p in found.warnings] == ["other-spelling"]
    dst = found.report().metrics["dst"]
    assert dst["joint_full"]["total"] == pytest.approx(80)
    assert dst["joint_full_normalised"]["total"] == 100


def test_predictions_of_another_fold_are_recognised() -> None:
    gold = Gold(GOLD.fold, {"train": frozenset({"77", "78"})})
    (problem,) = [
        p for p in validate({"77": [], "78": []}, gold, Options(("nlu",))) if p.kind != "shape"
    ]
    assert problem.kind == "other-fold"
    assert "the ids are of train" in problem.message
    some = {"1": predictions("nlu")["1"], "77": []}
    found = validate(some, gold, Options(("nlu",), allow_partial=True))
    assert "but in train" in next(p.message for p in found if p.kind == "unknown-dialogue")


def test_a_corpus_file_is_no_predictions_file() -> None:
    (problem, *_) = validate({"1": {"messages": [], "goal": []}}, GOLD, Options(("nlu",)))
    assert problem.kind == "corpus-file"


def test_a_file_in_gbk_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "gbk.json"
    path.write_bytes(json.dumps(predictions("nlu"), ensure_ascii=False).encode("gbk"))
    (problem,) = validate(path, GOLD)
    assert problem.kind == "not-utf8"
    assert "GBK" in problem.message
    assert "iconv" in problem.message
    path.write_bytes(b'{"1": "\xff\xfe\xff"}')
    (problem,) = validate(path, GOLD)
    assert problem.kind == "not-utf8"
    assert "GBK" not in problem.message


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
def test_broken_files_are_told_from_others(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, "utf-8")
    assert kind in [problem.kind for problem in validate(path, GOLD, Options(("nlu",)))]


def test_options_say_what_they_do_not_know() -> None:
    with pytest.raises(UsageError, match='did you mean "policy"'):
        Options(("polic",))
    with pytest.raises(UsageError, match="predicted_history"):
        Options(conditioning="history")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
EXCHANGE = st.dictionaries(
    st.sampled_from(["user_acts", "state", "selected", "user_state", "response", "turn", "x"]), JSON
)


@given(
    st.dictionaries(st.sampled_from(["1", "2", "_meta", "3"]), st.lists(EXCHANGE) | JSON),
    st.sampled_from(sorted(FIELDS)),
)
def test_no_input_is_too_odd(raw: Plain, track: str) -> None:
    found = validate(raw, GOLD, Options((track,), "gold_acts", allow_partial=True))
    assert all(isinstance(problem, Problem) and problem.message for problem in found)
