"""The samples of DSTC7 track 1: examples of all subtasks, and the submissions of two systems."""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.reading.submission import submission_text
from mwzeval.dstc7.reading.tracks import SUBTASKS, Dataset, Track
from mwzeval.dstc7.synthetic.files import SPEAKERS, identities
from tools.samples.dice import Dice
from tools.samples.text import array_text, indented_text, read_lists

PHRASES = read_lists(Path(__file__).with_suffix(".tsv"))
FOLDER = "data/dstc7"
SEED, MOST_IDS = 77, 2000
SIZES = {"dev": 6, "test": 10}
FIRST = {("ubuntu", "dev"): 9_100_001, ("ubuntu", "test"): 9_200_001,
         ("advising", "dev"): 9_600_001, ("advising", "test"): 9_700_001}  # fmt: skip
POOL, LISTED, HARD = 300, 100, 8
NONE_EVERY = 5
"""In subtask 4 no candidate is right in every fifth example."""
NONE_SCORE = 0.9
SYSTEMS = ("overlap", "random")
TERM = {"Semester": "Fall", "Year": 2016}
TEACHER = "Ada Example"
PROFILE = {
    "Courses": {
        "Prior": [{"offering": "EECS183-WN16", "instructor": TEACHER}],
        "Suggested": [{"offering": "EECS280-FA16", "instructor": "Ben Sample"}],
    },
    "Term": TERM,
    "Standing": "Sophomore",
}
PREFERENCES = {"Aggregated": {"Workload": {"1-2": 0.25, "3-4": 0.75}}}


@dataclass(frozen=True)
class Example:
    """An example without ids: messages, candidates, and the right ones."""

    messages: Sequence[str]
    candidates: Sequence[str]
    right: Sequence[str]


class Talk:
    """What people say in a data set. Each topic has openings, replies, follow-ups and answers."""

    def __init__(self, dataset: Dataset) -> None:
        lists = {key: texts for (name, key), texts in PHRASES.items() if name == dataset}
        self.topics = sorted({key.split()[0] for key in lists if key[0].isdigit()})
        self.lists = lists
        self.fillers = {
            key: texts for key, texts in lists.items() if key != "short" and key.isalpha()
        }
        answers = [answer for topic in self.topics for answer in lists[f"{topic} answers"]]
        fillings = (text for answer in answers for text in self._fillings(answer))
        self.sentences = list(dict.fromkeys((*lists["short"], *fillings)))

    def _fillings(self, template: str) -> Iterator[str]:
        names = sorted(set(re.findall(r"\{(\w+)\}", template)))
        for values in itertools.product(*(self.fillers[name] for name in names)):
            yield template.format_map(dict(zip(names, values, strict=True)))

    def example(self, subtask: int, number: int, dice: Dice) -> Example:
        """Return the example of a number in its file."""

        def values() -> dict[str, str]:
            return {name: dice.pick(choices) for name, choices in self.fillers.items()}

        def answer(topic: str, filling: Mapping[str, str] | None = None) -> str:
            template = dice.pick(self.lists[f"{topic} answers"])
            return template.format_map(filling or values())

        topic = dice.pick(self.topics)
        filling = values()
        answers = [text.format_map(filling) for text in self.lists[f"{topic} answers"]]
        right = answers if subtask == 3 else [dice.pick(answers)]
        # Wrong answers are about the same thing, about the same topic, or about anything.
        hard = [answer(other, filling) for other in self.topics if other != topic]
        hard += [answer(topic) for _ in range(HARD)]
        hard = [text for text in dict.fromkeys(hard) if text not in answers][:HARD]
        rest = [text for text in self.sentences if text not in answers and text not in hard]
        wrong = hard + dice.shuffled(rest)[:LISTED]
        if subtask == 4 and number % NONE_EVERY == 1:
            right = []
        candidates = dice.shuffled([*right, *wrong][:LISTED])
        parts = ("openings", "replies", "follow ups")
        said = [dice.pick(self.lists[f"{topic} {part}"]) for part in parts]
        if dice.chance(0.4):
            said += ["hold on.. looking", "take your time"]
        return Example([text.format_map(filling) for text in said], candidates, right)


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    written: dict[str, str] = {}
    talks = {dataset: Talk(dataset) for dataset in SUBTASKS}
    for dataset, talk in talks.items():
        for subtask in SUBTASKS[dataset]:
            # Subtask 5 is subtask 1 with additional knowledge.
            if subtask != 5:
                written |= _track(Track(dataset, subtask), talk)
    pages = [
        {"name": name, "section": "1", "text": f"{name} - a made-up page about {name}"}
        for name in talks["ubuntu"].fillers["package"]
    ]
    advising = talks["advising"]
    groups = [advising.lists[f"{topic} answers"] for topic in advising.topics]
    return written | {
        f"{FOLDER}/man_pages.jsonl": "".join(json.dumps(page) + "\n" for page in pages),
        f"{FOLDER}/course-info.json": indented_text(_courses(advising)),
        f"{FOLDER}/advising_paraphrases.json": indented_text(groups),
    }


def _track(track: Track, talk: Talk) -> dict[str, str]:
    dataset, dice = track.dataset, Dice(f"{SEED} {track.name}")
    examples = {
        split: [talk.example(track.subtask, number, dice) for number in range(size)]
        for split, size in SIZES.items()
    }
    unused: Iterator[int | str] = iter(identities(dataset, 0, MOST_IDS))
    written, pool = {}, dict[str, int | str]()
    if track.has_pool:
        texts = dice.shuffled(talk.sentences)[:POOL]
        texts += [example.right[0] for drawn in examples.values() for example in drawn]
        pool = dict(zip(sorted(dict.fromkeys(texts)), unused, strict=False))
        lines = "".join(f"{identity}\t{text}\n" for text, identity in pool.items())
        written[f"{FOLDER}/{dataset}_subtask_2_candidates.tsv"] = lines
    for split, drawn in examples.items():
        rows, targets = [], ""
        rankings: dict[str, list[Any]] = {system: [] for system in SYSTEMS}
        for number, example in enumerate(drawn, FIRST[dataset, split]):
            ids = pool or dict(zip(example.candidates, unused, strict=False))
            rows.append(_row(track, split, number, example, ids))
            right = ",".join(str(ids[text]) for text in example.right) or "NONE"
            targets += f"{number}\t{right}\t{' / '.join(example.right) or 'NONE'}\n"
            for system, ranked in rankings.items():
                ranked.append((str(number), _ranking(system, track, example.messages, ids)))
        written[f"{FOLDER}/{dataset}_{split}_subtask_{track.subtask}.json"] = array_text(rows)
    # Targets and submissions are of the test examples, the last ones.
    written[f"{FOLDER}/{dataset}_responses_subtask_{track.subtask}.tsv"] = targets
    for system, ranked in rankings.items():
        # Submissions of subtask 1 are those of subtask 5 as well.
        for same in [track, Track(dataset, 5)] if track.subtask == 1 else [track]:
            written[f"predictions/dstc7-{system}/{same.file_name}"] = submission_text(ranked)
    return written


def _row(
    track: Track, split: str, number: int, example: Example, ids: Mapping[str, int | str]
) -> dict[str, Any]:
    def options(texts: Sequence[str]) -> list[dict[str, Any]]:
        return [{"candidate-id": ids[text], "utterance": text} for text in texts]

    speakers = itertools.cycle(SPEAKERS[track.dataset])
    messages = [
        {"speaker": speaker, "utterance": text}
        for text, speaker in zip(example.messages, speakers, strict=False)
    ]
    row = {"data-split": split, "example-id": number, "messages-so-far": messages}
    if track.dataset == "advising":
        row["profile"] = PROFILE if split == "test" else PROFILE | PREFERENCES
    if split != "test":
        row["options-for-correct-answers"] = options(example.right)
    if not track.has_pool:
        row["options-for-next"] = options(example.candidates)
    return row | {"scenario": track.subtask}


def _ranking(
    system: str, track: Track, context: Sequence[str], ids: Mapping[str, int | str]
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
    return ranking[: LISTED + track.has_none]


def _overlap(context: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """Return how many words each candidate shares with the context, weighted by rarity."""
    spread = Counter(word for text in candidates for word in set(_words(text)))
    said, scores = set(_words(" ".join(context))), []
    for text in candidates:
        words = _words(text)
        shared = sum(math.log(1 + len(candidates) / spread[w]) for w in sorted(set(words) & said))
        scores.append(shared / math.sqrt(1 + len(words)))
    return scores


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "." else " " for c in text.lower()).split()


def _courses(talk: Talk) -> dict[str, Any]:
    return {
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
                TEACHER: {
                    "DaysOfClass": ["Mon", "Wed"] if number % 2 else "",
                    "StartTime": "10:30:00" if number % 2 else "NA",
                    "EndTime": "12:00:00" if number % 2 else "0:00:00",
                }
            },
        }
        for number, course in enumerate((*talk.fillers["course"], *talk.fillers["other"]))
    }
