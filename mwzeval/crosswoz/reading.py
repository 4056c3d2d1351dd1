"""Reads predictions files, with checks and types.

All problems of an input are collected with their locations. `checks.py` checks whether the
predictions match a fold and have the fields of a track.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mwzeval.crosswoz import META, NAME
from mwzeval.crosswoz.corpus.acts import SEPARATOR, Acts, parse_act
from mwzeval.crosswoz.corpus.dialogues import (
    LINE,
    SELECTED_RESULTS,
    Goal,
    Selected,
    State,
    empty_state,
    goal_line,
)
from mwzeval.crosswoz.corpus.file_shapes import chinese_text
from mwzeval.crosswoz.corpus.names import SEVERAL_ITEMS
from mwzeval.crosswoz.corpus.ontology import wrong_in, wrong_slot
from mwzeval.crosswoz.tracks import (
    FIELDS,
    RESPONSE,
    SELECTED,
    STATE,
    SYSTEM_ACTS,
    SYSTEM_ACTS_DELEX,
    SYSTEM_ACTS_NLU,
    USER_ACTS,
    USER_RESPONSE,
    USER_STATE,
)
from mwzeval.errors import InputError, Problem, did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, parse_json, parse_json_lines, plain_name, read_bytes
from mwzeval.scores.findings import OBJECT, Findings, Place, expect, found

DIALOGUE, TURNS, TURN = "dialogue_id", "turns", "turn"
COUNTS_AS_WRONG = "it counts as wrong"
"""The part of a message which states how an unknown intent, domain or slot is scored."""
LONGEST_TEXT = 10_000
"""The maximum length of an utterance; word segmentation takes quadratic time."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file (`_meta`); missing values are None.

    `track` has the name of a track or the names of several tracks. `more` has further entries,
    which reports include.
    """

    dataset: str | None = None
    revision: str | None = None
    split: str | None = None
    track: tuple[str, ...] = ()
    conditioning: str | None = None
    system: str | None = None
    seed: int | str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The prediction for one exchange; missing fields are None.

    `state` has all 26 slots ("" if a slot is not constrained), and also the unknown slots of the
    file.
    """

    user_acts: Acts | None = None
    state: State | None = None
    system_acts: Acts | None = None
    system_acts_delex: tuple[str, ...] | None = None
    system_acts_nlu: Acts | None = None
    selected: Selected | None = None
    user_state: Goal | None = None
    user_response: str | None = None
    response: str | None = None


@dataclass(frozen=True, slots=True)
class Predictions:
    """A predictions file: its header, and its exchanges by dialogue."""

    header: Header
    dialogues: Mapping[str, Sequence[Predicted]]


def read_predictions(path: str | Path) -> Any:
    """Return the content of a JSON or JSON Lines file, which can be compressed or standard input.

    Lines `{"dialogue_id": …, "turns": […]}` become one object of dialogues; one of the lines may be
    the header `{"_meta": …}`. Raises `InputError` if a file has another format or is encoded in
    GBK.
    """
    name = str(path)
    text = chinese_text(read_bytes(path), name)
    if not is_lines(name, text):
        return parse_json(text, name)
    dialogues: dict[str, Any] = {}
    problems: list[Problem] = []
    for number, line in parse_json_lines(text, name):
        if isinstance(line, dict) and line.keys() == {META}:
            dialogues[META] = line[META]
            continue
        identity = line.get(DIALOGUE) if isinstance(line, dict) else None
        if not isinstance(identity, str) or TURNS not in line:
            message = f'line {number}: expected {{"{DIALOGUE}": id, "{TURNS}": […]}}'
            problems.append(Problem("shape", message, file=name))
        elif identity in dialogues:
            message = f"line {number}: the dialogue occurs twice"
            problems.append(Problem("repeated-key", message, file=name, dialogue=identity))
        else:
            dialogues[identity] = line[TURNS]
    if problems:
        raise InputError(problems)
    return dialogues


def header_value(raw: Any, key: str) -> str | None:
    """Return the `revision` or `split` in the header of a predictions file, or None."""
    header = raw.get(META) if isinstance(raw, Mapping) else None
    value = header.get(key) if isinstance(header, Mapping) else None
    return value if isinstance(value, str) else None


def is_lines(name: str, text: str) -> bool:
    """Return whether a file is JSON Lines, judged by its name or its first line."""
    if plain_name(name).endswith(".jsonl"):
        return True
    first, _, rest = text.lstrip().partition("\n")
    begins = first.startswith((f'{{"{DIALOGUE}"', f'{{"{META}"'))
    return begins and first.rstrip().endswith("}") and rest.lstrip().startswith("{")


def check_predictions(raw: Any, findings: Findings) -> Predictions:
    """Return the typed predictions of a raw file, and add problems to `findings`."""
    if not isinstance(raw, Mapping):
        message = 'expected an object of dialogues, {"2303": [entry, …], …}'
        findings.error("shape", f"{message}, {found(raw)}")
        return Predictions(Header(), {})
    if isinstance(raw, RepeatedKeys):
        for key in raw.repeated:
            findings.error("repeated-key", "the dialogue occurs more than once", dialogue=key)
    header = _header(raw.get(META, {}), findings)
    dialogues = {}
    corpus_like = 0
    for name, exchanges in raw.items():
        if name == META:
            continue
        if not isinstance(name, str):
            findings.error("shape", f"a dialogue id must be a string, {found(name)}")
        elif isinstance(exchanges, Mapping) and "messages" in exchanges:
            corpus_like += 1
        elif not isinstance(exchanges, list | tuple):
            message = f"expected a list of entries, {found(exchanges)}"
            findings.error("shape", message, dialogue=name)
        else:
            dialogues[name] = tuple(
                _exchange(exchange, Place(findings, name, index))
                for index, exchange in enumerate(exchanges)
            )
    if corpus_like:
        message = (
            f"{corpus_like} dialogues come from a corpus file (they have messages); predictions "
            "must be a list with one entry for each user turn and its system turn"
        )
        findings.error("corpus-file", message)
    elif not dialogues and not findings.errors:
        findings.error("empty", "the file has no dialogue")
    return Predictions(header, dialogues)


def _header(raw: Any, findings: Findings) -> Header:
    def error(kind: str, message: str) -> None:
        findings.error(kind, message, key=META)

    if not isinstance(raw, Mapping):
        error("shape", f"expected an object, {found(raw)}")
        return Header()
    more = {str(key): value for key, value in raw.items()}
    texts = {
        key: more.pop(key, None)
        for key in ("dataset", "revision", "split", "conditioning", "system")
    }
    for key, value in texts.items():
        if value is not None and not isinstance(value, str):
            error("shape", f"{META}: {key} must be a string, {found(value)}")
            texts[key] = None
    if texts["dataset"] not in (None, NAME):
        message = f'{META} says dataset "{shorten(texts["dataset"])}", not "{NAME}"'
        error("other-dataset", message)
    track, seed = more.pop("track", None), more.pop("seed", None)
    names = track if isinstance(track, list | tuple) else () if track is None else (track,)
    for name in names:
        if not isinstance(name, str):
            error("shape", f"{META}: a track must be a string, {found(name)}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | str)):
        error("shape", f"{META}: seed must be a number, {found(seed)}")
        seed = None
    tracks = tuple(name for name in names if isinstance(name, str))
    return Header(**texts, track=tracks, seed=seed, more=more)


def _exchange(raw: Any, place: Place) -> Predicted:
    if not expect(raw, OBJECT, "expected an object", place):
        return Predicted()
    number = raw.get(TURN)
    if number is not None and number != place.turn:
        message = f"the entry has number {shorten(str(number))}, but is at position {place.turn}"
        place.at(TURN).error("wrong-number", message)
    for key in raw:
        near = did_you_mean(key, FIELDS) if isinstance(key, str) and key not in FIELDS else ""
        if near and key != TURN:
            place.warning("unknown-field", f'"{shorten(key)}" is ignored{near}')
    return Predicted(
        **{
            key: read(raw[key], place.at(key))
            for key, read in READERS.items()
            if raw.get(key) is not None
        }
    )


def checked_acts(raw: Any, place: Place, *, side: str) -> Acts:
    """Return the valid acts in their order, without repeated acts."""
    acts = _acts(raw, place, side)
    distinct = tuple(dict.fromkeys(acts))
    if len(distinct) < len(acts):
        message = "an act that occurs more than once in a turn counts once"
        place.warning("repeated-act", message, count=len(acts) - len(distinct))
    return distinct


def checked_delexicalized(raw: Any, place: Place) -> tuple[str, ...]:
    """Return de-lexicalized acts, `intent+domain+slot+number`, as the policy writes them."""
    return tuple(dict.fromkeys(map(str, _acts(raw, place, "system"))))


def _acts(raw: Any, place: Place, side: str) -> Acts:
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of acts, {found(raw)}")
        return ()
    acts = []
    for item in raw:
        try:
            act = parse_act(item)
        except ValueError as error:
            joined = isinstance(item, str) and "-" in item
            hint = f"; join the parts of an act with {SEPARATOR}, not with -" if joined else ""
            place.error("not-an-act", f"{error} in {shorten(str(item))}{hint}")
            continue
        mistake = wrong_in(side, act.intent, act.domain, act.slot)
        if mistake is not None:
            place.doubt(*mistake, then=COUNTS_AS_WRONG)
        acts.append(act)
    return tuple(acts)


def checked_state(raw: Any, place: Place) -> State:
    """Return a complete state, with empty values for slots that are missing.

    Unknown slots remain in the state unless they are empty, so that the state counts as wrong.
    """
    state = empty_state()
    if not isinstance(raw, Mapping):
        place.error("shape", f"expected an object of domains, {found(raw)}")
        return state
    for domain, slots in raw.items():
        if not isinstance(domain, str) or not isinstance(slots, Mapping):
            what = f'of domain "{shorten(str(domain))}" '
            place.error("shape", f"expected an object of slots {what}, {found(slots)}")
            continue
        if domain not in state and (mistake := wrong_slot(domain)) is not None:
            place.doubt(*mistake, then=COUNTS_AS_WRONG)
        for slot, value in slots.items():
            if slot == SELECTED_RESULTS:
                continue
            if not isinstance(slot, str):
                place.error("shape", f"a slot must be a string, {found(slot)}")
                continue
            text = _state_value(slot, value, place)
            if domain not in state or slot not in state[domain]:
                if domain in state and (mistake := wrong_slot(domain, slot)) is not None:
                    place.doubt(*mistake, then=COUNTS_AS_WRONG)
                if not text:
                    continue
            state.setdefault(domain, {})[slot] = text
    return state


def _state_value(slot: str, value: Any, place: Place) -> str:
    if isinstance(value, str | None):
        return value or ""
    if slot in SEVERAL_ITEMS and isinstance(value, list | tuple):
        if all(isinstance(item, str) for item in value):
            return " ".join(value)
        place.error("shape", f'the items of "{slot}" must be strings')
        return ""
    lists = f" (lists are for {' and '.join(sorted(SEVERAL_ITEMS))})"
    hint = lists if isinstance(value, list | tuple) else ""
    place.error("shape", f'the value of "{shorten(slot)}" must be a string, {found(value)}{hint}')
    return ""


def checked_selected(raw: Any, place: Place) -> Selected:
    """Return the names selected in each domain."""
    if not isinstance(raw, Mapping):
        place.error("shape", f"expected an object of domains, {found(raw)}")
        return {}
    selected = {}
    for domain, names in raw.items():
        problem = None if isinstance(names, list | tuple) else found(names)
        if problem is None and (others := [n for n in names if not isinstance(n, str)]):
            problem = f"{found(others[0])} among them"
        if problem is not None:
            message = f'expected a list of names for "{shorten(str(domain))}", {problem}'
            place.error("shape", message)
            continue
        if (mistake := wrong_slot(str(domain))) is not None:
            place.doubt(*mistake, then=COUNTS_AS_WRONG)
        selected[str(domain)] = tuple(names)
    return selected


def checked_user_state(raw: Any, place: Place) -> Goal:
    """Return the state of a simulated user.

    Each line is `[sub-goal, domain, slot, value, expressed]`.
    """
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of five-part lists, {found(raw)}")
        return ()
    lines = []
    for item in raw:
        line = goal_line(item)
        if line is None:
            place.error("not-a-line", f"expected {LINE}; found {shorten(str(item))}")
        else:
            lines.append(line)
    return tuple(lines)


def checked_text(raw: Any, place: Place) -> str | None:
    """Return a valid utterance, or None if the utterance is invalid."""
    if not isinstance(raw, str):
        place.error("shape", f"expected a string, {found(raw)}")
        return None
    if len(raw) > LONGEST_TEXT:
        message = f"{len(raw):,} characters; the limit is {LONGEST_TEXT:,}"
        place.error("too-long", message)
    return raw


READERS: Mapping[str, Callable[[Any, Place], Any]] = {
    USER_ACTS: partial(checked_acts, side="user"),
    SYSTEM_ACTS: partial(checked_acts, side="system"),
    SYSTEM_ACTS_NLU: partial(checked_acts, side="system"),
    STATE: checked_state,
    SYSTEM_ACTS_DELEX: checked_delexicalized,
    SELECTED: checked_selected,
    USER_STATE: checked_user_state,
    USER_RESPONSE: checked_text,
    RESPONSE: checked_text,
}
"""A mapping from each field of an exchange to the function that checks its value."""
