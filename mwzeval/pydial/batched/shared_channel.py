"""What the dialogues of a task share of its channel, and where numbers lie in vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mwzeval.pydial.batched.codes import Codes
from mwzeval.pydial.batched.layout import (
    ACTS,
    CORRECT,
    DISCOURSE_ACTS,
    DONTCARE,
    FIRST_VALUE,
    INCORRECT,
)
from mwzeval.pydial.dialogue.error_model import ErrorModel, Neighbours
from mwzeval.pydial.environments.features import NeuralVector

Record = Any
"""A record of a structured array."""


def fill_channel(t: Record, channel: ErrorModel, codes: Codes) -> None:
    """Write down what sounds alike, and the figures of lists of hypotheses."""
    t["perfect"] = channel.perfect
    if channel.perfect:
        return
    t["rate"] = channel.rate
    confusion = channel.confusion
    _near(t, "act", confusion.acts, {act: code for code, act in enumerate(ACTS)}, 0)
    _near(t, "slot", confusion.slots, codes.slot, 0)
    for slot, near in confusion.values_taken_for.items():
        values = {value: codes.value(slot, value) for value in near}
        _near(t, "value", near, values, int(t["first"][codes.slot[slot]]))
    for kind, lengths, confidences in (
        (INCORRECT, channel.incorrect_lengths, channel.incorrect),
        (CORRECT, channel.correct_lengths, channel.correct),
    ):
        number = t["length_number"][kind] = len(lengths.sums)
        t["lengths"][kind, :number] = lengths.sums
        t["means"][kind] = [mean for mean, _ in confidences.scores]
        t["deviations"][kind] = [deviation for _, deviation in confidences.scores]
        t["rest_deviations"][kind] = [deviation for _, deviation in confidences.rest]
    number = t["position_number"] = len(channel.positions.sums)
    t["positions"][:number] = channel.positions.sums


def _near(
    t: Record, what: str, near: Mapping[str, Neighbours], code: Mapping[str, int], first: int
) -> None:
    for word, words in near.items():
        at, number = first + code[word], len(words.words)
        t[f"{what}_number"][at] = number
        t[f"{what}_words"][at, :number] = [code[other] for other in words.words]
        t[f"{what}_sums"][at, :number] = words.sums


def fill_vector(t: Record, vector: NeuralVector, codes: Codes) -> None:
    """Write down where what is believed lies in the vectors of neural policies."""
    for slot, none, places in vector.places:
        code = codes.slot[slot]
        t["value_place"][code] = none - t["numbers"][code]
        assert places[codes.values[code][FIRST_VALUE]] == t["value_place"][code]
        assert places[codes.values[code][DONTCARE]] == none + 1
    t["method_place"] = vector.methods
    t["flag_place"] = vector.flags
    for index, act in enumerate(DISCOURSE_ACTS):
        t["discourse_place"][index] = vector.discourse.get(act, -1)
    for slot, place in vector.requested.items():
        t["requested_place"][codes.slot[slot]] = place
