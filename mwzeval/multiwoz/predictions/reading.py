"""Predictions as people write them, checked and typed; and written.

Everything that is wrong with an input is collected with its place; nothing of the input is changed
but that slots are left out whose values the user calls unfilled. `census.py` checks whether an
input fits a corpus.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypedDict, TypeVar
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
from mwzeval.scores.findings import Findings as Findings
from mwzeval.scores.findings import Place, check_repeated, found, repeated

TURN_KEYS = ("response", "state", "active_domains", "bookings", "calls")
_TURN_KEYS = frozenset(TURN_KEYS)
_PLAIN_KEYS = _TURN_KEYS - {"calls"}
BOOKING_KEYS = ("domain", "slots")
CALL_KEYS = ("function", "arguments", "result", "slots")

RESPONSE_NAMES = frozenset(
    {"resp", "text", "utterance", "output", "answer", "reply", "generated", "generation"}
    | {"generated_response", "prediction", "predicted", "pred", "hypothesis", "hyp", "system"}
    | {"content", "resp_gen", "delex_response", "response_delex", "system_response", "message"}
)
"""Names under which systems leave their responses, for the messages about turns without one."""
FLAT_KEY = re.compile(r"(?P<domain>[a-z]+)-(?:semi-|book-)?(?P<slot>[a-z][a-z _-]*)", re.IGNORECASE)
SHOWN_KEYS = 6
"""How many keys of a record a message names."""
AN_EXAMPLE = '{"hotel": {"area": "south"}}'

Item = TypeVar("Item")
LONGEST_RESPONSE = 100_000
"""Characters; people's longest has a few hundred. Scores take a hundred bytes for each."""


class PredictedTurn(TypedDict, total=False):
    """A system turn as mwzeval's own format has it; docs/formats.md says what each key means.

    `state` is domain → slot → value. Of a `bookings` entry the keys are `domain` and `slots`, of a
    `calls` entry `function`, `arguments`, `result` and `slots`.
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
"""Dialogue id → its system turns in order; or messages, or the dialogues of another format."""


class LineForm(NamedTuple):
    """What a line of JSON Lines is: the keys of its dialogue's id and content.

    `is_whole` when the line is a dialogue as other formats list them.
    """

    name: str
    content: str
    is_whole: bool


LINE_FORMS = (
    LineForm("dialogue", "turns", is_whole=False),
    LineForm("dialogue", "messages", is_whole=False),
    LineForm("dialogue_id", "turns", is_whole=True),
)


class Booking(NamedTuple):
    """A booking that the system made in a turn: `name` or `trainid`, `day`, `people`, … of it."""

    domain: str
    slots: Mapping[str, str]


class ToolCall(NamedTuple):
    """A call that the system made in a turn, and what it returned: text or JSON, None for nothing.

    `slots` are the names of what it returned → ours, where they differ.
    """

    function: str
    arguments: Mapping[str, str]
    result: object = None
    slots: Mapping[str, str | None] = {}


class Turn(NamedTuple):
    """A system turn; what the prediction does not say is None."""

    response: str | None
    state: State | None
    active_domains: tuple[str, ...] | None
    bookings: tuple[Booking, ...] | None = None
    calls: tuple[ToolCall, ...] = ()


Dialogues = Mapping[str, Sequence[Turn]]


def read_predictions(path: str | Path) -> Any:
    """Return what a JSON or JSON Lines file has in it (also compressed, or `-`), in any format.

    Raises `InputError` when it is neither, or a line has no dialogue, or one comes twice.
    """
    return predictions_of_text(read_text(path), str(path))


def predictions_of_text(text: str, name: str) -> Any:
    """Return what the text of a file has in it; `name` is that of the file.

    Raises `InputError` as `read_predictions` does.
    """
    if called_lines(name) or _has_lines(text):
        return predictions_of_lines(parse_json_lines(text, name), name)
    return parse_json(text, name)


def called_lines(name: str) -> bool:
    """Tell whether a file's name says that it is JSON Lines."""
    return plain_name(name).endswith(".jsonl")


def _has_lines(text: str) -> bool:
    """Recognise JSON Lines by the first line, on standard input and under other names."""
    return is_line(text.lstrip().partition("\n")[0])


def is_line(text: str) -> bool:
    """Tell whether a text is one dialogue as a line of JSON Lines has it, of any benchmark."""
    text = text.strip()
    if not (text.endswith("}") and ('"dialogue' in text or '"_meta"' in text)):
        return False
    try:
        line = json.loads(text)
        return _form_of(line) is not None or recognised(line, but=NAME) is not None
    except (ValueError, RecursionError):
        return False


def _form_of(line: Any) -> LineForm | None:
    if not isinstance(line, dict):
        return None
    forms = [form for form in LINE_FORMS if form.name in line and form.content in line]
    return forms[0] if len(forms) == 1 else None


def predictions_of_lines(lines: Iterable[tuple[int, Any]], name: str) -> Any:
    """Return the dialogues of (line number, value) pairs. Raises `InputError` for odd lines."""
    dialogues: dict[str, Any] = {}
    whole: list[Any] = []
    findings = Findings(name)
    expected = " or ".join(f'{{"{form.name}": id, "{form.content}": […]}}' for form in LINE_FORMS)
    for number, line in lines:
        if not (dialogues or whole) and (foreign := recognised(line, but=NAME)):
            findings.error("other-benchmark", advice(foreign, TITLE))
            break
        form = _form_of(line)
        if form is None or not isinstance(line[form.name], str):
            findings.error("shape", f"line {number}: expected {expected}")
            continue
        dialogue = line[form.name]
        if isinstance(line, RepeatedKeys):
            findings.error("repeated-key", f"line {number}: {repeated(line)}", dialogue=dialogue)
        if dialogues if form.is_whole else whole:
            message = f"line {number}: lines of different formats stand in one file"
            findings.error("mixed-formats", message, dialogue=dialogue)
        if form.is_whole:
            whole.append(line)
            continue
        if dialogue in dialogues:
            message = f"line {number}: the dialogue was given before"
            findings.error("repeated-key", message, dialogue=dialogue)
        content = line[form.content]
        dialogues[dialogue] = content if form.content == "turns" else {form.content: content}
    findings.check()
    return whole or dialogues


def check_dialogues(raw: Any, findings: Findings, *, need_responses: bool) -> Dialogues:
    """Return the typed dialogues of raw predictions; problems go to `findings`."""
    if not isinstance(raw, Mapping):
        message = 'expected an object of dialogues, {"sng0073": [turn, …], …}'
        if isinstance(raw, list | tuple) and raw and isinstance(raw[0], Mapping):
            keys = ", ".join(shorten(str(key)) for key in list(raw[0])[:SHOWN_KEYS])
            remedy = f" of records with the keys {keys}, read as mwzeval's own format: "
            remedy += (
                'each needs "turns" and a "dialogue_id" of its own'
                if "turns" in raw[0]
                else "group the turns by dialogue"
            )
        else:
            remedy = ""
        findings.error("shape", f"{message}, {found(raw)}{remedy}")
        return {}
    if isinstance(raw, RepeatedKeys):
        for key in raw.repeated:
            findings.error("repeated-key", "the dialogue is given more than once", dialogue=key)
    if not raw:
        findings.error("empty", "there is no dialogue in it")
    dialogues = {}
    for name, turns in raw.items():
        if not isinstance(name, str):
            findings.error("shape", f"a dialogue id must be text, {found(name)}")
        elif not isinstance(turns, list | tuple):
            findings.error("shape", f"expected a list of turns, {found(turns)}", dialogue=name)
        elif not turns:
            findings.error("empty", "the dialogue has no turns", dialogue=name)
        else:
            dialogues[name] = [
                _plain_turn(turn) or _turn(turn, need_responses, Place(findings, name, index))
                for index, turn in enumerate(turns)
            ]
    return dialogues


def _plain_turn(raw: Any) -> Turn | None:
    """Return a turn that is exactly as it should be, as nearly all are, without further ado."""
    if type(raw) is not dict or not raw.keys() <= _PLAIN_KEYS:
        return None
    response, state, active = raw.get("response"), raw.get("state"), raw.get("active_domains")
    if type(response) is not str or ("state" in raw and not _is_plain_state(state)):
        return None
    if len(response) > LONGEST_RESPONSE:
        return None
    if "active_domains" in raw:
        if type(active) is not list or not all(type(domain) is str for domain in active):
            return None
        active = tuple(active)
    if "bookings" in raw:
        if raw["bookings"] != []:
            return None
        return Turn(response, state, active, ())
    return Turn(response, state, active)


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
    if not isinstance(raw, Mapping):
        remedy = ': write {"response": "…"}' if isinstance(raw, str) else ""
        place.error("shape", f"expected an object, {found(raw)}{remedy}")
        return Turn(None, None, None)
    check_repeated(raw, place)
    response = raw.get("response")
    if response is None and not need_response:
        pass
    elif "response" not in raw:
        if need_response:
            names = [key for key in raw if isinstance(key, str)]
            called = [name for name in names if name.lower() in RESPONSE_NAMES]
            meant = did_you_mean("response", names).replace("did you mean", "was this meant:")
            if called:
                meant = f' — was "{called[0]}" meant?'
            place.error("missing-response", f"the turn has no response{meant}", "response")
    elif not isinstance(response, str):
        remedy = ': write "" if the system says nothing' if response is None else ""
        place.error("shape", f"expected text, {found(response)}{remedy}", "response")
        response = None
    elif len(response) > LONGEST_RESPONSE:
        message = f"{len(response):,} characters, where a response has at most {LONGEST_RESPONSE:,}"
        place.error("too-long", message, "response")
        response = None
    for key in raw:
        if key not in TURN_KEYS:
            name = shorten(str(key))
            is_response = "response" not in raw and name.lower() in RESPONSE_NAMES
            close = did_you_mean("response" if is_response else name, TURN_KEYS)
            message = f'a turn\'s key "{name}" is not known and not used{close}'
            place.warning("unknown-key", message, name)
    state = _state(raw["state"], place) if "state" in raw else None
    active = _active_domains(raw["active_domains"], place) if "active_domains" in raw else None
    bookings = None
    if "bookings" in raw:
        bookings = _items(raw["bookings"], "bookings", place, _booking)
    calls = _items(raw.get("calls", ()), "calls", place, _call)
    return Turn(response, state, active, bookings, calls)


def _state(raw: Any, place: Place) -> State:
    if not isinstance(raw, Mapping):
        remedy = f": write {AN_EXAMPLE}, without quotes around it" if isinstance(raw, str) else ""
        message = f"a state is an object of domains, {found(raw)}{remedy}"
        place.error("shape", message, "state")
        return {}
    check_repeated(raw, place)
    if any(map(FLAT_KEY.fullmatch, (key for key in raw if isinstance(key, str)))):
        raw = _unflattened(raw, place)
    return {
        domain: values
        for domain, slots in raw.items()
        if (values := _slots_of_domain(domain, slots, place)) is not None
    }


def _unflattened(raw: Mapping[Any, Any], place: Place) -> dict[Any, Any]:
    """Return a state with slots called `hotel-area` or `hotel-book day` as slots of domains."""
    state = {key: value for key, value in raw.items() if isinstance(value, Mapping)}
    for key, value in raw.items():
        flat = FLAT_KEY.fullmatch(key) if isinstance(key, str) else None
        if isinstance(value, Mapping):
            continue
        if flat is None:
            state[key] = value
            continue
        slots = state.get(flat["domain"], {})
        if not isinstance(slots, Mapping):
            continue  # which is an error
        state[flat["domain"]] = {**slots, flat["slot"]: value}
        place.warning("flat-state", 'slots called "hotel-area" are read as slots of domains', key)
    return state


def _slots_of_domain(domain: Any, raw: Any, place: Place) -> dict[str, str] | None:
    key = f"state.{domain}"
    if not isinstance(domain, str) or not isinstance(raw, Mapping):
        place.error("shape", f"a domain's state is an object of slots, {found(raw)}", key)
        return None
    return _slots(raw, key, place)


def _slots(raw: Mapping[Any, Any], key: str, place: Place) -> dict[str, str]:
    check_repeated(raw, place)
    slots = {}
    for slot, value in raw.items():
        where = f"{key}.{slot}"
        if isinstance(value, list | tuple):
            place.warning(
                "list-value", "a list stands as a slot's value; its first item is used", where
            )
            if not value:
                continue
            value = value[0]
        if not isinstance(slot, str):
            place.error("shape", f"a slot's name is text, {found(slot)}", where)
        elif not isinstance(value, str):
            hint = f': write "{value}"' if type(value) in (int, float) else ""
            place.error("shape", f"a slot's value is text, {found(value)}{hint}", where)
        else:
            slots[slot] = value
    return slots


def _active_domains(raw: Any, place: Place) -> tuple[str, ...]:
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of domain names, {found(raw)}", "active_domains")
        return ()
    for domain in raw:
        if not isinstance(domain, str):
            message = f"a domain's name is text, {found(domain)}"
            place.error("shape", message, "active_domains")
    return tuple(domain for domain in raw if isinstance(domain, str))


def _items(
    raw: Any, key: str, place: Place, item: Callable[[Any, str, Place], Item | None]
) -> tuple[Item, ...]:
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of {key}, {found(raw)}", key)
        return ()
    items = (item(value, f"{key}[{index}]", place) for index, value in enumerate(raw))
    return tuple(value for value in items if value is not None)


def _check_keys(
    raw: Mapping[Any, Any], what: str, known: Sequence[str], key: str, place: Place
) -> None:
    for name in (name for name in raw if name not in known):
        close = did_you_mean(str(name), known)
        message = f'a {what}\'s key "{shorten(str(name))}" is not known and not used{close}'
        place.warning("unknown-key", message, key)


def _booking(raw: Any, key: str, place: Place) -> Booking | None:
    if not isinstance(raw, Mapping):
        place.error("shape", f'a booking is {{"domain": …, "slots": {{…}}}}, {found(raw)}', key)
        return None
    check_repeated(raw, place)
    domain, slots = raw.get("domain"), raw.get("slots")
    if not isinstance(domain, str):
        place.error("shape", f"a domain's name is text, {found(domain)}", f"{key}.domain")
    if not isinstance(slots, Mapping):
        place.error("shape", f"expected an object of slots, {found(slots)}", f"{key}.slots")
    if not isinstance(domain, str) or not isinstance(slots, Mapping):
        return None
    _check_keys(raw, "booking", BOOKING_KEYS, key, place)
    return Booking(domain, _slots(slots, f"{key}.slots", place))


def _call(raw: Any, key: str, place: Place) -> ToolCall | None:
    if not isinstance(raw, Mapping):
        message = 'a call is {"function": …, "arguments": {…}, "result": …}'
        place.error("shape", f"{message}, {found(raw)}", key)
        return None
    check_repeated(raw, place)
    function, arguments, slots = raw.get("function"), raw.get("arguments", {}), raw.get("slots", {})
    for name, value in (("arguments", arguments), ("slots", slots)):
        if not isinstance(value, Mapping):
            place.error("shape", f"expected an object, {found(value)}", f"{key}.{name}")
    if not isinstance(function, str):
        place.error("shape", f"a function's name is text, {found(function)}", f"{key}.function")
    if not (
        isinstance(function, str) and isinstance(arguments, Mapping) and isinstance(slots, Mapping)
    ):
        return None
    _check_keys(raw, "call", CALL_KEYS, key, place)
    given = _slots(arguments, f"{key}.arguments", place)
    return ToolCall(function, given, raw.get("result"), slots)


UNFILLED = frozenset(
    {
        *("", "-", "?", "none", "null", "nil", "nan", "n/a", "empty", "missing", "undefined"),
        *("unknown", "unspecified", "unfilled", "no value", "not mentioned", "not given"),
        *("not known", "not specified", "not provided", "not stated", "not set", "not filled"),
    }
)
"""What systems write for a slot that is not filled, in lower case: no slot can have such a value.

The unified format always lists all slots; there they are read so without being told.
"""

EMPTY = '""'
"""How the empty value is written in signatures."""


@lru_cache(maxsize=2**14)
def bare(value: str) -> str:
    """Return a value in lower case without invisible characters and blanks around it."""
    return visible(value).strip().lower()


def visible(value: str) -> str:
    """Return a value without characters that are not seen, such as zero-width spaces."""
    if value.isascii():
        return value
    return "".join(char for char in value if category(char) != "Cf")


def parse_unfilled(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return the values that are to be read as not filled, each once, in lower case and sorted.

    `values` are one by one, or with commas between; nothing, or two quotation marks, is the empty
    value. Raises `UsageError` for a value that signatures cannot name.
    """
    listed = values.split(",") if isinstance(values, str) else values
    spelled = {"" if value.strip() == EMPTY else bare(value) for value in listed}
    for value in spelled:
        if not value.isprintable() or "|" in value or "," in value:
            raise UsageError(f'"{shorten(value)}" cannot be a value that is not filled')
    return tuple(sorted(spelled))


def spelling(value: str) -> str:
    """Return how a value is named in signatures and on the command line."""
    return value or EMPTY


def filled(dialogues: Dialogues, unfilled: Collection[str]) -> Dialogues:
    """Return dialogues without the slots of their states that have one of these values.

    A domain goes with its last slot, as if nothing had been said about it.
    """
    if not unfilled:
        return dialogues

    def filled_state(state: State) -> State:
        kept: dict[str, Mapping[str, str]] = {}
        for domain, slots in state.items():
            left = {slot: value for slot, value in slots.items() if bare(value) not in unfilled}
            if left or not slots:
                kept[domain] = left
        return kept

    return {
        name: [
            turn if turn.state is None else turn._replace(state=filled_state(turn.state))
            for turn in turns
        ]
        for name, turns in dialogues.items()
    }


def check_name(path: str) -> None:
    """Raise `UsageError` for a file whose name says that it is compressed."""
    if path.endswith(tuple(COMPRESSED)):
        raise UsageError(
            f"{shorten(path, 300)}: predictions are written as .json or .jsonl; compress them after"
        )


def predictions_text(predictions: Mapping[str, Sequence[Mapping[str, Any]]], path: str) -> str:
    """Return the text of predictions: a line a dialogue where the path ends in `.jsonl`."""
    if Path(path).suffix != ".jsonl":
        return json.dumps(predictions, indent=1, ensure_ascii=False) + "\n"
    return "".join(
        json.dumps({"dialogue": name, "turns": turns}, ensure_ascii=False) + "\n"
        for name, turns in predictions.items()
    )
