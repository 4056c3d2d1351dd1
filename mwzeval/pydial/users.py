"""Users that replace the simulated user: people, custom code and language models.

A custom user is a class with a method `answer(act)`, instantiated for each dialogue, or a function
`respond(acts)`. The user receives the acts of the system, starting with `hello()`, and returns an
act or its text; `bye()` ends the dialogue. Input from people is parsed leniently. The answer of a
model is the first act in its text, or `null()` if users of the domain cannot use this act. The
simulated channel of the task then adds errors to each answer of the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from inspect import isclass
from typing import Any

from mwzeval.conversation.agents import check_call, given, imported
from mwzeval.conversation.completions import Client
from mwzeval.conversation.messages import ASSISTANT_ROLE, USER_ROLE, Message, answer_messages
from mwzeval.conversation.messages import user_message as heard_message
from mwzeval.conversation.models import Prompt, written_turn
from mwzeval.conversation.protocols import AnswerError, ConversationError, InfrastructureError
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import InputError, UsageError, did_you_mean, shorten, unknown
from mwzeval.files.downloads import embedded
from mwzeval.pydial.acts import (
    AFFIRM,
    BYE,
    DONTCARE,
    NEGATE,
    NONE,
    NULL,
    REPEAT,
    REQALTS,
    THANKYOU,
    Act,
    Item,
    parse_act,
)
from mwzeval.pydial.domain import NAME, Ontology, has_controls
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.codes import TYPE, USER_ACTS
from mwzeval.pydial.simulator.simulation import User, UserState
from mwzeval.pydial.tasks import Task


def update_goal(goal: Goal, system: Act) -> None:
    """Store the values that a system act gives in the goal.

    If the act offers another entity, all answers in the goal are cleared first.
    """
    if system.name != "inform":
        return
    informed = [item for item in system.items if not item.negated and item.value is not None]
    names = [item.value for item in informed if item.slot == NAME]
    if NONE in names:
        return
    if names and names[-1] != goal.recommended:
        for slot in goal.requests:
            goal.requests[slot] = None
    for item in informed:
        if item.slot in goal.requests:
            goal.requests[item.slot] = item.value


MOST_ITEMS, LONGEST_VALUE = 100, 1000
"""Limits for the items of an act and the characters of a value, which keep files small."""


def checked_act(answer: Any, example: str = "request(area)") -> Act:
    """Convert the `Act` or the text that custom code returned to an act.

    Raises `AnswerError`, whose message contains `example`, if the answer has another form.
    """
    act = parse_act(answer) if isinstance(answer, str) else answer
    if not isinstance(act, Act) or (act == NULL and isinstance(answer, str)):
        raise AnswerError(f"expected an act such as {example}, found {shorten(repr(answer))}")
    if (
        not isinstance(act.items, tuple)
        or len(act.items) > MOST_ITEMS
        or not all(map(_is_item, act.items))
        or not _are_texts((act.name,))
    ):
        raise AnswerError(
            f"an act must have a name and at most {MOST_ITEMS} pairs of slot and value, found "
            f"{shorten(repr(answer))}"
        )
    return act


def _is_item(item: Any) -> bool:
    if not isinstance(item, Item) or not isinstance(item.negated, bool):
        return False
    return _are_texts((item.slot,) if item.value is None else (item.slot, item.value))


def _are_texts(values: Iterable[Any]) -> bool:
    return all(
        isinstance(value, str) and len(value) <= LONGEST_VALUE and not has_controls(value)
        for value in values
    )


Ask = Callable[[Goal, Act], Act]
"""A function that asks a person or a model for the next user act, given goal and system act."""


class AskedUser(User):
    """A person or a model in one dialogue, who is asked for at most `limit` acts."""

    __slots__ = ("_ask", "_left")

    def __init__(self, state: UserState, ask: Ask, limit: int) -> None:
        super().__init__(state)
        self._ask = ask
        self._left = limit

    def answer(self, system: Act) -> Act:
        """Return the answer to a system act. After the last turn, no further act is requested."""
        update_goal(self.goal, system)
        if not self._left:
            return NULL
        self._left -= 1
        return self._ask(self.goal, system)


def menu(goal: Goal, system: Act, said: Collection[str]) -> tuple[Act, ...]:
    """Return possible next acts, the most useful first. `said` has the slots that the user has
    mentioned so far.

    Answers to the system come first, followed by constraints that have not been mentioned and by
    open requests.
    """
    return tuple(dict.fromkeys(_options(goal, system, said)))


def _options(goal: Goal, system: Act, said: Collection[str]) -> Iterator[Act]:
    wanted = {item.slot: item.value or DONTCARE for item in goal.constraints}
    yield from _answers(wanted, system)
    yield from (_inform(slot, value) for slot, value in wanted.items() if slot not in said)
    unfilled = goal.unfilled()
    if goal.recommended is not None:
        if not unfilled:
            yield BYE
        yield from (Act("request", (Item(slot),)) for slot in unfilled)
    yield from (_inform(slot, value) for slot, value in wanted.items())
    if len(wanted) > 1:
        yield Act("inform", tuple(Item(slot, value) for slot, value in wanted.items()))
    yield from (AFFIRM, NEGATE, REQALTS, THANKYOU, REPEAT, BYE)


def _answers(wanted: dict[str, str], system: Act) -> Iterator[Act]:
    """Yield answers to the question in a system act, or corrections of its values."""
    if system.name in ("request", "select") and system.items:
        slot = system.items[0].slot
        yield _inform(slot, wanted.get(slot, DONTCARE))
    elif system.name == "confirm" and system.items:
        slot, value, _ = system.items[0]
        right = wanted.get(slot, DONTCARE)
        yield AFFIRM if value == right else Act("negate", (Item(slot, right),))
    elif system.name == "inform":
        # If no entity matches, the system act repeats all constraints that the system assumes.
        took = any(item.slot == NAME and item.value == NONE for item in system.items)
        for slot, value, negated in system.items:
            right = wanted.get(slot, DONTCARE)
            if slot != NAME and value != right and not negated and (took or right != DONTCARE):
                yield _inform(slot, right)


def _inform(slot: str, value: str) -> Act:
    return Act("inform", (Item(slot, value),))


WORDS = {"yes": AFFIRM, "no": NEGATE}
SPOKEN = (*USER_ACTS, "restart")
WITH_VALUES = frozenset({"inform", "affirm", "negate", "confirm", "reqalts", "deny", "hello"})
NEEDS_ITEMS = frozenset({"inform", "request", "confirm", "deny"})


def typed_act(text: str, ontology: Ontology) -> Act:
    """Parse the input of a person: an act, an act name without brackets, "yes" or "no".

    `inform(dontcare)` refers to the slot of the last system act. Raises a `UsageError` that lists
    the allowed input if users of this domain cannot use the act.
    """
    word = text.strip().lower()
    if word in WORDS:
        return WORDS[word]
    if word in SPOKEN:
        word += "()"
    act = parse_act(text if "(" in text else word)
    if act == NULL and not word.startswith(NULL.name):
        if "(" in word or word.isalpha():
            _check_name(word.partition("(")[0].strip())
        raise UsageError(f'"{shorten(text.strip())}" is not an act: {_examples(ontology)}')
    return spoken_act(act, ontology)


def spoken_act(act: Act, ontology: Ontology) -> Act:
    """Return an act as the user simulator writes it, such as `inform(="dontcare")`.

    Raises a `UsageError` that lists the allowed input if users cannot use the act.
    """
    _check_name(act.name)
    items = tuple(Item("", DONTCARE) if item == Item(DONTCARE) else item for item in act.items)
    if act.name in NEEDS_ITEMS and not items:
        raise UsageError(f"{act.name}() needs a slot: {_examples(ontology)}")
    if items and act.name not in WITH_VALUES | {"request"}:
        raise UsageError(f"{act.name}() takes no arguments")
    for item in items:
        _check_item(act.name, item, ontology)
    return Act(act.name, items)


def _examples(ontology: Ontology) -> str:
    slot, value = _constraint(ontology)
    return f'acts have the form inform({slot}="{value}"), request({_fact(ontology)}) or bye()'


def _constraint(ontology: Ontology) -> tuple[str, str]:
    """Return an example of a constraint: a slot and one of its values."""
    slot = (ontology.constraint_slots or tuple(ontology.informable))[0]
    return slot, ontology.informable[slot][0]


def _fact(ontology: Ontology) -> str:
    """Return an example of a slot that users request."""
    return (ontology.only_requestable or ontology.requestable)[-1]


def _check_name(name: str) -> None:
    if name not in SPOKEN:
        hint = did_you_mean(name, (*SPOKEN, *WORDS))
        raise UsageError(f'unknown act "{shorten(name)}"{hint} ({", ".join(SPOKEN)})')


def _check_item(name: str, item: Item, ontology: Ontology) -> None:
    slot, value = item.slot, item.value
    if slot == "" and value == DONTCARE and name in WITH_VALUES:
        return
    if slot != TYPE:
        _check_slot(slot, ontology)
    if value is None:
        if name not in ("request", "hello"):
            raise UsageError(
                f'{name}({slot}) needs a value: {name}({slot}="…"); `? {slot}` lists the values'
            )
        return
    values = (ontology.entity_type,) if slot == TYPE else ontology.informable.get(slot)
    if values is None:
        raise UsageError(f"{slot} has no values to inform; request it: request({slot})")
    if value not in (*values, DONTCARE):
        hint = did_you_mean(value, values)
        raise UsageError(f'{slot} is never "{shorten(value)}"{hint}; `? {slot}` lists its values')


def _check_slot(slot: str, ontology: Ontology) -> None:
    known = tuple(dict.fromkeys((*ontology.requestable, *ontology.informable)))
    if slot not in known:
        raise UsageError(unknown("slot", slot, known))


def values_text(slot: str, ontology: Ontology) -> str:
    """Return the values of a slot in one line. Raises `UsageError` for an unknown slot."""
    _check_slot(slot, ontology)
    if slot not in ontology.informable:
        return f"{slot} has no list of values; request it: request({slot})"
    return f"{slot}: {_row((*ontology.informable[slot], DONTCARE))}"


def help_text(ontology: Ontology) -> str:
    """Return a short help text about the allowed acts, with examples from the domain."""
    slot, value = _constraint(ontology)
    return "\n".join(
        (
            f"type a number of the menu, or an act: {_row(SPOKEN)} (or yes, no)",
            f"constraints: {_row(ontology.constraint_slots)}; `? SLOT` lists the values",
            f"slots to request: {_row(ontology.only_requestable)}",
            f'inform({slot}="{value}"): require this value; inform({slot}!="{value}"): any other '
            "value",
            "inform(dontcare): no preference for the slot that was just requested",
            f"request({_fact(ontology)}): request a slot; bye: end the dialogue; Ctrl-D: leave "
            "without counting it",
        )
    )


def _row(words: tuple[str, ...]) -> str:
    return ", ".join(words)


Make = Callable[[UserState, Task, Planned, Record], User]
OFFERED = ("goal", "domain", "task", "rng", "seed", "dialogue")
ANSWER = "answer"
A_USER = "a user must be a class whose objects have answer(act), or a function respond(acts)"
EXAMPLE = "inform(area=north)"


def own_users(name: str) -> Make:
    """Return the function that creates users from `package.module:Name` or `file.py:Name`.

    Raises `UsageError` if the object cannot be called in the way that users are called. The
    returned function raises the errors of the user's constructor. The returned function raises
    `InfrastructureError` instead of `InputError` (a missing or damaged file), so that the dialogue
    is not scored.
    """
    made = imported(name)
    is_class = isclass(made)
    check_call(name, made, 0 if is_class else 1, OFFERED, A_USER)
    if is_class and not hasattr(made, ANSWER):
        raise UsageError(f'"{name}" has no {ANSWER}(act): {A_USER}')

    def make(state: UserState, task: Task, planned: Planned, record: Record) -> OwnUser:
        goal = deepcopy(state.goal)
        values = goal, state.domain, task, state.rng, planned.number, planned.name
        more = given(made, dict(zip(OFFERED, values, strict=True)))
        try:
            return OwnUser(state, goal, made(**more) if is_class else _Responding(made, more))
        except InputError as error:
            raise InfrastructureError(str(error)) from None

    return make


class OwnUser(User):
    """A custom user in one dialogue, whose acts are checked.

    Values from the system are stored in the goal of the dialogue and in the user's copy of the
    goal, `told`. If the user's `goal` is another object, that object determines the success of the
    dialogue.
    """

    __slots__ = ("_told", "_user")

    def __init__(self, state: UserState, told: Goal, user: Any) -> None:
        super().__init__(state)
        self._told = told
        self._user = user

    def answer(self, system: Act) -> Act:
        """Return the user's answer. Raises `AnswerError` for acts that users cannot use."""
        update_goal(self.state.goal, system)
        update_goal(self._told, system)
        act = checked_act(self._user.answer(system), EXAMPLE)
        try:
            act = spoken_act(act, self.state.domain.ontology)
        except UsageError as error:
            raise AnswerError(str(error)) from None
        own = getattr(self._user, "goal", None)
        if isinstance(own, Goal) and own is not self._told:
            self.state.goal = _checked(own)
        return act


class _Responding:
    """A user that calls a function with all acts so far."""

    def __init__(self, respond: Callable[..., Any], more: Mapping[str, Any]) -> None:
        self._respond = respond
        self._more = more
        self._acts: list[Act] = []

    def answer(self, system: Act) -> Act:
        """Return the act from the function, which receives all system and user acts in turn."""
        self._acts.append(system)
        act = checked_act(self._respond(list(self._acts), **self._more), EXAMPLE)
        self._acts.append(act)
        return act


def _checked(goal: Goal) -> Goal:
    """Return a copy of a custom goal. Raises `AnswerError` if the goal is invalid."""
    constraints, requests = goal.constraints, goal.requests
    fine = (
        isinstance(constraints, list)
        and all(isinstance(item, Item) and isinstance(item.value, str) for item in constraints)
        and isinstance(requests, dict)
        and NAME in requests
        and all(isinstance(slot, str) for slot in requests)
        and all(value is None or isinstance(value, str) for value in requests.values())
    )
    if not fine:
        raise AnswerError(
            f"the goal of a user must have constraints (a list) and requests (which include {NAME})"
        )
    return Goal(list(constraints), dict(requests))


PROMPT = embedded("pydial", "prompts", "pydial-user-1.txt")
GOAL = "goal"
"""The placeholder for the goal, which every prompt must contain."""
_AN_ACT = re.compile(r"[A-Za-z]+ ?\((?:[^()\"]|\"[^\"]*\")*\)")


def model_users(client: Client, prompt: Prompt) -> Make:
    """Return the function that creates users whose acts are written by a language model.

    All messages of the model are added to the record of the dialogue.
    """

    def make(state: UserState, task: Task, planned: Planned, record: Record) -> User:
        ontology = state.domain.ontology
        system = prompt.filled(
            kind=ontology.entity_type,
            wishes=", ".join(ontology.constraint_slots),
            facts=", ".join(ontology.requestable),
            goal=goal_in_words(state.goal),
        )
        complete = client.of_dialogue(planned, "user")
        request: list[Message] = [{"role": "system", "content": system}]

        def ask(goal: Goal, act: Act) -> Act:
            request.append(heard_message(str(act)))
            completion = complete(request)
            message: Message = {"role": USER_ROLE, "content": "", "usage": dict(completion.usage)}
            with suppress(ConversationError):
                message["content"] = str(answer_messages(completion.message, 0)[0]["content"])
            record.message(message)
            text = written_turn(str(message["content"])).text
            answer = act_in(text, ontology)
            request.append({"role": ASSISTANT_ROLE, "content": text or str(answer)})
            return answer

        return AskedUser(state, ask, task.max_exchanges)

    return make


def act_in(text: str, ontology: Ontology) -> Act:
    """Return the first act in a text, or `null()` if there is no act that users can use."""
    found = _AN_ACT.search(text)
    if found is None:
        return NULL
    try:
        return spoken_act(parse_act(found[0]), ontology)
    except UsageError:
        return NULL


def goal_in_words(goal: Goal) -> str:
    """Return a description of a goal, with one line per constraint and per request."""
    wishes = [
        f"- {slot}: you do not mind" if value == DONTCARE else f"- {slot}: {value}"
        for slot, value, _ in goal.constraints
    ]
    facts = ", ".join(goal.requests)
    return "\n".join([*wishes, f"- Of what is offered, find out: {facts}"])
