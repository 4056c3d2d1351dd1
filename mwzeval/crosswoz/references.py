"""References of a turn: what was said anywhere in the fold with acts of the same kind.

Source: the BLEU of Zhu et al., TACL 2020, section 5.5, as its public code computes it: turns are
grouped by the multiset of their act keys; the sentences of a group, without values, are filled with
the values of the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.crosswoz.act_keys import Key, lowered, said_values, turn_key
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.dialogues import Dialogue, SystemTurn, UserTurn
from mwzeval.crosswoz.simulation.protocols import USER, Side
from mwzeval.crosswoz.systems.templates import PLACEHOLDER, fill
from mwzeval.crosswoz.template_mining import delexicalized


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """The sentences of one side of a fold without values, by the keys of their turns."""

    groups: Mapping[Key, Sequence[str]]
    """Distinct sentences: that one comes twice changes no score."""
    sizes: Mapping[Key, int]
    """How many turns a group has."""

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], side: Side) -> References:
        """Return the references out of dialogues."""
        groups: dict[Key, list[str]] = {}
        for dialogue in dialogues:
            for turn in turns_of(dialogue, side):
                acts = lowered(turn.acts)
                groups.setdefault(turn_key(acts), []).append(delexicalized(turn.utterance, acts)[0])
        return cls(
            {key: tuple(dict.fromkeys(sentences)) for key, sentences in groups.items()},
            {key: len(sentences) for key, sentences in groups.items()},
        )

    def filled(self, acts: Acts) -> tuple[str, ...]:
        """Return the references of a turn of the fold, with its values. Raises `KeyError`."""
        spoken = lowered(acts)
        sentences = (relexicalized(sentence, spoken) for sentence in self.groups[turn_key(spoken)])
        return tuple(dict.fromkeys(sentences))

    def count(self, acts: Acts) -> int:
        """Return how many references a turn has, its own and repeated ones included."""
        return self.sizes[turn_key(lowered(acts))]


def turns_of(dialogue: Dialogue, side: Side) -> list[UserTurn] | list[SystemTurn]:
    """Return the turns of one side."""
    if side == USER:
        return [exchange.user for exchange in dialogue.exchanges]
    return [exchange.system for exchange in dialogue.exchanges]


def as_compared(response: str, acts: Acts) -> str:
    """Return a generated sentence after it went the way of the references: no values, and back."""
    spoken = lowered(acts)
    return relexicalized(delexicalized(response, spoken)[0], spoken)


def relexicalized(sentence: str, acts: Acts) -> str:
    """Return a sentence with values in its placeholders, and blanks where there is none."""
    if "[" not in sentence:
        return sentence
    return PLACEHOLDER.sub(" ", fill(sentence, acts))


def values_of(acts: Acts) -> frozenset[tuple[str, str]]:
    """Return what the filled references of a turn depend on, beside its key."""
    return frozenset(said_values(lowered(acts)))
