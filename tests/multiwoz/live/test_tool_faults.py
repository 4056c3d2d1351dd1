"""Function faults in any sequence of calls are recoverable and change no other result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.multiwoz.functions import BY_NAME, tools_schema
from mwzeval.multiwoz.live.stress import LAYERS, Conditions, parse_conditions
from mwzeval.multiwoz.live.tools import schema_of, tools_of
from mwzeval.multiwoz.schema import VENUE_DOMAINS
from tests.multiwoz.live.written_runs import sample_goals, town

GOALS = sample_goals()
FAULTS = [condition for condition, layer in LAYERS.items() if layer == "tools"]
VALUES = {
    "area": ("centre", "north", "dontcare", "nowhere"),
    "pricerange": ("cheap", "expensive"),
    "day": ("monday", "Tuesday"),
    "time": ("18:00", "6 pm"),
    "people": ("2", "x"),
    "stay": ("3",),
}
CERTAIN = "errors=.5,timeouts=1,empty=1,stale=1,full=1"

Call = tuple[str, dict[str, str]]
Kind = str | None


def names(domain: str) -> list[str]:
    return [str(row["name"]) for row in town().query(domain, ())]


def book_hotel(name: str) -> Call:
    return "book_hotel", {"name": name, "day": "monday", "people": "2", "stay": "3"}


@st.composite
def calls(draw: st.DrawFn) -> Call:
    name = draw(st.sampled_from(sorted(BY_NAME)))
    domain = name.partition("_")[2]
    arguments = {}
    for parameter in BY_NAME[name].parameters:
        values = VALUES.get(parameter.name) or parameter.values or ("cambridge", "10:00")
        if parameter.name == "name" and domain in VENUE_DOMAINS:
            values = tuple(names(domain)[:4])
        if draw(st.booleans()) or (parameter.is_required and draw(st.integers(0, 9))):
            arguments[parameter.name] = draw(st.sampled_from(values))
    return name, arguments


CALLS = st.lists(calls(), max_size=8).map(lambda several: several * 3)
RATES = st.fixed_dictionaries({fault: st.sampled_from((0.0, 0.5, 1.0)) for fault in FAULTS}).map(
    lambda rates: ",".join(f"{fault}={rate}" for fault, rate in rates.items())
)
ITEMS = st.sampled_from(sorted(GOALS))


def called(
    several: list[Call], conditions: str, item: str, seed: int = 0
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Return the results with and without faults, and the events."""
    record, results = Record(), []
    planned = Planned(item, GOALS[item], seed=seed)
    for rates in (parse_conditions(conditions), Conditions({})):
        tools = tools_of(town(), planned, rates, record)
        results.append([tools.call(name, arguments) for name, arguments in several])
    return results[0], results[1], record.more.get("stress", {})


def kind_of(result: Mapping[str, Any], sound: Mapping[str, Any]) -> Kind:
    """Return the kind of the fault in a result that an agent can see."""
    if result == sound:
        return None
    if result.get("status") in ("unavailable", "error"):
        return "errors" if result["status"] == "unavailable" else "timeouts"
    if result.get("status") == "failed":
        return "full"
    return "stale" if result["count"] else "empty"


def key_of(call: Call) -> str:
    """Return the same text for calls with the same meaning."""
    name, arguments = call
    spelled = {slot: {"6 pm": "18:00"}.get(v, v.lower()) for slot, v in arguments.items()}
    return json.dumps([name, {s: v for s, v in spelled.items() if v != "dontcare"}], sort_keys=True)


def events_expected(several: list[Call], kinds: list[Kind]) -> list[Kind]:
    """Return the kinds of the events in one turn: a list or venue has its fault in each call."""
    events = [
        (kind, name.partition("_")[2], number if kind not in ("stale", "full") else 0)
        for number, ((name, _), kind) in enumerate(zip(several, kinds, strict=True))
        if kind
    ]
    return [kind for kind, _, _ in dict.fromkeys(events)]


@given(CALLS, RATES, ITEMS, st.integers(0, 99))
@example([book_hotel("the brass otter")] * 3, "full=.5", "smp0022", 0)
@example([("find_hotel", {})] * 3, "stale=1", "smp0022", 0)
def test_tool_faults_are_temporary(several: list[Call], rates: str, item: str, seed: int) -> None:
    results, sound, events = called(several, rates, item, seed)
    kinds = [*map(kind_of, results, sound)]
    assert called(several, rates, item, seed) == (results, sound, events)
    assert [event["kind"] for event in events.get("faults", ())] == events_expected(several, kinds)
    loud = [key_of(c) for c, k in zip(several, kinds, strict=True) if k in ("errors", "timeouts")]
    assert len(loud) <= 4
    assert max(Counter(loud).values(), default=0) <= 2
    wrong: dict[str, Any] = {}
    emptied: set[str] = set()
    full: dict[str, str] = {}
    for (name, arguments), kind, result, right in zip(several, kinds, results, sound, strict=True):
        domain = name.partition("_")[2]
        if "error" in right:
            assert kind is None
        elif kind == "empty":
            assert right["count"]
            assert domain not in emptied
            emptied.add(domain)
        elif name.startswith("find") and kind != "errors":
            assert "name" not in arguments or kind is None
            assert result["count"] == right["count"]
            for row, true in zip(result["results"], right["results"], strict=True):
                assert list(row) == list(true)
                false = {slot: value for slot, value in row.items() if value != true[slot]}
                assert len(false) <= (right["count"] > 1)
                assert false.keys() <= {"phone", "postcode", "address", "entrancefee"}
                for slot, value in false.items():
                    assert value in {other.get(slot) for other in town().query(domain, ())}
                if right["count"] > 1 and "name" not in arguments and "name" in row:
                    assert wrong.setdefault(f"{domain} {row['name']}", false) == false
        elif name.startswith("book") and right.get("status") == "booked":
            if kind == "full":
                assert full.setdefault(domain, right["name"]) == right["name"]
            elif kind is None:
                assert full.get(domain) != right.get("name", "")


@pytest.mark.parametrize("item", sorted(GOALS))
def test_another_matching_venue_can_be_booked_if_one_is_full(item: str) -> None:
    for domain in {"restaurant", "hotel"} & GOALS[item].keys():
        info = GOALS[item][domain]["info"]
        fitting = [row["name"] for row in town().query(domain, info.items())]
        how = {"people": "2", "day": "monday"}
        how |= {"time": "18:00"} if domain == "restaurant" else {"stay": "1"}
        unfit = next(name for name in names(domain) if name not in fitting)
        several: list[Call] = [
            (f"book_{domain}", {"name": name, **how}) for name in (unfit, *fitting, *fitting)
        ]
        results, _, _ = called(several, "full=1", item)
        has_other = len(fitting) > 1 and "name" not in info
        first = ["failed" if has_other else "booked", *["booked"] * (len(fitting) - 1)]
        assert [result["status"] for result in results] == ["booked", *first, *first]


def test_any_first_venue_is_full_in_a_session_without_a_goal() -> None:
    tools = tools_of(town(), Planned("session", None), parse_conditions("full=1"), Record())
    first, second = (book_hotel(name) for name in names("hotel")[:2])
    results = [tools.call(*call) for call in (first, first, second)]
    assert [result["status"] for result in results] == ["failed", "failed", "booked"]


@pytest.mark.parametrize(("condition", "other"), [*combinations(FAULTS, 2)])
def test_tool_faults_do_not_depend_on_other_conditions(condition: str, other: str) -> None:
    ride = {"departure": "a", "destination": "b"}
    several: list[Call] = [(f"find_{domain}", {}) for domain in VENUE_DOMAINS]
    several.append(("book_taxi", ride))
    for item in sorted(GOALS)[:20]:
        alone, both = (
            [*map(kind_of, *called(several, rates, item)[:2])]
            for rates in (f"{condition}=.5", f"{condition}=.5,{other}=.5")
        )
        for before, after in zip(alone, both, strict=True):
            assert after in ({before, other} if before else {None, other})


def rides(count: int) -> list[Call]:
    return [("book_taxi", {"departure": str(n), "destination": "b"}) for n in range(count)]


def test_calls_fail_at_the_given_rate_and_rarely_twice() -> None:
    first, second = rides(2)
    shares = Counter[tuple[str, str]]()
    for seed in range(1000):
        results, _, _ = called([first, second, first, first], "errors=.3", "smp0021", seed)
        before, other, again, last = (result["status"] for result in results)
        shares[before, other] += 1
        shares["again", again] += before == "unavailable"
        assert last == "booked"
    assert shares[("unavailable", "unavailable")] == pytest.approx(90, abs=30)
    assert shares[("unavailable", "booked")] == pytest.approx(210, abs=40)
    assert shares[("again", "unavailable")] == pytest.approx(60, abs=25)


@pytest.mark.parametrize(
    ("condition", "status"), [("errors", "unavailable"), ("timeouts", "error")]
)
def test_at_most_four_calls_fail_in_a_dialogue(condition: str, status: str) -> None:
    results, _, events = called(rides(6), f"{condition}=1", "smp0021")
    assert [result["status"] for result in results] == [*[status] * 4, "booked", "booked"]
    assert {event["turn"] for event in events["faults"]} == {-1}  # no user message yet
    results, _, _ = called(rides(2) * 2, "timeouts=1", "smp0021")
    assert [result["status"] for result in results] == ["error", "error", "booked", "booked"]


@pytest.mark.parametrize("domain", VENUE_DOMAINS)
def test_stale_details_affect_only_lists_and_one_slot_per_venue(domain: str) -> None:
    several: list[Call] = [(f"find_{domain}", {"name": name}) for name in names(domain)]
    for row in town().query(domain, ()):
        wishes = {slot: str(row[slot]) for slot in ("area", "food", "stars") if slot in row}
        several.append((f"find_{domain}", wishes))
    results, sound, _ = called(several, "stale=1", "smp0021")
    for (_, arguments), result, right in zip(several, results, sound, strict=True):
        differing = [
            sum(value != true[slot] for slot, value in row.items())
            for row, true in zip(result["results"], right["results"], strict=True)
        ]
        is_list = right["count"] > 1 and "name" not in arguments
        assert differing == [int(is_list)] * len(differing)


def test_stale_details_do_not_depend_on_the_order_of_calls() -> None:
    several: list[Call] = [("find_hotel", {}), ("find_hotel", {"area": "north"})]
    results, _, _ = called(several, "stale=.5", "smp0021")
    backwards, _, _ = called(several[::-1], "stale=.5", "smp0021")
    assert backwards == results[::-1]


def test_schema_warns_of_stale_details_only_under_that_condition() -> None:
    assert schema_of(parse_conditions("tools,stale=0")) == tools_schema()
    warned = []
    for tool, known in zip(schema_of(parse_conditions(CERTAIN)), tools_schema(), strict=True):
        function, of_known = tool["function"], known["function"]
        assert {**function, "description": of_known["description"]} == of_known
        if function["description"] != of_known["description"]:
            assert "out of date" in function["description"]
            warned.append(function["name"])
    assert warned == ["find_restaurant", "find_hotel", "find_attraction"]
