"""Predictions of any format → those that are checked and scored.

Which format predictions are in, told by their shape.

Every item of every dialogue is looked at. A turn or message has a format's mark when it has one of
the format's keys in the format's place; predictions are of the one format whose marks they have.
Marks of two formats are an error, never a guess. Without any mark they are taken for mwzeval's own,
whose checks then say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mwzeval.benchmark import advice, recognised
from mwzeval.errors import Problem
from mwzeval.multiwoz import NAME, TITLE
from mwzeval.multiwoz.choices import AUTO, OWN_FORMAT
from mwzeval.multiwoz.formats.dialogues import Adapted, adapt_sgd, adapt_unified
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.formats.messages import adapt_messages
from mwzeval.multiwoz.predictions.reading import TURN_KEYS
from mwzeval.scores.findings import OBJECT, Findings

MESSAGES, UNIFIED, SGD = "messages", "unified", "sgd"

_OF_MWZEVAL = frozenset(TURN_KEYS)
_OF_UNIFIED = frozenset({"state", "predictions", "utt_idx", "dialogue_acts", "db_results"})
_OF_SGD = frozenset({"frames"})
_OF_ANNOTATED = frozenset({"speaker", "utterance", "frames", "predictions", "utt_idx"})
"""Keys of turns that somebody annotated; predictions in mwzeval's own format have none of them."""
PREDICTIONS = "predictions"
TITLES = {
    MESSAGES: "chat messages",
    UNIFIED: "ConvLab-3's unified format",
    SGD: "dialogues with schema-guided frames",
}


def marks(raw: Any) -> set[str]:
    """Return the formats whose marks are found."""
    if isinstance(raw, OBJECT):
        return set(_marks_of_object(raw))
    if isinstance(raw, list | tuple):
        return set(_marks_of_list(raw))
    return set()


def is_list_of_dialogues(raw: Any) -> bool:
    """Tell whether this is a list with an object that has turns, of whichever format."""
    return isinstance(raw, list | tuple) and any(
        isinstance(dialogue, OBJECT) and "turns" in dialogue for dialogue in raw
    )


def _marks_of_object(raw: Mapping[Any, Any]) -> Iterator[str]:
    for dialogue in raw.values():
        if isinstance(dialogue, OBJECT) and "messages" in dialogue:
            yield MESSAGES
        elif isinstance(dialogue, list | tuple):
            for item in dialogue:
                # What else stands in a turn of our own is not used, be it called "role".
                if not isinstance(item, OBJECT):
                    continue
                if not _OF_MWZEVAL.isdisjoint(item):
                    yield OWN_FORMAT
                elif "role" in item:
                    yield MESSAGES


def _marks_of_list(raw: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    for dialogue in raw:
        turns = dialogue.get("turns") if isinstance(dialogue, OBJECT) else None
        for turn in turns if isinstance(turns, list | tuple) else ():
            if isinstance(turn, OBJECT):
                if "response" in turn and _OF_ANNOTATED.isdisjoint(turn):
                    yield OWN_FORMAT
                    continue
                if not _OF_SGD.isdisjoint(turn):
                    yield SGD
                if not _OF_UNIFIED.isdisjoint(turn):
                    yield UNIFIED


_ADAPTERS: dict[str, Callable[[Any, Findings], Adapted]] = {
    UNIFIED: adapt_unified,
    SGD: adapt_sgd,
}
"""Format of listed dialogues → what reads it. To add a format, add a line here, its name to
`choices.INPUT_FORMATS`, and what it is recognised by to `marks`."""


def adapt(raw: Any, input_format: str, findings: Findings, tools: Tools = OUR_TOOLS) -> Any:
    """Return predictions as mwzeval writes them; the same object when they are so already.

    `input_format` is one of `choices.INPUT_FORMATS`; `tools` are what messages call. Problems go
    to `findings`, which from then on places turns where they stand in the original. None when
    nothing is left that could be checked.
    """
    if foreign := recognised(raw, but=NAME):
        findings.error("other-benchmark", advice(foreign, TITLE))
        return None
    raw = _unwrapped(raw)
    is_detected = input_format == AUTO
    if is_detected:
        chosen = _detected(raw, findings)
        if chosen is None:
            return None
        input_format = chosen
    elif _is_of_another_format(raw, input_format, findings):
        return None
    if input_format == OWN_FORMAT:
        return _by_id(raw) if is_list_of_dialogues(raw) else raw
    before = len(findings.errors)
    if input_format == MESSAGES:
        adapted = adapt_messages(raw, findings, tools)
    else:
        adapted = _ADAPTERS[input_format](raw, findings)
    if is_detected and len(findings.errors) > before:
        message = (
            f"the file was read as {TITLES[input_format]}, as its keys suggest: if it is in "
            "another format, choose it with --input-format"
        )
        findings.errors.insert(before, Problem("read-as", message, file=findings.file))
    findings.positions = adapted.positions
    return adapted.dialogues or None


def _unwrapped(raw: Any) -> Any:
    """Return the dialogues of `{"predictions": {…}}`, whatever is said of them beside that."""
    if not isinstance(raw, OBJECT) or any(isinstance(value, list) for value in raw.values()):
        return raw
    wrapped = raw.get(PREDICTIONS)
    is_wrapped = isinstance(wrapped, OBJECT) and "messages" not in wrapped
    return wrapped if is_wrapped or is_list_of_dialogues(wrapped) else raw


def _by_id(raw: Sequence[Any]) -> Any:
    """Return listed dialogues whose turns are mwzeval's own by their ids."""
    dialogues: dict[Any, Any] = {}
    for dialogue in raw:
        name = dialogue.get("dialogue_id") if isinstance(dialogue, OBJECT) else None
        if not isinstance(name, str) or name in dialogues or "turns" not in dialogue:
            return raw
        dialogues[name] = dialogue["turns"]
    return dialogues


def adapt_dialogue(
    dialogue_id: str,
    turns: Any,
    input_format: str,
    findings: Findings,
    tools: Tools = OUR_TOOLS,
) -> dict[str, Any]:
    """Return the predictions of one dialogue, given by its turns or messages alone.

    Raises `InputError` when nothing is left that could be checked.
    """
    is_listed = input_format in (UNIFIED, SGD)
    raw = [{"dialogue_id": dialogue_id, "turns": turns}] if is_listed else {dialogue_id: turns}
    adapted: dict[str, Any] | None = adapt(raw, input_format, findings, tools)
    if adapted is None:
        findings.check()
    return adapted or {}


def _is_of_another_format(raw: Any, said: str, findings: Findings) -> bool:
    """Tell whether there are marks, but none of the format that was said."""
    found = marks(raw)
    if not found or said in found:
        return False
    for other in sorted(found):
        message = f"this is not {said}; it looks like {other}: say --input-format {other}"
        findings.error("wrong-format", message)
    return True


def _detected(raw: Any, findings: Findings) -> str | None:
    fitting = sorted(marks(raw))
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and not is_list_of_dialogues(raw):
        return OWN_FORMAT
    names = " and ".join(fitting) or f"{SGD} and {UNIFIED}"
    what = "has marks of both" if fitting else "could be both"
    findings.error(
        "ambiguous-format",
        f"which format this is cannot be told: it {what} {names} — say which with --input-format",
    )
    return None
