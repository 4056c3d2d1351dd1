"""Each clause of the definitions in docs/metrics.md, by hand and against a slow twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.goal_success import DomainGoal, NeedsOffer
from mwzeval.multiwoz.grounding.responses import SAID_AS, Grounded
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.words.text import Mention
from tests.examples import examples
from tests.multiwoz import grounded_twin
from tests.multiwoz.towns import ATTRACTION, HOTEL, TOWN, grounding_of, mention, named
from tests.multiwoz.words.cases import tabled

GROUNDING = grounding_of(TOWN)
NO_STATE: State = {}
CHINESE: State = {"restaurant": {"food": "chinese"}}

Turn = tuple[State, Sequence[Mention]]


def judged(
    *turns: Turn,
    goal: Mapping[str, DomainGoal] | None = None,
    booked: Sequence[frozenset[str]] | None = None,
) -> Grounded:
    states, mentions = zip(*turns, strict=True)
    nothing = [frozenset[str]()] * len(turns)
    silence = [""] * len(turns)
    return GROUNDING.judge(goal or {}, booked or nothing, states, silence, mentions)


def last(*turns: Turn) -> tuple[bool, bool | None]:
    """Whether the last mention is known and agrees."""
    found = judged(*turns).judged[-1]
    return found.known, found.agrees


def counted(*turns: Turn) -> int:
    return len(judged(*turns).judged)


@tabled
def test_a_mention_is_known_when_the_database_has_it(
    slot: str, said: str, domain: str | None, known: bool
) -> None:
    assert last((NO_STATE, [mention(slot, said, domain)]))[0] is known


@tabled
def test_what_is_in_no_table_is_not_counted(slot: str, domain: str | None) -> None:
    assert counted((NO_STATE, [mention(slot, "whatever", domain)])) == 0


@pytest.mark.parametrize("domain", ["taxi", "police", "hospital"])
def test_a_number_of_no_domain_is_not_counted_where_it_may_be_in_no_table(domain: str) -> None:
    said = [mention("phone", "01223999999", None)]
    assert counted((NO_STATE, said)) == 1
    assert counted(({domain: {}}, said)) == 0


@pytest.mark.parametrize("domain", ["restaurant", None, "taxi"])
def test_a_number_that_no_venue_has_is_the_taxis_where_there_is_one(domain: str | None) -> None:
    wanted = {"taxi": DomainGoal(frozenset(), frozenset({"PHONE"}), NeedsOffer.NEVER)}
    taxi: State = {"taxi": {"leave": "10:00"}}
    number = [mention("phone", "07700900123", domain)]
    found = judged((taxi, number), goal=wanted)
    assert not found.judged
    assert found.outcome.success
    # Behind a venue's name it is an invented one, unless a taxi is spoken of.
    own = mention("phone", "01223000009")
    assert last((taxi, [*named("blue lantern"), own])) == (False, False)
    car = Mention(0, 0, "white honda", "type", "taxi", "white honda")
    assert counted((taxi, [*named("blue lantern"), car, own])) == 1
    of_venue = judged((taxi, [mention("phone", "01223000001")]), goal=wanted)
    assert len(of_venue.judged) == 1
    assert not of_venue.outcome.success


@pytest.mark.parametrize(
    ("slot", "state_slot", "said", "domain"),
    [
        ("name", "name", "green dragon", "restaurant"),
        ("leaveat", "leave", "9:40", "train"),
        ("food", "food", "martian", "restaurant"),
    ],
)
def test_to_repeat_what_the_user_said_is_no_claim(
    slot: str, state_slot: str, said: str, domain: str
) -> None:
    value = "09:40" if slot == "leaveat" else said
    name = (
        []
        if slot == "name"
        else named("TR0001" if domain == "train" else "blue lantern", domain=domain)
    )
    names = len(name)
    assert counted((NO_STATE, [*name, mention(slot, said, domain)])) == names + 1
    assert counted(({domain: {state_slot: value}}, [*name, mention(slot, said, domain)])) == names
    assert counted(({domain: {state_slot: "other"}}, [*name, mention(slot, said, domain)])) > names


def test_to_say_that_nobody_has_a_value_is_no_claim() -> None:
    martian = mention("food", "martian")
    assert counted((NO_STATE, [martian])) == 0
    assert last((NO_STATE, [*named("blue lantern"), martian])) == (False, False)
    assert counted((NO_STATE, [*named("grand hotel", domain="hotel"), martian])) == 1
    assert last((NO_STATE, [mention("phone", "01223000009")])) == (False, None)


# What the values said are held against


def test_the_example_of_the_documentation() -> None:
    two = (CHINESE, [mention("area", "north")])
    kettle = (CHINESE, [*named("red kettle"), mention("pricerange", "cheap")])
    for number, right in (("01223000002", 2), ("01223000001", 1)):
        found = judged(two, kettle, (CHINESE, [mention("phone", number)])).judged
        assert [j.agrees for j in found] == [True, None, False, right == 2]
        assert all(j.known for j in found)


@pytest.mark.parametrize("before", [True, False])
def test_the_venue_may_be_named_before_or_after_its_values(before: bool) -> None:
    name, phone = named("blue lantern"), [mention("phone", "01223000001")]
    said = [*name, *phone] if before else [*phone, *name]
    found = judged((NO_STATE, said)).judged
    assert [j.agrees for j in found if j.mention.slot == "phone"] == [True]


def test_of_several_venues_on_offer_one_must_have_the_value() -> None:
    both = named("blue lantern", "red kettle")
    assert last((NO_STATE, [*both, mention("pricerange", "expensive")])) == (True, True)
    assert last((NO_STATE, [*both, mention("area", "south")])) == (True, False)


def test_what_was_named_stays_on_offer_as_long_as_the_state_finds_it() -> None:
    first = (CHINESE, named("blue lantern"))
    said = [mention("food", "british")]
    british: State = {"restaurant": {"food": "british"}}
    assert last(first, (CHINESE, said)) == (True, False)
    assert last(first, (NO_STATE, said)) == (True, False)
    assert last(first, (british, said)) == (True, True)


def test_the_state_tells_which_of_those_named_the_user_has_chosen() -> None:
    first = (CHINESE, named("blue lantern", "red kettle"))
    said = [mention("phone", "01223000001")]
    assert last(first, (CHINESE, said)) == (True, True)
    assert last(first, ({"restaurant": {"name": "red kettle"}}, said)) == (True, False)


def test_without_a_name_the_values_are_of_what_the_state_finds() -> None:
    cheap: State = {"restaurant": {"pricerange": "cheap"}}
    assert last((cheap, [mention("phone", "01223000003")])) == (True, True)
    assert last((cheap, [mention("phone", "01223000002")])) == (True, False)
    assert last((NO_STATE, [mention("phone", "01223000002")])) == (True, None)
    nothing: State = {"restaurant": {"food": "martian"}}
    assert last((nothing, [mention("phone", "01223000002")])) == (True, None)


def test_of_many_venues_on_offer_one_must_have_the_value() -> None:
    row = TOWN["restaurant"][0]
    many = [{**row, "id": str(i), "phone": f"{i:011}", "pricerange": "cheap"} for i in range(20)]
    tables = {**TOWN, "restaurant": [*many, {**row, "id": "20", "food": "thai", "phone": "1" * 11}]}
    grounding = grounding_of(tables)
    for number, agrees in ((f"{19:011}", True), ("1" * 11, False), ("9" * 11, False)):
        said = [mention("phone", number, tables=tables)]
        (found,) = grounding.judge({}, [frozenset()], [CHINESE], [""], [said]).judged
        assert found.agrees is agrees
        assert len(found.offered) == 20


def test_of_many_venues_on_offer_one_must_open_then() -> None:
    hours = {"openhours": "it opens from 9 a.m. to 5:00 p.m. daily"}
    tables = {**TOWN, "attraction": [{**ATTRACTION, **hours, "id": str(i)} for i in range(20)]}
    state: State = {"attraction": {}}
    for time, agrees in (("9 am", True), ("5 pm", True), ("6 pm", False)):
        said = [mention("openhours", time, "attraction", tables)]
        (found,) = grounding_of(tables).judge({}, [frozenset()], [state], [""], [said]).judged
        assert (found.agrees, len(found.offered)) == (agrees, 20)


def test_an_invented_venue_stands_for_those_that_the_state_finds() -> None:
    dragon = named("green dragon")
    phone, other = [mention("phone", "01223000001")], [mention("phone", "01223000003")]
    assert last((CHINESE, [*dragon, *phone])) == (True, True)
    assert last((CHINESE, [*dragon, *other])) == (True, False)
    assert last((CHINESE, dragon), (CHINESE, phone)) == (True, True)
    assert last((CHINESE, dragon), (NO_STATE, phone)) == (True, None)
    assert last((NO_STATE, named("old mill")), (CHINESE, [*dragon, *other])) == (True, True)
    assert last((CHINESE, dragon), (CHINESE, named("blue lantern")), (CHINESE, phone))[1]


def test_a_value_may_be_of_a_venue_of_another_domain_that_was_named() -> None:
    museum = named("the museum", domain="attraction")
    number = [mention("phone", "01223000021", "attraction")]
    misread = [replace(number[0], domain="restaurant", venues=())]
    assert last((CHINESE, museum), (CHINESE, misread)) == (True, True)
    assert last((CHINESE, museum), (CHINESE, [*named("blue lantern"), *misread])) == (True, False)
    assert last((CHINESE, misread)) == (True, False)


def test_a_slot_that_the_database_does_not_know_is_left_out() -> None:
    museum = named("the museum", domain="attraction")
    fee = mention("entrancefee", "4 pounds", "attraction")
    assert last((NO_STATE, [*museum, fee])) == (True, None)
    garden = named("the garden", domain="attraction")
    assert last((NO_STATE, [*museum, *garden, fee])) == (True, True)
    assert last((NO_STATE, [*garden, mention("entrancefee", "9 pounds", "attraction")])) == (
        False,
        False,
    )


def test_the_domains_do_not_mix() -> None:
    said = [*named("blue lantern"), mention("phone", "01223000011", "hotel")]
    assert last((NO_STATE, said)) == (True, None)
    assert last((NO_STATE, [*named("grand hotel", domain="hotel"), *said])) == (True, True)


@pytest.mark.parametrize(
    ("slot", "said", "agrees"),
    [
        ("leaveat", "9:00", True),
        ("leaveat", "11:00", False),
        ("price", "13.20 pounds", True),
        ("price", "7 pounds", False),
        ("duration", "20 minutes", True),
        ("destination", "norwich", False),
    ],
)
def test_values_of_the_train_named(slot: str, said: str, agrees: bool) -> None:
    train = named("TR0001", domain="train")
    assert last((NO_STATE, [*train, mention(slot, said, "train")]))[1] is agrees


def test_a_time_that_no_word_tells_of_may_be_of_either_end() -> None:
    train = named("TR0001", domain="train")
    for sure, agrees in ((True, False), (False, True)):
        time = replace(mention("leaveat", "09:20", "train"), sure=sure)
        assert last((NO_STATE, [*train, time]))[1] is agrees
    neither = replace(mention("leaveat", "11:20", "train"), sure=False)
    assert last((NO_STATE, [*train, neither]))[1] is False


@pytest.mark.parametrize(
    ("response", "agrees"),
    [
        *(("TR0001 is 8.80 pounds for two.", True), ("TR0001 is 8.80 pounds for three.", False)),
        *(("TR0001 is 8.80 pounds each.", False), ("TR0001 is 8.80 pounds.", True)),
    ],
)
def test_a_price_is_that_of_as_many_tickets_as_are_said(response: str, agrees: bool) -> None:
    price = replace(mention("price", "8.80 pounds", "train"), start=10, end=21)
    train = named("TR0001", domain="train")
    goal: dict[str, DomainGoal] = {}
    (*_, judged) = (
        grounding_of(TOWN).judge(goal, [frozenset()], [{}], [response], [[*train, price]]).judged
    )
    assert judged.agrees is agrees


def test_trains_that_share_an_id_have_the_values_of_both() -> None:
    train = named("TR0003", domain="train")
    for time in ("10:00", "12:00"):
        assert last((NO_STATE, [*train, mention("leaveat", time, "train")]))[1] is True


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


def test_what_the_user_has_chosen_since_counts() -> None:
    both = (CHINESE, named("blue lantern", "red kettle"))
    chosen: State = {"restaurant": {"name": "blue lantern"}}
    assert outcome(both, (chosen, []))[0]
    assert not outcome(both, ({"restaurant": {"name": "red kettle"}}, []))[0]
    assert not outcome(both, ({"restaurant": {"name": "old mill"}}, []))[0]
    assert not outcome(both, (chosen, []), (CHINESE, []))[0]
    # To name everything is no offer, whatever was chosen before.
    assert not outcome((chosen, named("blue lantern", "red kettle")))[0]


@pytest.mark.parametrize("needs", list(NeedsOffer))
def test_who_asks_by_name_need_not_be_told_but_not_be_misled(needs: NeedsOffer) -> None:
    wanted = DomainGoal(frozenset({"1"}), frozenset(), needs)
    assert outcome((CHINESE, []), wanted=wanted)[0] is (needs is not NeedsOffer.ALWAYS)
    assert outcome((CHINESE, named("blue lantern")), wanted=wanted)[0]
    assert not outcome((CHINESE, named("red kettle")), wanted=wanted)[0]
    assert not outcome((CHINESE, named("green dragon")), wanted=wanted)[0]


@pytest.mark.parametrize("domain", ["taxi", "police", "hospital"])
def test_where_there_is_no_choice_whatever_is_said_counts(domain: str) -> None:
    wanted = DomainGoal(frozenset(), frozenset({"PHONE"}), NeedsOffer.NEVER)
    assert outcome((NO_STATE, []), wanted=wanted, domain=domain) == (True, False)
    for said_of, counts in ((domain, True), (None, True), ("hotel", False)):
        said = [mention("phone", "01223999999", said_of)]
        assert outcome((NO_STATE, said), wanted=wanted, domain=domain) == (True, counts)


@pytest.mark.parametrize(
    ("said", "success"),
    [
        ([PHONE], True),
        ([mention("phone", "01223000002")], False),
        ([mention("phone", "01223000009")], False),
        ([mention("phone", "01223000002"), PHONE], True),
        ([mention("phone", "01223000001", "hotel")], False),
        ([mention("postcode", "cb10aa")], False),
        ([], False),
    ],
)
def test_the_number_said_is_that_of_the_venue_named(said: list[Mention], success: bool) -> None:
    assert outcome((CHINESE, named("blue lantern")), (CHINESE, said)) == (True, success)
    assert outcome((CHINESE, said), (CHINESE, named("blue lantern"))) == (True, success)


def test_without_inform_there_is_no_success() -> None:
    assert outcome((CHINESE, [*named("red kettle"), PHONE])) == (False, False)


def test_where_nothing_was_named_the_number_is_that_of_a_venue_that_satisfies_the_goal() -> None:
    by_name = DomainGoal(frozenset({"1"}), frozenset({"PHONE"}), NeedsOffer.NEVER)
    assert outcome((CHINESE, [PHONE]), wanted=by_name) == (True, True)
    other = [mention("phone", "01223000002")]
    assert outcome((CHINESE, other), wanted=by_name) == (True, False)


def test_what_the_database_does_not_know_is_not_asked_for() -> None:
    wanted = DomainGoal(frozenset({"3"}), frozenset({"POST", "PHONE"}))
    mill = (NO_STATE, named("old mill"))
    assert outcome(mill, (NO_STATE, []), wanted=wanted) == (True, False)
    phone = [mention("phone", "01223000003")]
    assert outcome(mill, (NO_STATE, phone), wanted=wanted) == (True, True)


def test_a_train_id_given_is_that_of_the_train_named_last() -> None:
    wanted = DomainGoal(frozenset({"TR0001"}), frozenset({"TRAINID"}))
    assert outcome((NO_STATE, named("TR0001", domain="train")), wanted=wanted, domain="train") == (
        True,
        True,
    )
    assert outcome((NO_STATE, []), wanted=wanted, domain="train") == (False, False)


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
            st.frozensets(st.sampled_from([*SAID_AS, "REFERENCE"])),
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
    assert [(j.turn, j.mention, j.known, j.agrees) for j in found.judged] == twin.judged()
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
    assert swapped.judged[-1].agrees is (venue == other)
    assert all(j.known for j in swapped.judged)


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
        sum(not j.known for j in judged(*unasked[:at], turn, *unasked[at + 1 :]).judged)
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
    spoken = [
        mention("name", venue, domain, tables),
        mention(slot, text, domain, tables),
    ]
    judged = grounding_of(tables).judge({}, [frozenset()], [{}], [""], [spoken]).judged
    assert [j.agrees for j in judged if j.mention.slot == slot] == (
        [] if agrees is None else [agrees]
    )
