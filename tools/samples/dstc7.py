"""Submissions of two example systems to DSTC7 track 1 for the synthetic examples."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mwzeval.dstc7.submission import submission_text
from mwzeval.dstc7.tracks import RANKED, SUBTASKS, Track
from tools.samples.common import ROOT, Dice

FOLDER = ROOT / "data" / "dstc7"
SYSTEMS = ("overlap", "random")
NONE_SCORE = 0.9


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    return {
        f"predictions/dstc7-{system}/{track.file_name}": _submission(system, track)
        for track in (Track(dataset, n) for dataset, numbers in SUBTASKS.items() for n in numbers)
        for system in SYSTEMS
    }


def _submission(system: str, track: Track) -> str:
    # Subtask 5 is subtask 1 with additional knowledge.
    subtask = 1 if track.subtask == 5 else track.subtask
    name, pool = f"{track.dataset}_test_subtask_{subtask}.json", dict[str, Any]()
    if track.has_pool:
        file = FOLDER / f"{track.dataset}_subtask_2_candidates.tsv"
        lines = file.read_text(encoding="utf-8").splitlines()
        pool = {text: identity for identity, text in (line.split("\t") for line in lines)}
    rankings = []
    for row in json.loads((FOLDER / name).read_text(encoding="utf-8")):
        listed = {o["utterance"]: o["candidate-id"] for o in row.get("options-for-next", ())}
        context = [message["utterance"] for message in row["messages-so-far"]]
        ranking = _ranking(system, track, context, pool or listed)
        rankings.append((str(row["example-id"]), ranking))
    return submission_text(rankings)


def _ranking(
    system: str, track: Track, context: Sequence[str], ids: dict[str, Any]
) -> list[tuple[int | str, float]]:
    """Return the best candidates of a system with falling probabilities, and NONE if allowed."""
    if system == "random":
        dice = Dice("|".join(context))
        scores = [dice.share() for _ in ids]
    else:
        scores = _overlap(context, list(ids))
    scored = dict(zip(ids.values(), scores, strict=True))
    if track.has_none:
        scored["NONE"] = NONE_SCORE
    weights = {
        key: math.exp(3 * scored[key]) for key in sorted(scored, key=lambda key: -scored[key])
    }
    total = sum(weights.values())
    ranking = [(identity, round(weight / total, 6)) for identity, weight in weights.items()]
    return ranking[: RANKED + track.has_none]


def _overlap(context: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """Return the overlap of each candidate with the context in words, weighted by rarity."""
    spread = Counter(word for text in candidates for word in set(_words(text)))
    said, scores = set(_words(" ".join(context))), []
    for text in candidates:
        words = _words(text)
        shared = sum(math.log(1 + len(candidates) / spread[w]) for w in sorted(set(words) & said))
        scores.append(shared / math.sqrt(1 + len(words)))
    return scores


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "." else " " for c in text.lower()).split()
