"""The simulated user: takes in a system act, and answers with an act from its agenda.

Source: Casanueva et al. (2017), section 4; Schatzmann et al. (2007); PyDial 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mwzeval.pydial.dialogue.acts import (
    AFFIRM,
    BYE,
    DONTCARE,
    HELLO,
    NEGATE,
    NULL,
    REPEAT,
    REQALTS,
    Act,
    Item,
)
from mwzeval.pydial.dialogue.domain import NAME, Domain
from mwzeval.pydial.dialogue.goals import TYPE, Goal, GoalGenerator, first_agenda
from mwzeval.pydial.dialogue.offers import UNCHECKED, agrees, hear_inform
from mwzeval.pydial.dialogue.rng import RandomSource
from mwzeval.pydial.dialogue.user_parameters import (
    LEGACY_PATIENCE,
    PATIENCE,
    UserModel,
    UserParameters,
    UserState,
    user_model,
)

LEAVES_WHEN_DONE = 0.85
NOTHING_SAID = frozenset({"null", "badact"})
NEAR = "near"
SAID_AS_THEY_ARE = frozenset({"thankyou", "repeat", "ack", "deny", "confirm"})
GIVING = frozenset({"inform", "confirm"})
GIVING_WITH_ITEMS = frozenset({"affirm", "negate"})
COMBINED = frozenset({"inform", "negate", "hello", "affirm"})


class UserSimulator:
    """Makes the users of a domain; prepared once, and shared by all dialogues.

    `model` has the ranges of the users' parameters, or is their name (`USER_MODELS`); `legacy`
    reproduces the quirks of the original.
    """

    def __init__(
        self, domain: Domain, model: str | UserModel = "standard", *, legacy: bool = False
    ) -> None:
        """Prepare. Raises `UsageError` for an unknown model."""
        self.domain = domain
        self.legacy = legacy
        self.model = user_model(model) if isinstance(model, str) else model
        self.goals = GoalGenerator(domain)
        self.patience = self.model.patience or (LEGACY_PATIENCE if legacy else PATIENCE)

    def begin(self, rng: RandomSource, goal: Goal | None = None) -> User:
        """Return a new user with parameters and patience of its own, and this goal or its own."""
        parameters = self.model.draw(rng)
        patience = rng.choose(self.patience)
        return self.user(goal or self.goals.draw(rng), patience, parameters, rng)

    def user(
        self, goal: Goal, patience: int, parameters: UserParameters, rng: RandomSource
    ) -> User:
        """Return a user with this goal.

        `patience` is how many fruitless turns the user takes, `parameters` how probably it does
        what, and `rng` what it is drawn with.
        """
        return User(
            UserState(
                domain=self.domain,
                parameters=parameters,
                rng=rng,
                legacy=self.legacy,
                goal=goal,
                agenda=first_agenda(goal, self.domain.ontology.entity_type),
                patience=patience,
                max_patience=patience,
            )
        )


class User:
    """One user in one dialogue."""

    __slots__ = ("state",)

    def __init__(self, state: UserState) -> None:
        self.state = state

    @property
    def goal(self) -> Goal:
        """The goal as it is now."""
        return self.state.goal

    def answer(self, system: Act) -> Act:
        """Return the user's act in answer to the system's. After `bye()` the dialogue is over."""
        _hear(self.state, system)
        return _reply(self.state)

    def success(self) -> bool:
        """Tell whether the user has got what is wanted now."""
        return self.state.goal.achieved(self.state.domain.table)


def _reply(user: UserState) -> Act:
    """Return what the user says, taken from its agenda."""
    agenda = user.agenda
    act = agenda.pop() if len(agenda) else BYE
    if any(item.negated for item in act.items):
        act = REQALTS
    if act.items and (act.name in GIVING or act.name in GIVING_WITH_ITEMS):
        agenda.drop_told({item.slot for item in act.items})
    if act.name in SAID_AS_THEY_ARE or user.last_heard.name == "reqmore":
        return _normal(user, act)
    user.last_said = _normal(user, _combined(user, act))
    return user.last_said


def _combined(user: UserState, act: Act) -> Act:
    """Return the act with what is left out or added by chance."""
    agenda, parameters, rng = user.agenda, user.parameters, user.rng
    name, items = act
    if name == "inform":
        if (
            user.last_heard.name in ("request", "select")
            and items
            and items[0].value == DONTCARE
            and rng.happens(parameters.no_slot_with_dontcare)
        ):
            items = (Item("", DONTCARE), *items[1:])
    elif name == "request" and len(items) == 1:
        recommended = user.goal.recommended
        if recommended is not None and rng.happens(parameters.add_venue_name_to_request):
            items = (*items, Item(NAME, recommended))
    if name in COMBINED:
        added = ("inform", "request") if name == "hello" else ("inform",)
        while agenda.top is not None and agenda.top.name in added:
            if not rng.happens(parameters.inform_combination):
                break
            items += agenda.pop().items
    return act if items is act.items else Act(name, items)


def _normal(user: UserState, act: Act) -> Act:
    """Return the act as it is said.

    Legacy: who asks for the name says nothing, `inform()`, and asking for what is near becomes a
    question whether the first thing mentioned has the value that is wanted near.
    """
    name, items = act
    if not items:
        return act
    if user.legacy and name == "request":
        if Item(NAME) in items:
            name, items = "inform", tuple(item for item in items if item != (NAME, None, False))
        elif any(item.slot == NEAR for item in items):
            value = user.goal.wanted(NEAR)
            if value is not None and value != DONTCARE:
                name, items = "confirm", (Item(items[0].slot, value), *items[1:])
    if any(not item.slot and item.value != DONTCARE for item in items):
        items = tuple(
            item if item.slot or item.value == DONTCARE else item._replace(slot=TYPE)
            for item in items
        )
    return act if items is act.items else Act(name, items)


def _hear(user: UserState, act: Act) -> None:
    """Put the reaction to a system act on the agenda."""
    agenda, rng = user.agenda, user.rng
    before, user.last_heard = user.last_heard, act
    if act.name == before.name == user.last_said.name == "repeat":
        user.patience = 0
    elif act.name in NOTHING_SAID or (
        act.name == before.name and user.last_said.name != "repeat" and act.says_the_same(before)
    ):
        user.patience -= 1
    if user.patience < 1:
        agenda.leave()
        return
    if (
        not agenda
        and act.name != "reqmore"
        and user.goal.completed
        and rng.happens(LEAVES_WHEN_DONE)
    ):
        agenda.leave()
        return
    if user.patience > 1 and act.name != "repeat" and act.name not in NOTHING_SAID:
        parameters = user.parameters
        if parameters.repeat and rng.happens(parameters.repeat):
            agenda.push(REPEAT)
            return
        if parameters.null_response and rng.happens(parameters.null_response):
            agenda.push(NULL)
            return
    _RULES.get(act.name, _hear_nothing)(user, act)


def _hear_nothing(user: UserState, act: Act) -> None:
    user.agenda.push(user.last_said)


def _hear_hello(user: UserState, act: Act) -> None:
    if user.rng.happens(user.parameters.greeting):
        user.agenda.push(HELLO)


def _hear_bye(user: UserState, act: Act) -> None:
    user.agenda.leave()


def _hear_reqmore(user: UserState, act: Act) -> None:
    agenda, goal, rng, parameters = user.agenda, user.goal, user.rng, user.parameters
    entity_type = Item(TYPE, user.domain.ontology.entity_type)
    unfilled = goal.unfilled()
    top = agenda.top
    if top is not None and len(agenda) > 1:
        if (
            top.name == "inform"
            and entity_type not in top.items
            and rng.happens(parameters.comb_affirm_with_agenda_item)
        ):
            agenda.push(Act("affirm", agenda.pop().items))
    elif not unfilled:
        if rng.happens(parameters.no_after_reqmore):
            agenda.push(NEGATE)
        elif top is None or top.name not in ("inform", "confirm"):
            agenda.leave()
    elif goal.recommended is not None:
        for slot in unfilled:
            agenda.push(Act("request", (Item(slot),)))
    elif rng.happens(parameters.yes_after_reqmore):
        agenda.push(AFFIRM)
    else:
        wanted = (item for item in goal.constraints if item.value != DONTCARE)
        agenda.push(Act("inform", (entity_type, *wanted)))


def _hear_request(user: UserState, act: Act) -> None:
    agenda, goal, rng, parameters = user.agenda, user.goal, user.rng, user.parameters
    if not act.items:
        return
    slot = act.items[0].slot
    unfilled = goal.unfilled()
    if goal.recommended is not None and unfilled:
        agenda.push(Act("request", (Item(NAME, goal.recommended), Item(unfilled[0]))))
    elif slot in user.domain.ontology.asked_by_user:
        agenda.push(NEGATE)
    elif agenda.raise_informs(slot):
        pass
    elif slot == TYPE:  # the original does not survive this
        agenda.push(Act("inform", (Item(TYPE, user.domain.ontology.entity_type),)))
    elif goal.constrains(slot):
        agenda.push(Act("inform", tuple(item for item in goal.constraints if item.slot == slot)))
    else:
        way = rng.which(parameters.new_request_response_1, parameters.new_request_response_2)
        no_preference = Act("inform", (Item("", DONTCARE),))
        if way == 0 and goal.constraints:
            other = rng.choose(goal.constraints)
            agenda.push(Act("inform", (Item(other.slot, other.value),)))
        elif way == 0:
            goal.replace(slot, DONTCARE)
            agenda.push(no_preference)
        elif way == 1:
            goal.use(slot, DONTCARE)
            agenda.push(no_preference)
        else:
            goal.replace(slot, DONTCARE)
            goal.use(slot, DONTCARE)
            agenda.push(Act("inform", (Item(slot, DONTCARE),)))


def _hear_confirm(user: UserState, act: Act) -> None:
    if not agrees(user, act, asked=True):
        return
    agenda, goal = user.agenda, user.goal
    for item in act.items:
        slot = item.slot
        if slot in UNCHECKED or slot == TYPE:
            continue
        if item.value != DONTCARE and not goal.constrains(slot):
            agenda.push(Act("negate", (Item(slot, DONTCARE),)))
            return
    top = agenda.top
    if (
        top is not None
        and top.name == "inform"
        and user.rng.happens(user.parameters.affirm_combination)
    ):
        agenda.push(Act("affirm", agenda.pop().items))
    else:
        agenda.push(AFFIRM)


def _hear_select(user: UserState, act: Act) -> None:
    if not act.items:
        return
    slot, goal = act.items[0].slot, user.goal
    if not goal.constrains(slot):
        goal.replace(slot, DONTCARE)
    value = goal.wanted(slot)
    item = Item(slot, value) if value is not None else Item(slot, goal.unwanted(slot), negated=True)
    user.agenda.push(Act("inform", (item,)))


_RULES: Mapping[str, Callable[[UserState, Act], None]] = {
    "hello": _hear_hello,
    "bye": _hear_bye,
    "repeat": _hear_nothing,
    "reqmore": _hear_reqmore,
    "request": _hear_request,
    "confirm": _hear_confirm,
    "select": _hear_select,
    "inform": hear_inform,
}
"""System act → how the user takes it; one that is not understood makes it say the last again."""
