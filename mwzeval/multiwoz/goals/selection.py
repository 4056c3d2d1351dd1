"""The goals of a live run, as one text says: `corpus`, `corpus-raw:dev`, `sampled:500`.

`corpus[:FOLD][:CHOICE]` are the goals of a fold (test, dev, train), each once. A `fail_info` for
which the database does find something is dropped: no honest system can say that there is nothing.
`corpus-raw` keeps it. CHOICE is the number of goals to take from the beginning, or ids with commas
between them; it stands in the text, and not in an option, so that whatever names the goals of a run
names its choice too. `sampled:N` are N goals drawn from the goal model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.files.downloads import DataRoot
from mwzeval.files.reading import expecting
from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.choices import FOLDS, SAMPLE, Fold, known_name
from mwzeval.multiwoz.goals.goal import (
    ORDERING,
    Goal,
    Records,
    annotated_goals,
    corpus_goals,
    satisfiable_failures,
    without,
)
from mwzeval.multiwoz.goals.model import PLACES, GoalModel, estimated_model, read_goal_model
from mwzeval.multiwoz.goals.words import goal_sentences

CORPUS, RAW, SAMPLED = "corpus", "corpus-raw", "sampled"
KINDS = (CORPUS, RAW, SAMPLED)
USE = "corpus[:FOLD][:NUMBER or IDS], corpus-raw (the same as annotated), sampled:NUMBER"
"""What can be asked for, for help and messages."""
MOST_SAMPLED = 1_000_000


@dataclass(frozen=True, slots=True)
class GoalSource:
    """Which goals are meant: the first `number` of a fold (None: all), or those of `ids`."""

    kind: str
    fold: Fold = "test"
    number: int | None = None
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind == SAMPLED:
            return f"{SAMPLED}:{self.number}"
        choice = ",".join(self.ids) or self.number
        return f"{self.kind}:{self.fold}" + ("" if choice is None else f":{choice}")


@dataclass(frozen=True, slots=True)
class RunGoals:
    """The goals of a run by id, in the order in which they are used.

    `messages` has the sentences of the corpus for those goals that are exactly as the sentences
    say. `sha` are 8 hexadecimal digits over ids and goals.
    """

    source: str
    goals: Mapping[str, Goal]
    messages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sha(self) -> str:
        """A checksum of the ids and goals."""
        text = json.dumps(list(self.goals.items()), separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def sentences(self, item: str) -> list[str]:
        """Return a goal in words: those of the corpus where they are exact, else our own."""
        return list(self.messages.get(item, ())) or goal_sentences(self.goals[item])


def parse_goal_source(text: str) -> GoalSource:
    """Return which goals a text means. Raises `UsageError` for what is no such text."""
    kind, *rest = text.split(":")
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS)
        raise UsageError(f'unknown goals "{shorten(text)}"{hint} (known: {USE})')
    if kind == SAMPLED:
        if len(rest) != 1:
            raise UsageError(f'goals "{shorten(text)}": say how many, such as {SAMPLED}:100')
        return GoalSource(kind, number=_count(rest[0], text))
    fold: Fold = "test"
    if rest and rest[0] in FOLDS:
        fold = known_name("fold", rest.pop(0), FOLDS)
    if not rest:
        return GoalSource(kind, fold)
    if len(rest) > 1 or not rest[0]:
        raise UsageError(f'goals "{shorten(text)}" are not understood (known: {USE})')
    choice = rest[0]
    if choice.lstrip("-").isdigit():
        return GoalSource(kind, fold, _count(choice, text))
    ids = dict.fromkeys(dialogue_id(name.strip()) for name in choice.split(",") if name.strip())
    return GoalSource(kind, fold, ids=tuple(ids))


def _count(text: str, whole: str) -> int:
    if not (
        text.isascii() and text.isdigit() and len(text) <= 7 and 1 <= int(text) <= MOST_SAMPLED
    ):
        raise UsageError(
            f'goals "{shorten(whole)}": a number from 1 to {MOST_SAMPLED:,} is expected, '
            f'not "{shorten(text)}"'
        )
    return int(text)


def select_goals(
    source: str | GoalSource,
    *,
    corpus: str,
    root: DataRoot,
    database: Records,
    seed: int = 0,
    refused_bookings: bool = False,
    goal_model: str | Path | None = None,
) -> RunGoals:
    """Return the goals that a source means, of a corpus whose files are in `root`.

    `seed` and `goal_model` (a file; default: the published one in the root) are for sampled goals;
    those of the sample corpus are drawn from a model of its own goals. With `refused_bookings`,
    goals have the `fail_book` that is annotated. Raises `UsageError` for goals that there are not,
    `DataError` for missing or bad files.
    """
    asked = parse_goal_source(source) if isinstance(source, str) else source
    if asked.kind == SAMPLED:
        place, plain = _goal_model(corpus, root, goal_model)
        with expecting("the domains, slots and values of the published goal model", str(place)):
            model = GoalModel(plain, database)
            assert asked.number is not None
            digits = max(4, len(str(asked.number)))
            drawn = {
                f"{SAMPLED}-{number:0{digits}}": model.sample(Random(f"{seed}/goal/{number}"))
                for number in range(1, asked.number + 1)
            }
            return RunGoals(str(asked), drawn)
    if goal_model is not None:
        raise UsageError(f"--goal-model is about sampled goals, such as {SAMPLED}:100")
    annotated = annotated_goals(corpus, asked.fold, root)
    goals, messages = {}, {}
    for name in chosen_names(asked, list(annotated)):
        goal = whole = annotated[name].goal
        if asked.kind == CORPUS:
            goal = without(goal, "fail_info", satisfiable_failures(goal, database))
        if not refused_bookings:
            goal = without(goal, "fail_book", goal[ORDERING])
        goals[name] = goal
        if goal == whole:
            messages[name] = annotated[name].message
    return RunGoals(str(asked), goals, messages)


def chosen_names(asked: GoalSource, names: list[str]) -> list[str]:
    """Return those of the names of a fold that are asked for. Raises `UsageError` for others."""
    unknown = [name for name in asked.ids if name not in set(names)]
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise UsageError(f'there is no dialogue "{shorten(unknown[0])}" in {asked.fold}{hint}')
    if asked.number is not None and asked.number > len(names):
        raise UsageError(
            f"{asked}: there are {len(names):,} goals in {asked.fold}, not {asked.number:,}"
        )
    return list(asked.ids) or names[: asked.number]


def _goal_model(
    corpus: str, root: DataRoot, file: str | Path | None
) -> tuple[str, Mapping[str, Any]]:
    """Return the model to draw from, and what to call it."""
    if file is None and corpus == SAMPLE:
        folds = (corpus_goals(corpus, fold, root).values() for fold in FOLDS)
        return "the goals of the sample", estimated_model(chain.from_iterable(folds))
    path = root.require(*PLACES) if file is None else Path(file)
    return str(path), read_goal_model(path)
