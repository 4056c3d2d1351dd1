"""Simulated dialogues: endings, faulty systems and users, parallel runs and resuming."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.trajectory import Trajectory
from mwzeval.crosswoz.corpus.acts import SYSTEM_INTENTS, Act, Acts, general
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, goal_from_json
from mwzeval.crosswoz.corpus.names import DOMAINS, GOAL_TYPES, NOTHING
from mwzeval.crosswoz.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.protocols import Rng, Side
from mwzeval.crosswoz.simulation import Setting, Summary, planned_goals, simulate
from mwzeval.crosswoz.systems.rules import RuleSystem
from mwzeval.crosswoz.user import RuleSimulator
from mwzeval.errors import MwzevalError, UsageError
from tests.crosswoz.logs import read_log
from tests.crosswoz.world import DATABASE, NEAR_AND_BY_METRO


class Constant:
    """A system with a constant answer, which may be an exception."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def answer(self, user_acts: Acts) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class Spelled:
    """An NLU and NLG whose utterances are the spelled acts."""

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        assert len(context) <= 3
        return tuple(Act(*act.split("+")) for act in utterance.split("|") if act)

    def say(self, acts: Acts, side: Side, rng: Rng) -> str:
        return "|".join(map(str, acts))


def simulated_dialogue(system: Any, **more: Any) -> Trajectory:
    return Setting(DATABASE, lambda _: system, **more).simulate(NEAR_AND_BY_METRO, 0, 0)


def test_dialogue_ends_with_the_turn_in_which_the_user_terminates() -> None:
    dialogue = Setting(DATABASE, RuleSystem).simulate(NEAR_AND_BY_METRO, 3, 0)
    assert dialogue.end == "user_stop"
    assert dialogue.more["goal_type"] == "CM+T"
    assert dialogue.turns == len(dialogue.acts)
    assert all(line.done for line in goal_from_json(dialogue.more["final_goal"]))
    last = dialogue.acts[-1]
    assert general("thank") in last["user_acts"]
    assert last["system_acts"] == (general("welcome"),)
    assert goal_from_json(dialogue.goal) == NEAR_AND_BY_METRO


@pytest.mark.parametrize(
    ("answer", "end", "problem"),
    [
        (None, "limit", None),
        ((), "limit", None),
        ([["General", "bye", "none", "none"]], "limit", None),
        (["General+bye+none+none"], "limit", None),
        ("你好", "agent_error", "TypeError"),
        ([["General", "bye"]], "agent_error", "2 parts"),
        (7, "agent_error", "TypeError"),
        ([Act("Inform", "餐馆", "名称", cast("str", None))], "agent_error", "invalid act"),
        ([Act("Inform", "餐馆", "名称", "\ud800")], "agent_error", "invalid act"),
        (itertools.repeat(Act("Inform", "餐馆", "名称", "x")), "agent_error", "1000"),
        (RuntimeError("out of ideas"), "agent_error", "RuntimeError: out of ideas"),
        (SystemExit(3), "agent_error", "SystemExit: 3"),
    ],
)
def test_system_errors_end_only_their_dialogue_and_are_reported(
    answer: Any, end: str, problem: str | None
) -> None:
    dialogue = simulated_dialogue(Constant(answer))
    assert dialogue.end == end
    assert (dialogue.problem is None) == (problem is None)
    assert problem is None or problem in (dialogue.problem or "")
    if end == "limit":
        assert dialogue.turns == 15
        assert dialogue.more["silent"] == (0 if answer else 15)
    else:
        assert dialogue.turns == 1


class Broken(RuleSystem):
    def __init__(self, database: Database) -> None:
        raise OSError("no such model")


class Mute(RuleSimulator):
    def begin(self) -> Acts:
        raise ValueError("I do not know what to say")


class Nobody(RuleSimulator):
    def __init__(self, goal: Goal, rng: Rng) -> None:
        raise KeyError("goal")


@pytest.mark.parametrize(
    ("system", "user", "end", "problem"),
    [
        (Broken, RuleSimulator, "agent_error", "OSError: no such model"),
        (RuleSystem, Mute, "user_error", "ValueError: I do not know what to say"),
        (RuleSystem, Nobody, "user_error", "KeyError: 'goal'"),
    ],
)
def test_system_construction_errors_and_user_errors_are_reported(
    system: Any, user: Any, end: str, problem: str
) -> None:
    dialogue = Setting(DATABASE, system, make_user=user).simulate(NEAR_AND_BY_METRO, 0, 0)
    assert (dialogue.end, dialogue.problem, dialogue.acts) == (end, problem, ())
    assert goal_from_json(dialogue.more["final_goal"]) == NEAR_AND_BY_METRO


def test_dialogues_of_endless_users_end_at_the_limit() -> None:
    class Endless(RuleSimulator):
        @property
        def terminated(self) -> bool:
            return False

    setting = Setting(DATABASE, RuleSystem, make_user=Endless, limit=7)
    dialogue = setting.simulate(NEAR_AND_BY_METRO, 0, 0)
    assert (dialogue.end, dialogue.turns) == ("limit", 7)


def test_system_state_is_recorded_at_each_turn() -> None:
    dialogue = Setting(DATABASE, RuleSystem).simulate(NEAR_AND_BY_METRO, 0, 0)
    assert dialogue.acts[0]["state"] == {"餐馆": {"推荐菜": "豆花", "人均消费": "50-100元"}}
    assert dialogue.acts[0]["selected"] == {"餐馆": ("小馆",)}
    assert set(dialogue.acts[-1]["state"]) > {"餐馆"}


@pytest.mark.parametrize(
    ("name", "mind"),
    [
        ("state", "happy"),
        ("state", {"餐馆": {"名称": 5}}),
        ("state", {3: {"名称": "小馆"}}),
        ("state", {"餐馆": {"名称": "\ud800"}}),
        ("selected", {"餐馆": [object()]}),
        ("selected", {"餐馆": "小馆"}),
    ],
)
def test_invalid_system_states_are_agent_errors(name: str, mind: Any) -> None:
    system = Constant(())
    setattr(system, name, mind)
    assert simulated_dialogue(system).end == "agent_error"


def test_text_level_dialogues_equal_act_level_dialogues() -> None:
    spelled = Spelled()
    in_words = Setting(DATABASE, RuleSystem, level="text", nlu=spelled, nlg=spelled)
    dialogue = in_words.simulate(NEAR_AND_BY_METRO, 3, 0)
    in_acts = Setting(DATABASE, RuleSystem).simulate(NEAR_AND_BY_METRO, 3, 0)
    for key in ("user_acts", "system_acts"):
        assert [turn[key] for turn in dialogue.acts] == [turn[key] for turn in in_acts.acts]
    for turn in dialogue.acts:
        assert turn["system_acts_nlu"] == turn["system_acts"]
        assert turn["response"] == "|".join(map(str, turn["system_acts"]))


def test_text_systems_can_be_simulated_without_acts() -> None:
    class Parrot:
        def __init__(self, database: Database) -> None:
            self.heard: list[str] = []

        def respond(self, utterance: str) -> Any:
            self.heard.append(utterance)
            return utterance if len(self.heard) < 3 else None

    spelled = Spelled()
    setting = Setting(DATABASE, make_text_system=Parrot, level="text", nlu=spelled, nlg=spelled)
    dialogue = setting.simulate(NEAR_AND_BY_METRO, 0, 0)
    assert dialogue.end == "limit"
    assert dialogue.more["silent"] == 13
    assert dialogue.acts[0]["response"] == dialogue.acts[0]["user_response"]
    assert dialogue.acts[0]["system_acts_nlu"] == dialogue.acts[0]["user_acts"]


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({}, "system"),
        ({"make_system": RuleSystem, "make_text_system": RuleSystem}, "system"),
        ({"make_text_system": RuleSystem}, "level text"),
        ({"make_system": RuleSystem, "level": "text"}, "NLU"),
        ({"make_system": RuleSystem, "level": "acts"}, '"act"'),
        ({"make_system": RuleSystem, "limit": 0}, "limit|exchange"),
    ],
)
def test_invalid_settings_are_refused(wrong: dict[str, Any], names: str) -> None:
    with pytest.raises(UsageError, match=names):
        Setting(DATABASE, **wrong)


SYSTEM_ACTS = st.builds(
    Act,
    st.sampled_from(SYSTEM_INTENTS),
    st.sampled_from(DOMAINS),
    st.sampled_from([*dict.fromkeys(line.slot for line in NEAR_AND_BY_METRO), "none"]),
    st.sampled_from([NOTHING, "是", "小馆", "Blue客栈", "160元", "id=1", ""]),
)


@given(st.lists(st.lists(SYSTEM_ACTS, max_size=5), max_size=15), st.integers(0, 3))
def test_arbitrary_system_acts_end_within_the_limit(turns: list[list[Act]], number: int) -> None:
    class Babbling:
        def __init__(self, _: Database) -> None:
            self._turns = iter(turns)

        def answer(self, user_acts: Acts) -> Any:
            return next(self._turns, None)

    dialogue = Setting(DATABASE, Babbling).simulate(NEAR_AND_BY_METRO, number, 0)
    assert dialogue.end in ("user_stop", "limit")
    assert 1 <= dialogue.turns <= 15
    final = goal_from_json(dialogue.more["final_goal"])
    assert (dialogue.end == "user_stop") == all(line.done for line in final)
    assert json.loads(dialogue.line())["dialogue"] == f"simulated-{number:06d}"


SETTING = Setting(DATABASE, RuleSystem)
PER_TYPE = 12


def run(output: Path | None = None, **more: Any) -> Summary:
    chosen = {"per_type": PER_TYPE, "seed": 5, "progress": False, **more}
    return simulate(SETTING, output=output, **chosen)


def test_goal_types_are_balanced_and_the_natural_mix_comes_first(tmp_path: Path) -> None:
    summary = run(tmp_path / "log.jsonl")
    _, dialogues = read_log(tmp_path / "log.jsonl")
    kinds = [dialogue["goal_type"] for dialogue in dialogues]
    numbers = {code: rate.dialogues for code, rate in summary.by_type.items()}
    assert numbers == Counter(kinds) == dict.fromkeys(GOAL_TYPES, PER_TYPE)
    seen: Counter[str] = Counter()
    natural: list[str] = []
    while not natural or seen[natural[-1]] < PER_TYPE + 1:
        rng = Rng(f"5/goal/{len(natural)}")
        natural.append(goal_type(GoalGenerator(DATABASE).goal(rng)))
        seen[natural[-1]] += 1
    first_passed_over = len(natural) - 1
    assert kinds[:first_passed_over] == natural[:-1]
    assert summary.natural.dialogues == first_passed_over


@pytest.mark.integration
def test_dialogues_depend_on_the_seed_and_not_on_processes(tmp_path: Path) -> None:
    alone, together, other = (tmp_path / f"{number}.jsonl" for number in range(3))
    assert run(alone) == run(together, processes=3) == run(None)
    run(other, seed=6)
    assert alone.read_bytes() == together.read_bytes() != other.read_bytes()


def test_log_contains_the_simulated_dialogues(tmp_path: Path) -> None:
    run(tmp_path / "log.jsonl", about={"system": "rule", "revision": "sample"})
    meta, logged = read_log(tmp_path / "log.jsonl")
    assert meta["system"] == "rule"
    assert (meta["level"], meta["per_type"], meta["seed"]) == ("act", PER_TYPE, 5)
    goals = planned_goals(GoalGenerator(DATABASE).goal, 5, PER_TYPE)
    dialogues = [SETTING.simulate(goal, number, 5) for number, goal in goals]
    assert logged == [json.loads(dialogue.line()) for dialogue in dialogues]
    assert all(plain["turns"] == len(plain["acts"]) for plain in logged)


def test_truncated_logs_are_resumed(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    expected = run(log)
    content = log.read_bytes()
    for size in (60, len(content) // 2, len(content)):
        log.write_bytes(content[:size])
        assert run(log, resume=True) == expected
        assert log.read_bytes() == content


def test_logs_of_other_runs_are_not_overwritten(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    run(log)
    content = log.read_bytes()
    calls: list[tuple[str, dict[str, Any]]] = [
        (log.name, {"resume": False}),
        ("seed", {"seed": 6}),
        ("per_type", {"per_type": 11}),
        ("mine", {"about": {"system": "mine"}}),
    ]
    for name, other in calls:
        with pytest.raises(UsageError, match=name):
            run(log, **{"resume": True, **other})
    assert log.read_bytes() == content
    for wrong in ({"resume": True}, {"per_type": 0}, {"processes": 0}):
        with pytest.raises(UsageError):
            run(None, **wrong)


class Moody:
    """A system that raises for taxis and returns None for hotels."""

    def __init__(self, database: Database) -> None:
        self._rules = RuleSystem(database)

    def answer(self, user_acts: Acts) -> Any:
        domains = {act.domain for act in user_acts}
        if "出租" in domains:
            raise RuntimeError("no taxi today")
        return None if "酒店" in domains else self._rules.answer(user_acts)


def test_summary_counts_system_errors_and_silent_turns() -> None:
    summary = simulate(Setting(DATABASE, Moody), per_type=PER_TYPE, seed=1, progress=False)
    assert summary.problems["RuntimeError: no taxi today"] == summary.outcomes["system failed"] > 0
    assert summary.outcomes["limit"] > 0
    assert summary.silent > 0
    assert sum(summary.outcomes.values()) == 5 * PER_TYPE
    text = summary.to_text()
    assert "no taxi today" in text
    assert json.loads(json.dumps(summary.to_json())) == summary.to_json()
    rates = [rate.finish_rate or 0 for rate in summary.by_type.values()]
    assert summary.macro == pytest.approx(sum(rates) / 5)


class Dies(RuleSystem):
    def answer(self, user_acts: Iterable[Act]) -> Acts:
        os._exit(3)


@pytest.mark.integration
def test_worker_process_death_is_an_error() -> None:
    with pytest.raises(MwzevalError, match="exit code 3"):
        simulate(Setting(DATABASE, Dies), per_type=1, processes=2, progress=False)


def test_goal_types_that_are_never_generated_are_errors() -> None:
    numbers = planned_goals(lambda rng: NEAR_AND_BY_METRO, seed=0, per_type=3)
    assert [next(numbers)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(MwzevalError, match=r"S, M, M\+T, CM$"):
        next(numbers)


def test_natural_mix_is_limited_to_the_first_thousand_goals() -> None:
    fixed: dict[str, Any] = {"goal_type": "S", "turns": 3, "silent": 0}
    ends = ["user_stop"] * 1000 + ["limit"] * 200
    lines = [{"dialogue": f"s-{n:06}", "end": end, **fixed} for n, end in enumerate(ends)]
    summary = Summary.of(lines)
    assert (summary.natural.dialogues, summary.natural.finished) == (1000, 1000)
    before = Summary.of(lines[:700] + lines[701:]).natural  # goal 700 is missing
    assert (before.dialogues, before.finished) == (700, 700)
    assert summary.by_type["S"].dialogues == 1200


FOR_EVER = 1000


class Sleeps(RuleSystem):
    def answer(self, user_acts: Iterable[Act]) -> Acts:
        ctypes.PyDLL(None).sleep(FOR_EVER)  # holds the global interpreter lock
        return super().answer(user_acts)


class NeverMade(RuleSystem):
    def __init__(self, database: Database) -> None:
        time.sleep(FOR_EVER)


class NeverEndingAnswer(RuleSystem):
    def answer(self, user_acts: Iterable[Act]) -> Any:
        while user_acts:
            time.sleep(0.01)
            yield from ()


class SleepyUser(RuleSimulator):
    def answer(self, system_acts: Iterable[Act]) -> Acts:
        time.sleep(FOR_EVER)
        return super().answer(system_acts)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("system", "user", "end", "exchanges", "problem"),
    [
        (Sleeps, RuleSimulator, "agent_error", 0, "0.5 seconds"),
        (NeverMade, RuleSimulator, "agent_error", 0, "0.5 seconds"),
        (NeverEndingAnswer, RuleSimulator, "agent_error", 0, "0.5 seconds"),
        (Dies, RuleSimulator, "agent_error", 0, "exit code 3"),
        (RuleSystem, SleepyUser, "user_error", 1, "0.5 seconds"),
    ],
)
def test_calls_over_the_time_limit_end_their_dialogue(
    tmp_path: Path, system: Any, user: Any, end: str, exchanges: int, problem: str
) -> None:
    log, setting = tmp_path / "log.jsonl", Setting(DATABASE, system, make_user=user)
    simulate(setting, per_type=1, output=log, progress=False, time_limit=0.5)
    dialogue = read_log(log)[1][0]
    assert dialogue["end"] == end
    assert len(dialogue.get("acts", ())) == exchanges
    assert problem in dialogue["problem"]
    assert dialogue["final_goal"]


@pytest.mark.integration
def test_time_limit_does_not_change_dialogues_of_responsive_systems(tmp_path: Path) -> None:
    plain, watched = tmp_path / "plain.jsonl", tmp_path / "watched.jsonl"
    expected = run(plain, per_type=2)
    assert run(watched, per_type=2, processes=2, time_limit=60) == expected
    header, dialogues = read_log(watched)
    assert header["limits"]["turn_seconds"] == 60
    assert dialogues == read_log(plain)[1]


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_time_limit_must_be_positive(seconds: float) -> None:
    with pytest.raises(UsageError, match=r"\b0\b"):
        simulate(Setting(DATABASE, RuleSystem), per_type=1, time_limit=seconds)
