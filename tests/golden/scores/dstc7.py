"""Every metric of DSTC7 track 1 on the embedded examples, with and without old defects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mwzeval.dstc7.dialogues import read_targets
from mwzeval.dstc7.evaluation import evaluate
from mwzeval.dstc7.loading import sample_gold
from mwzeval.dstc7.submission import Ranked, write_submission
from mwzeval.dstc7.tracks import NONE, TRACK_NAMES, Options, Track, track_of
from tests.dstc7.cases import sample_submission
from tests.golden.recorded import Cases, Groups, by_signature
from tests.places import read_json

OPTIONS = {
    "official": Options(),
    "by confidence": Options(order="confidence"),
    "as in 2018": Options(compat="2018"),
    "F-score": Options(metric="fscore"),
    "F-score of a half": Options(metric="fscore", coverage=0.5),
}


def current() -> Cases:
    """Return track, submission and options → signature → name → value."""
    cases: dict[str, Groups] = {}
    with TemporaryDirectory() as folder:
        for name in TRACK_NAMES:
            track = track_of(name)
            gold = sample_gold(track)
            for system, file in _submissions(track, Path(folder)):
                for how, options in OPTIONS.items():
                    scored = evaluate(file, gold, track, options).scored_table
                    cases[f"{name}, {system}, {how}"] = by_signature(scored.scores())
    return cases


def _submissions(track: Track, folder: Path) -> Iterator[tuple[str, Path]]:
    for system in ("overlap", "random"):
        yield system, sample_submission(track, system)
    file = folder / track.file_name
    write_submission(file, _damaged(track))
    yield "damaged", file


def _damaged(track: Track) -> Iterator[Ranked]:
    """Yield rankings with repeats, few candidates, or NONE first; one example in five is missing.

    Some rankings have the right answer after 100 copies of a candidate (a defect in 2018).
    """
    targets_file = sample_gold(track).targets
    assert targets_file is not None
    targets = read_targets(targets_file)
    plain: list[dict[str, Any]] = read_json(sample_submission(track, "overlap"))
    for number, example in enumerate(plain):
        identity = str(example["example-id"])
        ids = [candidate["candidate-id"] for candidate in example["candidate-ranking"]]
        right = targets[identity]
        match number % 5:
            case 0:
                ids = [ids[0] if ids[0] not in right else ids[1]] * 100 + [right[-1]]
            case 1:
                ids = [*ids[5::-1], *right, ids[0], *right]
            case 2:
                ids = [NONE, *(candidate for candidate in ids[::-1] if candidate != NONE)]
            case 3:
                ids = [*ids[:3], right[0], *ids[3:9]]
            case _:
                continue
        confident = [(candidate, (7 * place % 10) / 1000) for place, candidate in enumerate(ids)]
        yield Ranked(identity, confident)
