"""Delexicalisation grounded in the database: responses in words become responses in placeholders.

A response is read once. At each word the longest value of the database that begins there is taken,
in any of its usual spellings; phone numbers, postcodes, references, train ids, times and prices are
told by their form, counts by the words beside them. What a value is read as, where there is a
choice, depends on the domains the turn is about, the state and what was named before.

Predictions with placeholders for what they say in words, and an account of what was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.normalization.placeholders import PLACEHOLDERS, known_placeholders
from mwzeval.multiwoz.predictions.reading import Dialogues
from mwzeval.multiwoz.scoring import Scorer, Sources
from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.readings import Context, read
from mwzeval.multiwoz.words.recognition import Recognizer
from mwzeval.multiwoz.words.surface_tables import words_of
from mwzeval.multiwoz.words.text import Delexicalized, Mention, lowered, tokenize


@dataclass(slots=True)
class Account:
    """What was found: turns, turns with a mention, and mentions by slot.

    `unknown` are the mentions of values that the database does not have, of slots that it has;
    `unsure` those that could be read otherwise, or are misspelt names.
    """

    turns: int = 0
    with_mentions: int = 0
    with_placeholders: int = 0
    mentions: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unsure: Counter[str] = field(default_factory=Counter)

    def add(self, before: str, turn: Delexicalized) -> None:
        """Count a turn, given its response as it came."""
        self.turns += 1
        self.with_mentions += bool(turn.mentions)
        self.with_placeholders += bool(known_placeholders(before))
        for mention in turn.mentions:
            self.mentions[mention.slot] += 1
            self.unknown[mention.slot] += mention.slot in OF_DATABASE and mention.value is None
            self.unsure[mention.slot] += not mention.sure

    def plain(self) -> dict[str, Any]:
        """Return the numbers for JSON, slots by how often they are mentioned."""
        return {
            "turns": self.turns,
            "with_mentions": self.with_mentions,
            "with_placeholders": self.with_placeholders,
            "slots": {
                slot: {
                    "mentions": times,
                    "not_in_database": self.unknown[slot] if slot in OF_DATABASE else None,
                    "unsure": self.unsure[slot],
                }
                for slot, times in sorted(
                    self.mentions.items(), key=lambda item: (-item[1], item[0])
                )
            },
        }


OF_DATABASE = frozenset(
    words_of(
        """
    name address phone postcode area food pricerange type stars entrancefee price trainid
    leaveat arriveby duration departure destination day
    """
    )
)
"""Slots whose values are in the database; there are no columns of references or choices."""


@dataclass(frozen=True, slots=True)
class DelexicalizedInput:
    """The delexicalised turns of an input, by dialogue."""

    dialogues: Mapping[str, Sequence[Delexicalized]]
    account: Account

    @classmethod
    def of(cls, scorer: Scorer, dialogues: Dialogues) -> DelexicalizedInput:
        """Delexicalise checked dialogues, with gold states where not all turns predict them."""
        sources = Sources.of(dialogues.values())
        account = Account()
        delexicalized = {}
        for name, turns in dialogues.items():
            delexicalized[name] = scorer.delexicalized(name, turns, sources)
            for turn, found in zip(turns, delexicalized[name], strict=True):
                account.add(turn.response or "", found)
        return cls(delexicalized, account)

    def written_into(self, raw: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Return raw predictions of these dialogues with the new responses, all else as it is."""
        return {
            name: [
                {**turn, "response": found.response}
                for turn, found in zip(raw[name], turns, strict=True)
            ]
            for name, turns in self.dialogues.items()
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every mention with its dialogue and turn (from 0), in their order."""
        for name, turns in self.dialogues.items():
            for number, turn in enumerate(turns):
                for mention in turn.mentions:
                    yield {"dialogue": name, "turn": number, **_plain(mention)}


def _plain(mention: Mention) -> dict[str, Any]:
    return asdict(mention) | {"venues": list(mention.venues)}


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
