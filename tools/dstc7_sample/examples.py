"""Examples of the DSTC7 fixtures: a talk up to some point, and what may be said next."""

from collections.abc import Iterator
from dataclasses import dataclass
from string import Formatter

from tools.dice import Dice
from tools.dstc7_sample.talk import Talk, Topic

LISTED = 100
HARD = 8
NONE_EVERY = 5
"""In subtask 4 nothing offered is right in every fifth example."""


@dataclass(frozen=True)
class Made:
    """An example before it has ids: messages, offered texts, and which of them are right."""

    messages: tuple[str, ...]
    offered: tuple[str, ...]
    right: tuple[str, ...]


def filled(template: str, values: dict[str, str]) -> str:
    """Return a sentence with its braces filled."""
    return template.format_map(values)


def values_of(talk: Talk, dice: Dice) -> dict[str, str]:
    """Return one choice of what fills the braces."""
    return {name: dice.pick(choices) for name, choices in talk.fillers.items()}


def sentences(talk: Talk) -> list[str]:
    """Return every answer that anybody may give, in a fixed order, short ones as well."""
    found = list(talk.short)
    for topic in talk.topics:
        for answer in topic.answers:
            found += _all_fillings(answer, talk)
    return list(dict.fromkeys(found))


def _all_fillings(template: str, talk: Talk) -> Iterator[str]:
    names = sorted({name for _, name, _, _ in Formatter().parse(template) if name})
    choices: list[dict[str, str]] = [{}]
    for name in names:
        choices = [{**known, name: value} for known in choices for value in talk.fillers[name]]
    return (filled(template, values) for values in choices)


def make(talk: Talk, subtask: int, number: int, dice: Dice) -> Made:
    """Return an example; `number` counts those of its file."""
    topic = dice.pick(talk.topics)
    values = values_of(talk, dice)
    answers = [filled(answer, values) for answer in topic.answers]
    right = answers if subtask == 3 else [dice.pick(answers)]
    everything = sentences(talk)
    wrong = _wrong(talk, topic, values, set(answers), everything, dice)
    if subtask == 4 and number % NONE_EVERY == 1:
        right = []
    offered = dice.shuffled([*right, *wrong][:LISTED])
    return Made(_messages(topic, values, dice), tuple(offered), tuple(right))


def _messages(topic: Topic, values: dict[str, str], dice: Dice) -> tuple[str, ...]:
    said = [dice.pick(topic.openings), dice.pick(topic.replies), dice.pick(topic.follow_ups)]
    if dice.chance(0.4):
        said += ["hold on.. looking", "take your time"]
    return tuple(filled(template, values) for template in said)


def _wrong(
    talk: Talk,
    topic: Topic,
    values: dict[str, str],
    right: set[str],
    everything: list[str],
    dice: Dice,
) -> list[str]:
    """Return wrong answers: about the same thing, or the same topic, or anything."""
    hard = [filled(dice.pick(t.answers), values) for t in talk.topics if t != topic]
    hard += [filled(dice.pick(topic.answers), values_of(talk, dice)) for _ in range(HARD)]
    some = [text for text in dict.fromkeys(hard) if text not in right][:HARD]
    rest = [text for text in everything if text not in right and text not in some]
    return some + dice.sample(rest, LISTED)
