"""Each clause of the definitions in docs/metrics.md, by hand and against a slow twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.grounding.claims import Grounded, SystemTurn
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.schema import PROVIDABLE
from mwzeval.multiwoz.scoring.goal_success import DomainGoal, NeedsOffer
from mwzeval.multiwoz.words.text import Mention
from tests.cases import tabled
from tests.examples import examples
from tests.multiwoz import grounded_twin
from tests.multiwoz.towns import ATTRACTION, HOTEL, TOWN, grounding_of, mention, named

GROUNDING = grounding_of(TOWN)
NO_STATE: State = {}
CHINESE: State = {"restaurant": {"food": "chinese"}}

Turn = tuple[State, Sequence[Mention]]


def judged(
    *turns: Turn,
    goal: Mapping[str, DomainGoal] | None = None,
    booked: Sequence[frozenset[str]] | None = None,
) -> Grounded:
    nothing = [frozenset[str]()] * len(turns)
    said = zip(turns, booked or nothing, strict=True)
    return GROUNDING.judge(goal or {}, [SystemTurn("", *turn, of_turn) for turn, of_turn in said])


def last(*turns: Turn) -> tuple[bool | None, bool | None]:
    """Whether the last mention is known and agrees."""
    found = judged(*turns).checked[-1]
    return found.known, found.agrees


def counted(*turns: Turn) -> int:
    return len(judged(*turns).checked)


def state_of(text: str) -> State:
    """Return a state of which each part is a domain, or a domain, a slot and its value."""
    state: dict[str, dict[str, str]] = {}
    for part in filter(None, text.split(", ")):
        domain, _, pair = part.partition(" ")
        slots = state.setdefault(domain, {})
        if pair:
            slot, _, value = pair.partition("=")
            slots[slot] = value
    return state


def mentions_of(text: str) -> list[Mention]:
    """Return mentions; a domain stands before the slot unless it is that of restaurants."""
    found = []
    for part in filter(None, text.split(", ")):
        place, _, said = part.partition("=")
        domain, _, slot = place.rpartition(" ")
        found.append(mention(slot, said, None if domain == "no domain" else domain or "restaurant"))
    return found


def turns_of(text: str) -> list[Turn]:
    """Return the turns of a dialogue: of each its state and what is mentioned."""
    turns = [turn.split("|") for turn in text.split(" / ")]
    return [(state_of(state.strip()), mentions_of(said.strip())) for state, said in turns]


@tabled
def test_whether_the_last_mention_is_known_and_agrees(
    turns: str, known: bool, agrees: bool | None
) -> None:
    assert last(*turns_of(turns)) == (known, agrees)


@tabled
def test_how_many_mentions_count(turns: str, number: int) -> None:
    assert counted(*turns_of(turns)) == number


@tabled
def test_what_a_dialogue_is_worth(
    *,
    domain: str,
    venues: str,
    requested: str,
    needs: str,
    turns: str,
    inform: bool,
    success: bool | None,
) -> None:
    asked = frozenset(requested.split())
    wanted = DomainGoal(frozenset(venues.split()), asked, NeedsOffer[needs])
    assert outcome(*turns_of(turns), wanted=wanted, domain=domain) == (inform, success)


@tabled
def test_a_mention_is_known_when_the_database_has_it(
    slot: str, said: str, domain: str | None, known: bool
) -> None:
    assert last((NO_STATE, [mention(slot, said, domain)]))[0] is known


@tabled
def test_what_is_in_no_table_is_not_counted(slot: str, domain: str | None) -> None:
    assert counted((NO_STATE, [mention(slot, "whatever", domain)])) == 0


@pytest.mark.parametrize("domain", ["restaurant", None, "taxi"])
def test_a_number_that_no_venue_has_is_the_taxis_where_there_is_one(domain: str | None) -> None:
    wanted = {"taxi": DomainGoal(frozenset(), frozenset({"PHONE"}), NeedsOffer.NEVER)}
    taxi: State = {"taxi": {"leave": "10:00"}}
    number = [mention("phone", "07700900123", domain)]
    found = judged((taxi, number), goal=wanted)
    assert not found.checked
    assert found.outcome.success
    # Behind a venue's name it is an invented one, unless a taxi is spoken of.
    own = mention("phone", "01223000009")
    assert last((taxi, [*named("blue lantern"), own])) == (False, False)
    car = Mention(0, 0, "white honda", "type", "taxi", "white honda")
    assert counted((taxi, [*named("blue lantern"), car, own])) == 1
    of_venue = judged((taxi, [mention("phone", "01223000001")]), goal=wanted)
    assert len(of_venue.checked) == 1
    assert not of_venue.outcome.success


# What the values said are held against


def test_the_example_of_the_documentation() -> None:
    two = (CHINESE, [mention("area", "north")])
    kettle = (CHINESE, [*named("red kettle"), mention("pricerange", "cheap")])
    for number, right in (("01223000002", 2), ("01223000001", 1)):
        found = judged(two, kettle, (CHINESE, [mention("phone", number)])).checked
        assert [j.agrees for j in found] == [True, None, False, right == 2]
        assert all(j.known for j in found)


@pytest.mark.parametrize("before", [True, False])
def test_the_venue_may_be_named_before_or_after_its_values(before: bool) -> None:
    name, phone = named("blue lantern"), [mention("phone", "01223000001")]
    said = [*name, *phone] if before else [*phone, *name]
    found = judged((NO_STATE, said)).checked
    assert [j.agrees for j in found if j.mention.slot == "phone"] == [True]


def test_of_many_venues_on_offer_one_must_have_the_value() -> None:
    row = TOWN["restaurant"][0]
    many = [{**row, "id": str(i), "phone": f"{i:011}", "pricerange": "cheap"} for i in range(20)]
    tables = {**TOWN, "restaurant": [*many, {**row, "id": "20", "food": "thai", "phone": "1" * 11}]}
    grounding = grounding_of(tables)
    for number, agrees in ((f"{19:011}", True), ("1" * 11, False), ("9" * 11, False)):
        said = [mention("phone", number, tables=tables)]
        (found,) = grounding.judge({}, [SystemTurn("", CHINESE, said)]).checked
        assert found.agrees is agrees
        assert len(found.offered) == 20


def test_of_many_venues_on_offer_one_must_open_then() -> None:
    hours = {"openhours": "it opens from 9 a.m. to 5:00 p.m. daily"}
    tables = {**TOWN, "attraction": [{**ATTRACTION, **hours, "id": str(i)} for i in range(20)]}
    state: State = {"attraction": {}}
    for time, agrees in (("9 am", True), ("5 pm", True), ("6 pm", False)):
        said = [mention("openhours", time, "attraction", tables)]
        (found,) = grounding_of(tables).judge({}, [SystemTurn("", state, said)]).checked
        assert (found.agrees, len(found.offered)) == (agrees, 20)


def test_a_value_may_be_of_a_venue_of_another_domain_that_was_named() -> None:
    museum = named("the museum", domain="attraction")
    number = [mention("phone", "01223000021", "attraction")]
    misread = [number[0]._replace(domain="restaurant", venues=())]
    assert last((CHINESE, museum), (CHINESE, misread)) == (True, True)
    assert last((CHINESE, museum), (CHINESE, [*named("blue lantern"), *misread])) == (True, False)
    assert last((CHINESE, misread)) == (True, False)


def test_a_time_that_no_word_tells_of_may_be_of_either_end() -> None:
    train = named("TR0001", domain="train")
    for sure, agrees in ((True, False), (False, True)):
        time = mention("leaveat", "09:20", "train")._replace(sure=sure)
        assert last((NO_STATE, [*train, time]))[1] is agrees
    neither = mention("leaveat", "11:20", "train")._replace(sure=False)
    assert last((NO_STATE, [*train, neither]))[1] is False


@pytest.mark.parametrize(
    ("response", "agrees"),
    [
        *(("TR0001 is 8.80 pounds for two.", True), ("TR0001 is 8.80 pounds for three.", False)),
        *(("TR0001 is 8.80 pounds each.", False), ("TR0001 is 8.80 pounds.", True)),
    ],
)
def test_a_price_is_that_of_as_many_tickets_as_are_said(response: str, agrees: bool) -> None:
    price = mention("price", "8.80 pounds", "train")._replace(start=10, end=21)
    train = named("TR0001", domain="train")
    goal: dict[str, DomainGoal] = {}
    turn = SystemTurn(response, {}, [*train, price])
    (*_, found) = grounding_of(TOWN).judge(goal, [turn]).checked
    assert found.agrees is agrees


# Grounded Inform and Grounded Success

LANTERN = DomainGoal(frozenset({"1"}), frozenset({"PHONE"}))


def outcome(*turns: Turn, wanted: DomainGoal = LANTERN, domain: str = "restaurant") -> Any:
    whole = judged(*turns, goal={domain: wanted}).outcome
    return whole.inform, whole.success


PHONE = mention("phone", "01223000001")


@tabled
def test_the_venues_named_last_must_all_satisfy_the_goal(
    names: list[list[str]], inform: bool
) -> None:
    assert outcome(*((CHINESE, named(*of_turn)) for of_turn in names))[0] is inform


@pytest.mark.parametrize(
    ("said_in", "booked_from", "domain", "success"),
    [
        (1, 1, "restaurant", True),
        (1, 0, "restaurant", True),
        (0, 1, "restaurant", False),
        (1, 1, None, True),
        (1, 1, "hotel", False),
        (1, 2, "restaurant", False),
    ],
)
def test_a_reference_counts_once_it_is_booked(
    said_in: int, booked_from: int, domain: str | None, success: bool
) -> None:
    wanted = {"restaurant": DomainGoal(frozenset({"1"}), frozenset({"REFERENCE"}))}
    said: list[list[Mention]] = [named("blue lantern"), []]
    said[said_in] = [*said[said_in], mention("reference", "A1B2C3D4", domain)]
    booked = [frozenset({"restaurant"}) if i >= booked_from else frozenset() for i in range(2)]
    turns = [(CHINESE, of_turn) for of_turn in said]
    assert judged(*turns, goal=wanted, booked=booked).outcome.success is success


# Against a slow twin, and properties

values = {
    "name": ("blue lantern", "red kettle", "old mill", "green dragon"),
    "phone": ("01223000001", "01223000002", "01223000003", "01223000009"),
    "postcode": ("cb10aa", "cb10ab", "cb99zz"),
    "area": ("north", "south", "west"),
    "food": ("chinese", "british", "martian"),
    "pricerange": ("cheap", "expensive"),
    "reference": ("A1B2C3D4",),
    "trainid": ("TR0001", "TR0003", "TR9999"),
    "leaveat": ("09:00", "10:00", "12:00", "03:33"),
    "price": ("4.40 pounds", "8.80 pounds", "7.00 pounds", "1 pound"),
    "destination": ("cambridge", "norwich", "oz"),
}
OF_TRAINS = ("trainid", "leaveat", "price", "destination")


@st.composite
def mentions_(draw: st.DrawFn) -> Mention:
    slot = draw(st.sampled_from(sorted(values)))
    own = "train" if slot in OF_TRAINS else "restaurant"
    domain = draw(st.sampled_from([own, own, own, None, "taxi"]))
    return mention(slot, draw(st.sampled_from(values[slot])), domain)


states_ = st.fixed_dictionaries(
    {},
    optional={
        "restaurant": st.fixed_dictionaries(
            {},
            optional={
                "food": st.sampled_from(values["food"]),
                "name": st.sampled_from(values["name"]),
                "pricerange": st.sampled_from(values["pricerange"]),
            },
        ),
        "train": st.fixed_dictionaries(
            {}, optional={"leave": st.sampled_from(values["leaveat"]), "day": st.just("monday")}
        ),
        "taxi": st.just({}),
    },
)
goals_ = st.fixed_dictionaries(
    {},
    optional={
        domain: st.builds(
            DomainGoal,
            st.frozensets(st.sampled_from(ids)),
            st.frozensets(st.sampled_from([*PROVIDABLE])),
            st.sampled_from(NeedsOffer),
        )
        for domain, ids in (
            ("restaurant", ("1", "2", "3")),
            ("train", ("TR0001", "TR0002", "TR0003")),
        )
    },
)
turns_ = st.lists(st.tuples(states_, st.lists(mentions_(), max_size=4)), min_size=1, max_size=5)


@examples(300)
@given(turns_, goals_, st.integers(0, 5))
def test_the_definitions_followed_step_by_step_say_the_same(
    turns: list[Turn], goal: dict[str, DomainGoal], booked_from: int
) -> None:
    booked = [
        frozenset({"restaurant"}) if i >= booked_from else frozenset[str]()
        for i in range(len(turns))
    ]
    found = judged(*turns, goal=goal, booked=booked)
    twin = grounded_twin.Twin(TOWN, turns)
    assert [(j.turn, j.mention, j.known, j.agrees) for j in found.checked] == twin.judged()
    assert {
        domain: result.inform for domain, result in found.outcome.domains.items()
    } == twin.informed(goal)
    assert found.outcome.success is twin.succeeded(goal, booked)


NUMBER_OF = {"1": "01223000001", "2": "01223000002", "3": "01223000003"}


@given(st.sampled_from(["1", "2", "3"]), st.sampled_from(["1", "2", "3"]), states_)
def test_another_venues_number_lowers_consistency_and_success_and_invents_nothing(
    venue: str, other: str, state: State
) -> None:
    name = named(dict(zip("123", values["name"], strict=False))[venue])
    goal = {"restaurant": DomainGoal(frozenset({venue}), frozenset({"PHONE"}))}

    def said(number: str) -> Grounded:
        return judged((state, [*name, mention("phone", number)]), goal=goal)

    right, swapped = said(NUMBER_OF[venue]), said(NUMBER_OF[other])
    assert right.outcome.success
    assert swapped.outcome.success is (venue == other)
    assert swapped.checked[-1].agrees is (venue == other)
    assert all(j.known for j in swapped.checked)


@given(turns_, st.data())
def test_an_invented_name_is_one_more_hallucination(turns: list[Turn], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(turns) - 1))
    unasked: list[Turn] = [({}, said) for _, said in turns]
    swapped = [
        (state, [*said, *named("blue lantern" if known else "purple frog")])
        for known in (True, False)
        for state, said in [unasked[at]]
    ]
    invented = [
        sum(not j.known for j in judged(*unasked[:at], turn, *unasked[at + 1 :]).checked)
        for turn in swapped
    ]
    # The turn names a restaurant either way, so all other mentions count alike.
    assert invented[1] == invented[0] + 1


@tabled
def test_rooms_amenities_and_opening_hours_are_the_databases(
    domain: str, slot: str, text: str, agrees: bool | None
) -> None:
    rooms = {"price": {"single": "50", "double": "70"}, "parking": "no", "internet": "yes"}
    hours = {"openhours": "it opens from 9 a.m. to 5:00 p.m. daily"}
    tables = {**TOWN, "hotel": [{**HOTEL, **rooms}], "attraction": [{**ATTRACTION, **hours}]}
    venue = {"hotel": "grand hotel", "attraction": "the museum"}[domain]
    spoken = [mention("name", venue, domain, tables), mention(slot, text, domain, tables)]
    found = grounding_of(tables).judge({}, [SystemTurn("", {}, spoken)]).checked
    assert [j.agrees for j in found if j.mention.slot == slot] == (
        [] if agrees is None else [agrees]
    )
