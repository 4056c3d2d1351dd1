"""The rule-based user: golden steps, golden figures, and no system act that confuses it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.acts import SYSTEM_INTENTS, Act, parse_acts
from mwzeval.crosswoz.corpus.dialogues import goal_from_json, goal_to_json
from mwzeval.crosswoz.corpus.names import DOMAINS, NOTHING
from mwzeval.crosswoz.simulation.protocols import SeededRng
from mwzeval.crosswoz.simulation.user import RuleSimulator
from tests.crosswoz.real_data import figures, fold, vectors

Item = TypeVar("Item")


class FixedRng:
    """The fixed source of chance with which the vectors were made."""

    def __init__(self, how: dict[str, Any]) -> None:
        self._how = how

    def choose(self, items: Sequence[Item]) -> Item:
        return items[0] if self._how["choice"] == "first" else items[-1]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        return list(items) if self._how["shuffle"] == "identity" else list(items)[::-1]

    def weighted(self, items: Sequence[Item], weights: Sequence[float]) -> Item:
        drawn = [item for item in items if item == self._how["drawn_count"]]
        return drawn[0] if drawn else self._how["drawn_count"]

    def happens(self, probability: float) -> bool:
        return bool(self._how["say_bye"])


@pytest.mark.integration
def test_steps_are_those_of_the_golden_vectors() -> None:
    for vector in vectors("simulator_step"):
        user = RuleSimulator(goal_from_json(vector["goal"]), FixedRng(vector["rng"]))
        if vector["op"] == "begin":
            acts = user.begin()
        else:
            user.state = list(goal_from_json(vector["state_before"]))
            user.update(parse_acts(vector["system_acts"]))
            assert goal_to_json(tuple(user.state)) == vector["state_after_update"], vector["id"]
            assert user.terminated == vector["terminated"]
            acts = user.act()
        assert [list(act) for act in acts] == vector["user_acts"], vector["id"]
        assert goal_to_json(tuple(user.state)) == vector["state_after"]
        if vector["goal_after"]:
            assert goal_to_json(tuple(user.goal)) == vector["goal_after"]


def corpus_scores(seed: int) -> tuple[float, float]:
    """Return joint state accuracy and act F1 in percent, each turn from the gold state before."""
    right = turns = common = told = gold = 0
    for dialogue in fold().dialogues.values():
        rng = SeededRng(f"{seed}/{dialogue.name}")
        for number, exchange in enumerate(dialogue.exchanges):
            user = RuleSimulator(dialogue.goal, rng)
            if number == 0:
                acts = user.begin()
            else:
                before = dialogue.exchanges[number - 1]
                user.state = list(before.user.state)
                acts = user.answer(before.system.acts)
                turns += 1
                right += tuple(user.state) == exchange.user.state
            common += len(set(acts) & set(exchange.user.acts))
            told += len(set(acts))
            gold += len(set(exchange.user.acts))
    return 100 * right / turns, 200 * common / (told + gold)


@pytest.mark.integration
def test_corpus_scores_are_those_of_the_paper_and_the_golden_runs() -> None:
    scores = [corpus_scores(seed) for seed in range(3)]
    golden = figures()["comparison_with_paper"]
    for values, name in zip(
        zip(*scores, strict=True), ("simulator_joint_test", "simulator_act_f1_test"), strict=True
    ):
        run = golden[name]["overall"]
        # Three standard errors of a mean of three.
        assert mean(values) == pytest.approx(run["run_mean"], abs=3 * run["run_sd"] / 3**0.5)


@pytest.mark.integration
def test_the_goal_of_the_caller_stays_as_it_is() -> None:
    vector = next(v for v in vectors("simulator_step") if v["goal_after"])
    goal = goal_from_json(vector["goal"])
    user = RuleSimulator(goal, FixedRng(vector["rng"]))
    user.state = list(goal_from_json(vector["state_before"]))
    user.answer(parse_acts(vector["system_acts"]))
    assert tuple(user.goal) != goal == goal_from_json(vector["goal"])


GOAL = goal_from_json(
    [
        [1, "餐馆", "推荐菜", ["烤鸭"], False],
        [1, "餐馆", "评分", "4分以上", False],
        [1, "餐馆", "人均消费", "50元以下", False],
        [1, "餐馆", "名称", "", False],
        [1, "餐馆", "周边酒店", [], False],
        [2, "酒店", "名称", "出现在id=1的周边酒店里", False],
        [2, "酒店", "酒店设施-wifi", "", False],
        [3, "出租", "出发地", "id=1", False],
        [3, "出租", "目的地", "id=2", False],
        [3, "出租", "车型", "", False],
    ]
)
SYSTEM_ACTS = st.builds(
    Act,
    st.sampled_from(SYSTEM_INTENTS),
    st.sampled_from([*DOMAINS, "thank"]),
    st.sampled_from([*dict.fromkeys(line.slot for line in GOAL), "none", "不知道"]),
    st.one_of(
        st.sampled_from([NOTHING, "是", "3分", "60元", "甲", "id=1", ""]), st.text(max_size=4)
    ),
)


@given(st.lists(st.lists(SYSTEM_ACTS, max_size=6), max_size=20), st.integers(0, 9))
def test_no_sequence_of_system_acts_confuses_the_user(turns: list[list[Act]], seed: int) -> None:
    user = RuleSimulator(GOAL, SeededRng(seed))
    user.begin()
    for acts in turns:
        said = user.answer(acts)
        assert said == tuple(sorted(set(said)))
        assert [line[:3] for line in user.state] == [line[:3] for line in GOAL]


def test_the_same_seed_says_the_same() -> None:
    def said(seed: int) -> list[object]:
        user = RuleSimulator(GOAL, SeededRng(seed))
        return [user.begin(), *(user.answer([]) for _ in range(9))]

    assert said(1) == said(1)
    assert len({str(said(seed)) for seed in range(20)}) > 1


@pytest.mark.parametrize(
    ("slot", "asked", "offered", "is_taken"),
    [
        ("评分", "4.5分以上", "4.5分", False),
        ("评分", "4.5分以上", "4.6分", False),
        ("评分", "4.5分以上", "4.4分", True),
        ("人均消费", "50-100元", "50元", False),
        ("人均消费", "50-100元", "100元", False),
        ("人均消费", "50-100元", "49元", True),
        ("人均消费", "50-100元", "101元", True),
        ("人均消费", "1000元以上", "10000元", False),
        ("人均消费", "1000元以上", "10001元", True),
        # The single price is read as the lower bound, as in the public code.
        ("人均消费", "50元以下", "60元", False),
        ("人均消费", "50元以下", "40元", True),
    ],
)
def test_what_is_offered_instead_is_taken_when_it_is_not_what_was_asked_for(
    slot: str, asked: str, offered: str, is_taken: bool
) -> None:
    goal = goal_from_json([[1, "餐馆", slot, asked, False], [1, "餐馆", "名称", "", False]])
    user = RuleSimulator(goal, SeededRng(0))
    user.begin()
    instead = Act("Recommend", "餐馆", "名称", "甲"), Act("Inform", "餐馆", slot, offered)
    user.update([Act("NoOffer", "餐馆", "none", "none"), *instead])
    assert user.state[0].value == (offered if is_taken else asked)
