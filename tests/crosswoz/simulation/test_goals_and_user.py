"""Sampled goals with the frequencies of the golden goals, and the rule-based user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from statistics import mean
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.acts import SYSTEM_INTENTS, Act, parse_acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, goal_from_json, goal_to_json
from mwzeval.crosswoz.corpus.names import DOMAINS, NAME, NOTHING, TRAFFIC_DOMAINS
from mwzeval.crosswoz.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.protocols import Rng
from mwzeval.crosswoz.user import RuleSimulator
from mwzeval.errors import DataError
from tests.crosswoz.real_data import database, figures, fold, vectors
from tests.crosswoz.world import DATABASE, ROWS

GOALS = 20_000


@cache
def goals_of(is_real: bool) -> tuple[Goal, ...]:
    """Return goals for the real database, or fewer for the tiny database."""
    generator = GoalGenerator(database() if is_real else DATABASE)
    numbers = range(GOALS if is_real else 2_000)
    return tuple(generator.goal(Rng(f"statistics/{number}")) for number in numbers)


either_database = pytest.mark.parametrize(
    "is_real", [False, pytest.param(True, marks=pytest.mark.integration)]
)


def golden() -> Any:
    return figures()["goal_generator_20000"]


def shares(items: Iterable[Any]) -> dict[str, float]:
    """Return the number of occurrences of each item per goal."""
    return {str(item): count / GOALS for item, count in Counter(items).items()}


def slots(*, is_constraint: bool) -> Iterator[str]:
    lines = (line for goal in goals_of(True) for line in goal)
    for line in lines:
        if bool(line.value) == is_constraint:
            yield f"{line.domain}/{line.slot.partition('-')[0]}"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("type_share", lambda: map(goal_type, goals_of(True))),
        ("subgoals_dist", lambda: (goal[-1].subgoal for goal in goals_of(True))),
        ("constraint_tuples_per_goal", lambda: slots(is_constraint=True)),
        ("request_tuples_per_goal", lambda: slots(is_constraint=False)),
        (
            "domain_subgoals_per_goal",
            lambda: (d for goal in goals_of(True) for _, d in {line[:2] for line in goal}),
        ),
    ],
)
def test_goal_distributions_match_the_golden_goals(
    key: str, found: Callable[[], Iterable[Any]]
) -> None:
    assert shares(found()) == pytest.approx(golden()[key], abs=0.02)


@pytest.mark.integration
def test_goal_lengths_per_type_match_the_golden_goals() -> None:
    kinds: dict[str, list[Goal]] = {"all": list(goals_of(True))}
    for goal in goals_of(True):
        kinds.setdefault(goal_type(goal), []).append(goal)
    expected = golden()["per_type"] | {"all": {"avg_subgoals": golden()["avg_subgoals"]}}
    assert kinds.keys() == expected.keys()
    for kind, of_kind in kinds.items():
        subgoals, tuples = mean(goal[-1].subgoal for goal in of_kind), mean(map(len, of_kind))
        assert subgoals == pytest.approx(expected[kind]["avg_subgoals"], rel=0.02), kind
        assert tuples == pytest.approx(expected[kind].get("avg_tuples", tuples), rel=0.02), kind


WEIGHTS = {
    "评分": {"4分以上": 2, "4.5分以上": 6, "5分": 2},
    "门票": {"免费": 10, "不免费": 1, "20元以下": 2, "20-50元": 4, "50-100元": 3}
    | {"100-150元": 3, "150-200元": 3, "200元以上": 2},
    "人均消费": {"50元以下": 1, "50-100元": 15, "100-150元": 15, "150-500元": 5}
    | {"500-1000元": 2, "1000元以上": 1},
}
"""Slot → value → its weight in the specification."""


@either_database
@pytest.mark.parametrize("slot", WEIGHTS)
def test_goal_values_follow_the_specified_weights(slot: str, is_real: bool) -> None:
    lines = (
        line for goal in goals_of(is_real) for line in goal if line.slot == slot and line.value
    )
    counts = Counter(str(line.value) for line in lines)
    drawn, total = sum(counts.values()), sum(WEIGHTS[slot].values())
    assert counts.keys() == WEIGHTS[slot].keys()
    for value, weight in WEIGHTS[slot].items():
        share = weight / total
        error = (share * (1 - share) / drawn) ** 0.5
        assert counts[value] / drawn == pytest.approx(share, abs=4 * error), value


@either_database
def test_two_trips_occur_in_ten_percent_of_goals_with_trips(is_real: bool) -> None:
    double = single = 0
    for goal in goals_of(is_real):
        domains = {line.subgoal: line.domain for line in goal}
        trips = sum(domain in TRAFFIC_DOMAINS for domain in domains.values())
        # A goal with four venues has room for only one trip.
        if trips and len(domains) - trips < 4:
            double += trips == 2
            single += trips == 1
    share = double / (double + single)
    assert share == pytest.approx(0.1, abs=4 * (0.09 / (double + single)) ** 0.5)


@either_database
def test_goals_are_well_formed(is_real: bool) -> None:
    for goal in goals_of(is_real)[:5000]:
        numbers = [line.subgoal for line in goal]
        assert numbers == sorted(numbers)
        assert set(numbers) == set(range(1, numbers[-1] + 1))
        assert numbers[-1] <= 5
        for line in goal:
            assert not line.expressed
            if line.refers:
                source = int(str(line.value).partition("id=")[2][0])
                # A reference names an earlier sub-goal.
                assert source < line.subgoal
                assert line.slot == NAME or line.domain in TRAFFIC_DOMAINS


@pytest.mark.integration
def test_goal_types_match_the_corpus_and_the_golden_goals() -> None:
    for name in ("test", "val"):
        for dialogue in fold(name).dialogues.values():
            assert goal_type(dialogue.goal) == dialogue.goal_type
    assert all(goal_type(goal_from_json(list(plain))) for plain in vectors("goal_samples"))


def test_same_seed_generates_the_same_goals() -> None:
    generator = GoalGenerator(DATABASE)
    again = tuple(generator.goal(Rng(f"statistics/{number}")) for number in range(50))
    assert again == goals_of(False)[:50]


def test_databases_without_values_for_goals_are_refused() -> None:
    rows = {**ROWS, "景点": [], "餐馆": [["甲", {"推荐菜": ["豆花"]}]]}
    with pytest.raises(DataError, match=r"景点, 推荐菜 .*游玩时间"):
        GoalGenerator(Database(rows))


Item = TypeVar("Item")


class FixedRng(Rng):
    """The deterministic choices that made the vectors."""

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
def test_user_simulator_steps_match_the_golden_vectors() -> None:
    for vector in vectors("simulator_step"):
        goal = goal_from_json(vector["goal"])
        user = RuleSimulator(goal, FixedRng(vector["rng"]))
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
        # The caller's goal is not modified.
        assert goal == goal_from_json(vector["goal"])
        if vector["goal_after"]:
            assert goal_to_json(tuple(user.goal)) == vector["goal_after"] != goal_to_json(goal)


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
def test_arbitrary_system_acts_keep_the_user_state_valid(turns: list[list[Act]], seed: int) -> None:
    user = RuleSimulator(GOAL, Rng(seed))
    user.begin()
    for acts in turns:
        said = user.answer(acts)
        assert said == tuple(sorted(set(said)))
        assert [line[:3] for line in user.state] == [line[:3] for line in GOAL]


def test_user_simulator_is_deterministic_for_a_seed() -> None:
    def user_turns(seed: int) -> list[object]:
        user = RuleSimulator(GOAL, Rng(seed))
        return [user.begin(), *(user.answer([]) for _ in range(9))]

    assert user_turns(1) == user_turns(1)
    assert len({str(user_turns(seed)) for seed in range(20)}) > 1


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
        # A single price is read as the lower bound, as in the public code.
        ("人均消费", "50元以下", "60元", False),
        ("人均消费", "50元以下", "40元", True),
    ],
)
def test_offered_values_replace_constraints_they_do_not_satisfy(
    slot: str, asked: str, offered: str, is_taken: bool
) -> None:
    goal = goal_from_json([[1, "餐馆", slot, asked, False], [1, "餐馆", "名称", "", False]])
    user = RuleSimulator(goal, Rng(0))
    user.begin()
    instead = Act("Recommend", "餐馆", "名称", "甲"), Act("Inform", "餐馆", slot, offered)
    user.update([Act("NoOffer", "餐馆", "none", "none"), *instead])
    assert user.state[0].value == (offered if is_taken else asked)
