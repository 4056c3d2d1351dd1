"""The text-level rule user, and the detection of mistakes of users.

Mistakes of the user may cause a dialogue to fail although the agent is right:

* `misunderstood`: the user misinterpreted a turn of the agent. Misunderstandings are detected only
  if the agent adds its acts to its messages (key `acts`). Only acts that affect the user's next
  action are compared. The compared acts are answers to requests, values that contradict the goal,
  names of venues, questions, bookings with reference, and failures to find or book something. A
  turn is misunderstood if the user missed or invented one of these acts, or understood another
  value.
* `invented`: the user gives a value that neither its goal nor an earlier agent message contains.
* `early`: the user claims to be done although a request or booking is still open. Open requests are
  determined from the user's copy of the goal or, if the user does not report its goal, from the
  text.
* `repeated`: a user message equals the previous message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    USER_ROLE,
    AgentTurn,
    ChatMessage,
    read_messages,
)
from mwzeval.conversation.models import DONE, GIVES_UP
from mwzeval.conversation.protocols import User
from mwzeval.multiwoz import RULES
from mwzeval.multiwoz.acts import BOOKING, NONE, SYSTEM_SLOTS, USER_SLOTS, Act, goal_slot
from mwzeval.multiwoz.database import comparable
from mwzeval.multiwoz.goals import NAMED_AS, ORDERING, VALUE_PARTS, Goal, begun, wish_for
from mwzeval.multiwoz.grounding.log import folded
from mwzeval.multiwoz.grounding.statements import GENERIC
from mwzeval.multiwoz.live.judge import mention_slot, requested_slots
from mwzeval.multiwoz.live.reading import MENTION_SLOTS, AgentReader, tool_results
from mwzeval.multiwoz.live.user import TELLING, fits, heard_acts
from mwzeval.multiwoz.live.wordings import is_same, user_text
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.reasons import listed
from mwzeval.multiwoz.schema import (
    ALL_BOOKING_SLOTS,
    DONTCARE_SPELLINGS,
    FLAG_SLOTS,
    UNANSWERED,
    UNANSWERED_VALUES,
    UNINFORMATIVE,
)
from mwzeval.multiwoz.words.numbers import SPELLED, clock
from mwzeval.multiwoz.words.text import LANDMARK, Mention, fold
from mwzeval.multiwoz.words.vocabulary import keyed_rows

MISUNDERSTOOD, INVENTED, EARLY, REPEATED = "misunderstood", "invented", "early", "repeated"
_COMPARED = {"entrance fee": "entrancefee", "leaveAt": "leaveat", "arriveBy": "arriveby"}
_NAMING = frozenset({"name", "trainID"})
HOME = "cambridge"
"""The town of all users."""
_WITHOUT_VALUE = frozenset({"choice", "internet", "parking", LANDMARK, "openhours"})
"""Slots whose mentions may not be values: "thanks a lot" is also found as a number of venues."""
_TIMES = frozenset({"time", "leaveAt", "arriveBy"})
_LIKE: Mapping[str, frozenset[str]] = {
    "leaveat": _TIMES,
    "arriveby": _TIMES,
    "booktime": _TIMES,
    "bookpeople": frozenset({"people"}),
    "bookstay": frozenset({"stay"}),
    "stars": frozenset({"stars"}),
}
"""Maps the mention slot of a number or time to the goal slots that it may belong to."""
_FACILITIES = {"internet": (" internet ", " wifi ", " wi fi "), "parking": (" parking ",)}
"""Maps a facility to the folded words that ask for it."""
_ASKED_WITH = {
    slot: words.split() for slot, (words,) in keyed_rows("live", "asked_with.tsv").items()
}
"""Maps a slot to words that ask for it, in addition to its name."""


class ActUser(User, Protocol):
    """The interface of an act-level user that reports its `goal` with the answers."""

    def report(self) -> dict[str, Any]:
        """Return the user's final state, such as its goal and its mistakes."""


class UserInWords:
    """A text-level user for a single MultiWOZ dialogue.

    `reader` can be shared by users; the generator `rng` belongs to this user and chooses between
    wordings.
    """

    def __init__(self, user: ActUser, reader: AgentReader, rng: Random) -> None:
        self._user = user
        self._reader = reader
        self._rng = rng
        goal = user.report()["goal"]
        self._goal = begun(goal)
        self._context = reader.context(goal)
        self._understood: list[list[Act]] = []
        self._said: list[list[Act]] = []
        self._messages: list[ChatMessage] = []

    @property
    def is_done(self) -> bool:
        """Whether the user has said goodbye."""
        return self._user.is_done

    def begin(self) -> str:
        """Return the user's first utterance."""
        return self._say(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> str:
        """Return the user's reply to a turn of the agent."""
        messages = read_messages(heard.messages)
        understood = self._reader.acts_of(heard.text, self._context, tool_results(messages))
        self._understood.append(understood)
        self._messages += messages
        return self._say(self._user.answer(understood))

    def _say(self, acts: list[Act]) -> str:
        text = user_text(acts, self._rng)
        self._context.add_user_acts(acts)
        self._said.append(acts)
        self._messages.append(ChatMessage(USER_ROLE, text))
        return text

    @property
    def meant(self) -> list[Act]:
        """The acts of the user's last message, with values instead of references ("the same")."""
        goal = self._user.report()["goal"]
        return [
            act._replace(value=wish)
            if is_same(act.value)
            and (slot := goal_slot(act.domain, act.slot) or act.slot.lower())
            and (wish := wish_for(goal[act.domain.lower()], slot))
            else act
            for act in self._said[-1]
        ]

    def report(self) -> dict[str, Any]:
        """Return the user's final state as JSON.

        The keys are those of the act-level report with `complete` and `goal`, `token` (whether the
        user succeeded or gave up), the acts that the user `said` and `understood` by turn, and the
        user's `faults`.
        """
        own = self._user.report()
        report = {
            **own,
            "token": DONE if own["complete"] else GIVES_UP,
            "said": [[list(act) for act in acts] for acts in self._said],
            "understood": [[list(act) for act in acts] for acts in self._understood],
        }
        faults = faults_of(self._goal, self._messages, report, self._reader)
        return {**report, "faults": faults}


AgentMessages = list[ChatMessage]
Effect = tuple[str, ...]
"""The effect of an act: a kind and, where relevant, domain, slot and value."""


def faults_of(
    goal: Goal, messages: Iterable[ChatMessage], report: Mapping[str, Any], reader: AgentReader
) -> list[dict[str, Any]]:
    """Return the user's mistakes in a dialogue as JSON, in turn order.

    Each mistake has a `kind`, the index of the user `turn` (from 0), and a `detail`. `goal` is the
    goal that the user received. Only the entries `understood`, `token` and `goal` of the `report`
    are used. Checks for which data are missing are skipped.
    """
    goal = begun(goal)
    understood = [_lists_in(turn) for turn in _lists_in(report.get("understood"))]
    values = _GoalValues(goal)
    turns = _turns_of(messages)
    faults: list[tuple[str, int, str]] = []
    words_of_agent, last = " ", ""
    named: set[Effect] = set()
    turn = -1
    for agent, text in turns:
        # Agents may add acts to their messages. These acts show the intended meaning.
        added = [acts for message in agent if isinstance(acts := message.raw.get("acts"), list)]
        if added and 0 <= turn < len(understood):
            meant = [act for acts in added for act in _lists_in(acts)]
            problem = misunderstanding(meant, understood[turn], goal, named)
            named |= {effect for effect in effects(meant, goal) if effect[0] == "named"}
            if problem is not None:
                faults.append((MISUNDERSTOOD, turn, problem))
        words_of_agent += _padded(_texts_of(agent))
        if text is None:
            continue
        turn += 1
        words = " ".join(fold(text))
        if words and words == last:
            faults.append((REPEATED, turn, text))
        last = words
        invented = values.invented(text, reader.mentions_of(text), words_of_agent)
        faults += ((INVENTED, turn, value) for value in invented)
    if report.get("token") == DONE:
        held = report.get("goal")
        if isinstance(held, Mapping):
            missing = tuple(_open_in_goal(held))
        else:
            missing = tuple(_open_in_words(goal, turns, reader))
        if missing:
            faults.append((EARLY, turn, listed(missing)))
    return [dict(zip(("kind", "turn", "detail"), fault, strict=True)) for fault in faults]


def _turns_of(messages: Iterable[ChatMessage]) -> list[tuple[AgentMessages, str | None]]:
    """Return pairs of agent messages and the next user message, which is None at the end."""
    turns: list[tuple[AgentMessages, str | None]] = [([], None)]
    for message in messages:
        if message.is_user:
            turns[-1:] = [(turns[-1][0], message.text), ([], None)]
        else:
            turns[-1][0].append(message)
    return turns


def _texts_of(agent: Iterable[ChatMessage]) -> list[str]:
    return [message.text for message in agent if message.role == ASSISTANT_ROLE]


def _padded(texts: Iterable[str]) -> str:
    return "".join(f"{word} " for text in texts for word in fold(text))


def _lists_in(value: Any) -> list[Any]:
    """Return the lists in a value of a user's report. The value may have any type."""
    given = value if isinstance(value, list | tuple) else ()
    return [item for item in given if isinstance(item, list | tuple)]


# Misunderstood


def misunderstanding(
    meant: Iterable[Sequence[str]],
    understood: Iterable[Sequence[str]],
    goal: Goal,
    named: Collection[Effect] = (),
) -> str | None:
    """Return a description of what the user misunderstood in a turn, or None.

    `named` are the effects of venue names that the user already knows; these effects are ignored.
    """
    expected, got = (effects(acts, goal).difference(named) for acts in (meant, understood))
    missed = [f"missed {' '.join(effect)}" for effect in sorted(expected - got)]
    invented = [f"invented {' '.join(effect)}" for effect in sorted(got - expected)]
    return "; ".join([*missed, *invented]) or None


def effects(acts: Iterable[Sequence[str]], goal: Goal) -> frozenset[Effect]:
    """Return the effects of system acts on a user with this goal; the set may be empty.

    `goal` is the initial goal of the user. For the user, two interpretations of a turn are
    equivalent if they have the same effects.
    """
    found: set[Effect] = set()
    for raw in acts:
        if len(raw) == 4 and all(isinstance(part, str) for part in raw):
            found.update(_of_act(Act(*raw), goal))
    return frozenset(found)


def _of_act(act: Act, goal: Goal) -> Iterator[Effect]:
    intent, domain, value = act.intent.lower(), act.domain.lower(), act.value
    slot = goal_slot(domain, act.slot)
    if slot is None:
        return
    if intent == "nobook":
        yield ("not booked",)
    if domain != "booking" and domain not in goal[ORDERING]:
        return
    if intent == "nooffer" or (slot == "choice" and value.lower() in ("0", "zero")):
        yield "nothing", domain
        return
    if intent in BOOKING:
        yield ("booked",)
        if slot == "ref":
            yield "reference", value.lower()
    if slot == NONE:
        return
    if intent == "request":
        if slot not in goal.get(domain, {}).get("reqt", {}):
            yield ("asked", slot) if slot in ALL_BOOKING_SLOTS else ("asked", domain, slot)
    elif intent == "select" or intent in TELLING:
        yield from _of_value(domain, slot, value, goal)


def _of_value(domain: str, slot: str, value: str, goal: Goal) -> Iterator[Effect]:
    if slot == "ref":
        return
    domains = goal[ORDERING] if domain == "booking" else [domain]
    same, is_of_booking = _same(slot, value), slot in ALL_BOOKING_SLOTS
    if slot in _NAMING:
        yield "named", same
        if domain == "booking":
            return
    for name in domains:
        part = goal[name]
        if slot in part.get("reqt", {}):
            yield "answer", name, slot, same
        wishes = [part[key][slot] for key in VALUE_PARTS if slot in part.get(key, {})]
        if not all(fits(name, slot, value, wish) for wish in wishes):
            # Systems inform about a booking in the domain `booking` or in the domain of the venue.
            yield ("against", slot, same) if is_of_booking else ("against", name, slot, same)


def _same(slot: str, value: str) -> str:
    """Return a value in a form that is equal for equivalent values."""
    if value.strip().lower() in UNINFORMATIVE:
        return "unknown"
    plain = comparable(
        _COMPARED.get(slot, slot), normalize_value(normalize_slot(slot), value.lower(), RULES[-1])
    )
    if slot in ("phone", "postcode"):
        return "".join(sign for sign in value.lower() if sign.isalnum())
    return " ".join(folded(value if plain is None else str(plain)))


# Invented


class _GoalValues:
    """The values in a goal, for one dialogue at a time. Requested slots have no values."""

    def __init__(self, goal: Goal) -> None:
        values = [
            (slot, str(value))
            for domain in goal[ORDERING]
            for part in VALUE_PARTS
            for slot, value in goal[domain].get(part, {}).items()
        ]
        self._values = {" ".join(fold(value)) for _, value in values} | {HOME}
        self._numbers = {
            (slot, " ".join(fold(clock(value) if slot in _TIMES else value)))
            for slot, value in values
        }
        asked = {slot for domain in goal[ORDERING] for slot in goal[domain].get("reqt", ())}
        self._slots = asked.union(slot for slot, _ in values)

    def invented(self, text: str, mentions: Iterable[Mention], known: str) -> Iterator[str]:
        """Yield the values of a user message that neither the goal nor the agent has given.

        `known` is the folded text of all earlier agent messages, with a space around each word.
        """
        for mention in mentions:
            if mention.slot in _WITHOUT_VALUE or not mention.written:
                continue
            if mention.text.lower() == GENERIC:
                continue
            forms = _forms(mention)
            if not any(f" {form} " in known for form in forms) and not self._has(mention, forms):
                yield f"{mention.slot} {mention.text}"
        words = f" {' '.join(fold(text))} "
        for slot, names in _FACILITIES.items():
            is_said, is_known = (any(name in text for name in names) for text in (words, known))
            if slot not in self._slots and is_said and not is_known:
                yield slot

    def _has(self, mention: Mention, forms: set[str]) -> bool:
        like = _LIKE.get(mention.slot)
        if like is not None:
            return any((slot, form) in self._numbers for slot in like for form in forms)
        return any(
            form in value or value in form for form in forms for value in self._values if value
        )


def _forms(mention: Mention) -> set[str]:
    texts = {mention.text, mention.value or mention.text}
    spell = SPELLED.get(mention.slot)
    if spell is not None:
        texts |= set(map(spell, tuple(texts)))
    return {" ".join(fold(text)) for text in texts}


# Early


def _open_in_goal(goal: Mapping[str, Any]) -> Iterator[str]:
    """Yield the open requests and bookings in a goal with the user's answers."""
    for domain, part in goal.items():
        if isinstance(part, Mapping):
            reqt = part.get("reqt")
            asked = reqt.items() if isinstance(reqt, Mapping) else ()
            yield from (f"{domain} {slot} is not given" for slot, v in asked if v == UNANSWERED)
            booked = part.get("booked")
            if isinstance(booked, str) and booked in UNANSWERED_VALUES:
                yield f"{domain} is not booked"


def _open_in_words(
    goal: Goal, turns: Sequence[tuple[AgentMessages, str | None]], reader: AgentReader
) -> Iterator[str]:
    """Yield parts of a goal that were open (not stated, answered or booked) at the last message.

    A constraint counts as stated if user or agent has mentioned it, because an agent may guess it.
    If a first wish cannot be met, the second wish also counts. Answers and bookings count if the
    agenda user would have understood them, or if the values occur in the agent's text in any form.
    Actions of the agent after the last user message do not count.
    """
    context, domains = reader.context(goal), goal[ORDERING]
    words, values = " ", list[Mention]()
    informed: set[tuple[str, str]] = set()
    """Pairs of domain and slot with answers of the agent; slots are named as in judgments."""
    booked: set[str] = set()
    for agent, of_user in turns[:-1]:
        if agent:
            text = "\n".join(filter(None, _texts_of(agent)))
            mentions = reader.mentions_of(text)
            words += _padded([text])
            values += mentions
            calls = tool_results(agent)
            acts = reader.acts_of(text, context, calls)
            for act in heard_acts(acts, domains, context.domain):
                if act.intent in TELLING and act.value:
                    informed.add((act.domain, mention_slot(act.slot)))
                if act.intent in BOOKING:
                    booked.add(act.domain)
            if text:
                booked |= {call.domain for call in calls if call.is_booking and not call.has_failed}
            informed.update(pair for mention in mentions for pair in _slots_of(mention, domains))
        if of_user is not None:
            mentions = reader.mentions_of(of_user)
            words += _padded([of_user])
            values += mentions
            context.add_user_acts(_acts_of_user(of_user, mentions, goal, context.domain))
    for domain in domains:
        part = goal[domain]
        for key, first in (("info", "fail_info"), ("book", "fail_book")):
            for slot, value in part.get(key, {}).items():
                wishes = value, part.get(first, {}).get(slot, value)
                if not any(_is_expressed(domain, slot, wish, words, values) for wish in wishes):
                    yield f"{domain} {slot} {value} is never expressed"
        can_be_informed = set(map(mention_slot, SYSTEM_SLOTS[domain].values()))
        for slot in requested_slots(part):
            if slot in can_be_informed and (domain, slot) not in informed:
                yield f"{domain} {slot} is not given"
        if "book" in part and domain not in booked:
            yield f"{domain} is not booked"


def _is_expressed(
    domain: str, slot: str, value: str, words: str, mentions: Iterable[Mention]
) -> bool:
    """Return whether a dialogue with these folded words and mentions contains a value."""
    if value in DONTCARE_SPELLINGS:
        return True
    if slot in FLAG_SLOTS:
        return any(f" {word} " in words for word in _ASKED_WITH[slot])
    if f" {' '.join(fold(value))} " in words:
        return True
    normal = normalize_slot(slot)
    return any(
        normal in (mention.slot, mention.slot.removeprefix("book"))
        and fits(domain, slot, mention.value or mention.text, value)
        for mention in mentions
    )


def _acts_of_user(
    text: str, mentions: Sequence[Mention], goal: Goal, current: str | None
) -> Iterator[Act]:
    """Yield the domains and requests in a user message, as context for the agent's answer."""
    words = frozenset(fold(text))
    domains = [
        domain
        for domain in goal[ORDERING]
        if domain in words
        or any(words.issuperset(fold(name)) for name in NAMED_AS.get(domain, ()))
        or any(mention.domain == domain for mention in mentions)
    ]
    for domain in domains:
        yield Act("Inform", domain.capitalize(), NONE, NONE)
    for domain in domains or [current or ""]:
        for slot in goal.get(domain, {}).get("reqt", ()):
            spoken = USER_SLOTS[domain].get(slot)
            if spoken and not words.isdisjoint((slot, *_ASKED_WITH.get(slot, ()))):
                yield Act("Request", domain.capitalize(), spoken, "?")


def _slots_of(mention: Mention, domains: Iterable[str]) -> Iterator[tuple[str, str]]:
    for domain in domains:
        if mention.domain in (None, domain):
            slot = goal_slot(domain, MENTION_SLOTS.get(domain, {}).get(mention.slot, ""))
            if slot is not None:
                yield domain, mention_slot(slot)
