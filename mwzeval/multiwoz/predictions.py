"""Read, check and write predictions in mwzeval's own format.

All problems of an input are collected with their positions. The predictions are not changed, except
that slots are removed if the user declares their values as unfilled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypedDict
from unicodedata import category

from mwzeval.benchmark import advice, recognised
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.files.reading import (
    COMPRESSED,
    RepeatedKeys,
    parse_json,
    parse_json_lines,
    plain_name,
    read_text,
)
from mwzeval.multiwoz import NAME, TITLE
from mwzeval.multiwoz.normalization import State
from mwzeval.scores.findings import LIST, Findings, Place, expect, found, repeated
from mwzeval.text import json_value

TURN_KEYS = ("response", "state", "active_domains", "bookings", "calls")
_PLAIN_KEYS = frozenset(TURN_KEYS) - {"calls"}
RESPONSE_NAMES = frozenset(
    {"resp", "text", "utterance", "output", "answer", "reply", "generated", "generation"}
    | {"generated_response", "prediction", "predicted", "pred", "hypothesis", "hyp", "system"}
    | {"content", "resp_gen", "delex_response", "response_delex", "system_response", "message"}
)
"""Keys that systems use for responses. These keys are mentioned in messages about turns without a
`response`."""
FLAT_KEY = re.compile(r"(?P<domain>[a-z]+)-(?:semi-|book-)?(?P<slot>[a-z][a-z _-]*)", re.IGNORECASE)
SHOWN_KEYS = 6
"""Maximum number of keys of a record that a message names."""
LONGEST_RESPONSE = 100_000
"""Maximum length of a response in characters. The memory needed is 100 bytes per character."""


class PredictedTurn(TypedDict, total=False):
    """A system turn in mwzeval's own format; docs/formats.md explains the keys.

    `state` maps domain and slot to a value. An item of `bookings` has the keys `domain` and
    `slots`; an item of `calls` has the keys `function`, `arguments`, `result` and `slots`.
    """

    response: str
    state: Mapping[str, Mapping[str, Any]]
    active_domains: Sequence[str]
    bookings: Sequence[Mapping[str, Any]]
    calls: Sequence[Mapping[str, Any]]


Predictions: TypeAlias = (
    Mapping[str, Sequence[PredictedTurn]]
    | Mapping[str, Sequence[Mapping[str, Any]]]
    | Mapping[str, Mapping[str, Any]]
    | Sequence[Mapping[str, Any]]
)
"""A map from dialogue ids to system turns or messages, or a list of dialogues in another format."""


class Booking(NamedTuple):
    """A booking that the system makes in a turn.

    `slots` are slots such as `day`, `name` or `trainid`.
    """

    domain: str
    slots: Mapping[str, str]


class FunctionCall(NamedTuple):
    """A function call of the system and its result, which is text, JSON data, or None.

    `slots` maps the slot names in the result to mwzeval's names, if the names differ.
    """

    function: str
    arguments: Mapping[str, str]
    result: object = None
    slots: Mapping[str, str | None] = {}


class Turn(NamedTuple):
    """A system turn. A field that is missing in the prediction is None."""

    response: str | None
    state: State | None
    active_domains: tuple[str, ...] | None
    bookings: tuple[Booking, ...] | None = None
    calls: tuple[FunctionCall, ...] = ()


Dialogues = Mapping[str, Sequence[Turn]]

LINES = {
    ("dialogue", "turns"): False,
    ("dialogue", "messages"): False,
    ("dialogue_id", "turns"): True,
}
"""Maps the keys of a dialogue's id and content in a line of JSON Lines to whether the line is a
dialogue in a format that lists dialogues."""


def read_predictions(path: str | Path) -> Any:
    """Return the content of a JSON or JSON Lines file (possibly compressed, or `-`) in any format.

    Raises `InputError` if the file is neither JSON nor JSON Lines, a line has no dialogue, or a
    dialogue is repeated.
    """
    return predictions_of_text(read_text(path), str(path))


def predictions_of_text(text: str, name: str) -> Any:
    """Parse the text of a predictions file; `name` is the name of the file.

    Raises `InputError` in the same cases as `read_predictions`.
    """
    if called_lines(name) or is_line(text.lstrip().partition("\n")[0]):
        return predictions_of_lines(parse_json_lines(text, name), name)
    return parse_json(text, name)


def called_lines(name: str) -> bool:
    """Return whether a file has the name of a JSON Lines file."""
    return plain_name(name).endswith(".jsonl")


def is_line(text: str) -> bool:
    """Return whether a text is a line of JSON Lines with a dialogue of any benchmark."""
    text = text.strip()
    if not (text.endswith("}") and ('"dialogue' in text or '"_meta"' in text)):
        return False
    line = json_value(text)
    return _keys_of(line) is not None or recognised(line, but=NAME) is not None


def _keys_of(line: Any) -> tuple[str, str] | None:
    keys = [keys for keys in LINES if isinstance(line, dict) and line.keys() >= {*keys}]
    return keys[0] if len(keys) == 1 else None


def predictions_of_lines(lines: Iterable[tuple[int, Any]], name: str) -> Any:
    """Return the dialogues in the lines of a file, given as (line number, value) pairs.

    Raises `InputError` if a line is invalid.
    """
    dialogues: dict[str, Any] = {}
    whole: list[Any] = []
    findings = Findings(name)
    expected = " or ".join(f'{{"{key}": id, "{content}": […]}}' for key, content in LINES)
    for number, line in lines:
        if not (dialogues or whole) and (foreign := recognised(line, but=NAME)):
            findings.error("other-benchmark", advice(foreign, TITLE))
            break
        keys = _keys_of(line)
        if keys is None or not isinstance(line[keys[0]], str):
            findings.error("shape", f"line {number}: expected {expected}")
            continue
        dialogue, content = line[keys[0]], line[keys[1]]
        if isinstance(line, RepeatedKeys):
            findings.error("repeated-key", f"line {number}: {repeated(line)}", dialogue=dialogue)
        if dialogues if LINES[keys] else whole:
            message = f"line {number}: the file mixes lines of different formats"
            findings.error("mixed-formats", message, dialogue=dialogue)
        if LINES[keys]:
            whole.append(line)
            continue
        if dialogue in dialogues:
            message = f"line {number}: the dialogue occurs twice"
            findings.error("repeated-key", message, dialogue=dialogue)
        dialogues[dialogue] = content if keys[1] == "turns" else {keys[1]: content}
    findings.check()
    return whole or dialogues


def items_of(raw: Mapping[Any, Any], findings: Findings) -> Iterator[tuple[str, Any]]:
    """Yield (id, content) of dialogues whose id is text. Problems are added to `findings`."""
    if isinstance(raw, RepeatedKeys):
        for key in raw.repeated:
            findings.error("repeated-key", "the dialogue occurs more than once", dialogue=key)
    if not raw:
        findings.error("empty", "the file has no dialogue")
    for name, content in raw.items():
        if isinstance(name, str):
            yield name, content
        else:
            findings.error("shape", f"a dialogue id must be a string, {found(name)}")


def check_dialogues(raw: Any, findings: Findings, *, need_responses: bool) -> Dialogues:
    """Convert raw predictions to typed dialogues. Problems are added to `findings`."""
    if not isinstance(raw, Mapping):
        remedy = ""
        if isinstance(raw, LIST) and raw and isinstance(raw[0], Mapping):
            keys = ", ".join(shorten(str(key)) for key in list(raw[0])[:SHOWN_KEYS])
            remedy = f" of records with the keys {keys}, read as mwzeval's own format: "
            remedy += (
                'each record needs "turns" and its own "dialogue_id"'
                if "turns" in raw[0]
                else "group the turns by dialogue"
            )
        message = 'expected an object of dialogues, {"sng0073": [turn, …], …}'
        findings.error("shape", f"{message}, {found(raw)}{remedy}")
        return {}
    dialogues = {}
    for name, turns in items_of(raw, findings):
        if isinstance(turns, LIST) and turns:
            dialogues[name] = [
                _plain_turn(turn) or _turn(turn, need_responses, Place(findings, name, index))
                for index, turn in enumerate(turns)
            ]
        elif expect(turns, LIST, "expected a list of turns", Place(findings, name)):
            findings.error("empty", "the dialogue has no turns", dialogue=name)
    return dialogues


def _plain_turn(raw: Any) -> Turn | None:
    """Return a valid turn quickly if it has the most common form, else None."""
    if type(raw) is not dict or not raw.keys() <= _PLAIN_KEYS:
        return None
    response, state, active = raw.get("response"), raw.get("state"), raw.get("active_domains")
    if type(response) is not str or len(response) > LONGEST_RESPONSE:
        return None
    if "state" in raw and not _is_plain_state(state):
        return None
    if "active_domains" in raw:
        if type(active) is not list or not all(type(domain) is str for domain in active):
            return None
        active = tuple(active)
    if "bookings" not in raw:
        return Turn(response, state, active)
    return Turn(response, state, active, ()) if raw["bookings"] == [] else None


def _is_plain_state(raw: Any) -> bool:
    if type(raw) is not dict:
        return False
    for domain, slots in raw.items():
        if type(domain) is not str or type(slots) is not dict:
            return False
        for slot, value in slots.items():
            if not (type(slot) is type(value) is str):
                return False
    return True


def _turn(raw: Any, need_response: bool, place: Place) -> Turn:
    remedy = ', such as {"response": "…"}' if isinstance(raw, str) else ""
    if not expect(raw, Mapping, f"expected an object{remedy}", place):
        return Turn(None, None, None)
    return Turn(
        response=_response(raw, need_response, place),
        state=_state(raw["state"], place) if "state" in raw else None,
        active_domains=_active_domains(raw, place),
        bookings=_bookings(raw["bookings"], place) if "bookings" in raw else None,
        calls=_calls(raw.get("calls", ()), place),
    )


def _response(raw: Mapping[Any, Any], is_needed: bool, place: Place) -> str | None:
    """Return the response of a turn; report unknown keys, and a missing or invalid response."""
    names = [] if "response" in raw else [key for key in raw if isinstance(key, str)]
    meant = [name for name in names if name.lower() in RESPONSE_NAMES]
    for key in raw:
        if key not in TURN_KEYS:
            name = shorten(str(key))
            close = did_you_mean("response" if key in meant else name, TURN_KEYS)
            message = f'a turn\'s key "{name}" is unknown and ignored{close}'
            place.warning("unknown-key", message, name)
    response: Any = raw.get("response")
    if response is None and not is_needed:
        return None
    if "response" not in raw:
        close = did_you_mean("response", names).replace("did you mean", "was this meant:")
        if meant:
            close = f' — was "{meant[0]}" meant?'
        place.error("missing-response", f"the turn has no response{close}", "response")
    elif expect(
        response, str, 'expected a string ("" if the system says nothing)', place, "response"
    ):
        if len(response) <= LONGEST_RESPONSE:
            return str(response)
        message = f"{len(response):,} characters; the limit is {LONGEST_RESPONSE:,}"
        place.error("too-long", message, "response")
    return None


def _state(raw: Any, place: Place) -> State:
    expected = 'a state must be an object of domains, such as {"hotel": {"area": "south"}}'
    if not expect(raw, Mapping, expected, place, "state"):
        return {}
    state: dict[Any, Any] = {key: value for key, value in raw.items() if isinstance(value, Mapping)}
    for key, value in raw.items():
        flat = FLAT_KEY.fullmatch(key) if isinstance(key, str) else None
        if isinstance(value, Mapping):
            continue
        if flat is None:
            state[key] = value
        elif isinstance(slots := raw.get(flat["domain"], {}), Mapping):
            state[flat["domain"]] = {**state.get(flat["domain"], slots), flat["slot"]: value}
            message = 'slots such as "hotel-area" are read as slots of their domain'
            place.warning("flat-state", message, key)
    typed = {}
    for domain, slots in state.items():
        key, expected = f"state.{domain}", "the state of a domain must be an object of slots"
        if expect(slots, Mapping, expected, place, key) and isinstance(domain, str):
            typed[domain] = _slots(slots, key, place)
    return typed


def _slots(raw: Mapping[Any, Any], key: str, place: Place) -> dict[str, str]:
    slots = {}
    for slot, value in raw.items():
        where = f"{key}.{slot}"
        if isinstance(value, LIST):
            message = "the value of a slot is a list; its first item is used"
            place.warning("list-value", message, where)
            if not value:
                continue
            value = value[0]
        hint = f' (write "{value}")' if type(value) in (int, float) else ""
        if expect(slot, str, "the name of a slot must be a string", place, where) and expect(
            value, str, f"the value of a slot must be a string{hint}", place, where
        ):
            slots[slot] = value
    return slots


def _active_domains(raw: Mapping[Any, Any], place: Place) -> tuple[str, ...] | None:
    key = "active_domains"
    domains = raw.get(key, ())
    if not expect(domains, LIST, "expected a list of domain names", place, key):
        return ()
    texts = [
        name
        for name in domains
        if expect(name, str, "the name of a domain must be a string", place, key)
    ]
    return tuple(texts) if key in raw else None


def _items(raw: Any, name: str, keys: Sequence[str], place: Place) -> Iterator[tuple[Any, str]]:
    """Yield each object in a list with the key that messages use for it; report unknown keys."""
    if expect(raw, LIST, f"expected a list of {name}s", place, f"{name}s"):
        expected = f"a {name} must be an object with the keys {', '.join(keys)}"
        for index, item in enumerate(raw):
            key = f"{name}s[{index}]"
            if expect(item, Mapping, expected, place, key):
                for other in item:
                    if other not in keys:
                        close = did_you_mean(str(other), keys)
                        message = f'a {name}\'s key "{shorten(str(other))}" is unknown and ignored'
                        place.warning("unknown-key", f"{message}{close}", key)
                yield item, key


def _bookings(raw: Any, place: Place) -> tuple[Booking, ...]:
    bookings = []
    for item, key in _items(raw, "booking", Booking._fields, place):
        domain, slots = item.get("domain"), item.get("slots")
        is_domain = expect(
            domain, str, "the name of a domain must be a string", place, f"{key}.domain"
        )
        if expect(slots, Mapping, "expected an object of slots", place, f"{key}.slots"):
            typed = _slots(slots, f"{key}.slots", place)
            bookings += [Booking(domain, typed)] if is_domain else []
    return tuple(bookings)


def _calls(raw: Any, place: Place) -> tuple[FunctionCall, ...]:
    calls = []
    for item, key in _items(raw, "call", FunctionCall._fields, place):
        function = item.get("function")
        arguments, slots = item.get("arguments", {}), item.get("slots", {})
        if (
            expect(
                function, str, "the name of a function must be a string", place, f"{key}.function"
            )
            and expect(arguments, Mapping, "expected an object", place, f"{key}.arguments")
            and expect(slots, Mapping, "expected an object", place, f"{key}.slots")
        ):
            typed = _slots(arguments, f"{key}.arguments", place)
            calls.append(FunctionCall(function, typed, item.get("result"), slots))
    return tuple(calls)


EMPTY = '""'
"""The spelling of the empty value in signatures."""


@lru_cache(maxsize=2**14)
def bare(value: str) -> str:
    """Return a value in lower case without invisible characters and surrounding spaces."""
    return visible(value).strip().lower()


def visible(value: str) -> str:
    """Return a value without invisible characters, such as zero-width spaces."""
    if value.isascii():
        return value
    return "".join(char for char in value if category(char) != "Cf")


def parse_unfilled(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return the values that mean "not filled", without duplicates, in lower case and sorted.

    `values` is an iterable of values or a text with commas between values. The empty text means the
    empty value, and so do two quotation marks. Raises `UsageError` if a value cannot be part of a
    signature.
    """
    listed = values.split(",") if isinstance(values, str) else values
    spelled = {"" if value.strip() == EMPTY else bare(value) for value in listed}
    for value in spelled:
        if not value.isprintable() or "|" in value or "," in value:
            raise UsageError(f'"{shorten(value)}" cannot mean "not filled"')
    return tuple(sorted(spelled))


def spelling(value: str) -> str:
    """Return the spelling of a value in signatures and on the command line."""
    return value or EMPTY


def filled(dialogues: Dialogues, unfilled: Collection[str]) -> Dialogues:
    """Return the dialogues after removing all slots whose value is one of `unfilled`.

    A domain whose slots are all removed is removed, too.
    """
    if not unfilled:
        return dialogues

    def filled_state(state: State | None) -> State | None:
        if state is None:
            return None
        kept = {
            domain: {slot: value for slot, value in slots.items() if bare(value) not in unfilled}
            for domain, slots in state.items()
        }
        return {domain: slots for domain, slots in kept.items() if slots or not state[domain]}

    return {
        name: [turn._replace(state=filled_state(turn.state)) for turn in turns]
        for name, turns in dialogues.items()
    }


def check_name(path: str) -> None:
    """Raise `UsageError` for a file name with the suffix of a compressed file."""
    if path.endswith(tuple(COMPRESSED)):
        raise UsageError(
            f"{shorten(path, 300)}: predictions are written as .json or .jsonl; compress the "
            "file afterwards"
        )


def predictions_text(predictions: Mapping[str, Sequence[Mapping[str, Any]]], path: str) -> str:
    """Return the text of predictions: one dialogue per line if the path ends in `.jsonl`."""
    if Path(path).suffix != ".jsonl":
        return json.dumps(predictions, indent=1, ensure_ascii=False) + "\n"
    return "".join(
        json.dumps({"dialogue": name, "turns": turns}, ensure_ascii=False) + "\n"
        for name, turns in predictions.items()
    )
