"""What an NLU learns from: utterances with their context, tags of characters, acts of sentences.

Values of Inform and Recommend acts that stand in an utterance are tagged character by character
(B and I); all other acts are classes of the whole utterance.
Source: BERTNLU of Zhu et al., TACL 2020, section 5.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, SEPARATOR, Act, Acts, parse_act
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.file_shapes import ShapeError, checked_acts, is_texts
from mwzeval.crosswoz.corpus.names import NOTHING
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Side
from mwzeval.neural.training import TrainingSettings


@dataclass(frozen=True, slots=True)
class NluSettings(TrainingSettings):
    """Choices of a training run. Raises `UsageError` for what cannot be."""

    embedding: int = 64
    """Numbers that a character is turned into (character tagger only)."""
    hidden: int = 96
    """Width of a direction of the recurrent layer (character tagger only)."""
    dropout: float = 0.2
    """Share of inputs that are left out at random."""
    learning_rate: float = 0.004
    """Of Adam; for BERT 3e-5 is usual."""
    batch_size: int = 32
    """Utterances of a step."""
    epochs: int = 8
    """Passes over the training dialogues."""
    seed: int = 2019
    """Of first weights, order and dropout."""
    longest: int = 160
    """Characters of an utterance, and of its context, that are read."""
    context: bool = True
    """Read the utterances before one, too."""
    varied: float = 0.5
    """Share of values that are replaced by others of their slot, anew in each epoch."""


CONTEXT = 3
"""How many utterances before one belong to it."""
OUTSIDE = "O"
BEGIN, INSIDE = "B-", "I-"


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance of one side, and those before it, oldest first."""

    text: str
    context: tuple[str, ...]
    side: Side


@dataclass(frozen=True, slots=True)
class Example:
    """An utterance with its acts: the tag of each character, and the classes of the whole."""

    utterance: Utterance
    tags: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """The tags and classes that a model knows, each numbered by its place."""

    tags: tuple[str, ...]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Labels:
        """Return the labels of training examples."""
        kinds = {tag[len(BEGIN) :] for example in examples for tag in example.tags if tag[1:]}
        tags = [OUTSIDE, *(mark + kind for kind in sorted(kinds) for mark in (BEGIN, INSIDE))]
        classes = {spelling for example in examples for spelling in example.classes}
        return cls(tuple(tags), tuple(sorted(classes)))

    @classmethod
    def checked(cls, tags: Any, classes: Any) -> Labels:
        """Return the labels that a file has. Raises `ShapeError` for what are none."""
        if not is_texts(tags) or OUTSIDE not in tags or not all(map(_is_tag, tags)):
            raise ShapeError(f"tags: expected {OUTSIDE}, and B and I of intent+domain+slot")
        if len(set(tags)) < len(tags):
            raise ShapeError("tags: one comes more than once")
        return cls(tuple(tags), checked_acts(classes))

    def acts(self, text: str, tags: Sequence[int], classes: Iterable[int]) -> Acts:
        """Return the acts of an utterance by the numbers of its tags and classes, in order."""
        acts = {parse_act(self.classes[number]) for number in classes}
        for start, end, kind in spans([self.tags[number] for number in tags]):
            acts.add(parse_act([*kind.split(SEPARATOR, 2), text[start:end]]))
        return tuple(sorted(acts))


def utterances(dialogue: Dialogue) -> list[tuple[Utterance, Acts]]:
    """Return the utterances of a dialogue with their context and gold acts."""
    said: list[str] = []
    found = []
    for exchange in dialogue.exchanges:
        for side, turn in ((USER, exchange.user), (SYSTEM, exchange.system)):
            found.append((Utterance(turn.utterance, tuple(said[-CONTEXT:]), side), turn.acts))
            said.append(turn.utterance)
    return found


def examples_of(dialogues: Iterable[Dialogue]) -> list[Example]:
    """Return the examples of dialogues, one an utterance."""
    return [
        example_of(utterance, acts)
        for dialogue in dialogues
        for utterance, acts in utterances(dialogue)
    ]


def example_of(utterance: Utterance, acts: Acts) -> Example:
    """Return an utterance with the labels of its acts.

    A value that is not there cannot be learned and is left out; of values inside each other the
    longest is tagged.
    """
    text = lowered(utterance.text)
    tags = [OUTSIDE] * len(text)
    classes = []
    for act in sorted(acts, key=lambda act: -len(act.value)):
        if not is_tagged(act):
            classes.append(str(act))
            continue
        value, kind = lowered(act.value), SEPARATOR.join(act[:3])
        start = text.find(value)
        while start >= 0:
            end = start + len(value)
            if all(tag == OUTSIDE for tag in tags[start:end]):
                tags[start:end] = [BEGIN + kind, *[INSIDE + kind] * (len(value) - 1)]
                break
            start = text.find(value, start + 1)
    return Example(utterance, tuple(tags), tuple(sorted(classes)))


def is_tagged(act: Act) -> bool:
    """Tell whether an act is found by its value, not as a class."""
    sayable = act.intent in (INFORM, RECOMMEND) and not act.is_service
    return sayable and act.value not in ("", NOTHING)


def lowered(text: str) -> str:
    """Return a text in lower case, character by character: as long as before."""
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def class_weights(examples: Sequence[Example], labels: Labels) -> list[float]:
    """Return how much a positive case of each class counts: log10(negative / positive), 1 at least.

    Source: the public code of BERTNLU.
    """
    from math import log10

    counts = Counter(spelling for example in examples for spelling in example.classes)
    return [
        max(1.0, log10((len(examples) - counts[name]) / counts[name]))
        if counts[name] < len(examples)
        else 1.0
        for name in labels.classes
    ]


def _is_tag(tag: str) -> bool:
    return tag == OUTSIDE or (tag.startswith((BEGIN, INSIDE)) and tag.count(SEPARATOR) == 2)


def spans(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where tagged values begin and end, and their kind: intent, domain and slot.

    An I that goes on nothing begins a value, too.
    """
    start, kind = 0, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        if kind and tag != INSIDE + kind:
            yield start, place, kind
            kind = ""
        if not kind and tag != OUTSIDE:
            start, kind = place, tag[len(BEGIN) :]
