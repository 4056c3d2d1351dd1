"""Realistic mistakes in a predictions file: each changes the predictions of a correct system.

A mistake takes predictions (dialogue id → turns) and the gold dialogues of their fold, and returns
new predictions.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.annotations import GoldDialogue

Turn = dict[str, Any]
Predictions = Mapping[str, Sequence[Turn]]
Gold = Mapping[str, GoldDialogue]
Mistake = Callable[[Predictions, Gold], dict[str, list[Turn]]]
State = Mapping[str, Mapping[str, str]]

DOMAINS = ["restaurant", "hotel", "attraction", "train", "taxi"]
ARABIC = {ord("0") + digit: 0x660 + digit for digit in range(10)}
FULL_WIDTH = {ord(char): ord(char) + 0xFEE0 for char in "0123456789:"}


def of_turns(key: str, change: Callable[[Sequence[Any]], Sequence[Any]]) -> Mistake:
    """Return a mistake that replaces the values of a key in all turns of each dialogue."""

    def mistake(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        return {
            name: [
                {**turn, key: value}
                for turn, value in zip(turns, change([t[key] for t in turns]), strict=True)
            ]
            for name, turns in predictions.items()
        }

    return mistake


def each_response(change: Callable[[str], str]) -> Mistake:
    return of_turns("response", lambda responses: [change(text) for text in responses])


def each_state(change: Callable[[State], State]) -> Mistake:
    return of_turns("state", lambda states: [change(state) for state in states])


def each_value(change: Callable[[str], str], slots: Sequence[str] = ()) -> Mistake:
    return each_state(
        lambda state: {
            domain: {
                slot: change(value) if not slots or slot.lower() in slots else value
                for slot, value in of_domain.items()
            }
            for domain, of_domain in state.items()
        }
    )


def every(number: int, mistake: Mistake) -> Mistake:
    """Return a mistake that is made in every n-th turn only."""

    def some(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        wrong = mistake(predictions, gold)
        count = 0
        result: dict[str, list[Turn]] = {}
        for name, turns in predictions.items():
            result[name] = []
            for index, turn in enumerate(turns):
                count += 1
                result[name].append(wrong[name][index] if count % number == 0 else turn)
        return result

    return some


def both(first: Mistake, second: Mistake) -> Mistake:
    return lambda predictions, gold: second(first(predictions, gold), gold)


def later(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of the turn before: the first turn is missing at the end."""
    return [values[0], *values[:-1]]


def earlier(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of the next turn."""
    return [*values[1:], values[-1]]


def states_later(states: Sequence[State]) -> Sequence[State]:
    return [{}, *states[:-1]]


def changes(states: Sequence[State]) -> Sequence[State]:
    """Return what each state adds to the state before."""
    result = []
    before: State = {}
    for state in states:
        new = {
            domain: {s: v for s, v in slots.items() if before.get(domain, {}).get(s) != v}
            for domain, slots in state.items()
        }
        result.append({domain: slots for domain, slots in new.items() if slots})
        before = state
    return result


def changed_domain(states: Sequence[State]) -> Sequence[State]:
    """Return the slots of the domains that changed in a turn, or the last that did."""
    result: list[State] = []
    before: State = {}
    for state in states:
        new = {domain: slots for domain, slots in state.items() if before.get(domain) != slots}
        kept = result[-1] if result else {}
        result.append(new or {domain: state[domain] for domain in kept if domain in state})
        before = state
    return result


def shuffled(values: Sequence[Any]) -> Sequence[Any]:
    return random.Random(len(values)).sample(list(values), len(values))


def other_dialogue(step: int, keys: Sequence[str] = ()) -> Mistake:
    """Return a mistake that gives a dialogue the predictions of another one, or keys of them."""

    def mistake(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        names = list(predictions)
        result = {}
        for number, name in enumerate(names):
            own = predictions[name]
            other = predictions[names[(number + step) % len(names)]]
            turns = []
            for index, turn in enumerate(own):
                source = other[min(index, len(other) - 1)]
                turns.append({**turn, **{k: v for k, v in source.items() if not keys or k in keys}})
            result[name] = turns
        return result

    return mistake


def renamed(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
    """The ids in sorted order name dialogues in another order."""
    names = sorted(predictions, key=lambda name: name[3:])
    order = sorted(predictions, key=lambda name: name[::-1])
    result = {}
    for name, other in zip(names, order, strict=True):
        turns = len(predictions[name])
        source = predictions[other]
        result[name] = [dict(source[min(index, len(source) - 1)]) for index in range(turns)]
    return result


def swapped_neighbours(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
    """Every second dialogue has the predictions of the one before, and the other way round."""
    names = list(predictions)
    order = dict(zip(names[1::2], names[::2], strict=False))
    order |= {first: second for second, first in order.items()}
    result = {}
    for name, turns in predictions.items():
        source = predictions[order.get(name, name)]
        result[name] = [dict(source[min(i, len(source) - 1)]) for i in range(len(turns))]
    return result


def gold_states(choose: Callable[[Sequence[State]], Sequence[State]]) -> Mistake:
    def mistake(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        return {
            name: [
                {**turn, "state": state}
                for turn, state in zip(turns, choose(gold[name].states), strict=False)
            ]
            for name, turns in predictions.items()
        }

    return mistake


def gold_utterances(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
    """Responses are in words, without placeholders."""
    return {
        name: [
            {**turn, "response": words}
            for turn, words in zip(turns, gold[name].system_utterances, strict=False)
        ]
        for name, turns in predictions.items()
    }


def with_user(form: str) -> Mistake:
    """The response includes the utterance of the user."""

    def mistake(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        return {
            name: [
                {**turn, "response": form.format(user=user, system=turn["response"])}
                for turn, user in zip(turns, gold[name].user_utterances, strict=False)
            ]
            for name, turns in predictions.items()
        }

    return mistake


def repeated_response(scope: str) -> Mistake:
    """One response in every turn of the file or of each dialogue."""

    def mistake(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        with_placeholder = [
            turn["response"]
            for turns in predictions.values()
            for turn in turns
            if "name]" in turn["response"]
        ]
        return {
            name: [
                {
                    **turn,
                    "response": with_placeholder[0]
                    if scope == "file"
                    else turns[len(turns) // 2]["response"],
                }
                for turn in turns
            ]
            for name, turns in predictions.items()
        }

    return mistake


def half_of_file(mistake: Mistake) -> Mistake:
    """Return a mistake that is made in the second half of the dialogues."""

    def half(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        wrong = mistake(predictions, gold)
        names = list(predictions)
        return {
            name: [dict(turn) for turn in predictions[name]]
            if number < len(names) // 2
            else wrong[name]
            for number, name in enumerate(names)
        }

    return half


def with_domains(choose: Callable[[Sequence[State]], Sequence[Sequence[str]]]) -> Mistake:
    def mistake(predictions: Predictions, gold: Gold) -> dict[str, list[Turn]]:
        result = {}
        for name, turns in predictions.items():
            states = [turn.get("state", {}) for turn in turns]
            result[name] = [
                {**turn, "active_domains": list(domains)}
                for turn, domains in zip(turns, choose(states), strict=True)
            ]
        return result

    return mistake


def swapped_slots(first: str, second: str) -> Mistake:
    names = {first: second, second: first}
    return each_state(
        lambda state: {
            domain: {names.get(slot, slot): value for slot, value in slots.items()}
            for domain, slots in state.items()
        }
    )


def rotated_slots(state: State) -> State:
    """Each slot has the value of the next slot of its domain."""
    result = {}
    for domain, slots in state.items():
        values = list(slots.values())
        result[domain] = dict(zip(slots, [*values[1:], *values[:1]], strict=True))
    return result


def swapped_domains(first: str, second: str) -> Mistake:
    names = {first: second, second: first}
    return each_state(
        lambda state: {names.get(domain, domain): slots for domain, slots in state.items()}
    )


def time_shift(hours: int) -> Callable[[str], str]:
    def shift(value: str) -> str:
        match = re.fullmatch(r"(\d\d?) ?: ?(\d\d)", value)
        return f"{(int(match[1]) + hours) % 24:02}:{match[2]}" if match else value

    return shift


def morning(value: str) -> str:
    """Return a time as a clock of 12 hours shows it."""
    match = re.fullmatch(r"(\d\d?) ?: ?(\d\d)", value)
    return f"{(int(match[1]) - 1) % 12 + 1:02}:{match[2]}" if match else value


def cut_words(number: int) -> Callable[[str], str]:
    return lambda text: " ".join(text.split()[:number])


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!]) ", text)[0]


def empty_from_middle(values: Sequence[Any], empty: Any) -> Sequence[Any]:
    half = (len(values) + 1) // 2
    return [*values[:half], *[empty] * (len(values) - half)]


TIMES = ("leave", "leaveat", "leave at", "arrive", "arriveby", "arrive by", "time", "booktime")
NAMES = ("name", "departure", "destination")

MISTAKES: dict[str, dict[str, Mistake]] = {
    "shifted-states": {
        "states one turn late": of_turns("state", states_later),
        "states one turn late, the first one twice": of_turns("state", later),
        "states one turn early": of_turns("state", earlier),
        "states two turns late": of_turns("state", lambda s: states_later(states_later(s))),
        "states two turns early": of_turns("state", lambda s: earlier(earlier(s))),
        "states in reversed order": of_turns("state", lambda s: s[::-1]),
        "states in random order": of_turns("state", shuffled),
        "gold states one turn late": gold_states(states_later),
        "gold states one turn early": gold_states(earlier),
        "empty states in every second turn": of_turns(
            "state", lambda s: [state if i % 2 else {} for i, state in enumerate(s)]
        ),
        "states one turn late in half of the file": half_of_file(of_turns("state", states_later)),
    },
    "vanished-slots": {
        "only the changes": of_turns("state", changes),
        "only the changed domain": of_turns("state", changed_domain),
        "empty states from the middle": of_turns("state", lambda s: empty_from_middle(s, {})),
        "empty state in the last turn": of_turns("state", lambda s: [*s[:-1], {}]),
    },
    "same-state": {
        "the last state everywhere": of_turns("state", lambda s: [s[-1]] * len(s)),
        "the first state everywhere": of_turns("state", lambda s: [s[0]] * len(s)),
        "the state of the middle everywhere": of_turns(
            "state", lambda s: [s[len(s) // 2]] * len(s)
        ),
        "gold states of the last turn": gold_states(lambda s: [s[-1]] * len(s)),
    },
    "other-dialogues": {
        "states of the next dialogue": other_dialogue(1, ["state"]),
        "states of the previous dialogue": other_dialogue(-1, ["state"]),
        "responses in reversed order": of_turns("response", lambda r: r[::-1]),
        "responses in random order": of_turns("response", shuffled),
        "responses of the next dialogue": other_dialogue(1, ["response"]),
        "responses of the previous dialogue": other_dialogue(-1, ["response"]),
        "dialogues of the next id": other_dialogue(1),
        "dialogues renamed": renamed,
        "dialogues swapped in pairs": swapped_neighbours,
        "half of the dialogues of the next id": half_of_file(other_dialogue(1)),
        "turns in reversed order": lambda p, g: {name: [*turns[::-1]] for name, turns in p.items()},
        "turns in random order": lambda p, g: {
            name: [*shuffled(turns)] for name, turns in p.items()
        },
    },
    "odd-values": {
        "values in double quotes": each_value(lambda v: f'"{v}"'),
        "values in single quotes": each_value(lambda v: f"'{v}'"),
        "values in typographic quotes": each_value(lambda v: f"“{v}”"),
        "values in backticks": each_value(lambda v: f"`{v}`"),
        "names in quotes": each_value(lambda v: f'"{v}"', NAMES),
        "values with underscores": each_value(lambda v: v.replace(" ", "_")),
        "values with plus signs": each_value(lambda v: v.replace(" ", "+")),
        "values with %20": each_value(lambda v: v.replace(" ", "%20")),
        "values with full-width digits": each_value(lambda v: v.translate(FULL_WIDTH)),
        "values with Arabic digits": each_value(lambda v: v.translate(ARABIC)),
        "values in full width": each_value(
            lambda v: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in v)
        ),
        "values with a full stop": each_value(lambda v: f"{v}."),
        "values with a comma": each_value(lambda v: f"{v},"),
        "values with a semicolon": each_value(lambda v: f"{v};"),
        "values as printed lists": each_value(lambda v: f"['{v}']"),
        "values as JSON lists": each_value(lambda v: f'["{v}"]'),
        "values as bytes": each_value(lambda v: f"b'{v}'"),
        "values in brackets": each_value(lambda v: f"[{v}]"),
        "values with an end token": each_value(lambda v: f"{v} <eos_b>"),
        "values with a token": each_value(lambda v: f"{v}</s>"),
        "values with slot": each_state(
            lambda state: {
                d: {s: f"{s}={v}" for s, v in slots.items()} for d, slots in state.items()
            }
        ),
    },
    "unknown-values": {
        "values with hyphens": each_value(lambda v: v.replace(" ", "-")),
        "values without spaces": each_value(lambda v: v.replace(" ", "")),
        "times with a dot": each_value(lambda v: v.replace(":", "."), TIMES),
        "name and area swapped": swapped_slots("name", "area"),
        "area and pricerange swapped": swapped_slots("area", "pricerange"),
        "values of the next slot": each_state(rotated_slots),
        "numbers in words": each_value(
            lambda v: {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five"}.get(v, v)
        ),
        "yes and no as true and false": each_value(
            lambda v: {"yes": "true", "no": "false", "free": "true"}.get(v, v)
        ),
        "centre as center": each_value(lambda v: v.replace("centre", "center")),
        "moderate as medium": each_value(lambda v: v.replace("moderate", "medium")),
        "first word of values": each_value(lambda v: v.split()[0] if v.split() else v),
    },
    "shifted-times": {
        "times 12 hours later": each_value(time_shift(12), TIMES),
        "times of a clock of 12 hours": each_value(morning, TIMES),
        "times 1 hour later": each_value(time_shift(1), TIMES),
    },
    "misplaced-values": {
        "departure and destination swapped": swapped_slots("departure", "destination"),
        "restaurant and hotel swapped": swapped_domains("restaurant", "hotel"),
        "hotel and attraction swapped": swapped_domains("hotel", "attraction"),
    },
    "shifted-responses": {
        "responses one turn late": of_turns("response", later),
        "responses one turn late, the first one empty": of_turns(
            "response", lambda r: ["", *r[:-1]]
        ),
        "responses one turn early": of_turns("response", earlier),
        "responses two turns late": of_turns("response", lambda r: later(later(r))),
        "responses one turn late in half of the file": half_of_file(of_turns("response", later)),
        "each response in two turns": of_turns(
            "response", lambda r: [r[i - i % 2] for i in range(len(r))]
        ),
        "turns one late": lambda p, g: {name: [*later(turns)] for name, turns in p.items()},
        "turns one early": lambda p, g: {name: [*earlier(turns)] for name, turns in p.items()},
        "first turn missing": lambda p, g: {
            name: [*turns[1:]] or [*turns] for name, turns in p.items()
        },
    },
    "markup": {
        "responses with HTML": each_response(
            lambda r: r.replace("'", "&#39;").replace("[", "&#91;").replace("]", "&#93;")
        ),
        **{
            f"responses with {where} {token}": each_response(form.format)
            for where, form, token in (
                ("the end token", "{} <eos_r>", "<eos_r>"),
                ("both tokens", "<sos_r> {} <eos_r>", "<sos_r>"),
                ("the end token", "{}</s>", "</s>"),
                ("the end token", "{}<|im_end|>", "<|im_end|>"),
                ("the end token", "{}<|endoftext|>", "<|endoftext|>"),
                ("padding", "{}" + " <pad>" * 8, "<pad>"),
                ("padding", "{}" + " [PAD]" * 8, "[PAD]"),
                ("separators", "[CLS] {} [SEP]", "[SEP]"),
                ("the instruction", "[INST] {} [/INST]", "[/INST]"),
                ("the end of the instruction", "[/INST] {}", "[/INST]"),
                ("the chat template", "<|im_start|>assistant\n{}<|im_end|>", "<|im_start|>"),
                ("the turn token", "{}<end_of_turn>", "<end_of_turn>"),
                ("the sentence token", "{} _EOS_", "_EOS_"),
                ("the role", "system: {}", "system:"),
                ("the role", "Assistant: {}", "Assistant:"),
                ("the role", "SYS > {}", "SYS >"),
                ("thoughts", "<think>The user wants a place. I look it up.</think>{}", "<think>"),
            )
        },
        "responses as printed lists": each_response(lambda r: str([r])),
        "responses as bytes": each_response(lambda r: str(r.encode())),
        "responses as printed tuples": each_response(lambda r: str((r,))),
        "responses as printed token lists": each_response(lambda r: str(r.split())),
        "responses as JSON": each_response(lambda r: f'{{"response": "{r}"}}'),
        "responses as printed objects": each_response(lambda r: str({"response": r})),
        "responses in a JSON fence": each_response(
            lambda r: f'```json\n{{"response": "{r}"}}\n```'
        ),
        "responses in a fence": each_response(lambda r: f"```\n{r}\n```"),
        "responses in bold": each_response(lambda r: f"**{r}**"),
        "responses in bold with a label": each_response(lambda r: f"**Response:** {r}"),
        "responses with bold placeholders": each_response(
            lambda r: re.sub(r"(\[\w+\])", r"**\1**", r)
        ),
        "responses with bold first words": each_response(lambda r: re.sub(r"^(\w+)", r"**\1**", r)),
        **{
            f"responses in Markdown: {form}": each_response(form.format)
            for form in (
                *("## {}", "- {}", "1. {}", "> {}", "*{}*", "_{}_", "`{}`"),
                "### Response\n{}",
                "| response |\n|---|\n| {} |",
            )
        },
        "responses in JSON behind a sentence": each_response(
            lambda r: f'Here is the response:\n{{"response": "{r}"}}'
        ),
        "responses as printed tensors": each_response(lambda r: f"tensor([{r!r}], device='cpu')"),
        "responses behind a thought": each_response(lambda r: f"Thought: I answer.\nAnswer: {r}"),
        "responses before the next speaker": each_response(lambda r: f"{r}\nHuman: thanks"),
        "responses in quotes": each_response(lambda r: f'"{r}"'),
        "responses in XML": each_response(lambda r: f"<response>{r}</response>"),
        "responses with HTML line breaks": each_response(lambda r: f"<p>{r}</p>"),
        "responses with escaped line breaks": each_response(lambda r: r.replace(" ", "\\n")),
        "responses with underscores": each_response(lambda r: r.replace(" ", "_")),
        "responses with word-piece marks": each_response(lambda r: r.replace(" ", " ▁")),
        "responses with byte-pair marks": each_response(lambda r: r.replace(" ", "Ġ")),
        "responses without spaces": each_response(lambda r: r.replace(" ", "")),
    },
    "repeated-text": {
        "responses twice": each_response(lambda r: f"{r} {r}"),
        "responses twice, without space": each_response(lambda r: r + r),
        "responses in two lines": each_response(lambda r: f"{r}\n{r}"),
        "each word twice": each_response(lambda r: " ".join(f"{w} {w}" for w in r.split())),
        "responses three times": each_response(lambda r: f"{r} {r} {r}"),
        "the first sentence twice": each_response(lambda r: f"{first_sentence(r)} {r}"),
    },
    "same-response": {
        "the same response in each dialogue": repeated_response("dialogue"),
        "an error message in every 5th turn": every(5, each_response(lambda r: "Error: timeout")),
    },
    "history-in-response": {
        "all responses joined in each turn": of_turns(
            "response", lambda r: [" ".join(r[: i + 1]) for i in range(len(r))]
        ),
        "responses of the user": with_user("{user}"),
        "the user's utterance before the response": with_user("{user} {system}"),
        "the user's utterance with roles": with_user("user: {user} system: {system}"),
        "the user's utterance after the response": with_user("{system} {user}"),
    },
    "cut-responses": {
        "responses cut at 20 characters": each_response(lambda r: r[:20]),
        "responses cut at 40 characters": each_response(lambda r: r[:40]),
        "responses cut at 60 characters": each_response(lambda r: r[:60]),
        "responses cut at 8 words": each_response(cut_words(8)),
        "responses cut at 10 words": each_response(cut_words(10)),
        "responses cut at 5 words": each_response(cut_words(5)),
    },
    "empty-responses": {
        "empty responses from the middle": of_turns("response", lambda r: empty_from_middle(r, "")),
        "every second response is empty": every(2, each_response(lambda r: "")),
        "every 5th response is empty": every(5, each_response(lambda r: "")),
        "the second half of the dialogues has no responses": half_of_file(
            each_response(lambda r: "")
        ),
    },
    "lexicalized-turns": {
        "every 2nd response lexicalized": every(2, gold_utterances),
        "every 3rd response lexicalized": every(3, gold_utterances),
        "every 5th response lexicalized": every(5, gold_utterances),
        "every 10th response lexicalized": every(10, gold_utterances),
    },
    "same-domains": {
        "all domains always active": with_domains(lambda s: [DOMAINS] * len(s)),
        "all goal domains always active": with_domains(
            lambda s: [sorted({d for state in s for d in state})] * len(s)
        ),
        "seven domains always active": with_domains(
            lambda s: [[*DOMAINS, "police", "hospital"]] * len(s)
        ),
        "one domain always active": with_domains(lambda s: [["restaurant"]] * len(s)),
        "only the first active domain": with_domains(
            lambda s: [next(([d] for state in s for d in state), [])] * len(s)
        ),
    },
    "no-active-domains": {
        "no active domain in most turns": with_domains(
            lambda s: [[*state][:1] if not i else [] for i, state in enumerate(s)]
        ),
    },
}
"""By the kind of the warning that each causes in real systems."""

OF_ALL = {name: (kind, mistake) for kind, of in MISTAKES.items() for name, mistake in of.items()}
