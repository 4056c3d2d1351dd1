"""Faults of a user, told by code from what was said: a dialogue may be lost through its user.

* `misunderstood`: the user took a turn of the agent for something else. It is told where the agent
  adds its acts to its message (key `acts`). What counts is what changes what the user does next:
  an answer to something that its goal asks for, a value against its goal, the name of a venue, a
  question, a booking with its reference, that something is not there or cannot be booked. A turn is
  misunderstood when one of these was missed, invented or heard with another value.
* `invented`: the user says a value that is neither in its goal nor said by the agent before.
* `early`: the user says that it is done, and something of its goal is not answered or not booked:
  in its copy of the goal, or, of a user that reports none, as far as words tell (`user_ends`).
* `repeated`: a message of the user is its last one again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.conversation.endpoint.written_turns import DONE
from mwzeval.multiwoz.acts import NONE, SYSTEM_SLOTS, Act
from mwzeval.multiwoz.choices import RULES
from mwzeval.multiwoz.database.facts import comparable
from mwzeval.multiwoz.goals.goal import ORDERING, Goal, begun
from mwzeval.multiwoz.grounding.tool_results import folded
from mwzeval.multiwoz.live.losses import listed
from mwzeval.multiwoz.live.reading.reader import AgentReader
from mwzeval.multiwoz.live.user import NO_VALUE, fits
from mwzeval.multiwoz.live.user_ends import left_open
from mwzeval.multiwoz.live.user_inventions import GoalValues
from mwzeval.multiwoz.normalization.normalize import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import ALL_BOOKING_SLOTS, UNANSWERED, UNANSWERED_VALUES
from mwzeval.multiwoz.words.text import fold

MISUNDERSTOOD, INVENTED, EARLY, REPEATED = "misunderstood", "invented", "early", "repeated"
FAULTS = (MISUNDERSTOOD, INVENTED, EARLY, REPEATED)

_TELLING = frozenset({"inform", "recommend", "offerbook", "offerbooked", "select", "book"})
_BOOKED = frozenset({"book", "offerbooked"})
_COMPARED = {"entrance fee": "entrancefee", "leaveAt": "leaveat", "arriveBy": "arriveby"}
_NAMING = frozenset({"name", "trainID"})
_PARTS = ("info", "fail_info", "book", "fail_book")

Effect = tuple[str, ...]


class Fault(NamedTuple):
    """A fault of a user: what it is, in which of its turns (from 0), and the evidence."""

    kind: str
    turn: int
    detail: str

    def to_json(self) -> dict[str, Any]:
        """Return the fault as it stands in a report."""
        return {"kind": self.kind, "turn": self.turn, "detail": self.detail}


def effects(acts: Iterable[Sequence[str]], goal: Goal) -> frozenset[Effect]:
    """Return what acts of a system change for a user with this goal; () for what changes nothing.

    `goal` is as the dialogue began. Two readings of a turn are one when their effects are.
    """
    found: set[Effect] = set()
    for raw in acts:
        if len(raw) == 4 and all(isinstance(part, str) for part in raw):
            found.update(_of_act(Act(*raw), goal))
    return frozenset(found)


def _of_act(act: Act, goal: Goal) -> Iterator[Effect]:
    intent, domain, value = act.intent.lower(), act.domain.lower(), act.value
    slot = SYSTEM_SLOTS.get(domain, {}).get(act.slot.lower())
    if slot is None:
        return
    if intent == "nobook":
        yield ("not booked",)
    if domain != "booking" and domain not in goal[ORDERING]:
        return
    if intent == "nooffer" or (slot == "choice" and value.lower() in ("0", "zero")):
        yield "nothing", domain
        return
    if intent in _BOOKED:
        yield ("booked",)
        if slot == "ref":
            yield "reference", value.lower()
    if slot == NONE:
        return
    if intent == "request":
        if slot not in goal.get(domain, {}).get("reqt", {}):
            yield ("asked", slot) if slot in ALL_BOOKING_SLOTS else ("asked", domain, slot)
    elif intent in _TELLING:
        yield from _of_value(domain, slot, value, goal)


def _of_value(domain: str, slot: str, value: str, goal: Goal) -> Iterator[Effect]:
    if slot == "ref":
        return
    domains = goal[ORDERING] if domain == "booking" else [domain]
    same = _same(slot, value)
    if slot in _NAMING:
        yield "named", same
        if domain == "booking":
            return
    for one in domains:
        wanted = goal[one]
        if slot in wanted.get("reqt", {}):
            yield "answer", one, slot, same
        wishes = [wanted[part][slot] for part in _PARTS if slot in wanted.get(part, {})]
        if not all(fits(one, slot, value, wish) for wish in wishes):
            yield "against", one, slot, same


def _same(slot: str, value: str) -> str:
    """Return a value so that others that mean the same are equal."""
    if value.strip().lower() in NO_VALUE:
        return "unknown"
    said = comparable(
        _COMPARED.get(slot, slot), normalize_value(normalize_slot(slot), value.lower(), RULES[-1])
    )
    if slot in ("phone", "postcode"):
        return "".join(sign for sign in value.lower() if sign.isalnum())
    return " ".join(folded(value if said is None else str(said)))


def misunderstanding(
    meant: Iterable[Sequence[str]],
    understood: Iterable[Sequence[str]],
    goal: Goal,
    named: Collection[Effect] = (),
) -> str | None:
    """Return what of a turn was misunderstood, in words; None when nothing was.

    `named` are effects of names that the user has heard before: to hear them again is none.
    """
    wanted, got = (
        effects(meant, goal).difference(named),
        effects(understood, goal).difference(named),
    )
    missed = [f"missed {' '.join(effect)}" for effect in sorted(wanted - got)]
    invented = [f"invented {' '.join(effect)}" for effect in sorted(got - wanted)]
    return "; ".join([*missed, *invented]) or None


def meant_acts(messages: Iterable[Mapping[str, Any]]) -> list[Sequence[str]] | None:
    """Return the acts that an agent has added to the messages of a turn; None where it has none."""
    added = [message["acts"] for message in messages if isinstance(message.get("acts"), list)]
    if not added:
        return None
    return [act for acts in added for act in _lists_in(acts)]


def _understood(report: Mapping[str, Any]) -> list[list[Sequence[str]]]:
    """Return what a user reports to have understood, by turn; a user may report anything."""
    return [_lists_in(turn) for turn in _lists_in(report.get("understood"))]


def _lists_in(value: Any) -> list[Any]:
    given = value if isinstance(value, list | tuple) else ()
    return [each for each in given if isinstance(each, list | tuple)]


def faults_of(dialogue: Mapping[str, Any], reader: AgentReader) -> list[Fault]:
    """Return the faults of the user in a dialogue, in the order of its turns.

    `dialogue` is a line of a trajectory file: its `messages`, its `goal` as the user got it, and
    what it reports at the end as `user`, of which `understood`, `token` and `goal` are used. What
    is not there is not judged.
    """
    goal = begun(dialogue["goal"])
    report = dialogue.get("user") or {}
    understood = _understood(report)
    wanted = GoalValues(goal)
    faults = []
    told, last = " ", ""
    named: set[Effect] = set()
    turn = -1
    of_agent: list[Mapping[str, Any]] = []
    for message in (*dialogue["messages"], {"role": "user", "content": None}):
        if message.get("role") != "user":
            of_agent.append(message)
            continue
        meant = meant_acts(of_agent)
        if meant is not None and 0 <= turn < len(understood):
            problem = misunderstanding(meant, understood[turn], goal, named)
            named |= {effect for effect in effects(meant, goal) if effect[0] == "named"}
            if problem is not None:
                faults.append(Fault(MISUNDERSTOOD, turn, problem))
        for said in filter(_is_heard, of_agent):
            told += "".join(f"{word} " for word in fold(said["content"]))
        of_agent = []
        text = message.get("content")
        if not isinstance(text, str):
            continue
        turn += 1
        words = " ".join(fold(text))
        if words and words == last:
            faults.append(Fault(REPEATED, turn, text))
        last = words
        values = wanted.invented(text, reader.mentions_of(text), told)
        faults += (Fault(INVENTED, turn, value) for value in values)
    if report.get("token") == DONE:
        open_ = _open_for(report.get("goal"), goal, dialogue["messages"], reader)
        if open_:
            faults.append(Fault(EARLY, turn, listed(tuple(open_))))
    return faults


def _open_for(
    held: Any, goal: Goal, messages: Sequence[Mapping[str, Any]], reader: AgentReader
) -> list[str]:
    """Return what a user leaves open: by what it holds, or, where it does not say, by its words."""
    if isinstance(held, Mapping):
        return list(_held_open(held))
    return list(left_open(goal, messages, reader))


def _is_heard(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant" and isinstance(message.get("content"), str)


def turns_checked(dialogue: Mapping[str, Any]) -> int:
    """Return of how many turns of the agent `faults_of` can tell whether they were understood."""
    messages = dialogue["messages"]
    understood = _understood(dialogue.get("user") or {})
    turn, checked = -1, set()
    for message in messages:
        if message.get("role") == "user":
            turn += 1
        elif isinstance(message.get("acts"), list) and 0 <= turn < len(understood):
            checked.add(turn)
    return len(checked)


def _held_open(goal: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a goal lacks that a user has written its answers into."""
    for domain, part in goal.items():
        if isinstance(part, Mapping):
            reqt = part.get("reqt")
            asked = reqt.items() if isinstance(reqt, Mapping) else ()
            yield from (f"{domain} {slot} is not told" for slot, v in asked if v == UNANSWERED)
            booked = part.get("booked")
            if isinstance(booked, str) and booked in UNANSWERED_VALUES:
                yield f"{domain} is not booked"
