"""Values that a text does not say although its acts tell them, and what it says beside them.

The slot error rate of generated text is that of Wen et al., EMNLP 2015, for texts with values: what
is missing and what is redundant, over what should be said. It is ours; the public code of CrossWOZ
sketches one that its acts do not fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, Acts, said_values
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.names import NAME, NEARBY, NOTHING
from mwzeval.crosswoz.protocols import SYSTEM, USER
from mwzeval.crosswoz.systems.templates import PLACEHOLDER, turns_of

NUMBER = re.compile(r"\d+(?:[.:\-]\d+)*")
"""A number, a range, a time of day or a telephone number, as one."""


def value_counts(text: str, acts: Acts) -> tuple[int, int]:
    """Return how many values a text should say, and how many of these it does not.

    Values of Inform and Recommend acts count, in upper or lower case; services, and that there is
    no such thing, are said in many ways and do not.
    """
    spoken = text.lower()
    values = [
        act.value.lower()
        for act in acts
        if act.intent in (INFORM, RECOMMEND) and not act.is_service and act.value != NOTHING
    ]
    return len(values), sum(value not in spoken for value in values)


def redundant(text: str, acts: Acts, names: Sequence[str]) -> int:
    """Return how many values a text says that its acts do not tell.

    These are values of the acts that are said more often than told; placeholders without a value;
    and, where all these are taken away, numbers and names of venues. `names` are those of
    `venue_names`.
    """
    rest, open_places = PLACEHOLDER.subn(" ", text.lower())
    told = Counter(said.value.lower() for said in said_values(acts))
    found = open_places
    for value in sorted(told, key=lambda value: (-len(value), value)):
        found += max(0, rest.count(value) - told[value])
        rest = rest.replace(value, "\n")
    for name in names:
        if name in rest:
            found += rest.count(name)
            rest = rest.replace(name, "\n")
    return found + len(NUMBER.findall(rest))


def venue_names(dialogues: Iterable[Dialogue]) -> tuple[str, ...]:
    """Return the names of venues that acts of dialogues tell, in lower case, longest first."""
    names = {
        act.value.lower()
        for dialogue in dialogues
        for side in (USER, SYSTEM)
        for turn in turns_of(dialogue, side)
        for act in turn.acts
        if act.slot in (NAME, *NEARBY.values()) and act.value not in ("", NOTHING)
    }
    return tuple(sorted(names, key=lambda name: (-len(name), name)))
