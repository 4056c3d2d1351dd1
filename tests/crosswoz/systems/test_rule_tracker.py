"""RuleDST: golden vectors, and the figures of the paper."""

from __future__ import annotations

from collections import Counter

import pytest

from mwzeval.crosswoz.corpus.acts import INFORM, SELECT, Act, parse_acts
from mwzeval.crosswoz.corpus.dialogues import State, empty_state
from mwzeval.crosswoz.corpus.names import HOTEL, RESTAURANT
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker, current_domain
from tests.crosswoz.real_data import figures, fold, vectors


def sparse(state: State) -> dict[str, dict[str, str]]:
    filled = {d: {s: v for s, v in slots.items() if v} for d, slots in state.items()}
    return {domain: slots for domain, slots in filled.items() if slots}


def test_updates_are_those_of_the_golden_vectors() -> None:
    for vector in vectors("rule_dst"):
        tracker = RuleTracker(requests=[(d, s) for d, s in vector["request_slots_before"]])
        for domain, slots in vector["belief_before"].items():
            tracker.state[domain].update(slots)
        tracker.update(parse_acts(vector["user_acts"]), parse_acts(vector["system_acts"]))
        assert sparse(tracker.state) == sparse(vector["belief_after"]), vector["id"]
        assert tracker.domain == vector["cur_domain"]
        assert [list(request) for request in tracker.requests] == vector["request_slots_after"]


def accuracies(revision: str, name: str, *, reset: bool, source_in_turn: bool) -> dict[str, float]:
    """Return the share of turns whose state is the gold one, by goal type and for Select turns."""
    right: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    for dialogue in fold(name, revision).dialogues.values():
        tracker = RuleTracker(source_in_turn=source_in_turn)
        before = empty_state()
        for exchange in dialogue.exchanges:
            if reset:
                tracker.state = {domain: dict(slots) for domain, slots in before.items()}
            tracker.update(exchange.user.acts)
            groups = ["overall", dialogue.goal_type]
            if any(act.intent == SELECT for act in exchange.user.acts):
                groups.append("select_turns")
            turns.update(groups)
            if tracker.state == exchange.system.first_query:
                right.update(groups)
            before = exchange.system.last_query
    return {group: right[group] / turns[group] for group in turns}


@pytest.mark.parametrize("name", ["test", "val"])
@pytest.mark.parametrize(("revision", "key"), [("release", "src"), ("convlab2", "clab2")])
@pytest.mark.parametrize(("reset", "variant"), [(True, "paper"), (False, "free")])
@pytest.mark.exhaustive(but=1)
def test_the_figures_are_the_golden_ones(
    revision: str, key: str, name: str, reset: bool, variant: str
) -> None:
    found = accuracies(revision, name, reset=reset, source_in_turn=False)
    golden = figures()["rule_dst"][f"{key}/{name}/{variant}"]
    assert found == pytest.approx({group: golden[group] for group in found}, abs=1e-12)


def test_the_variant_with_sources_of_the_same_turn_is_better_at_select() -> None:
    found = accuracies("release", "test", reset=True, source_in_turn=True)
    golden = figures()["rule_dst_select_fix_variants(test, not in paper)"]["name+clear+noname"]
    assert found["select_turns"] == pytest.approx(golden["select_turns"], abs=1e-12)
    assert found["overall"] == pytest.approx(golden["overall"], abs=1e-12)


def test_the_most_frequent_domain_counts_and_of_equals_the_first() -> None:
    hotel, restaurant = (Act(INFORM, domain, "评分", "5分") for domain in (HOTEL, RESTAURANT))
    assert current_domain([hotel, restaurant, restaurant]) == RESTAURANT
    assert current_domain([hotel, restaurant]) == HOTEL
    assert current_domain([hotel, Act(SELECT, RESTAURANT, "源领域", HOTEL)]) == RESTAURANT
    assert current_domain([], [restaurant]) == RESTAURANT
    assert current_domain([]) is None


def test_a_service_that_is_not_wanted_is_not_stored() -> None:
    tracker = RuleTracker()
    services = (("泳池", "否"), ("健身房", "是"), ("SPA", "否"))
    acts = [Act(INFORM, HOTEL, f"酒店设施-{name}", value) for name, value in services]
    assert tracker.update(acts)[HOTEL]["酒店设施"] == "健身房"
