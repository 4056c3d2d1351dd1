"""What the gold annotation says about each dialogue: goal, bookings, references, states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mwzeval.multiwoz.normalization import State

ALL_DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")


@dataclass(frozen=True, slots=True)
class Goal:
    """What the user wants of one domain, as annotated (values are not normalised)."""

    informable: Mapping[str, str]
    requestable: frozenset[str]


class Annotations(NamedTuple):
    """What is annotated of the turns of a dialogue, one item a system turn each."""

    references: tuple[str, ...]
    user_utterances: tuple[str, ...]
    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class GoldDialogue:
    """Gold data of one dialogue; all but `goal` have one item a system turn.

    `booked` are the domains booked by that turn, `references` the delexicalised responses with
    natural spacing (and as sacreBLEU tokenises them), `user_utterances` what the user said before,
    `states` the annotated states (not normalised) after that.
    """

    goal: Mapping[str, Goal]
    booked: tuple[frozenset[str], ...]
    references: tuple[str, ...]
    tokenized_references: tuple[str, ...]
    user_utterances: tuple[str, ...]
    states: tuple[State, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the plain form that `from_json` reads."""
        return {
            "goal": {
                domain: {
                    "informable": dict(goal.informable),
                    "requestable": sorted(goal.requestable),
                }
                for domain, goal in self.goal.items()
            },
            "booked": [sorted(domains) for domains in self.booked],
            "references": self.references,
            "tokenized_references": self.tokenized_references,
            "user_utterances": self.user_utterances,
            "states": self.states,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> GoldDialogue:
        """Read back what `to_json` wrote."""
        return cls(
            goal={domain: goal_from_json(goal) for domain, goal in plain["goal"].items()},
            booked=tuple(frozenset(domains) for domains in plain["booked"]),
            references=tuple(plain["references"]),
            tokenized_references=tuple(plain["tokenized_references"]),
            user_utterances=tuple(plain["user_utterances"]),
            states=tuple(plain["states"]),
        )


def goal_from_json(plain: Mapping[str, Any]) -> Goal:
    """Read one domain's goal in the form of a ready-made `goals.json`.

    Raises `TypeError` or `AttributeError` when it does not have that form.
    """
    informable = plain.get("informable", {})
    if not all(isinstance(value, str) for value in informable.values()):
        raise TypeError("the value of an informable slot must be text")
    return Goal(
        informable=informable,
        requestable=frozenset(plain.get("requestable", ())),
    )


def dialogue_id(name: str) -> str:
    """Return the id of a MultiWOZ file name: `SNG0073.json` → `sng0073`."""
    return name.partition(".")[0].lower()
