"""NLG: BLEU-4 against the group of a turn, and the share of values that a text does not say.

Source: Zhu et al., TACL 2020, section 5.5, for BLEU; the value missing rate is ours, in the place
of the slot error rate that the public code sketches and leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.act_keys import turn_key
from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, Acts
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.names import NOTHING
from mwzeval.crosswoz.predictions.tracks import NLG
from mwzeval.crosswoz.references import References, as_compared, turns_of, values_of
from mwzeval.crosswoz.simulation.protocols import Side
from mwzeval.crosswoz.word_tokens import words_of
from mwzeval.metrics.multi_reference_bleu import MultiReferenceBleu, SegmentCounts, segment_counts
from mwzeval.statistics import Sums

Responses = Mapping[str, Sequence[str]]
"""Dialogue → the texts of one side, one an exchange."""


@dataclass(frozen=True, slots=True, eq=False)
class NlgScorer:
    """Scores texts that one side was to say the gold acts of a fold with."""

    side: Side
    gold: Mapping[str, Dialogue]
    references: References
    prefix: str
    bleu: MultiReferenceBleu

    @classmethod
    def of(cls, dialogues: Mapping[str, Dialogue], side: Side, track: str = NLG.name) -> NlgScorer:
        """Return a scorer whose references are all sentences of these dialogues.

        Its columns begin with the name of the track.
        """
        references, prefix = References.of(dialogues.values(), side), f"{track}.{side}"
        return cls(side, dialogues, references, prefix, MultiReferenceBleu(f"{prefix}.bleu4"))

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return (*self.bleu.columns, *self._counts)

    @property
    def _counts(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}.{name}" for name in ("turns", "values", "missing"))

    def rows(self, responses: Responses) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue that has texts.

        Turns that say the same, with the same values, share their references, so that all are
        scored at once. Raises `KeyError` for an unknown dialogue, `ValueError` when there are not
        as many texts as exchanges, `DependencyError` without jieba.
        """
        places: dict[object, list[tuple[str, int]]] = {}
        told: dict[str, list[Acts]] = {}
        for name, texts in responses.items():
            told[name] = [turn.acts for turn in turns_of(self.gold[name], self.side)]
            if len(texts) != len(told[name]):
                raise ValueError(f"{name}: {len(texts)} texts for {len(told[name])} turns")
            for number, acts in enumerate(told[name]):
                shared = turn_key(acts), values_of(acts)
                places.setdefault(shared, []).append((name, number))
        counted: dict[tuple[str, int], SegmentCounts] = {}
        for at in places.values():
            of = [told[name][number] for name, number in at]
            texts = [responses[name][number] for name, number in at]
            counted.update(zip(at, self._counts_of(texts, of), strict=True))
        return {
            name: {
                **self.bleu.row(counted[name, number] for number in range(len(told[name]))),
                **self._missing(responses[name], told[name]),
            }
            for name in responses
        }

    def _counts_of(self, texts: Sequence[str], acts: Sequence[Acts]) -> list[SegmentCounts]:
        """Return the counts of texts whose acts have the same key and the same values."""
        hypotheses = [
            words_of(as_compared(text, said)) for text, said in zip(texts, acts, strict=True)
        ]
        return segment_counts(hypotheses, map(words_of, self.references.filled(acts[0])))

    def _missing(self, texts: Sequence[str], acts: Sequence[Acts]) -> dict[str, float]:
        counts = [value_counts(text, said) for text, said in zip(texts, acts, strict=True)]
        values, missing = map(sum, zip(*counts, strict=True))
        return dict(zip(self._counts, (len(texts), values, missing), strict=True))

    def bleu4(self, sums: Sums) -> NDArray[np.float64]:
        """Return BLEU-4, 0 to 1, of summed rows."""
        return self.bleu.score(sums)

    def missing_rate(self, sums: Sums) -> NDArray[np.float64]:
        """Return the share of values that are not in the text, in percent, of summed rows."""
        _, values, missing = self._counts
        with np.errstate(invalid="ignore"):  # no value is to be said: there is no share
            rate: NDArray[np.float64] = 100 * sums[missing] / sums[values]
        return rate

    def references_a_turn(self) -> float:
        """Return how many references a turn of the fold has on average."""
        sizes = self.references.sizes.values()
        return sum(size * size for size in sizes) / sum(sizes)


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
