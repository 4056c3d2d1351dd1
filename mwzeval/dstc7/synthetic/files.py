"""Synthetic examples as files, written one after the other, with ids as the track has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.reading.tracks import NONE, RANKED, Dataset, Track
from mwzeval.dstc7.synthetic.drafts import SPLITS, Draft, Drafter
from mwzeval.dstc7.synthetic.world import Recipe, World, course_info, course_of, man_pages, profile
from mwzeval.errors import UsageError
from mwzeval.files.writing import write_atomically, written_atomically

LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", dtype=np.uint8)
UBUNTU_LENGTH = 12
ADVISING_MODULUS = 999_999_937
"""A prime, so that multiplying by anything below it permutes the numbers below it."""

ADVISING_STEP = 618_033_988
UBUNTU_MODULUS = 2**61 - 1
UBUNTU_STEP = 1_141_592_653_589_793


def identities(dataset: Dataset, start: int, count: int) -> list[str] | list[int]:
    """Return so many ids from number `start` on; Ubuntu has text, Advising integers below 10⁹."""
    if dataset == "advising":
        numbers = range(start + 1, start + count + 1)
        return [number * ADVISING_STEP % ADVISING_MODULUS for number in numbers]
    scrambled = [
        number * UBUNTU_STEP % UBUNTU_MODULUS for number in range(start + 1, start + count + 1)
    ]
    digits = _digits(np.array(scrambled, dtype=np.uint64))
    text = LETTERS[digits].tobytes().decode("ascii")
    return [text[i : i + UBUNTU_LENGTH] for i in range(0, len(text), UBUNTU_LENGTH)]


def _digits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    powers = np.uint64(36) ** np.arange(UBUNTU_LENGTH, dtype=np.uint64)
    digits: NDArray[np.uint64] = (numbers[:, np.newaxis] // powers) % np.uint64(36)
    return digits


FIRST_ID = {"train": 1_000_000, "dev": 1_100_000, "test": 1_200_000}
ADVISING_OFFSET = 500_000
SPEAKERS = {"ubuntu": ("participant_1", "participant_2"), "advising": ("student", "advisor")}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many examples each split has; a split of none is not written.

    Raises `UsageError` for a number below 0.
    """

    train: int = 100_000
    dev: int = 5_000
    test: int = 1_000

    def __post_init__(self) -> None:
        for split, size in (("train", self.train), ("dev", self.dev), ("test", self.test)):
            if size < 0:
                raise UsageError(f"{split} cannot have {size} examples")


def write_track(
    folder: str | Path,
    track: Track,
    sizes: Sizes | None = None,
    recipe: Recipe | None = None,
    *,
    listed: int = RANKED,
    world: World | None = None,
) -> dict[str, Path]:
    """Write all files of a track into a folder that exists, and return them by what they are.

    Keys are `train`, `dev` and `test` (dialogues), `targets` (of test), and where the track has
    them `pool`, `paraphrases`, `courses` or `man_pages`. `listed` is how many candidates a list
    has; `world` saves time when it was made before, from the same recipe. The same arguments give
    the same bytes.
    """
    world = world or World(recipe)
    sizes = sizes or Sizes()
    base = Path(folder)
    drafter = Drafter(world, track, listed)
    writer = _Writer(world, track)
    file_subtask = 1 if track.subtask == 5 else track.subtask
    written: dict[str, Path] = {}
    groups: list[list[str]] = []
    for split in SPLITS:
        count = getattr(sizes, split)
        if not count:
            continue
        path = base / f"{track.dataset}_{split}_subtask_{file_subtask}.json"
        targets: list[str] = []
        with written_atomically(path) as stream:
            for number, draft in enumerate(drafter.drafts(split, count)):
                text, target = writer.example(draft, split, number)
                stream.write((("[\n" if number == 0 else ",\n") + text).encode())
                targets.append(target)
                if track.subtask == 3:
                    groups.append([draft.texts[place] for place in draft.right])
            stream.write(b"\n]\n")
        written[split] = path
        if split == "test":
            written["targets"] = base / f"{track.dataset}_responses_subtask_{file_subtask}.tsv"
            write_atomically(written["targets"], "".join(targets))
    if groups:
        written["paraphrases"] = base / f"{track.dataset}_paraphrases.json"
        write_atomically(written["paraphrases"], json.dumps(groups, indent=1) + "\n")
    written |= _other_files(base, track, world)
    return written


def _other_files(base: Path, track: Track, world: World) -> dict[str, Path]:
    if track.has_pool:
        path = base / f"{track.dataset}_subtask_2_candidates.tsv"
        ids = identities(track.dataset, 0, world.recipe.pool)
        pairs = zip(ids, world.texts, strict=True)
        write_atomically(path, "".join(f"{identity}\t{text}\n" for identity, text in pairs))
        return {"pool": path}
    if track.subtask != 5:
        return {}
    if track.dataset == "advising":
        path = base / "course-info.json"
        write_atomically(path, json.dumps(course_info(world), indent=1) + "\n")
        return {"courses": path}
    path = base / "man_pages.jsonl"
    write_atomically(path, "".join(json.dumps(page) + "\n" for page in man_pages(world)))
    return {"man_pages": path}


class _Writer:
    """Turns drafts into JSON text; ids run on through all splits."""

    def __init__(self, world: World, track: Track) -> None:
        self._world = world
        self._track = track
        self._pool_ids = identities(track.dataset, 0, world.recipe.pool) if track.has_pool else []

    def example(self, draft: Draft, split: str, number: int) -> tuple[str, str]:
        """Return the JSON of an example, and its line in the targets."""
        track = self._track
        offset = ADVISING_OFFSET if track.dataset == "advising" else 0
        example = FIRST_ID[split] + offset + 1 + number
        speakers = SPEAKERS[track.dataset]
        parts: dict[str, Any] = {
            "data-split": split,
            "example-id": example,
            "messages-so-far": [
                {"speaker": speakers[place % 2], "utterance": self._said(draft, place)}
                for place in range(len(draft.messages))
            ],
        }
        if track.dataset == "advising":
            generator = np.random.default_rng([self._world.recipe.seed, example])
            parts["profile"] = profile(generator, with_preferences=split != "test")
        options, right = self._options(draft, split, number)
        if split != "test":
            parts["options-for-correct-answers"] = right
        if not track.has_pool:
            parts["options-for-next"] = options
        parts["scenario"] = 1 if track.subtask == 5 else track.subtask
        ids = ",".join(str(option["candidate-id"]) for option in right) or NONE
        texts = " / ".join(str(option["utterance"]) for option in right) or NONE
        return _indented(parts), f"{example}\t{ids}\t{texts}\n"

    def _said(self, draft: Draft, place: int) -> str:
        """Return a message; in subtask 5 the last one names what can be looked up."""
        text = draft.messages[place]
        if self._track.subtask == 5 and place == len(draft.messages) - 1:
            return f"{text} {course_of(self._world, self._track.dataset, draft.topic)}"
        return text

    def _options(
        self, draft: Draft, split: str, number: int
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        if self._track.has_pool:
            identity, text = self._pool_ids[draft.answer], self._world.texts[draft.answer]
            return [], [{"candidate-id": identity, "utterance": text}]
        # So that ids differ between splits and lists.
        start = (number * len(SPLITS) + SPLITS.index(split)) * RANKED * 2
        ids = identities(self._track.dataset, start, len(draft.texts))
        options = [
            {"candidate-id": identity, "utterance": text}
            for identity, text in zip(ids, draft.texts, strict=True)
        ]
        return options, [options[place] for place in draft.right]


def _indented(parts: dict[str, Any]) -> str:
    """Return an object as the public files look, an entry a line."""
    lines = list(_lines(parts))
    return "    {\n" + ",\n".join(lines) + "\n    }"


def _lines(parts: dict[str, Any]) -> Iterator[str]:
    for key, value in parts.items():
        if isinstance(value, list) and value:
            items = ",\n".join(map(_entry, value))
            yield f'        "{key}": [\n{items}\n        ]'
        else:
            yield f'        "{key}": {json.dumps(value)}'


def _entry(item: dict[str, Any]) -> str:
    # By hand, because json.dumps with an indent is ten times as slow.
    indent = " " * 16
    members = ",\n".join(f'{indent}"{key}": {json.dumps(value)}' for key, value in item.items())
    return f"            {{\n{members}\n            }}"
