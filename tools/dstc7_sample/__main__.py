"""Write the DSTC7 sample and its submissions: `python -m tools.dstc7_sample`."""

import json
from collections.abc import Sequence
from typing import Any

from mwzeval.dstc7.reading.submission import submission_text
from mwzeval.dstc7.reading.tracks import SUBTASKS, Dataset, Track
from mwzeval.dstc7.synthetic.files import identities
from tools.dice import Dice
from tools.dstc7_sample.examples import Made, make, sentences
from tools.dstc7_sample.systems import SYSTEMS, ranked
from tools.dstc7_sample.talk import ADVISING, UBUNTU
from tools.files import array_text, indented_text, write

SEED = 77
SIZES = {"dev": 6, "test": 10}
FIRST = {("ubuntu", "dev"): 9_100_001, ("ubuntu", "test"): 9_200_001}
FIRST |= {("advising", "dev"): 9_600_001, ("advising", "test"): 9_700_001}
POOL = 300
TALKS = {"ubuntu": UBUNTU, "advising": ADVISING}
SPEAKERS = {"ubuntu": ("participant_1", "participant_2"), "advising": ("student", "advisor")}
TERM = {"Semester": "Fall", "Year": 2016}


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    written: dict[str, str] = {}
    for dataset, subtasks in SUBTASKS.items():
        for subtask in subtasks:
            # Subtask 5 is subtask 1 with more to look at.
            written |= _knowledge(dataset) if subtask == 5 else _track(Track(dataset, subtask))
    return written


def _track(track: Track) -> dict[str, str]:
    written: dict[str, str] = {}
    dataset, talk = track.dataset, TALKS[track.dataset]
    folder = "data/dstc7"
    dice = Dice(f"{SEED} {track.name}")
    numbering = _Numbering(dataset)
    made = {
        split: [make(talk, track.subtask, number, dice) for number in range(size)]
        for split, size in SIZES.items()
    }
    pool: dict[str, int | str] = {}
    if track.has_pool:
        texts = dice.sample(sentences(talk), POOL)
        texts += [each.right[0] for drawn in made.values() for each in drawn]
        texts = sorted(dict.fromkeys(texts))
        pool = dict(zip(texts, numbering.next(len(texts)), strict=True))
        lines = "".join(f"{identity}\t{text}\n" for text, identity in pool.items())
        written[f"{folder}/{dataset}_subtask_2_candidates.tsv"] = lines
    for split, drawn in made.items():
        plain, targets, offers = [], [], []
        for number, each in enumerate(drawn):
            ids = pool or dict(zip(each.offered, numbering.next(len(each.offered)), strict=True))
            example = FIRST[dataset, split] + number
            plain.append(_example(track, split, example, each, ids))
            right = [str(ids[text]) for text in each.right] or ["NONE"]
            texts = list(each.right) or ["NONE"]
            targets.append(f"{example}\t{','.join(right)}\t{' / '.join(texts)}\n")
            offers.append((example, each, ids))
        name = f"{folder}/{dataset}_{split}_subtask_{track.subtask}.json"
        written[name] = array_text(plain)
        if split == "test":
            written[f"{folder}/{dataset}_responses_subtask_{track.subtask}.tsv"] = "".join(targets)
            written |= _submissions(track, offers)
    return written


def _example(
    track: Track, split: str, example: int, made: Made, ids: dict[str, Any]
) -> dict[str, Any]:
    speakers = SPEAKERS[track.dataset]
    plain: dict[str, Any] = {
        "data-split": split,
        "example-id": example,
        "messages-so-far": [
            {"speaker": speakers[place % 2], "utterance": text}
            for place, text in enumerate(made.messages)
        ],
    }
    if track.dataset == "advising":
        plain["profile"] = _profile(split)
    if split != "test":
        plain["options-for-correct-answers"] = _options(made.right, ids)
    if not track.has_pool:
        plain["options-for-next"] = _options(made.offered, ids)
    return plain | {"scenario": track.subtask}


def _options(texts: Sequence[str], ids: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"candidate-id": ids[text], "utterance": text} for text in texts]


def _profile(split: str) -> dict[str, Any]:
    profile: dict[str, Any] = {
        "Courses": {
            "Prior": [{"offering": "EECS183-WN16", "instructor": "Ada Example"}],
            "Suggested": [{"offering": "EECS280-FA16", "instructor": "Ben Sample"}],
        },
        "Term": TERM,
        "Standing": "Sophomore",
    }
    if split != "test":
        profile["Aggregated"] = {"Workload": {"1-2": 0.25, "3-4": 0.75}}
    return profile


def _submissions(
    track: Track, offers: Sequence[tuple[int, Made, dict[str, Any]]]
) -> dict[str, str]:
    """Return the submission of each system; those of subtask 1 are handed in for 5 as well."""
    written = {}
    tracks = [track, Track(track.dataset, 5)] if track.subtask == 1 else [track]
    for system, score in SYSTEMS.items():
        rankings = []
        for example, made, ids in offers:
            texts = list(ids)
            most = 101 if track.has_none else 100
            scores = score(made.messages, texts)
            best = ranked([ids[t] for t in texts], scores, most=most, none=track.has_none)
            rankings.append((str(example), best))
        for named in tracks:
            written[f"predictions/dstc7-{system}/{named.file_name}"] = submission_text(rankings)
    return written


def _knowledge(dataset: Dataset) -> dict[str, str]:
    if dataset == "ubuntu":
        pages = (
            {"name": name, "section": "1", "text": f"{name} - a made-up page about {name}"}
            for name in UBUNTU.fillers["package"]
        )
        return {"data/dstc7/man_pages.jsonl": "".join(json.dumps(page) + "\n" for page in pages)}
    courses = (*ADVISING.fillers["course"], *ADVISING.fillers["other"])
    info = {
        f"{course}-FA16": {
            "Course": course,
            "CourseTitle": f"Made-up Course {number}",
            "Description": f"What {course} is about, in the words of nobody.",
            "Credits": "1 - 3" if number % 3 == 0 else 4,
            "ClarityRating": 4.2 if number % 4 == 0 else "NA",
            "EasinessRating": "NA",
            "ClassSize": 120 if number % 4 == 1 else "NA",
            "HasLab": "Y" if number % 2 else "N",
            "HasDiscussion": None,
            "Workload": 1 + number % 4,
            **TERM,
            "Section": {
                "Ada Example": {
                    "DaysOfClass": ["Mon", "Wed"] if number % 2 else "",
                    "StartTime": "10:30:00" if number % 2 else "NA",
                    "EndTime": "12:00:00" if number % 2 else "0:00:00",
                }
            },
        }
        for number, course in enumerate(courses)
    }
    groups = [list(topic.answers) for topic in ADVISING.topics]
    return {
        "data/dstc7/course-info.json": indented_text(info),
        "data/dstc7/advising_paraphrases.json": indented_text(groups),
    }


class _Numbering:
    """Gives out ids of a dataset, all different."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._used = 0

    def next(self, count: int) -> Sequence[int | str]:
        """Return so many new ids."""
        given: Sequence[int | str] = identities(self._dataset, self._used, count)
        self._used += count
        return given


if __name__ == "__main__":
    write(files(), __doc__)
