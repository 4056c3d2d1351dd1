"""Predictions with placeholders for what they say in words, and an account of what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mwzeval.multiwoz.normalization.placeholders import known_placeholders
from mwzeval.multiwoz.predictions.reading import Dialogues
from mwzeval.multiwoz.scoring.scorer import Scorer, Sources
from mwzeval.multiwoz.words.surface_tables import words_of
from mwzeval.multiwoz.words.text import Delexicalized, Mention


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
