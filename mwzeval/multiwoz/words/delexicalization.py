"""Delexicalisation grounded in the database: responses in words become responses in placeholders.

A response is read once. At each word the longest value of the database that begins there is taken,
in any of its usual spellings; phone numbers, postcodes, references, train ids, times and prices are
told by their form, counts by the words beside them. What a value is read as, where there is a
choice, depends on the domains the turn is about, the state and what was named before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.normalization.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.readings import Context, read
from mwzeval.multiwoz.words.recognition import Recognizer
from mwzeval.multiwoz.words.text import Delexicalized, Mention, lowered, tokenize


class Delexicalizer:
    """Writes placeholders for what responses mention; one for each database.

    `tables` are the database's rows by domain, as they stand in its files. What it remembers only
    saves time, so threads may share it and copies may be pickled.
    """

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.gazetteer = Gazetteer(tables)
        self._recognizer = Recognizer(self.gazetteer)

    def dialogue(
        self,
        responses: Sequence[str],
        states: Sequence[State],
        active_domains: Sequence[tuple[str, ...]],
    ) -> list[Delexicalized]:
        """Return the delexicalised responses of a dialogue's system turns, in order.

        `states` are the (normalised) states after the user turns before, `active_domains` what
        the turns are about; all three have one item a turn.
        """
        context = Context(self.gazetteer)
        delexicalized = []
        for response, state, active in zip(responses, states, active_domains, strict=True):
            context.turn(state, active)
            delexicalized.append(self._response(response, context))
        return delexicalized

    def _response(self, response: str, context: Context) -> Delexicalized:
        low = lowered(response)
        tokens = tokenize(response, low)
        candidates = self._recognizer.candidates(response, low, tokens)
        if not candidates:
            return Delexicalized(response, ())
        return _replaced(response, read(response, tokens, candidates, context))


def placeholder(mention: Mention) -> str:
    """Return what is written for a mention: `hotel_name` where the domain is known, or `name`."""
    return _placeholder(mention.domain, mention.slot)


@lru_cache(maxsize=2**10)
def _placeholder(domain: str | None, slot: str) -> str:
    name = f"{domain}_{slot}"
    return name if name in PLACEHOLDERS else slot


def _replaced(response: str, mentions: Sequence[Mention]) -> Delexicalized:
    pieces = []
    position = 0
    for mention in mentions:
        written = f"[{_placeholder(mention.domain, mention.slot)}]"
        pieces += [response[position : mention.start], written]
        position = mention.end
    pieces.append(response[position:])
    return Delexicalized("".join(pieces), tuple(mentions))
