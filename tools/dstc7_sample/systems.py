"""The systems behind the example submissions for the DSTC7 fixtures."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tools.dice import Dice

Scorer = Callable[[Sequence[str], Sequence[str]], list[float]]


def overlap(context: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """Return how much each candidate shares with the context, rare words counting more."""
    spread = Counter(word for text in candidates for word in set(_words(text)))
    said = set(_words(" ".join(context)))

    def score(text: str) -> float:
        words = _words(text)
        shared = sum(math.log(1 + len(candidates) / spread[w]) for w in sorted(set(words) & said))
        return shared / math.sqrt(1 + len(words))

    return [score(text) for text in candidates]


def guess(context: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """Return scores that have nothing to do with the texts, but are the same every time."""
    dice = Dice("|".join(context))
    return [dice.share() for _ in candidates]


SYSTEMS: Mapping[str, Scorer] = {"overlap": overlap, "random": guess}

NONE_SCORE = 0.9


def ranked(
    ids: Sequence[int | str],
    scores: Sequence[float],
    *,
    most: int,
    none: bool,
) -> list[tuple[int | str, float]]:
    """Return the best candidates with probabilities that fall, and NONE among them if wanted."""
    pairs = list(zip(ids, scores, strict=True))
    if none:
        pairs.append(("NONE", NONE_SCORE))
    pairs.sort(key=lambda pair: -pair[1])
    weights = [math.exp(3 * score) for _, score in pairs]
    total = sum(weights)
    best = zip(pairs, weights, strict=True)
    return [(identity, round(weight / total, 6)) for (identity, _), weight in best][:most]


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "." else " " for c in text.lower()).split()
