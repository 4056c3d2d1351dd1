"""Scores of texts: BLEU-4 and, for the NLG track, missing and redundant values.

Source: Zhu et al., TACL 2020, section 5.5. As in the paper's public code, BLEU is NLTK's
`corpus_bleu`: n-gram counts are clipped by their maximum over the references, and the brevity
penalty uses the closest reference length. For text segments with fewer than n tokens, one n-gram is
counted, and a count of 0 is replaced by 0.1 ("method 1" of Chen and Cherry, 2014). The references
of a turn are all sentences of the fold whose acts have the same multiset of act keys, with the
values of the turn inserted. The slot error rate is that of Wen et al., EMNLP 2015, for texts with
values: the number of missing and redundant values divided by the number of values of the acts. The
slot error rate and the value missing rate are not from the paper; the paper's public code has an
unfinished slot error rate that does not fit the paper's acts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import (
    INFORM,
    RECOMMEND,
    Acts,
    Key,
    lowered,
    mentions_of,
    turn_key,
)
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.names import NAME, NEARBY, NOTHING
from mwzeval.crosswoz.corpus.normalization import words_of
from mwzeval.crosswoz.protocols import SYSTEM, USER, Side
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.scoring.scores import TYPE_SCOPES, Sign, TrackScores
from mwzeval.crosswoz.systems.templates import PLACEHOLDER, delexicalized, fill, turns_of
from mwzeval.crosswoz.tracks import NLG, RESPONSE, USER_RESPONSE
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import WHOLE
from mwzeval.statistics.bootstrap import Sums
from mwzeval.version import library_version

NUMBER = re.compile(r"\d+(?:[.:\-]\d+)*")
"""A number, a range, a time of day or a telephone number."""
FIELD_OF: dict[Side, str] = {USER: USER_RESPONSE, SYSTEM: RESPONSE}
"""A mapping from a side to the field that contains its text."""
BLEU4, MISSING_VALUES, SLOT_ERRORS = "bleu4", "missing_values", "slot_errors"
MAX_NGRAM_ORDER = 4
ORDERS = range(1, MAX_NGRAM_ORDER + 1)
FIELDS = (
    *("system_length", "reference_length"),
    *(f"{kind}_{order}" for kind in ("correct", "total") for order in ORDERS),
)
"""The columns of BLEU-4: the lengths of texts and, for each n, the numbers of correct and of all
n-grams."""


def value_counts(text: str, acts: Acts) -> tuple[int, int]:
    """Return how many values a text should contain, and how many of these values are missing.

    The values of Inform and Recommend acts count, regardless of case. Services and `无` (no such
    thing) are not counted, because sentences can express them in many ways.
    """
    spoken = text.lower()
    values = [
        act.value.lower()
        for act in acts
        if act.intent in (INFORM, RECOMMEND) and not act.is_service and act.value != NOTHING
    ]
    return len(values), sum(value not in spoken for value in values)


def redundant(text: str, acts: Acts, names: Sequence[str]) -> int:
    """Return the number of redundant values in a text that was generated for acts.

    A value is redundant if it occurs more often in the text than among the values of the acts. A
    placeholder without a value, and any other number or venue name in the text, is also redundant.
    `names` are the venue names that `venue_names` returns.
    """
    rest, found = PLACEHOLDER.subn(" ", text.lower())
    values = Counter(mention.value.lower() for mention in mentions_of(acts))
    for value in sorted(values, key=lambda value: (-len(value), value)):
        found += max(0, rest.count(value) - values[value])
        rest = rest.replace(value, "\n")
    for name in names:
        if name in rest:
            found += rest.count(name)
            rest = rest.replace(name, "\n")
    return found + len(NUMBER.findall(rest))


def venue_names(dialogues: Iterable[Dialogue]) -> tuple[str, ...]:
    """Return the names of venues in the acts of dialogues, in lower case, longest first."""
    names = {
        act.value.lower()
        for dialogue in dialogues
        for side in (USER, SYSTEM)
        for turn in turns_of(dialogue, side)
        for act in turn.acts
        if act.slot in (NAME, *NEARBY.values()) and act.value not in ("", NOTHING)
    }
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


def as_compared(response: str, acts: Acts) -> str:
    """Return a generated sentence, delexicalized and relexicalized like the references."""
    return relexicalized(delexicalized(response, acts)[0], acts)


def relexicalized(sentence: str, acts: Acts) -> str:
    """Return a sentence with values in its placeholders, or blanks if there is no value."""
    return PLACEHOLDER.sub(" ", fill(sentence, acts)) if "[" in sentence else sentence


def key_of(acts: Acts) -> Key:
    """Return the key by which turns are grouped: the template key of the acts in lower case."""
    return turn_key(lowered(acts))


class TextScores(TrackScores):
    """BLEU-4 (0 to 1), value missing rate and slot error rate (both in percent) of a side's texts.

    Tracks other than NLG have only BLEU-4, because an end-to-end response need not contain the gold
    values; their scopes do not mention the side. All sentences of the `dialogues` are references.
    """

    def __init__(
        self, dialogues: Mapping[str, Dialogue], side: Side, track: str = NLG.name
    ) -> None:
        self._side, self._track = side, track
        self._turns = {name: turns_of(dialogue, side) for name, dialogue in dialogues.items()}
        sentences: dict[Key, dict[str, None]] = {}
        for turn in (turn for turns in self._turns.values() for turn in turns):
            # Repeated sentences change no score, so each sentence is stored once.
            sentence, _ = delexicalized(turn.utterance, turn.acts)
            sentences.setdefault(key_of(turn.acts), {})[sentence] = None
        self._sentences = sentences
        self._venues = venue_names(dialogues.values())
        prefix = f"{track}.{side}"
        self._statistics = tuple(f"{prefix}.{BLEU4}.{field}" for field in FIELDS)
        self._values, self._missing, self._redundant = (
            f"{prefix}.{name}" for name in ("values", "missing", "redundant")
        )
        self._cases = f"{prefix}.dialogues"
        values = (self._values, self._missing, self._redundant)
        self._counted = (*self._statistics, f"{prefix}.turns", *values, self._cases)
        names = (BLEU4, MISSING_VALUES, SLOT_ERRORS) if track == NLG.name else (BLEU4,)
        self.main = tuple(f"{track}.{name}" for name in names)
        self.columns = tuple(
            _of_scope(column, scope) for scope in ("", *TYPE_SCOPES) for column in self._counted
        )

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts from which a dialogue's scores are computed, by column."""
        return self.rows({gold.name: gold}, {gold.name: predicted})[gold.name]

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the counts for each dialogue's scores, by column.

        Raises `DependencyError` without jieba.
        """
        key = FIELD_OF[self._side]
        texts = {name: [getattr(t, key) or "" for t in turns] for name, turns in predicted.items()}
        return {
            name: {
                _of_scope(column, scope): count
                for scope in ("", gold[name].goal_type)
                for column, count in counts.items()
            }
            for name, counts in self.counts(texts).items()
        }

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the scores of the side, and of each goal type of the side (`user, S`)."""
        choices = {"side": self._side, "jieba": library_version("jieba"), "refs": "act-group"}
        signature = sign(self._track, choices)
        is_nlg = self._track == NLG.name
        for scope in ("", *TYPE_SCOPES):
            cases = _of_scope(self._cases, scope)
            if not sums[cases]:
                continue
            of_side = f"{self._side}, {scope}" if scope else self._side
            where = of_side if is_nlg else scope or WHOLE
            bleu4 = partial(self.bleu4, scope=scope)
            yield Measure(self.main[0], "BLEU-4", signature, bleu4, 4, where, cases, unit="")
            for name, label, function in (
                (MISSING_VALUES, "Missing values", self.missing_rate),
                (SLOT_ERRORS, "Slot error rate", self.slot_error_rate),
            ):
                if is_nlg:
                    rate = partial(function, scope=scope)
                    name = f"{NLG.name}.{name}"
                    yield Measure(
                        name, label, signature, rate, scope=where, cases=cases, lower_is_better=True
                    )

    def references(self, acts: Acts) -> tuple[str, ...]:
        """Return the reference sentences of a turn, with the turn's values inserted.

        Raises `KeyError` for unknown acts.
        """
        sentences = self._sentences[key_of(acts)]
        return tuple(dict.fromkeys(relexicalized(sentence, acts) for sentence in sentences))

    def counts(self, responses: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
        """Return the counts of each dialogue, over all scopes, given one text for each exchange.

        Turns with the same acts share their references and are scored together. Raises `KeyError`
        for an unknown dialogue, `ValueError` if the numbers of texts and exchanges differ, and
        `DependencyError` if jieba is not installed.
        """
        places: dict[object, list[tuple[str, int]]] = {}
        acts: dict[str, list[Acts]] = {}
        for name, texts in responses.items():
            acts[name] = [turn.acts for turn in self._turns[name]]
            if len(texts) != len(acts[name]):
                raise ValueError(f"{name}: {len(texts)} texts for {len(acts[name])} turns")
            for number, of_turn in enumerate(acts[name]):
                shared = key_of(of_turn), frozenset(mentions_of(of_turn))
                places.setdefault(shared, []).append((name, number))
        statistics: dict[tuple[str, int], NDArray[np.int64]] = {}
        for at in places.values():
            hypotheses = [
                words_of(as_compared(responses[name][number], acts[name][number]))
                for name, number in at
            ]
            name, number = at[0]
            references = map(words_of, self.references(acts[name][number]))
            statistics.update(zip(at, segment_statistics(hypotheses, references), strict=True))
        rows = {}
        for name, texts in responses.items():
            turns = [statistics[name, number] for number in range(len(texts))]
            pairs = list(zip(texts, acts[name], strict=True))
            values, missing = map(sum, zip(*starmap(value_counts, pairs), strict=True))
            beside = sum(redundant(text, of_turn, self._venues) for text, of_turn in pairs)
            summed = np.sum(turns, axis=0).tolist()
            numbers = (*summed, len(texts), values, missing, beside, 1)
            rows[name] = dict(zip(self._counted, numbers, strict=True))
        return rows

    def bleu4(self, sums: Sums, scope: str = "") -> NDArray[np.float64]:
        """Return BLEU-4 (0 to 1) from summed rows."""
        return closest_length_bleu([sums[_of_scope(name, scope)] for name in self._statistics])

    def missing_rate(self, sums: Sums, scope: str = "") -> NDArray[np.float64]:
        """Return the percentage of missing values, computed from the sums of the rows."""
        values, missing = (sums[_of_scope(name, scope)] for name in (self._values, self._missing))
        return _percent(missing, values)

    def slot_error_rate(self, sums: Sums, scope: str = "") -> NDArray[np.float64]:
        """Return the slot error rate in percent: missing and redundant values per act value."""
        names = (self._values, self._missing, self._redundant)
        values, missing, beside = (sums[_of_scope(name, scope)] for name in names)
        return _percent(missing + beside, values)


def _of_scope(column: str, scope: str) -> str:
    return f"{column}@{scope}" if scope else column


def _percent(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a share in percent; NaN if the whole is 0."""
    nothing = np.full_like(part, np.nan, dtype=np.float64)
    return np.divide(100 * part, whole, out=nothing, where=whole > 0)


EPSILON = 0.1


def segment_statistics(
    hypotheses: Iterable[Sequence[str]], references: Iterable[Sequence[str]]
) -> NDArray[np.int64]:
    """Return the statistics of tokenized segments with shared references: a row of `FIELDS` each.

    Raises:
        ValueError: If there are no references.
    """
    counted = [(tokens, [_ngrams(tokens, order) for order in ORDERS]) for tokens in hypotheses]
    lengths = set()
    limits: list[dict[tuple[str, ...], int]] = [{} for _ in ORDERS]
    needed = [set().union(*(counts[i] for _, counts in counted)) for i in range(MAX_NGRAM_ORDER)]
    repeated = [
        {ngram for _, counts in counted for ngram, times in counts[i].items() if times > 1}
        for i in range(MAX_NGRAM_ORDER)
    ]
    for reference in references:
        lengths.add(len(reference))
        for order, limit, ngrams, several in zip(ORDERS, limits, needed, repeated, strict=True):
            # Most n-grams occur once in a segment, so one occurrence in a reference is enough.
            for ngram in ngrams.intersection(_windows(reference, order)):
                limit.setdefault(ngram, 1)
            if several:
                for ngram, times in _ngrams(reference, order).items():
                    if times > 1 and ngram in several:
                        limit[ngram] = max(limit[ngram], times)
    if not lengths:
        raise ValueError("a segment needs at least one reference")
    rows = np.zeros((len(counted), len(FIELDS)), dtype=np.int64)
    for row, (tokens, counts) in zip(rows, counted, strict=True):
        length = len(tokens)
        closest = min(lengths, key=lambda other: (abs(other - length), other))
        correct = [
            sum(min(times, limit.get(ngram, 0)) for ngram, times in of_order.items())
            for of_order, limit in zip(counts, limits, strict=True)
        ]
        row[:] = length, closest, *correct, *(max(1, length - order + 1) for order in ORDERS)
    return rows


def _windows(tokens: Sequence[str], order: int) -> Iterable[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(order)), strict=False)


def _ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(_windows(tokens, order))


def closest_length_bleu(statistics: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return BLEU-4 (0 to 1) from the sums of the segment statistics; 0 if no n-gram matches."""
    system, reference, *counts = statistics
    correct, total = np.stack(counts[:MAX_NGRAM_ORDER]), np.stack(counts[MAX_NGRAM_ORDER:])
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.where(correct > 0, correct, EPSILON) / total
        mean = np.exp(np.log(precisions).mean(axis=0))
        penalty = np.where(system > reference, 1.0, np.exp(1 - reference / system))
    bleu: NDArray[np.float64] = np.where(correct[0] > 0, mean * penalty, 0.0)
    return bleu
