"""Scores of texts: BLEU-4, and of generated ones the values that they lack or should not have.

Source: the BLEU of Zhu et al., TACL 2020, section 5.5, as its public code computes it. References
of a turn are all sentences of the fold with acts of the same kind (the multiset of their act keys),
in which its own values stand. The slot error rate of generated text is that of Wen et al., EMNLP
2015, for texts with values: what is missing and what is redundant, over what should be said. It and
the value missing rate are ours; the public code sketches one that its acts do not fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from mwzeval.metrics.bleu import FIELDS, closest_length_bleu, segment_statistics
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import PERCENT, WHOLE
from mwzeval.statistics.bootstrap import Sums
from mwzeval.version import library_version

NUMBER = re.compile(r"\d+(?:[.:\-]\d+)*")
"""A number, a range, a time of day or a telephone number, as one."""
SIDES: dict[str, Side] = {USER_RESPONSE: USER, RESPONSE: SYSTEM}
"""The field with the texts of a side."""
BLEU4, MISSING_VALUES, SLOT_ERRORS = "bleu4", "missing_values", "slot_errors"


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


def redundant(text: str, acts: Acts, names: Sequence[str]) -> int:
    """Return how many values a text says that its acts do not tell.

    These are values of the acts that are said more often than told; placeholders without a value;
    and, where all these are taken away, numbers and names of venues. `names` are those of
    `venue_names`.
    """
    rest, found = PLACEHOLDER.subn(" ", text.lower())
    told = Counter(said.value.lower() for said in mentions_of(acts))
    for value in sorted(told, key=lambda value: (-len(value), value)):
        found += max(0, rest.count(value) - told[value])
        rest = rest.replace(value, "\n")
    for name in names:
        if name in rest:
            found += rest.count(name)
            rest = rest.replace(name, "\n")
    return found + len(NUMBER.findall(rest))


def venue_names(dialogues: Iterable[Dialogue]) -> tuple[str, ...]:
    """Return the names of venues that acts of dialogues tell, in lower case, longest first."""
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
    """Return a generated sentence after it went the way of the references: no values, and back."""
    return relexicalized(delexicalized(response, acts)[0], acts)


def relexicalized(sentence: str, acts: Acts) -> str:
    """Return a sentence with values in its placeholders, and blanks where there is none."""
    return PLACEHOLDER.sub(" ", fill(sentence, acts)) if "[" in sentence else sentence


def key_of(acts: Acts) -> Key:
    """Return the key by which turns are grouped: that of templates, with values in lower case."""
    return turn_key(lowered(acts))


class TextScores(TrackScores):
    """Of each side BLEU-4 (0 to 1, as in the paper), value missing and slot error rate (percent).

    Of another track than NLG BLEU-4 alone, because what a system says end to end need not have the
    values of gold; such a track has one side, and its scopes do not name it. `fields` are those of
    the texts; all sentences of the `dialogues` are references.
    """

    def __init__(
        self, dialogues: Mapping[str, Dialogue], fields: Sequence[str], track: str = NLG.name
    ) -> None:
        sides = [side for key, side in SIDES.items() if key in fields]
        self._scorers = [NlgScorer(dialogues, side, track) for side in sides]
        self._track = track
        names = (BLEU4, MISSING_VALUES, SLOT_ERRORS) if track == NLG.name else (BLEU4,)
        self.main = tuple(f"{track}.{name}" for name in names)
        self.columns = tuple(
            _of_scope(column, scope)
            for scorer in self._scorers
            for scope in ("", *TYPE_SCOPES)
            for column in (*scorer.columns, scorer.cases)
        )

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the numbers of one dialogue."""
        return self.rows({gold.name: gold}, {gold.name: predicted})[gold.name]

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue. Raises `DependencyError` without jieba."""
        rows: dict[str, dict[str, float]] = {name: {} for name in predicted}
        for scorer in self._scorers:
            key = USER_RESPONSE if scorer.side == USER else RESPONSE
            texts = {
                name: [getattr(turn, key) or "" for turn in of] for name, of in predicted.items()
            }
            for name, row in scorer.rows(texts).items():
                counted = {**row, scorer.cases: 1.0}
                for scope in ("", gold[name].goal_type):
                    rows[name] |= {_of_scope(column, scope): n for column, n in counted.items()}
        return rows

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the scores of each side, and of each goal type on it (`user, S`)."""
        for scorer in self._scorers:
            choices = {"side": scorer.side, "jieba": library_version("jieba"), "refs": "act-group"}
            signature = sign(self._track, choices)
            parts: list[tuple[str, Callable[[Sums], NDArray[np.float64]]]] = [
                ("BLEU-4", scorer.bleu4),
                ("Missing values", scorer.missing_rate),
                ("Slot error rate", scorer.slot_error_rate),
            ]
            for scope in ("", *TYPE_SCOPES):
                cases = _of_scope(scorer.cases, scope)
                if not sums[cases]:
                    continue
                where = f"{scorer.side}, {scope}" if scope else scorer.side
                # Other tracks have no rates, which come after BLEU.
                for name, (label, of) in zip(self.main, parts, strict=False):
                    is_bleu = of == scorer.bleu4
                    yield Measure(
                        name,
                        label,
                        signature,
                        partial(_scoped, of, scorer.columns, scope),
                        4 if is_bleu else 2,
                        where if self._track == NLG.name else scope or WHOLE,
                        cases,
                        lower_is_better=not is_bleu,
                        unit="" if is_bleu else PERCENT,
                    )


def _scoped(
    of: Callable[[Sums], NDArray[np.float64]], columns: Sequence[str], scope: str, sums: Sums
) -> NDArray[np.float64]:
    return of({column: sums[_of_scope(column, scope)] for column in columns})


def _of_scope(column: str, scope: str) -> str:
    return f"{column}@{scope}" if scope else column


class NlgScorer:
    """Scores texts that one side was to say the gold acts of a fold with.

    All sentences of the dialogues are references. `columns` are the additive numbers of a row,
    which begin with the name of the track; `cases` is the column of the dialogues.
    """

    def __init__(
        self, dialogues: Mapping[str, Dialogue], side: Side, track: str = NLG.name
    ) -> None:
        self.side = side
        self._turns = {name: turns_of(dialogue, side) for name, dialogue in dialogues.items()}
        sentences: dict[Key, dict[str, None]] = {}
        for turn in (turn for turns in self._turns.values() for turn in turns):
            # Distinct sentences: that one occurs twice changes no score.
            sentence, _ = delexicalized(turn.utterance, turn.acts)
            sentences.setdefault(key_of(turn.acts), {})[sentence] = None
        self._sentences = sentences
        self._venues = venue_names(dialogues.values())
        self.cases = f"{track}.{side}.dialogues"
        self._statistics = tuple(f"{track}.{side}.{BLEU4}.{field}" for field in FIELDS)
        counts = ("turns", "values", "missing", "redundant")
        self._counts = tuple(f"{track}.{side}.{name}" for name in counts)
        self.columns = (*self._statistics, *self._counts)

    def references(self, acts: Acts) -> tuple[str, ...]:
        """Return the references of a turn of the fold, with its values. Raises `KeyError`."""
        sentences = self._sentences[key_of(acts)]
        return tuple(dict.fromkeys(relexicalized(sentence, acts) for sentence in sentences))

    def rows(self, responses: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
        """Return the numbers of each dialogue by its texts, one an exchange.

        Turns that say the same, with the same values, share their references, so that all are
        scored at once. Raises `KeyError` for an unknown dialogue, `ValueError` when there are not
        as many texts as exchanges, `DependencyError` without jieba.
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
            numbers = (*summed, len(texts), values, missing, beside)
            rows[name] = dict(zip(self.columns, numbers, strict=True))
        return rows

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
