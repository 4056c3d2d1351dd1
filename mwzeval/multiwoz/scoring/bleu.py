"""Corpus BLEU as additive statistics, with one reference per segment.

The result equals that of sacreBLEU with its defaults: 13a tokenization, mixed case, exponential
smoothing. sacreBLEU is imported only for texts in which its tokenizer does more than separate
punctuation.

Sources: Papineni et al., ACL 2002; Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import accumulate, chain, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.libraries import required
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import Signature
from mwzeval.statistics.bootstrap import ScoreFunction, Sums

MAX_NGRAM_ORDER = 4
ORDERS = range(1, MAX_NGRAM_ORDER + 1)
FIELDS = (
    "system_length",
    "reference_length",
    *(f"correct_{order}" for order in ORDERS),
    *(f"total_{order}" for order in ORDERS),
)

SIGNATURE = {"nrefs": "1", "case": "mixed", "eff": "no", "tok": "13a", "smooth": "exp"}


REMEMBERED = 2**14
"""The number of texts whose tokens are cached: at most about 10 MB."""


@lru_cache(maxsize=REMEMBERED)
def tokenize(text: str) -> str:
    """Return the tokens of sacreBLEU in a segment, separated by single spaces.

    Results are cached, because half of the responses in a typical file are repetitions.
    """
    text = text.rstrip()
    if _NOT_PLAIN.search(text):
        return str(_library_tokenizer()(text))
    text = _POINT.sub(r" \g<0> ", _SIGN.sub(r" \g<0> ", f" {text} "))
    return " ".join((_DASH.sub(" - ", text) if "-" in text else text).split())


_NOT_PLAIN = re.compile(r"[\n&]|<skipped>|[.,][.,]")
"""Matches texts that sacreBLEU treats differently: escapes, line breaks, and consecutive points or
commas, of which its regular expressions match only every second one."""
_SIGN = re.compile(r"[{-~\[-`!-&(-+:-@/]")
_POINT = re.compile(r"(?<![0-9])[.,]|[.,](?![0-9])")
_DASH = re.compile(r"(?<=[0-9])-")


@cache
def _library_tokenizer() -> Any:
    return required("sacrebleu.tokenizers.tokenizer_13a", None).Tokenizer13a()


class Bleu:
    """BLEU against the reference set `name`; `references` maps ids to tokenized segments."""

    def __init__(self, name: str, references: Mapping[str, Sequence[str]]) -> None:
        self.name = name
        self.columns = tuple(f"bleu.{name}.{field}" for field in FIELDS)
        self._references = references

    @cached_property
    def _index(self) -> _ReferenceNgrams:
        return _ReferenceNgrams(self._references)

    def rows(self, units: Iterable[tuple[str, Sequence[str]]]) -> list[dict[str, float]]:
        """Return the summed statistics of each unit, over its segments that have a reference.

        `units` are pairs of an id and segments that `tokenize` returned; an id may occur several
        times.
        """
        rounds: dict[int, list[tuple[int, str, Sequence[str]]]] = {}
        times: Counter[str] = Counter()
        for place, (unit, segments) in enumerate(units):
            rounds.setdefault(times[unit], []).append((place, unit, segments))
            times[unit] += 1
        rows: list[dict[str, float]] = [{}] * sum(times.values())
        for chosen in rounds.values():
            found = self._index.matched([(unit, segments) for _, unit, segments in chosen])
            for (place, _, _), numbers in zip(chosen, found.tolist(), strict=True):
                rows[place] = dict(zip(self.columns, numbers, strict=True))
        return rows

    @property
    def of(self) -> ScoreFunction:
        """BLEU as a function of many sums at once."""
        return partial(_of_columns, self.columns)

    def measures(self, signature: Signature) -> Iterator[Measure]:
        """Yield the BLEU score, which has the name `bleu.NAME`."""
        yield Measure(f"bleu.{self.name}", f"BLEU ({self.name})", signature, self.of, unit="points")


class _ReferenceNgrams:
    """The n-grams of each segment of a reference set, as numbers.

    An n-gram of a segment is a pair: the (n-1)-gram of its first tokens, and its last token. Each
    order is a sorted array of such pairs, which allows many look-ups at once. An n-gram that is in
    no reference segment has no number, because it cannot be correct.
    """

    def __init__(self, references: Mapping[str, Sequence[str]]) -> None:
        segments = [segment.split() for of_unit in references.values() for segment in of_unit]
        sizes = {unit: len(of_unit) for unit, of_unit in references.items()}
        firsts = accumulate(sizes.values(), initial=0)
        self._segments = {
            unit: (first, size) for first, (unit, size) in zip(firsts, sizes.items(), strict=False)
        }
        vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
        codes = _numbers(map(vocabulary.__getitem__, chain.from_iterable(segments)))
        self._vocabulary = dict(vocabulary)
        self._lengths = _numbers(map(len, segments))
        self._orders: list[_Order] = []
        owner = np.repeat(np.arange(len(segments)), self._lengths)
        following = _following(self._lengths)
        prefixes = owner
        for order in ORDERS:
            # An n-gram begins where at least n - 1 tokens of the segment follow.
            here = np.flatnonzero(following >= order - 1)
            pairs = prefixes[here] * max(1, len(vocabulary)) + codes[here + order - 1]
            known, of_pair, counts = np.unique(pairs, return_inverse=True, return_counts=True)
            of_ngram = np.zeros(len(known) + 1, dtype=np.int64)
            of_ngram[of_pair] = owner[here]
            # The last element is greater than every pair and matches none.
            known = np.append(known, np.iinfo(np.int64).max)
            self._orders.append(_Order(known, np.append(counts, 0), of_ngram))
            prefixes = np.full(len(codes), -1)
            prefixes[here] = of_pair

    def matched(self, units: Sequence[tuple[str, Sequence[str]]]) -> NDArray[np.float64]:
        """Return the statistics of different units, in the order of `FIELDS`."""
        tokens: list[str] = []
        sizes, numbers, owners = [], [], []
        for place, (unit, segments) in enumerate(units):
            first, size = self._segments.get(unit, (0, 0))
            for number, segment in enumerate(segments[:size], start=first):
                of_segment = segment.split()
                tokens += of_segment
                sizes.append(len(of_segment))
                numbers.append(number)
                owners.append(place)
        get = self._vocabulary.get
        codes = _numbers([get(token, -1) for token in tokens])
        lengths, segments_here, owner = _numbers(sizes), _numbers(numbers), _numbers(owners)
        # The unit of each reference segment; the value is arbitrary for segments that do not occur.
        unit_of = np.zeros(len(self._lengths), dtype=np.int64)
        unit_of[segments_here] = owner

        def summed(of_segments: NDArray[np.int64]) -> NDArray[np.float64]:
            sums = np.bincount(owner, weights=of_segments, minlength=len(units))
            return np.asarray(sums, dtype=np.float64)

        correct, total = [], []
        following = _following(lengths)
        prefixes = np.repeat(segments_here, lengths)
        for order, known in zip(ORDERS, self._orders, strict=True):
            total.append(summed(np.maximum(0, lengths - order + 1)))
            here = np.flatnonzero((following >= order - 1) & (prefixes >= 0))
            last = codes[here + order - 1]
            here, last = here[last >= 0], last[last >= 0]
            pairs = prefixes[here] * max(1, len(self._vocabulary)) + last
            at = np.searchsorted(known.pairs, pairs)
            found = np.where(known.pairs[at] == pairs, at, -1)
            prefixes = np.full(len(codes), -1)
            prefixes[here] = found
            times = np.bincount(found[found >= 0], minlength=len(known.counts))
            there = np.flatnonzero(times)
            kept = np.minimum(times[there], known.counts[there])
            owners_there = unit_of[known.segments[there]]
            correct.append(np.bincount(owners_there, weights=kept, minlength=len(units)))
        references = summed(self._lengths[segments_here])
        return np.stack([summed(lengths), references, *correct, *total], axis=1)


class _Order(NamedTuple):
    """The different n-grams of segments, sorted, each with its count and its segment."""

    pairs: NDArray[np.int64]
    counts: NDArray[np.int64]
    segments: NDArray[np.int64]


def _numbers(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(numbers, dtype=np.int64)


def _following(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of tokens that follow each token in its segment."""
    return np.repeat(np.cumsum(lengths), lengths) - np.arange(lengths.sum()) - 1


def _of_columns(columns: Sequence[str], sums: Sums) -> NDArray[np.float64]:
    rows = zip(*(sums[column].tolist() for column in columns), strict=True)
    return np.array([_bleu(*row) for row in rows], dtype=np.float64)


def _bleu(system_length: float, reference_length: float, *counts: float) -> float:
    """Return BLEU, 0 to 100, of summed statistics; equal to sacreBLEU's `corpus_bleu`.

    The order of operations is that of sacreBLEU, so that results are the same to the last bit.
    """
    correct, total = counts[:MAX_NGRAM_ORDER], counts[MAX_NGRAM_ORDER:]
    if not any(correct):
        return 0.0
    penalty = 1.0
    if system_length < reference_length:
        penalty = math.exp(1 - reference_length / system_length) if system_length > 0 else 0.0
    smoothing = 1.0
    logarithms = [_LOG_OF_ZERO] * MAX_NGRAM_ORDER
    for index, (found, size) in enumerate(zip(correct, total, strict=True)):
        if not size:
            break
        if not found:
            smoothing *= 2
        precision = 100 * found / size if found else 100 / (smoothing * size)
        logarithms[index] = math.log(precision)
    return penalty * math.exp(sum(logarithms) / MAX_NGRAM_ORDER)


_LOG_OF_ZERO = -9999999999.0
