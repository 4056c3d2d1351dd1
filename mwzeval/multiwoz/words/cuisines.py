"""Cuisines that neither the database nor the corpus has, told by their form."""

from __future__ import annotations

import re
from collections.abc import Container

from mwzeval.multiwoz.words.text import WORD, Tokens

DISHES = frozenset({"cuisine", "food", "dishes", "fare", "cooking"})
"""What stands behind a cuisine."""
_OF_A_PEOPLE = re.compile(r"[a-z]+(?:an|ese|ish|ic|i|ar|on|ite|ch|ii)")
_NO_PEOPLE = frozenset(
    {"michelin", "season", "vegan", "station", "canteen", "delicatessen", "basic"}
)


def cuisine_before(text: str, tokens: Tokens, index: int, known: Container[str]) -> int | None:
    """Return the token of a cuisine that nobody has, said before this one or as a label's value.

    It is the adjective of a people by its form, has a capital, and does not begin a sentence:
    `serves Martian food`, `Cuisine: Martian`, but neither `Great food` nor `Sunday dishes`.
    """
    words, kinds = tokens.words, tokens.kinds
    if words[index + 1 : index + 2] == [":"] and kinds[index + 2 : index + 3] == [WORD]:
        place = index + 2
        alone = words[place + 1 : place + 2] in ([], *([sign] for sign in "¶.,;|)-"))
    else:
        place = index - 1
        alone = place > 0 and kinds[place] == WORD and kinds[place - 1] >= WORD
    if not alone or (text[tokens.start(index)].isupper() and place < index):
        return None
    word = words[place]
    looks = _OF_A_PEOPLE.fullmatch(word) and len(word) > SHORTEST_PEOPLE
    is_new = word not in known and word not in _NO_PEOPLE
    return place if looks and is_new and text[tokens.start(place)].isupper() else None


SHORTEST_PEOPLE = 4
