"""Write synthetic DSTC7 data of full size: `python -m benchmarks.dstc7_data FOLDER`.

Each of 400 topics has words for contexts and other words for replies, so that models can learn
their relation. Contexts also share some words with the right reply, so that a search engine finds
some of the replies. Frequencies and lengths of words are those of the Ubuntu data, and a few very
short replies are repeated often. The same seed gives the same bytes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

COMMON, TOPICS, TOPIC_WORDS, SHORT, HARD, LISTED, LONGEST = 300, 400, 30, 40, 10, 100, 70
"""Common words, topics, words per topic, short replies, hard replies, candidates, most words."""
SEED = 7
FIRST_ID = {"train": 1_000_000, "dev": 1_100_000, "test": 1_200_000}
SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvwyz" for vowel in "aeiou"]
BASE = len(SYLLABLES)


class World:
    """Topics, and the pool of replies."""

    def __init__(self, pool: int = 120_000, words: int = 60_000) -> None:
        self.pool = pool
        d = np.random.default_rng([SEED, 0])
        made: list[str] = []
        for count in range(1, 9):
            size = min(words - len(made), BASE**count)
            numbers = d.choice(BASE**count, size, replace=False) if size else []
            digits = [[n // BASE**i % BASE for i in range(count)] for n in numbers]
            made += ["".join(SYLLABLES[digit] for digit in word) for word in digits]
        self.words = np.array(made, dtype=object)
        frequency = np.arange(1, words + 1, dtype=np.float64) ** -1.05
        self.cumulative = np.cumsum(frequency) / frequency.sum()
        rare = np.arange(COMMON, words)
        self.of_context, self.of_reply = (d.choice(rare, (TOPICS, TOPIC_WORDS)) for _ in range(2))
        self.topic = d.integers(0, TOPICS, pool)
        sizes = lengths(d, pool, 2.15, 0.75)
        drawn = self.draw(d, total := int(sizes.sum()))
        topical = d.random(total) < 0.2
        topics = np.repeat(self.topic, sizes)[topical]
        drawn[topical] = self.of_reply[topics, d.integers(0, TOPIC_WORDS, len(topics))]
        self.replies = np.split(drawn, np.cumsum(sizes)[:-1])
        short = [self.draw(d, 1 + number % 2) for number in range(SHORT)]
        for place in np.flatnonzero(d.random(pool) < 0.05):
            self.replies[place] = short[int(d.integers(SHORT))]
        self.texts = [" ".join(self.words[reply]) for reply in self.replies]
        starts = np.cumsum(np.bincount(self.topic, minlength=TOPICS))[:-1]
        self.same_topic = np.split(np.argsort(self.topic, kind="stable"), starts)
        # Word → replies with the word, for all words that are not common.
        all_words = np.concatenate(self.replies)
        owners = np.repeat(np.arange(pool), list(map(len, self.replies)))
        order = np.flatnonzero(all_words >= COMMON)
        order = order[np.argsort(all_words[order], kind="stable")]
        keys, starts = np.unique(all_words[order], return_index=True)
        self.having = dict(zip(keys.tolist(), np.split(owners[order], starts[1:]), strict=True))

    def draw(self, d: np.random.Generator, count: int) -> np.ndarray:
        """Return words with Zipf's frequencies."""
        return np.searchsorted(self.cumulative[:-1], d.random(count), side="right")

    def example(self, split: str, number: int) -> tuple[dict[str, Any], dict[str, str]]:
        """Return an example and the index of its right candidate."""
        place_of_split = list(FIRST_ID).index(split)
        d = np.random.default_rng([SEED, 1 + place_of_split, number])
        answer = int(d.integers(self.pool))
        sizes = lengths(d, 2 * int(lengths(d, 1, 0.9, 0.75, 21)[0]) + 1, 2.48, 0.72)
        words = self.draw(d, total := int(sizes.sum()))
        kind = d.random(total)
        topical, shared = kind < 0.1, kind > 1 - 0.02
        words[topical] = self.of_context[
            self.topic[answer], d.integers(0, TOPIC_WORDS, int(topical.sum()))
        ]
        words[shared] = d.choice(self.replies[answer], int(shared.sum()))
        chosen = dict.fromkeys(d.choice(self.same_topic[self.topic[answer]], HARD // 2).tolist())
        for word in d.permutation(words[words >= COMMON])[:HARD].tolist():
            if len(chosen) < HARD and word in self.having:
                chosen[int(d.choice(self.having[word]))] = None
        chosen.pop(answer, None)
        while len(chosen) < LISTED - 1:
            drawn = d.integers(0, self.pool, LISTED - 1).tolist()
            chosen |= dict.fromkeys(place for place in drawn if place != answer)
        offered = [answer, *list(chosen)[: LISTED - 1]]
        replies = [offered[place] for place in d.permutation(LISTED)]
        # Twelve digits, which are unique because the factor is odd.
        first = 1 + (number * len(FIRST_ID) + place_of_split) * LISTED
        options = [
            {"candidate-id": f"{n * 0x40E4C6F4E8A21 % 2**48:012X}", "utterance": self.texts[place]}
            for n, place in enumerate(replies, start=first)
        ]
        messages = [
            {"speaker": f"participant_{1 + place % 2}", "utterance": " ".join(self.words[said])}
            for place, said in enumerate(np.split(words, np.cumsum(sizes)[:-1]))
        ]
        example = {
            "data-split": split,
            "example-id": FIRST_ID[split] + 1 + number,
            "messages-so-far": messages,
            "options-for-next": options,
        }
        return example, options[replies.index(answer)]


def lengths(
    d: np.random.Generator, count: int, mean: float, deviation: float, longest: int = LONGEST
) -> np.ndarray:
    """Draw log-normal numbers of words."""
    return np.clip(np.rint(d.lognormal(mean, deviation, count)), 1, longest).astype(np.int64)


def write(folder: Path, sizes: dict[str, int], world: World) -> dict[str, Path]:
    """Write Ubuntu subtask 1; return the files of the splits, and `targets` of the last split."""
    files = {split: folder / f"ubuntu_{split}_subtask_1.json" for split in sizes}
    files["targets"] = folder / "ubuntu_responses_subtask_1.tsv"
    for split, size in sizes.items():
        targets = []
        with files[split].open("w", encoding="utf-8") as stream:
            for number in range(size):
                example, right = world.example(split, number)
                targets.append(f"{example['example-id']}\t{right['candidate-id']}\n")
                if split != "test":
                    example["options-for-correct-answers"] = [right]
                stream.write(f"{',' if number else '['}\n{json.dumps(example)}")
            stream.write("\n]\n")
        files["targets"].write_text("".join(targets), encoding="utf-8")
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1]), {"train": 100_000, "dev": 5_000, "test": 1_000}, World())
