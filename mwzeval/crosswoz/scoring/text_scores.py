"""Scores of texts: BLEU-4, and of generated ones the values that they lack or should not have.

Source: the BLEU of Zhu et al., TACL 2020, section 5.5, as its public code computes it. References
of a turn are all sentences of the fold with acts of the same kind (the multiset of their act keys),
in which its own values stand. The value missing rate and the slot error rate are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import Acts, Key, lowered, said_values, turn_key
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.normalization import words_of
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.predictions.tracks import NLG, RESPONSE, USER_RESPONSE
from mwzeval.crosswoz.protocols import SYSTEM, USER, Side
from mwzeval.crosswoz.scoring.scopes import TYPE_SCOPES, Sign
from mwzeval.crosswoz.scoring.slot_errors import redundant, value_counts, venue_names
from mwzeval.crosswoz.systems.templates import PLACEHOLDER, delexicalized, fill, turns_of
from mwzeval.metrics.bleu import FIELDS, closest_length_bleu, segment_statistics
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import PERCENT, WHOLE
from mwzeval.statistics.bootstrap import Sums
from mwzeval.version import library_version


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """The sentences of one side of a fold without values, by the keys of their turns."""

    groups: Mapping[Key, Sequence[str]]
    """Distinct sentences: that one comes twice changes no score."""

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], side: Side) -> References:
        """Return the references out of dialogues."""
        groups: dict[Key, list[str]] = {}
        for dialogue in dialogues:
            for turn in turns_of(dialogue, side):
                sentence, _ = delexicalized(turn.utterance, turn.acts)
                groups.setdefault(key_of(turn.acts), []).append(sentence)
        return cls({key: tuple(dict.fromkeys(sentences)) for key, sentences in groups.items()})

    def filled(self, acts: Acts) -> tuple[str, ...]:
        """Return the references of a turn of the fold, with its values. Raises `KeyError`."""
        sentences = (relexicalized(sentence, acts) for sentence in self.groups[key_of(acts)])
        return tuple(dict.fromkeys(sentences))


def as_compared(response: str, acts: Acts) -> str:
    """Return a generated sentence after it went the way of the references: no values, and back."""
    return relexicalized(delexicalized(response, acts)[0], acts)


def relexicalized(sentence: str, acts: Acts) -> str:
    """Return a sentence with values in its placeholders, and blanks where there is none."""
    if "[" not in sentence:
        return sentence
    return PLACEHOLDER.sub(" ", fill(sentence, acts))


def values_of(acts: Acts) -> frozenset[tuple[str, str]]:
    """Return what the filled references of a turn depend on, beside its key."""
    return frozenset(said_values(acts))


def key_of(acts: Acts) -> Key:
    """Return the key by which turns are grouped: that of templates, with values in lower case."""
    return turn_key(lowered(acts))


SIDES: dict[str, Side] = {USER_RESPONSE: USER, RESPONSE: SYSTEM}
"""The field with the texts of a side."""
BLEU4, MISSING_VALUES, SLOT_ERRORS = "bleu4", "missing_values", "slot_errors"
BLEU_PLACES = 4


@dataclass(frozen=True, slots=True, eq=False)
class TextScores:
    """Of each side BLEU-4 (0 to 1, as in the paper), value missing and slot error rate (percent).

    Of another track than NLG BLEU-4 alone, because what a system says end to end need not have the
    values of gold; such a track has one side, and its scopes do not name it.
    """

    scorers: tuple[NlgScorer, ...]
    track: str = NLG.name

    @classmethod
    def of(
        cls, dialogues: Mapping[str, Dialogue], fields: Sequence[str], track: str = NLG.name
    ) -> TextScores:
        """Return what scores texts in these fields; all sentences of the fold are references."""
        sides = [side for key, side in SIDES.items() if key in fields]
        return cls(tuple(NlgScorer.of(dialogues, side, track) for side in sides), track)

    @property
    def main(self) -> tuple[str, ...]:
        """The names of the measures that baselines are shown for."""
        names = (BLEU4, MISSING_VALUES, SLOT_ERRORS) if self.track == NLG.name else (BLEU4,)
        return tuple(f"{self.track}.{name}" for name in names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return tuple(
            _of_scope(column, scope)
            for scorer in self.scorers
            for scope in ("", *TYPE_SCOPES)
            for column in (*scorer.columns, _dialogues(scorer))
        )

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue. Raises `DependencyError` without jieba."""
        rows: dict[str, dict[str, float]] = {name: {} for name in predicted}
        for scorer in self.scorers:
            texts = {name: _texts(of, scorer.side) for name, of in predicted.items()}
            for name, row in scorer.rows(texts).items():
                counted = {**row, _dialogues(scorer): 1.0}
                for scope in ("", gold[name].goal_type):
                    rows[name] |= {_of_scope(key, scope): n for key, n in counted.items()}
        return rows

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the scores of each side, and of each goal type on it (`user, S`)."""
        for scorer in self.scorers:
            choices = {"side": scorer.side, "jieba": library_version("jieba"), "refs": "act-group"}
            signature = sign(self.track, choices)
            for scope in ("", *TYPE_SCOPES):
                cases = _of_scope(_dialogues(scorer), scope)
                if not sums[cases]:
                    continue
                parts: list[tuple[str, str, Callable[[Sums], NDArray[np.float64]], int, bool]] = [
                    (BLEU4, "BLEU-4", scorer.bleu4, BLEU_PLACES, False),
                    (MISSING_VALUES, "Values not said", scorer.missing_rate, 2, True),
                    (SLOT_ERRORS, "Slot error rate", scorer.slot_error_rate, 2, True),
                ]
                for name, label, of, places, is_lower_better in parts[: len(self.main)]:
                    yield Measure(
                        f"{self.track}.{name}",
                        label,
                        signature,
                        partial(_scoped, of, scorer.columns, scope),
                        places,
                        self._where(scorer.side, scope),
                        cases,
                        lower_is_better=is_lower_better,
                        unit="" if name == BLEU4 else PERCENT,
                    )

    def _where(self, side: Side, scope: str) -> str:
        if self.track != NLG.name:
            return scope or WHOLE
        return f"{side}, {scope}" if scope else side


def _scoped(
    of: Callable[[Sums], NDArray[np.float64]], columns: Sequence[str], scope: str, sums: Sums
) -> NDArray[np.float64]:
    return of({column: sums[_of_scope(column, scope)] for column in columns})


def _texts(predicted: Sequence[Predicted], side: Side) -> list[str]:
    said = (each.user_response if side == USER else each.response for each in predicted)
    return [text or "" for text in said]


def _dialogues(scorer: NlgScorer) -> str:
    return f"{scorer.prefix}.dialogues"


def _of_scope(column: str, scope: str) -> str:
    return f"{column}@{scope}" if scope else column


Responses = Mapping[str, Sequence[str]]
"""Dialogue → the texts of one side, one an exchange."""


@dataclass(frozen=True, slots=True, eq=False)
class NlgScorer:
    """Scores texts that one side was to say the gold acts of a fold with."""

    side: Side
    gold: Mapping[str, Dialogue]
    references: References
    names: Sequence[str]
    """Of venues, in lower case."""
    prefix: str

    @classmethod
    def of(cls, dialogues: Mapping[str, Dialogue], side: Side, track: str = NLG.name) -> NlgScorer:
        """Return a scorer whose references are all sentences of these dialogues.

        Its columns begin with the name of the track.
        """
        references = References.of(dialogues.values(), side)
        names = venue_names(dialogues.values())
        return cls(side, dialogues, references, names, f"{track}.{side}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return (*self._statistics, *self._counts)

    @property
    def _statistics(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}.{BLEU4}.{field}" for field in FIELDS)

    @property
    def _counts(self) -> tuple[str, ...]:
        return tuple(
            f"{self.prefix}.{name}" for name in ("turns", "values", "missing", "redundant")
        )

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
                shared = key_of(acts), values_of(acts)
                places.setdefault(shared, []).append((name, number))
        statistics: dict[tuple[str, int], NDArray[np.int64]] = {}
        for at in places.values():
            of = [told[name][number] for name, number in at]
            texts = [responses[name][number] for name, number in at]
            hypotheses = [
                words_of(as_compared(text, said)) for text, said in zip(texts, of, strict=True)
            ]
            references = map(words_of, self.references.filled(of[0]))
            statistics.update(zip(at, segment_statistics(hypotheses, references), strict=True))
        rows = {}
        for name, texts in responses.items():
            turns = [statistics[name, number] for number in range(len(texts))]
            summed = np.sum(turns, axis=0).tolist()
            rows[name] = {
                **dict(zip(self._statistics, summed, strict=True)),
                **self._values(texts, told[name]),
            }
        return rows

    def _values(self, texts: Sequence[str], acts: Sequence[Acts]) -> dict[str, float]:
        pairs = list(zip(texts, acts, strict=True))
        values, missing = map(sum, zip(*starmap(value_counts, pairs), strict=True))
        beside = sum(redundant(text, said, self.names) for text, said in pairs)
        return dict(zip(self._counts, (len(texts), values, missing, beside), strict=True))

    def bleu4(self, sums: Sums) -> NDArray[np.float64]:
        """Return BLEU-4, 0 to 1, of summed rows."""
        return closest_length_bleu([sums[column] for column in self._statistics])

    def missing_rate(self, sums: Sums) -> NDArray[np.float64]:
        """Return the share of values that are not in the text, in percent, of summed rows."""
        _, values, missing, _ = (sums[name] for name in self._counts)
        return _percent(missing, values)

    def slot_error_rate(self, sums: Sums) -> NDArray[np.float64]:
        """Return missing and redundant values over those to be said, in percent, of summed rows."""
        _, values, missing, beside = (sums[name] for name in self._counts)
        return _percent(missing + beside, values)


def _percent(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a share in percent, NaN where nothing was to be said."""
    nothing = np.full_like(part, np.nan, dtype=np.float64)
    return np.divide(100 * part, whole, out=nothing, where=whole > 0)
