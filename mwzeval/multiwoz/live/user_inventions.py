"""Values that a user says of its own making: neither in its goal nor said by the agent before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.grounding.statements import GENERIC
from mwzeval.multiwoz.words.text import LANDMARK, Mention, fold
from mwzeval.multiwoz.words.value_spellings import SPELLED, clock, number

HOME = "cambridge"
"""Where every user is."""
_PARTS = ("info", "fail_info", "book", "fail_book")
_UNTOLD = frozenset({"choice", "internet", "parking", LANDMARK, "openhours"})
"""Slots of mentions that say no value of their own: "thanks a lot" is a number of venues, too."""
_TIMES = frozenset({"time", "leaveAt", "arriveBy"})
_LIKE: Mapping[str, frozenset[str]] = {
    "leaveat": _TIMES,
    "arriveby": _TIMES,
    "booktime": _TIMES,
    "bookpeople": frozenset({"people"}),
    "bookstay": frozenset({"stay"}),
    "stars": frozenset({"stars"}),
}
"""Slot of a mention that is a number or a time → slots of goals that may be meant."""
_SPELLED: Mapping[str, Callable[[str], str]] = {
    **SPELLED,
    "booktime": clock,
    "bookpeople": number,
    "bookstay": number,
}
_FACILITIES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "internet": (("internet",), ("wifi",), ("wi", "fi")),
    "parking": (("parking",),),
}
"""Slot → words that ask for it."""


class GoalValues:
    """What a goal says, for one dialogue after the other; asked-for slots have no values."""

    def __init__(self, goal: Goal) -> None:
        said = [
            (slot, str(value))
            for domain in goal[ORDERING]
            for part in _PARTS
            for slot, value in goal[domain].get(part, {}).items()
        ]
        self._values = {" ".join(fold(value)) for _, value in said} | {HOME}
        self._numbers = {(slot, _figures(slot, value)) for slot, value in said}
        asked = {slot for domain in goal[ORDERING] for slot in goal[domain].get("reqt", ())}
        self._slots = asked.union(slot for slot, _ in said)

    def invented(self, text: str, mentions: Iterable[Mention], told: str) -> Iterator[str]:
        """Yield the values of a user's message that come from nowhere.

        `told` are the folded words of all that the agent has said before, with a blank around each.
        """
        for mention in mentions:
            if mention.slot in _UNTOLD or not mention.written or mention.text.lower() == GENERIC:
                continue
            forms = _forms(mention)
            if not any(f" {form} " in told for form in forms) and not self._has(mention, forms):
                yield f"{mention.slot} {mention.text}"
        words = f" {' '.join(fold(text))} "
        for slot, named in _FACILITIES.items():
            if slot not in self._slots:
                spoken = [f" {' '.join(name)} " for name in named]
                if any(name in words for name in spoken) and not any(n in told for n in spoken):
                    yield slot

    def _has(self, mention: Mention, forms: set[str]) -> bool:
        like = _LIKE.get(mention.slot)
        if like is not None:
            return any((slot, form) in self._numbers for slot in like for form in forms)
        return any(
            form in value or value in form for form in forms for value in self._values if value
        )


def _forms(mention: Mention) -> set[str]:
    """Return how what is mentioned may be said by others."""
    texts = {mention.text, mention.value or mention.text}
    spell = _SPELLED.get(mention.slot)
    if spell is not None:
        texts |= set(map(spell, tuple(texts)))
    return {" ".join(fold(text)) for text in texts}


def _figures(slot: str, value: str) -> str:
    return " ".join(fold(clock(value) if slot in _TIMES else value))
