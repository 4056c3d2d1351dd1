"""Where the files of a track are: in a folder with their usual names, or embedded as a sample."""

from __future__ import annotations

from pathlib import Path

from mwzeval.dstc7.inputs import Gold
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.errors import DataError, UsageError
from mwzeval.files.resources import embedded

FOLDER = "dstc7"
SPLITS = ("test", "dev", "train")
SAMPLE_NOTE = "The sample's talks are invented: these are not scores on the data of DSTC7."
ENDINGS = ("", ".gz", ".zst")


def gold_in(folder: str | Path, track: Track, split: str = "test") -> Gold:
    """Return the gold data of a split in a folder, as far as they are there under usual names.

    These are, for subtask 1 of Ubuntu (5 uses the files of 1): `ubuntu_test_subtask_1.json`,
    `ubuntu_responses_subtask_1.tsv` (of the test split), and `ubuntu_subtask_2_candidates.tsv` for
    subtask 2; a test set of Advising has `_case1` or `_case2` before the ending. `.gz` and `.zst`
    may follow. Raises `UsageError` for an unknown split, `DataError` when nothing is there.
    """
    if split not in SPLITS:
        raise UsageError(f"a split is one of {', '.join(SPLITS)}, not {split}")
    base, dataset = Path(folder), track.dataset
    subtask = 1 if track.subtask == 5 else track.subtask
    is_test = split == "test"
    case = f"_{track.case}" if track.case and is_test else ""
    spoken = f"{dataset}_{split}_subtask_{subtask}{case}.json"
    answers = f"{dataset}_responses_subtask_{subtask}{case}.tsv"
    dialogues = _first(base, spoken)
    targets = _first(base, answers) if is_test else None
    if targets is None and (is_test or dialogues is None):
        wanted = answers if is_test else spoken
        raise DataError(f"{folder}: no {wanted} is there; --targets can name the right answers")
    pool = _first(base, f"{dataset}_subtask_2_candidates.tsv") if track.has_pool else None
    return Gold(targets, dialogues, pool)


def sample_gold(track: Track) -> Gold:
    """Return the gold data of the embedded sample."""
    base = Track(track.dataset, track.subtask)
    gold = gold_in(embedded(FOLDER), base)
    return Gold(gold.targets, gold.dialogues, gold.pool, is_sample=True)


def sample_submission(track: Track, system: str) -> Path:
    """Return the path of an example submission for the sample: system `overlap` or `random`."""
    base = Track(track.dataset, track.subtask)
    return embedded("predictions") / f"{FOLDER}-{system}" / base.file_name


def _first(folder: Path, name: str) -> Path | None:
    """Return the file with a name, perhaps compressed; None when there is none."""
    for ending in ENDINGS:
        path = folder / f"{name}{ending}"
        if path.is_file():
            return path
    return None
