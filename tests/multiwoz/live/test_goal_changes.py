"""Users that change their goals or have an attitude: plans, triggers and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.acts import CHANGE, GENERAL, SLIP, Act, Draws
from mwzeval.multiwoz.convlab.resources import ActResources, load_resources
from mwzeval.multiwoz.convlab.system import RuleSystem
from mwzeval.multiwoz.goals import ORDERING, Goal, tried
from mwzeval.multiwoz.live.episodes import Episodes
from mwzeval.multiwoz.live.goal_changes import (
    ChangingUser,
    PlannedChange,
    planned_changes,
    user_of,
)
from mwzeval.multiwoz.live.stress import FOLDER, Stress, parse_conditions
from mwzeval.multiwoz.live.tools import checked_call
from mwzeval.multiwoz.live.transcript import domains_in
from mwzeval.multiwoz.live.understanding import BeliefState, understand
from mwzeval.multiwoz.live.user import LiveUser
from mwzeval.multiwoz.live.wordings import user_text
from mwzeval.multiwoz.schema import BOOKED_BY, BOOKING_SLOTS
from mwzeval.multiwoz.words.text import fold
from tests.multiwoz.convlab.records import SYSTEM_ACTS, goals
from tests.multiwoz.live.written_runs import ROOT, live, reader, town, vocabulary

KINDS = ("nothing", "change", "slip", "rebook", "late")
DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
VALID = {"people": "1", "stay": "1", "day": "monday", "time": "12:00"}
FUNCTION_WORDS = frozenset({"a", "all", "by", "in", "of", "on", "the"})


@cache
def sample() -> tuple[ActResources, Mapping[str, Goal]]:
    return load_resources("sample", ROOT), Episodes("corpus:test", corpus="sample").goals


def planned(goal: Goal, seed: int = 0) -> Planned:
    return Planned("item", goal, 1, is_numbered=False, seed=seed)


def plan_of(goal: Goal, stress: str, seed: int = 0) -> list[PlannedChange]:
    dialogue = Stress(parse_conditions(stress), planned(goal, seed), Record())
    return planned_changes(goal, town(), dialogue)


def user(goal: Goal, stress: str, seed: int = 0) -> LiveUser:
    draws, conditions = Draws(seed, "item", 1, "user"), parse_conditions(stress)
    return user_of(planned(goal, seed), draws, town(), conditions, Record())


def of_goal() -> st.SearchStrategy[Goal]:
    return st.deferred(lambda: st.sampled_from(list(sample()[1].values())) | goals())


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(goal=of_goal(), seed=st.integers(0, 99))
def test_plans_change_one_slot_and_depend_only_on_their_condition(
    kind: str, goal: Goal, seed: int
) -> None:
    untouched = repr(goal)
    plan = plan_of(goal, f"{kind}=1", seed)
    assert plan == plan_of(goal, f"{kind}=1,typos=.5,errors=.2,same=1,rush=1", seed)
    assert len({(change.domain, change.part) for change in plan}) == len(plan)
    for change in plan:
        part = goal[change.domain]
        assert change.kind == kind
        if kind == "late":
            assert change.domain != goal[ORDERING][-1]
            assert len(part["reqt"]) > 1
            assert part["reqt"][-1] == change.slot
            continue
        own, first = part[change.part], {**part[change.part], change.slot: change.value}
        assert not part.get(f"fail_{change.part}")
        assert own[change.slot] != change.value
        assert own.keys() == first.keys()
        if change.part == "info":
            found = [bool(town().query(change.domain, w.items())) for w in (first, own)]
            assert found[0] == (kind != "nothing")
            assert kind == "nothing" or found[1]
        else:
            slots = {slot: VALID[slot] for slot in BOOKING_SLOTS[change.domain]}
            arguments = {BOOKED_BY[change.domain]: "x", **slots, change.slot: change.value}
            checked_call(f"book_{change.domain}", arguments, "2021")
    assert repr(goal) == untouched


@settings(max_examples=40, deadline=None)
@given(of_goal(), st.integers(0, 99), st.permutations(KINDS))
def test_plans_of_several_conditions_combine_their_single_plans(
    goal: Goal, seed: int, kinds: Sequence[str]
) -> None:
    some = sorted(kinds[:3], key=KINDS.index)
    alone = [plan_of(goal, f"{kind}=1", seed) for kind in some]
    together = plan_of(goal, ",".join(f"{kind}=1" for kind in some), seed)
    expected: dict[tuple[str, str], PlannedChange] = {}
    for plan in alone:
        for change in plan:
            expected.setdefault((change.domain, change.part), change)
    assert {(change.domain, change.part): change for change in together} == expected


RATES = st.sampled_from(
    [
        *(f"{kind}=1" for kind in (*KINDS, "aside", "passive", "rush")),
        *("impatient=2", "goals", "attitude", "hard,typos=0", "goals,rush=1", "change=1,rebook=1"),
        *("slip=1,rebook=1,late=1,rush=1", "change=1,rebook=1,late=1,passive=1,impatient=2"),
    ]
)


@settings(max_examples=100, deadline=None)
@given(of_goal(), st.integers(0, 99), RATES, st.sampled_from([0.0, 0.1, 0.4]), st.data())
def test_changing_user_states_the_original_goal_for_any_agent_acts(
    goal: Goal, seed: int, stress: str, noise: float, data: st.DataObject
) -> None:
    tested, twin = user(goal, stress, seed), user(goal, stress, seed)
    assert isinstance(tested, ChangingUser)
    rng, is_rule = Random(seed), noise < 0.4
    system = RuleSystem(sample()[0], Draws(seed, "item", 1, "system"))
    said = tested.begin()
    assert said == twin.begin()
    while not tested.is_done:
        assert said
        heard = system.answer(said) if is_rule else data.draw(SYSTEM_ACTS)
        heard = [act for act in heard if rng.random() >= noise]
        heard += [act for act in heard if rng.random() < noise]
        heard = [
            act._replace(value=rng.choice([*heard]).value) if rng.random() < noise else act
            for act in heard
        ]
        said = tested.answer(heard)
        assert said == twin.answer(heard)
    report = tested.report()
    assert said[-1].intent == "bye"
    assert report["ended"] in ("complete", "gave_up", "limit")
    if report["ended"] != "limit":
        for domain in set(goal[ORDERING]).difference(tested.gave_up):
            own = [part for part in ("fail_info", "fail_book") if goal[domain].get(part)]
            if not own:
                for part in ("info", "book"):
                    assert tried(tested.goal[domain], part) == goal[domain].get(part, {})


INN: dict[str, Any] = {
    "info": {"area": "north", "stars": "4", "parking": "yes"},
    "reqt": ["phone", "address"],
    "book": {"people": "2", "day": "monday", "stay": "3"},
}
MUSEUM: dict[str, Any] = {"info": {"type": "museum", "area": "south"}, "reqt": ["postcode"]}
TRIP: Goal = {ORDERING: ["hotel", "attraction"], "hotel": INN, "attraction": MUSEUM}


def own_acts(acts: Sequence[Act]) -> list[Act]:
    return [act for act in acts if act.domain != GENERAL]


def test_passive_user_answers_requests_or_informs_one_constraint() -> None:
    passive = user(TRIP, "passive=1")
    assert passive.begin() == [Act("Inform", "Hotel", "none", "none")]
    asked = passive.answer([Act("Request", "Hotel", slot, "?") for slot in ("Area", "Stars")])
    assert {act.slot for act in asked} == {"Area", "Stars"}
    assert passive.answer([]) == [Act("Inform", "Hotel", "Parking", "yes")]
    assert [act.intent for act in passive.answer([])] == ["Request"]


def test_a_user_in_a_rush_states_everything_at_once() -> None:
    joined_domains = 0
    for seed in range(40):
        acts = own_acts(user(TRIP, "rush=1", seed).begin())
        informed = {act.slot for act in acts if act.intent == "Inform" and act.domain == "Hotel"}
        assert {"none", "Area", "Stars", "Parking"} <= informed
        joined = [act for act in acts if act.domain == "Attraction"]
        joined_domains += bool(joined)
        if joined:
            assert {act.slot for act in joined} == {"none", "Type", "Area"}
            assert all(act.intent == "Inform" for act in acts)
            assert "People" not in informed
        else:
            assert {"People", "Day", "Stay"} <= informed
            assert {act.slot for act in acts if act.intent == "Request"} == {"Phone", "Addr"}
    assert 4 < joined_domains < 20


@pytest.mark.parametrize("patience", [2, 3, 5])
def test_impatient_user_gives_up_after_turns_without_progress(patience: int) -> None:
    goal = {ORDERING: ["police"], "police": {"info": {}, "reqt": ["phone"]}}
    impatient = user(goal, f"impatient={patience}")
    impatient.begin()
    turns = 0
    while not impatient.is_done:
        impatient.answer([Act("reqmore", GENERAL, "none", "none")] * (turns + 1))
        turns += 1
    assert turns == min(patience, 3)
    assert impatient.gave_up == ["police"]


def test_user_names_the_domain_of_a_resumed_subgoal() -> None:
    late = user(TRIP, "late=1,change=0,rush=1", 3)
    system = RuleSystem(sample()[0], Draws(0, "item", 1, "system"))
    messages = [late.begin()]
    while not late.is_done:
        messages.append(late.answer(system.answer(messages[-1])))
    questions = [acts for acts in messages if Act("return", GENERAL, "none", "hotel") in acts]
    assert [act.slot for act in own_acts(questions[-1])] == ["Addr"]


MEANINGS = (
    *("constraints", "requests", "domains", "books"),
    *("given_up", "declines", "wants_other", "refuses"),
)


@pytest.mark.parametrize("domain", DOMAINS)
def test_asides_are_ignored_by_agent_and_judgement(domain: str) -> None:
    rows = [row for row in table_rows(FOLDER / "asides.tsv", 3) if row[0] == domain]
    assert rows
    for _, keyword, text in rows:
        assert keyword in text
        assert not vocabulary().gazetteer.words.intersection(fold(text)) - FUNCTION_WORDS
        turn = understand(text, vocabulary(), BeliefState(current=domain, domains=[domain]))
        assert not any(getattr(turn, name) for name in MEANINGS), text
        assert not reader().mentions_of(text)
        assert not domains_in(text)


def test_act_level_users_change_their_goals(elsewhere: Path) -> None:
    options = ("--level", "acts", "--goals", "corpus:test:20")
    kinds: set[str] = set()
    for line in live(
        *("rule-convlab", "run.jsonl", *options, "--stress", "change=1,late=1,aside=1,rush=.5")
    ):
        assert line["end"] == "user_stop"
        stated = [act[0] for acts, _ in line["acts"] for act in acts]
        changes = [change["kind"] for change in line["stress"].get("changes", ())]
        # A failed search also makes the user replace its first constraints.
        minds, others = stated.count("mind"), stated.count("change")
        assert minds <= changes.count("change") <= minds + others
        assert stated.count("aside") == changes.count("aside")
        kinds.update(changes)
    assert kinds == {"change", "late", "aside"}


def test_user_without_goal_conditions_is_the_standard_user() -> None:
    goal = next(iter(sample()[1].values()))
    assert type(user(goal, "typos=1,errors=.2")) is LiveUser
    assert CHANGE not in user(goal, "same=.5").begin()


def test_slips_and_bookings_are_worded_in_one_message() -> None:
    acts = [SLIP, Act("Inform", "Hotel", "Type", "guesthouse"), Act("Inform", "Hotel", "Stay", "2")]
    for seed in range(20):
        text = user_text(acts, Random(seed))
        assert "meant a guesthouse" in text
        assert "2 nights" in text
