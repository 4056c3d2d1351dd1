"""The simulated user, rule by rule, and under any system whatever."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.pydial.dialogue.acts import DONTCARE, NULL, Act, Item, parse_act
from mwzeval.pydial.dialogue.error_model import USER_ACTS, ErrorModel
from mwzeval.pydial.dialogue.goals import TYPE, Agenda, Goal
from mwzeval.pydial.dialogue.offers import accepts
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.dialogue.user import User, UserSimulator
from mwzeval.pydial.dialogue.user_parameters import UserParameters
from mwzeval.pydial.tasks import task_named
from tests.examples import examples
from tests.pydial.dialogue.outcomes import outcomes
from tests.pydial.small_domain import CAFES, COLUMNS, ONTOLOGY

HALF = UserParameters._make([0.5] * 24 + [0.0, 0.0])._replace(
    thank_ack_1=0.25,
    thank_ack_2=0.25,
    request_alternatives_1=0.25,
    request_alternatives_2=0.25,
    new_request_response_1=0.25,
    new_request_response_2=0.25,
    correcting_act_1=0.25,
    correcting_act_2=0.25,
)
NORTH, CAKE, CHEAP = Item("area", "north"), Item("food", "cake"), Item("pricerange", "cheap")
NOT_ANNA = Item("name", "anna", negated=True)


@dataclass(frozen=True)
class Before:
    """A user before a system act; the agenda is given from the top."""

    constraints: tuple[Item, ...] = (NORTH, CAKE, CHEAP)
    requests: tuple[tuple[str, str | None], ...] = (("name", None), ("phone", None))
    agenda: tuple[str, ...] = ("bye()",)
    heard: str = "hello()"
    patience: int = 4
    first_offer_pending: bool = False
    legacy: bool = True


def answers(before: Before, system: str) -> dict[str, float]:
    """Return what the user may answer, and how probably."""
    found: dict[str, float] = {}

    def answered(rng: object) -> str:
        goal = Goal(list(before.constraints), dict(before.requests))
        for item in before.constraints:
            goal.use(item.slot, str(item.value))
        simulator = UserSimulator(CAFES, legacy=before.legacy)
        user = simulator.user(goal, 4, HALF, rng)  # type: ignore[arg-type]
        user.state.agenda = Agenda(map(parse_act, before.agenda))
        user.state.last_heard = parse_act(before.heard)
        user.state.patience = before.patience
        user.state.first_offer_pending = before.first_offer_pending
        return str(user.answer(parse_act(system)))

    for said, probability in outcomes(answered):
        found[said] = found.get(said, 0.0) + probability
    assert sum(found.values()) == pytest.approx(1)
    return found


TOLD = (("name", "anna"), ("phone", None))
ALL_TOLD = (("name", "anna"), ("phone", "1111"))
CASES = [
    ("greets back or does not", Before(), "hello()", {"hello()": 0.5, "bye()": 0.5}),
    ("says goodbye to a goodbye", Before(agenda=("inform(area=north)",)), "bye()", {"bye()": 1}),
    ("gives what is asked for", Before(), "request(area)", {'inform(area="north")': 1}),
    (
        "says first what is asked for",
        Before(agenda=("inform(food=cake)", "inform(area=north)", "bye()")),
        "request(area)",
        {'inform(area="north")': 0.5, 'inform(area="north",food="cake")': 0.5},
    ),
    ("knows no phone number", Before(), "request(phone)", {"negate()": 1}),
    (
        "asks what is open, whatever is asked",
        Before(requests=TOLD),
        "request(area)",
        {'request(name="anna",phone)': 1},
    ),
    (
        "has no preference, and may not say of what",
        Before(constraints=(NORTH,)),
        "request(food)",
        {'inform(area="north")': 0.25, 'inform(="dontcare")': 0.5, 'inform(food="dontcare")': 0.25},
    ),
    ("affirms", Before(), 'confirm(area="north")', {"affirm()": 1}),
    (
        "affirms and goes on",
        Before(agenda=("inform(food=cake)", "bye()")),
        'confirm(area="north")',
        {"affirm()": 0.25, 'affirm(food="cake")': 0.75},  # combined before, or while it is said
    ),
    (
        "corrects, or confirms something else",
        Before(),
        'confirm(area="south")',
        {
            'negate(area="north")': 0.125,
            'deny(area="south",area="north")': 0.125,
            'inform(area="north")': 0.25,
            'confirm(area="north")': 0.5 / 3,
            'confirm(food="cake")': 0.5 / 3,
            'confirm(pricerange="cheap")': 0.5 / 3,
        },
    ),
    (
        "asks of a name that it does not want like of any other value",
        Before(constraints=(NORTH, NOT_ANNA)),
        'confirm(area="south")',
        {
            'negate(area="north")': 0.125,
            'deny(area="south",area="north")': 0.125,
            'inform(area="north")': 0.25,
            'confirm(area="north")': 0.25,
            'confirm(name="anna")': 0.25,
        },
    ),
    (
        "checks no name that it does not want once another is offered",
        Before(constraints=(NORTH, NOT_ANNA), requests=(("name", None),)),
        'inform(name="bert",area="north")',
        {"thankyou()": 0.25, "ack()": 0.25, "bye()": 0.5},
    ),
    (
        "corrects another name than it wants, and knows only which one it does not want",
        Before(constraints=(NORTH, Item("name", "cleo"), NOT_ANNA), requests=(("name", "cleo"),)),
        'inform(name="bert",area="north")',
        {"reqalts()": 1},
    ),
    (
        "checks the name that it wants when another is offered",
        Before(constraints=(NORTH, Item("name", "cleo")), requests=(("name", "cleo"),)),
        'inform(name="bert",area="north")',
        {"thankyou()": 0.125, "ack()": 0.125, "bye()": 0.25, 'confirm(name="cleo")': 0.5},
    ),
    (
        "does not want what it never mentioned",
        Before(constraints=(NORTH,)),
        'confirm(food="pie")',
        {'negate(food="dontcare")': 1},
    ),
    ("chooses", Before(), 'select(area="south",area="north")', {'inform(area="north")': 1}),
    (
        "has no preference in a choice",
        Before(constraints=(NORTH,)),
        'select(food="pie",food="cake")',
        {'inform(food="dontcare")': 0.5, 'inform(="dontcare")': 0.5},
    ),
    (
        "asks for the phone of what is offered",
        Before(),
        'inform(name="anna",area="north",food="cake",pricerange="cheap")',
        {
            "thankyou()": 0.25,
            "ack()": 0.25,
            "request(phone)": 0.25,
            'request(phone,name="anna")': 0.25,
        },
    ),
    (
        "gives a constraint up when nothing matches",
        Before(constraints=(NORTH,)),
        'inform(name=none,area="north")',
        {
            'reqalts(area="dontcare")': 0.5,
            'reqalts(area="south")': 0.25,
            'reqalts(area="centre")': 0.25,
        },
    ),
    ("says it all again before anything was offered", Before(), "reqmore()", {
        "affirm()": 0.5,
        'inform(type="cafe",area="north",food="cake",pricerange="cheap")': 0.5,
    }),
    (
        "asks on after anything else",
        Before(requests=TOLD),
        "reqmore()",
        {"request(phone)": 1},
    ),
    ("has all it wants", Before(requests=ALL_TOLD), "reqmore()", {"negate()": 0.5, "bye()": 0.5}),
    ("loses patience", Before(patience=1), "null()", {"bye()": 1}),
    ("loses patience when told the same", Before(patience=1), "hello()", {"bye()": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("before", "system", "expected"), [case[1:] for case in CASES],
                         ids=[case[0] for case in CASES])  # fmt: skip
def test_the_user(before: Before, system: str, expected: dict[str, float]) -> None:
    assert answers(before, system) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("legacy", "said"), [(True, "inform()"), (False, "request(name)")], ids=["legacy", "clean"]
)
def test_asking_for_the_name_is_lost_in_legacy_only(legacy: bool, said: str) -> None:
    before = Before(requests=(("name", None),), agenda=("request(name)", "bye()"), legacy=legacy)
    assert said in answers(before, "hello()")


def test_what_is_said_again_is_what_was_said() -> None:
    """Asking for the name is lost, and who informs goes on with what else there is to say."""
    goal = Goal([NORTH], {"name": None, "phone": None})
    parameters = HALF._replace(greeting=0.0, inform_combination=1.0)
    user = UserSimulator(CAFES, legacy=True).user(goal, 4, parameters, Rng(1))
    user.state.agenda = Agenda(map(parse_act, ["request(phone,name)", "inform(area=north)"]))
    assert str(user.answer(parse_act("hello()"))) == "inform(phone)"
    assert str(user.answer(parse_act("null()"))) == 'inform(phone,area="north")'


@pytest.mark.parametrize("relax", [0.0, 1.0], ids=["new value", "relaxed"])
def test_a_constraint_that_is_given_up_may_have_any_value_later(relax: float) -> None:
    goal = Goal([NORTH], {"name": None})
    goal.use("area", "north")
    parameters = HALF._replace(constraint_relax=relax)
    user = UserSimulator(CAFES, legacy=True).user(goal, 4, parameters, Rng(1))
    user.answer(parse_act('inform(name=none,food="cake")'))
    assert goal.used == ({"area": {"north"}} if relax else {"area": {"north"}, "food": {DONTCARE}})
    assert goal.wanted("food") == DONTCARE


@pytest.mark.parametrize(("legacy", "slots"), [(True, {"name", "area"}), (False, {"name"})])
def test_checking_a_constraint_makes_what_was_said_a_request_in_legacy_only(
    legacy: bool, slots: set[str]
) -> None:
    simulator = UserSimulator(CAFES, legacy=legacy)
    goal = Goal([NORTH, CAKE], {"name": None})
    sure = HALF._replace(confirm_random_constraint=1.0)
    user = simulator.user(goal, 4, sure, Rng(1))
    assert str(user.answer(parse_act('inform(name="anna",area="north")'))) == 'confirm(food="cake")'
    assert set(goal.requests) == slots
    assert goal.requests["name"] == "anna"


@pytest.mark.parametrize(
    ("wanted", "said", "accepted"),
    [
        (Item("s", "x"), Item("s", "x"), True),
        (Item("s", "x"), Item("s", "y"), False),
        (Item("s", "x"), Item("s", DONTCARE), False),
        (Item("s", "x"), Item("s", "x", True), False),
        (Item("s", "x"), Item("s", "y", True), True),
        (Item("s", "x"), Item("s", DONTCARE, True), True),
        (Item("s", DONTCARE), Item("s", "x"), True),
        (Item("s", DONTCARE), Item("s", DONTCARE), True),
        (Item("s", DONTCARE), Item("s", "x", True), False),
        (Item("s", DONTCARE), Item("s", DONTCARE, True), False),
        (Item("s", "x", True), Item("s", "x"), False),
        (Item("s", "x", True), Item("s", "y"), True),
        (Item("s", "x", True), Item("s", DONTCARE), False),
        (Item("s", "x", True), Item("s", "x", True), True),
    ],
)
def test_a_constraint_accepts(wanted: Item, said: Item, accepted: bool) -> None:
    assert accepts(wanted, said) is accepted


def test_the_same_seed_gives_the_same_user_whatever_runs_beside_it() -> None:
    def talk(beside: bool) -> list[str]:
        simulator, rng, other = UserSimulator(CAFES), Rng(7), Rng(8)
        user = simulator.begin(rng)
        said = []
        for text in ("hello()", "request(area)", 'inform(name="anna",area="north")', "reqmore()"):
            if beside:
                simulator.begin(other).answer(parse_act(text))
            said.append(str(user.answer(parse_act(text))))
        return said

    assert talk(beside=True) == talk(beside=False)


VALUES = sorted({v for values in ONTOLOGY["informable"].values() for v in values})  # type: ignore[attr-defined]
SLOTS = (*COLUMNS, TYPE, "", "count", "nowhere")
ITEMS = st.builds(
    Item,
    st.sampled_from(SLOTS),
    st.none() | st.sampled_from((*VALUES, DONTCARE, "none", "not available", "cafe")),
    st.booleans(),
).map(lambda item: item if item.value is not None else Item(item.slot))
SYSTEM_ACTS = st.builds(
    Act,
    st.sampled_from(
        [
            "hello",
            "bye",
            "repeat",
            "reqmore",
            "request",
            "confirm",
            "select",
            "inform",
            "null",
            "badact",
            "affirm",
            "sing",
        ]
    ),
    st.lists(ITEMS, max_size=4).map(tuple),
)


def is_valid(user: User) -> bool:
    goal = user.goal
    texts = [item.value for item in goal.constraints]
    return (
        "name" in goal.requests
        and user.state.patience <= user.state.max_patience
        and all(isinstance(text, str) for text in texts)
        and len({(i.slot) for i in goal.constraints if not i.negated})
        == sum(not i.negated for i in goal.constraints)
        and all(act.name in USER_ACTS for act in user.state.agenda)
    )


@examples(300)
@given(st.lists(SYSTEM_ACTS, max_size=25), st.integers(0, 2**32), st.booleans())
def test_any_system_acts_leave_the_user_in_a_valid_state(
    acts: list[Act], seed: int, legacy: bool
) -> None:
    rng = Rng(seed)
    channel = ErrorModel(CAFES, task_named("CR-6"), rng, legacy=legacy)
    user = UserSimulator(CAFES, legacy=legacy).begin(rng)
    for act in acts:
        said = user.answer(act)
        assert said.name in USER_ACTS
        assert parse_act(str(said)) == said
        assert not any(item.negated for item in said.items)
        assert is_valid(user)
        assert user.success() in (True, False)
        heard = channel.nbest(said, rng)
        assert sum(score for _, score in heard) == pytest.approx(1)
        assert len({str(h) for h, _ in heard}) == len(heard) <= 6
        assert any(h == NULL for h, _ in heard)


@examples(100)
@given(SYSTEM_ACTS, st.integers(0, 2**32))
def test_no_user_bears_the_same_act_for_ever(act: Act, seed: int) -> None:
    user = UserSimulator(CAFES).begin(Rng(seed))
    said = [user.answer(act).name for _ in range(8)]
    assert "bye" in said
