"""Realistic mistakes in predictions files, as changes of a correct system's predictions.

A mistake is a function of predictions (dialogue id → turns) and the gold dialogues of their fold
that returns new predictions.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count, starmap
from typing import Any

from mwzeval.multiwoz.annotations import GoldDialogue

Turn = dict[str, Any]
Predictions = Mapping[str, Sequence[Turn]]
Gold = Mapping[str, GoldDialogue]
Mistake = Callable[[Predictions, Gold], dict[str, list[Turn]]]
State = Mapping[str, Mapping[str, str]]
Change = Callable[[str], str]
Values = Sequence[Any]

ALWAYS = "[hotel_name] [train_id] [phone] [address] [postcode] [reference]"
DOMAINS = ["restaurant", "hotel", "attraction", "train", "taxi"]
TIMES = ("leave", "leaveat", "leave at", "arrive", "arriveby", "arrive by", "time", "booktime")
NAMES = ("name", "departure", "destination")


def dialogues(change: Callable[[Sequence[Turn], GoldDialogue], Sequence[Turn]]) -> Mistake:
    return lambda predictions, gold: {
        name: [*change(turns, gold[name])] for name, turns in predictions.items()
    }


def key(name: str, change: Callable[[Values, GoldDialogue], Values]) -> Mistake:
    """Return a mistake that replaces the values of a key in all turns of each dialogue."""
    return dialogues(
        lambda turns, gold: [
            {**turn, name: value}
            for turn, value in zip(turns, change([t.get(name) for t in turns], gold), strict=False)
        ]
    )


def responses(change: Callable[[Values], Values]) -> Mistake:
    return key("response", lambda values, gold: change(values))


def states(change: Callable[[Values], Values]) -> Mistake:
    return key("state", lambda values, gold: change(values))


def gold_states(change: Callable[[Values], Values]) -> Mistake:
    return key("state", lambda values, gold: change(gold.states))


def domains(change: Callable[[Values], Values]) -> Mistake:
    return dialogues(
        lambda turns, gold: [
            {**turn, "active_domains": [*active]}
            for turn, active in zip(turns, change([t.get("state", {}) for t in turns]), strict=True)
        ]
    )


def response(change: Change) -> Mistake:
    return responses(lambda texts: [*map(change, texts)])


def slots(change: Callable[[str, Mapping[str, str]], tuple[str, Mapping[str, str]]]) -> Mistake:
    """Return a mistake that changes each (domain, slots) pair of a state."""
    return states(lambda values: [dict(starmap(change, state.items())) for state in values])


def value(change: Change, names: Sequence[str] = ()) -> Mistake:
    def changed(domain: str, part: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
        return domain, {
            slot: change(text) if not names or slot.lower() in names else text
            for slot, text in part.items()
        }

    return slots(changed)


def replaced(*pairs: str) -> Change:
    """Return a function that replaces whole values; a pair is written `old new`."""
    new = dict(pair.split() for pair in pairs)
    return lambda text: new.get(text, text)


def swapped(first: str, second: str) -> Mistake:
    """Return a mistake that swaps two slots or two domains."""
    names = {first: second, second: first}
    return slots(
        lambda domain, part: (names.get(domain, domain), {names.get(s, s): part[s] for s in part})
    )


def reordered(order: Callable[[list[str]], Sequence[str]], *keys: str) -> Mistake:
    """Return a mistake that gives each dialogue the turns (or some keys) of another dialogue."""

    def mistake(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        result = {}
        for (name, own), other in zip(predictions.items(), order(list(predictions)), strict=True):
            source = predictions[other]
            last = len(source) - 1
            result[name] = [
                {**turn, **{k: v for k, v in source[min(i, last)].items() if not keys or k in keys}}
                for i, turn in enumerate(own)
            ]
        return result

    return mistake


def moved(step: int) -> Callable[[list[str]], list[str]]:
    return lambda names: [*names[step:], *names[:step]]


def partly(mistake: Mistake, chosen: Callable[[int, int, int], bool]) -> Mistake:
    """Restrict a mistake to chosen (number of dialogue, number of dialogues, number of turn)."""

    def some(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        wrong, turn_numbers = mistake(predictions, gold), count(1)
        return {
            name: [
                odd if chosen(number, len(predictions), next(turn_numbers)) else turn
                for turn, odd in zip(turns, wrong[name], strict=True)
            ]
            for number, (name, turns) in enumerate(predictions.items())
        }

    return some


def half(mistake: Mistake) -> Mistake:
    return partly(mistake, lambda number, number_of_all, turn: number >= number_of_all // 2)


def every(step: int, mistake: Mistake) -> Mistake:
    return partly(mistake, lambda number, number_of_all, turn: turn % step == 0)


def later(values: Values) -> Values:
    return [values[0], *values[:-1]]


def earlier(values: Values) -> Values:
    return [*values[1:], values[-1]]


def late_states(values: Values) -> Values:
    return [{}, *values[:-1]]


def shuffled(values: Values) -> Values:
    return random.Random(len(values)).sample(list(values), len(values))


def only(place: Callable[[int], int]) -> Callable[[Values], Values]:
    """Return a function that copies the value at a position, given the length, to all turns."""
    return lambda values: [values[place(len(values))]] * len(values)


FIRST, MIDDLE, LAST = only(lambda size: 0), only(lambda size: size // 2), only(lambda size: -1)


def emptied(empty: Any) -> Callable[[Values], Values]:
    """Return a function that empties the second half of a dialogue."""
    return lambda values: [
        v if i <= (len(values) - 1) // 2 else empty for i, v in enumerate(values)
    ]


def changes(values: Values) -> Values:
    """Return the new values of each state."""
    result = []
    before: State = {}
    for state in values:
        new = {d: dict(part.items() - before.get(d, {}).items()) for d, part in state.items()}
        result.append({domain: part for domain, part in new.items() if part})
        before = state
    return result


def changed_domain(values: Values) -> Values:
    """Return the slots of the domains that changed in a turn, or else of the last changed ones."""
    result: list[State] = []
    before: State = {}
    for state in values:
        new = {domain: part for domain, part in state.items() if before.get(domain) != part}
        kept = result[-1] if result else {}
        result.append(new or {domain: state[domain] for domain in kept if domain in state})
        before = state
    return result


def with_user(form: str) -> Mistake:
    """Return a mistake in which the response includes the user utterance."""
    return key(
        "response",
        lambda texts, gold: [
            form.format(user=user, system=text)
            for user, text in zip(gold.user_utterances, texts, strict=False)
        ],
    )


def clock(change: Callable[[int], int]) -> Change:
    """Return a function that changes the hour of a time."""

    def changed(text: str) -> str:
        time = re.fullmatch(r"(\d\d?) ?: ?(\d\d)", text)
        return f"{change(int(time[1])):02}:{time[2]}" if time else text

    return changed


def shifted(first: str, last: str, step: int) -> Change:
    """Return a function that shifts the code points of some characters."""
    table = {char: char + step for char in range(ord(first), ord(last) + 1)}
    return lambda text: text.translate(table)


def spaces_as(mark: str) -> Change:
    return lambda text: text.replace(" ", mark)


def cut_characters(number: int) -> Change:
    return lambda text: text[:number]


def cut_words(number: int) -> Change:
    return lambda text: " ".join(text.split()[:number])


def rotated(domain: str, part: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    values = list(part.values())
    return domain, dict(zip(part, [*values[1:], *values[:1]], strict=True))


def forms(make: Callable[[Change], Mistake], *templates: str) -> dict[str, Mistake]:
    """Return mistakes that format each text with a template."""
    return {f"{make.__name__} as {template}": make(template.format) for template in templates}


in_words = key("response", lambda texts, gold: gold.system_utterances)

MISTAKES: dict[str, dict[str, Mistake]] = {
    "shifted-states": {
        "states one turn late": states(late_states),
        "states one turn late, the first one twice": states(later),
        "states one turn early": states(earlier),
        "states two turns late": states(lambda s: late_states(late_states(s))),
        "states two turns early": states(lambda s: earlier(earlier(s))),
        "states in reversed order": states(lambda s: s[::-1]),
        "states in random order": states(shuffled),
        "gold states one turn late": gold_states(late_states),
        "gold states one turn early": gold_states(earlier),
        "empty states in every second turn": states(
            lambda s: [state if i % 2 else {} for i, state in enumerate(s)]
        ),
        "states one turn late in half of the file": half(states(late_states)),
    },
    "vanished-slots": {
        "only the changes": states(changes),
        "only the changed domain": states(changed_domain),
        "empty states from the middle": states(emptied({})),
        "empty state in the last turn": states(lambda s: [*s[:-1], {}]),
    },
    "same-state": {
        "the last state in all turns": states(LAST),
        "the first state in all turns": states(FIRST),
        "the middle state in all turns": states(MIDDLE),
        "gold states of the last turn": gold_states(LAST),
    },
    "other-dialogues": {
        "states of the next dialogue": reordered(moved(1), "state"),
        "states of the previous dialogue": reordered(moved(-1), "state"),
        "responses in reversed order": responses(lambda r: r[::-1]),
        "responses in random order": responses(shuffled),
        "responses of the next dialogue": reordered(moved(1), "response"),
        "responses of the previous dialogue": reordered(moved(-1), "response"),
        "dialogues with the next id": reordered(moved(1)),
        "dialogues renamed": reordered(lambda names: sorted(names, key=lambda n: n[::-1])),
        "half of the dialogues with the next id": half(reordered(moved(1))),
        "turns in reversed order": dialogues(lambda turns, gold: turns[::-1]),
        "turns in random order": dialogues(lambda turns, gold: shuffled(turns)),
    },
    "odd-values": {
        **forms(value, '"{}"', "'{}'", "“{}”", "`{}`", "{}.", "{},", "{};", "['{}']", '["{}"]'),
        **forms(value, "b'{}'", "[{}]", "{} <eos_b>", "{}</s>"),
        "names in quotes": value('"{}"'.format, NAMES),
        **{f"values with {mark}": value(spaces_as(mark)) for mark in ("_", "+", "%20")},
        "values with full-width digits": value(shifted("0", ":", 0xFEE0)),
        "values with Arabic digits": value(shifted("0", "9", 0x660 - ord("0"))),
        "values in full width": value(shifted("!", "~", 0xFEE0)),
        "values with slot": slots(
            lambda domain, part: (domain, {s: f"{s}={v}" for s, v in part.items()})
        ),
    },
    "unknown-values": {
        "values with hyphens": value(lambda v: v.replace(" ", "-")),
        "values without spaces": value(lambda v: v.replace(" ", "")),
        "times with a dot": value(lambda v: v.replace(":", "."), TIMES),
        "name and area swapped": swapped("name", "area"),
        "area and pricerange swapped": swapped("area", "pricerange"),
        "values of the next slot": slots(rotated),
        "numbers in words": value(replaced("1 one", "2 two", "3 three", "4 four", "5 five")),
        "yes and no as true and false": value(replaced("yes true", "no false", "free true")),
        "centre as center": value(lambda v: v.replace("centre", "center")),
        "moderate as medium": value(lambda v: v.replace("moderate", "medium")),
        "first word of values": value(lambda v: v.split()[0] if v.split() else v),
    },
    "shifted-times": {
        "times 12 hours later": value(clock(lambda hour: (hour + 12) % 24), TIMES),
        "times on a 12-hour clock": value(clock(lambda hour: (hour - 1) % 12 + 1), TIMES),
        "times 1 hour later": value(clock(lambda hour: (hour + 1) % 24), TIMES),
    },
    "misplaced-values": {
        "departure and destination swapped": swapped("departure", "destination"),
        "restaurant and hotel swapped": swapped("restaurant", "hotel"),
        "hotel and attraction swapped": swapped("hotel", "attraction"),
    },
    "shifted-responses": {
        "responses one turn late": responses(later),
        "responses one turn late, the first one empty": responses(lambda r: ["", *r[:-1]]),
        "responses one turn early": responses(earlier),
        "responses two turns late": responses(lambda r: later(later(r))),
        "responses one turn late in half of the file": half(responses(later)),
        "each response in two turns": responses(lambda r: [r[i - i % 2] for i in range(len(r))]),
        "turns one late": dialogues(lambda turns, gold: later(turns)),
        "turns one early": dialogues(lambda turns, gold: earlier(turns)),
        "first turn missing": dialogues(lambda turns, gold: turns[1:] or turns),
    },
    "markup": {
        **forms(response, "{} <eos_r>", "<sos_r> {} <eos_r>", "{}</s>", "{}<|im_end|>"),
        **forms(response, "{}<|endoftext|>", "{}" + " <pad>" * 8, "{}" + " [PAD]" * 8),
        **forms(response, "[CLS] {} [SEP]", "[INST] {} [/INST]", "[/INST] {}", "{} _EOS_"),
        **forms(response, "<|im_start|>assistant\n{}<|im_end|>", "{}<end_of_turn>", "system: {}"),
        **forms(response, "Assistant: {}", "SYS > {}", "<think>I look it up.</think>{}"),
        **forms(response, '{{"response": "{}"}}', '```json\n{{"response": "{}"}}\n```'),
        **forms(response, "```\n{}\n```", "**{}**", "**Response:** {}", "## {}", "- {}", "1. {}"),
        **forms(response, "> {}", "*{}*", "_{}_", "`{}`", "### Response\n{}", '"{}"'),
        **forms(response, "| response |\n|---|\n| {} |", "<response>{}</response>", "<p>{}</p>"),
        **forms(response, 'Here is the response:\n{{"response": "{}"}}', "{}\nHuman: thanks"),
        **forms(response, "Thought: I answer.\nAnswer: {}"),
        "HTML": response(
            lambda r: r.replace("'", "&#39;").replace("[", "&#91;").replace("]", "&#93;")
        ),
        "printed list": response(lambda r: str([r])),
        "printed bytes": response(lambda r: str(r.encode())),
        "printed tuple": response(lambda r: str((r,))),
        "printed tokens": response(lambda r: str(r.split())),
        "printed object": response(lambda r: str({"response": r})),
        "printed tensor": response(lambda r: f"tensor([{r!r}], device='cpu')"),
        "bold placeholders": response(lambda r: re.sub(r"(\[\w+\])", r"**\1**", r)),
        "bold first word": response(lambda r: re.sub(r"^(\w+)", r"**\1**", r)),
        **{
            f"responses with {mark} for spaces": response(spaces_as(mark))
            for mark in ("\\n", "_", " ▁", "Ġ", "")
        },
    },
    "repeated-text": {
        **forms(response, "{0} {0}", "{0}{0}", "{0}\n{0}", "{0} {0} {0}"),
        "each word twice": response(lambda r: " ".join(f"{w} {w}" for w in r.split())),
        "the first sentence twice": response(lambda r: f"{re.split(r'(?<=[.?!]) ', r)[0]} {r}"),
    },
    "same-response": {
        "the same response in each dialogue": responses(MIDDLE),
        "an error message in every 5th turn": every(5, response(lambda r: "Error: timeout")),
    },
    "history-in-response": {
        "all responses joined in each turn": responses(
            lambda r: [" ".join(r[: i + 1]) for i in range(len(r))]
        ),
        "user utterances as responses": with_user("{user}"),
        "the user's utterance before the response": with_user("{user} {system}"),
        "the user's utterance with roles": with_user("user: {user} system: {system}"),
        "the user's utterance after the response": with_user("{system} {user}"),
    },
    "cut-responses": {
        **{f"cut at {n} characters": response(cut_characters(n)) for n in (20, 40, 60)},
        **{f"cut at {n} words": response(cut_words(n)) for n in (8, 10, 5)},
    },
    "empty-responses": {
        "empty responses from the middle": responses(emptied("")),
        "every second response is empty": every(2, response(lambda r: "")),
        "every 5th response is empty": every(5, response(lambda r: "")),
        "the second half of the dialogues has no responses": half(response(lambda r: "")),
    },
    "lexicalized-turns": {
        f"every {n}th response lexicalized": every(n, in_words) for n in (2, 3, 5, 10)
    },
    "same-placeholders": {
        # Surrounding text and other placeholders do not prevent the warning.
        "the same placeholders in each turn": responses(
            lambda r: [f"{i} {ALWAYS}" + " [value_food]" * (i % 2) for i in range(len(r))]
        ),
        "answers before the requests": responses(lambda r: [ALWAYS, *["hello"] * (len(r) - 1)]),
    },
    "same-domains": {
        "all domains always active": domains(lambda s: [DOMAINS] * len(s)),
        "all goal domains always active": domains(
            lambda s: [sorted({d for state in s for d in state})] * len(s)
        ),
        "six domains always active": domains(lambda s: [[*DOMAINS, "police"]] * len(s)),
        "one domain always active": domains(lambda s: [["restaurant"]] * len(s)),
        "only the first active domain": domains(
            lambda s: [next(([d] for state in s for d in state), [])] * len(s)
        ),
    },
    "no-active-domains": {
        "no active domain in most turns": domains(
            lambda s: [[*state][:1] if not i else [] for i, state in enumerate(s)]
        ),
    },
}  # fmt: skip
"""Kind of warning → mistakes that cause it in predictions of real systems."""

ALL = {name: (kind, mistake) for kind, group in MISTAKES.items() for name, mistake in group.items()}
