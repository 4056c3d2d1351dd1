"""Success: correct values of venues, outcomes of dialogues, and failure reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.crosswoz.corpus.dialogues import goal_from_json
from mwzeval.crosswoz.scoring.baselines import gold_exchanges, gold_file
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.scoring.success import (
    answer_in,
    is_fact,
    judge,
    mentioned_names,
    outcome_of,
    subgoals_by_exchange,
)
from tests.crosswoz.real_data import database as real_database
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import small_gold

GOLD = small_gold()
CM, S = (GOLD.fold.dialogues[name] for name in ("1", "2"))


@pytest.mark.parametrize(
    ("slot", "told", "held", "expected"),
    [
        ("价格", "150元", 150, True),
        ("价格", "151元", 150, False),
        ("价格", "无", None, True),
        ("价格", "无", 150, False),
        ("价格", "150元", None, False),
        ("评分", "4.5分", 4.5, True),
        ("评分", "4分", 4.0, True),
        ("评分", "高", 4.0, False),
        ("门票", "免费", 0, True),
        ("门票", "0元", 0, True),
        ("门票", "免费", 10, False),
        ("门票", "免费", None, False),
        ("电话", "010-1 010-2", "010-1,010-2", True),
        ("电话", "010-1", "010-1,010-2", False),
        ("地址", "东街１号", "东街1号", True),
        ("周边餐馆", ("甲店",), ["甲店", "乙店"], True),
        ("周边餐馆", ("甲店", "丙店"), ["甲店", "乙店"], False),
        ("周边餐馆", "无", [], True),
        ("周边餐馆", "无", ["甲店"], False),
        ("推荐菜", ("烤鸭",), None, False),
        ("酒店设施-暖气", "是", ["暖气"], True),
        ("酒店设施-暖气", "否", ["暖气"], False),
        ("酒店设施-热水", "是", ["24小时热水"], True),
        ("酒店设施-酒吧", "否", ["暖气"], True),
    ],
)
def test_informed_values_are_compared_with_the_database(
    slot: str, told: Any, held: object, expected: bool
) -> None:
    assert is_fact(slot, told, held) is expected


@pytest.mark.parametrize(
    ("values", "faults", "inform", "success"),
    [
        ({}, [], True, True),
        ({"1电话": "010-1"}, ["wrong-value"], True, False),
        ({"1电话": ""}, ["unanswered"], True, False),
        ({"1名称": ""}, ["no-venue", "not-nearby"], False, False),
        ({"1名称": "虚园"}, ["venue-not-in-database", "not-nearby"], False, False),
        ({"1名称": "大园", "1电话": "无"}, ["wrong-constraint", "not-nearby"], False, False),
        ({"2名称": "乙店(东)", "2推荐菜": ()}, ["not-nearby"], False, False),
        ({"2名称": "出现在id=1的周边餐馆里"}, ["no-venue"], False, False),
        ({"2名称": "虚店"}, ["venue-not-in-database"], False, False),
        ({"1电话": "", "2名称": ""}, ["unanswered", "no-venue"], False, False),
        ({"2推荐菜": ("烤鱼",)}, ["wrong-value"], True, False),
        ({"2推荐菜": ()}, ["unanswered"], True, False),
    ],
)
def test_final_goal_values_decide_inform_and_success(
    values: dict[str, Any], faults: list[str], inform: bool, success: bool
) -> None:
    outcome = [
        line.with_value(values.get(f"{line.subgoal}{line.slot}", line.value))
        for line in CM.final_goal
    ]
    judged = judge(CM.goal, tuple(outcome), GOLD.database)
    assert [fault.code for fault in judged.faults] == faults
    assert (judged.inform, judged.success) == (inform, success)
    lost = set() if success else {"e2e.success" if inform else "e2e.inform"}
    assert {reason.outcome for reason in judged.reasons()} == lost


STATIONS = ["出发地附近地铁站", "目的地附近地铁站"]


@pytest.mark.parametrize(
    ("domain", "requests", "values", "faults"),
    [
        ("地铁", STATIONS, ["小园", "甲店", "东站A口", "无"], []),
        ("地铁", STATIONS, ["小园", "甲店", "西站", "无"], ["wrong-value"]),
        ("地铁", STATIONS, ["小园", "甲店", "东站A口", ""], ["unanswered"]),
        ("地铁", STATIONS, ["", "甲店", "无", "无"], ["end-not-named"]),
        ("地铁", STATIONS, ["大园", "甲店", "无", "无"], ["other-end"]),
        ("出租", ["车型", "车牌"], ["小园", "甲店", "#CX", "#CP"], []),
        ("出租", ["车型", "车牌"], ["小园", "id=2", "#CX", "#CP"], ["end-not-named"]),
        ("出租", ["车型", "车牌"], ["小园", "甲店", "#CX", "京A"], ["wrong-value"]),
    ],
)
def test_trips_are_judged_by_endpoints_stations_and_taxi_values(
    domain: str, requests: list[str], values: list[str], faults: list[str]
) -> None:
    lines = [[1, "景点", "名称", ""], [2, "餐馆", "名称", ""]]
    lines += [[3, domain, "出发地", "id=1"], [3, domain, "目的地", "id=2"]]
    goal = goal_from_json(
        [[*line, False] for line in (*lines, *([3, domain, slot, ""] for slot in requests))]
    )
    final = [line.with_value(v) for line, v in zip(goal, ["小园", "甲店", *values], strict=True)]
    assert [fault.code for fault in judge(goal, tuple(final), GOLD.database).faults] == faults


@pytest.mark.parametrize(
    ("response", "slot", "held", "asked", "expected"),
    [
        ("电话是010-1、010-2。", "电话", "010-1,010-2", False, "010-1,010-2"),
        ("电话是010-3。", "电话", "010-1", False, ""),
        ("人均80元", "人均消费", 80, False, "80"),
        ("人均180元", "人均消费", 80, False, ""),
        ("免费的", "门票", 0, False, "免费"),
        ("没有评分", "评分", None, False, "无"),
        ("很好", "评分", None, False, ""),
        ("有暖气", "酒店设施-暖气", ["暖气"], False, "是"),
        ("有酒吧，但没有暖气", "酒店设施-暖气", ["暖气"], False, "否"),
        ("有的", "酒店设施-暖气", ["暖气"], True, "是"),
        ("没有", "酒店设施-暖气", ["暖气"], True, "否"),
        ("有的", "酒店设施-暖气", ["暖气"], False, ""),
        ("附近有甲店和丙店", "周边餐馆", ["甲店", "乙店"], False, ("甲店",)),
    ],
)
def test_answers_in_responses_are_matched_to_database_values(
    response: str, slot: str, held: object, asked: bool, expected: Any
) -> None:
    assert answer_in(response, slot, held, asked=asked) == expected


def test_longest_of_nested_names_is_the_mention() -> None:
    names = ["全聚德", "全聚德(东店)", "便宜坊"]
    assert mentioned_names("推荐全聚德（东店）。", names) == ["全聚德(东店)"]
    assert mentioned_names("推荐全聚德和便宜坊", names) == ["全聚德", "便宜坊"]


def test_exchanges_are_assigned_to_the_subgoals_of_the_user() -> None:
    assert list(subgoals_by_exchange(CM)) == [{"景点": 1}, {"景点": 1}, {"餐馆": 2}, {"餐馆": 2}]


@pytest.mark.parametrize("by_acts", [True, False])
def test_gold_predictions_fulfil_their_goals(by_acts: bool) -> None:
    for dialogue in (CM, S):
        predicted = gold_exchanges(dialogue)
        outcome = outcome_of(dialogue, predicted, GOLD.database, by_acts=by_acts)
        assert judge(dialogue.goal, outcome, GOLD.database).success


FIELDS = ["response", "state", "selected", "system_acts"]


@pytest.mark.parametrize("fields", [FIELDS, FIELDS[:3]])
def test_success_is_100_for_gold_and_0_for_invented_names(fields: list[str]) -> None:
    file = gold_file(GOLD.fold, "e2e", fields)
    metrics = evaluate(file, GOLD).report().metrics["e2e"]
    assert metrics["success"] == {"total": 100, "CM": 100, "S": 100}
    plain = json.dumps(file, ensure_ascii=False).replace("小园", "虚园").replace("客栈", "虚栈")
    evaluated = evaluate(json.loads(plain), GOLD)
    metrics = evaluated.report().metrics["e2e"]
    assert metrics["inform"]["total"] == metrics["success"]["total"] == 0
    reasons = {r.code for explanation in evaluated.explain_all() for r in explanation.reasons}
    assert "venue-not-in-database:名称" in reasons


def test_wrong_answers_lower_success_but_not_inform() -> None:
    file = gold_file(GOLD.fold, "e2e", FIELDS)
    file["2"][0]["system_acts"][1][3] = "豪华型"
    evaluated = evaluate(file, GOLD)
    right, wrong = (evaluated.explain(name) for name in ("1", "2"))
    assert right.outcomes["total"] == {"e2e.inform": True, "e2e.success": True}
    assert wrong.outcomes["total"] == {"e2e.inform": True, "e2e.success": False}
    (reason,) = wrong.reasons
    found = (reason.code, reason.outcome, reason.scope)
    assert found == ("wrong-value:酒店类型", "e2e.success", "酒店")
    assert "经济型" in reason.text


@pytest.mark.integration
def test_corpus_final_goals_have_the_measured_success_count() -> None:
    judgements = [
        judge(dialogue.goal, dialogue.final_goal, real_database())
        for dialogue in fold().dialogues.values()
    ]
    # All but five venue names are exactly in the database.
    codes = [fault.code for judgement in judgements for fault in judgement.faults]
    assert codes.count("venue-not-in-database") + codes.count("no-venue") == 5
    assert sum(judgement.success for judgement in judgements) == 339
