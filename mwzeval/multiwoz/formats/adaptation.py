"""Convert predictions in any format to mwzeval's own format.

A format is recognized by its marks, which are keys of turns or messages that only this format has
at this position. All items of all dialogues are searched for marks. Predictions with marks of two
formats cause an error. Predictions without any mark are read as mwzeval's own format, whose checks
report problems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from mwzeval.benchmark import advice, recognised
from mwzeval.errors import Problem
from mwzeval.multiwoz import NAME, TITLE
from mwzeval.multiwoz.choices import AUTO, OWN_FORMAT
from mwzeval.multiwoz.formats.dialogues import PREDICTIONS, Adapted, adapt_sgd, adapt_unified
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.formats.messages import CONTENT, adapt_messages
from mwzeval.multiwoz.predictions.reading import TURN_KEYS
from mwzeval.scores.findings import LIST, OBJECT, Findings, first_item, misfit

MESSAGES, UNIFIED, SGD = "messages", "unified", "sgd"
TITLES = {
    MESSAGES: "chat messages",
    UNIFIED: "ConvLab-3's unified format",
    SGD: "dialogues with schema-guided frames",
}
LISTED: dict[str, Callable[[Any, Findings], Adapted]] = {UNIFIED: adapt_unified, SGD: adapt_sgd}
"""The function that converts each format that is a list of dialogues. To add a format, add a line
here and to `TITLES`, add its name to `choices.INPUT_FORMATS`, and add its distinctive keys to
`_marks`."""
_OF_UNIFIED = {"state", PREDICTIONS, "utt_idx", "dialogue_acts", "db_results"}
_OF_ANNOTATED = {"speaker", "utterance", "frames", PREDICTIONS, "utt_idx"}
"""Keys of annotated turns. Predictions in mwzeval's own format do not have these keys."""


def marks(raw: Any) -> set[str]:
    """Return the formats whose distinctive keys occur in the predictions."""
    return set(_marks(raw))


def _marks(raw: Any) -> Iterator[str]:
    for dialogue in raw.values() if isinstance(raw, OBJECT) else ():
        if isinstance(dialogue, OBJECT) and CONTENT in dialogue:
            yield MESSAGES
        for item in dialogue if isinstance(dialogue, LIST) else ():
            # In mwzeval's own format, other keys of turns are ignored, even a key "role".
            if isinstance(item, OBJECT) and not item.keys().isdisjoint(TURN_KEYS):
                yield OWN_FORMAT
            elif isinstance(item, OBJECT) and "role" in item:
                yield MESSAGES
    for dialogue in raw if isinstance(raw, LIST) else ():
        turns = dialogue.get("turns") if isinstance(dialogue, OBJECT) else None
        for turn in turns if isinstance(turns, LIST) else ():
            if isinstance(turn, OBJECT):
                if "response" in turn and turn.keys().isdisjoint(_OF_ANNOTATED):
                    yield OWN_FORMAT
                    continue
                if "frames" in turn:
                    yield SGD
                if not turn.keys().isdisjoint(_OF_UNIFIED):
                    yield UNIFIED


def is_list_of_dialogues(raw: Any) -> bool:
    """Return whether a value is a list that contains an object with turns, in any format."""
    return isinstance(raw, LIST) and any(
        isinstance(dialogue, OBJECT) and "turns" in dialogue for dialogue in raw
    )


def _is_schema_guided(raw: Any) -> bool:
    """Return whether the first dialogue has services of SGD, which are not in lower case."""
    first = first_item(raw)
    fits = not misfit(first, {"services": (str,)})
    return fits and all(re.fullmatch(r"[A-Z][A-Za-z]*_[0-9]+", name) for name in first["services"])


def adapt(raw: Any, input_format: str, findings: Findings, tools: Tools = OUR_TOOLS) -> Any:
    """Convert predictions to mwzeval's own format; return the same object if it has this format.

    `input_format` is one of `choices.INPUT_FORMATS`; `tools` are the functions that messages call.
    Problems are added to `findings`, which also receives the positions of turns in the original
    file. Returns None if no dialogue can be checked.
    """
    is_schema_guided = _is_schema_guided(raw)
    if foreign := recognised(raw, but=NAME, external=is_schema_guided):
        findings.error("other-benchmark", advice(foreign, TITLE))
        return None
    if is_schema_guided:
        findings.error(
            "other-benchmark",
            "this looks like a file of SGD (its services have names such as Hotels_1), and is read "
            f"as predictions for {TITLE}: to score it, install the plug-in mwzeval-sgd (in a clone "
            "of mwzeval: pip install ./plugins/mwzeval-sgd)",
        )
        return None
    if isinstance(raw, OBJECT) and not any(isinstance(value, list) for value in raw.values()):
        wrapped = raw.get(PREDICTIONS)  # as in `{"predictions": {…}}`; other keys are ignored
        if is_list_of_dialogues(wrapped) or (
            isinstance(wrapped, OBJECT) and CONTENT not in wrapped
        ):
            raw = wrapped
    chosen = _chosen_format(raw, input_format, findings)
    if chosen is None:
        return None
    if chosen == OWN_FORMAT:
        return _by_id(raw) if is_list_of_dialogues(raw) else raw
    before = len(findings.errors)
    dialogues, positions = {}, {}
    adapted = (
        LISTED[chosen](raw, findings) if chosen in LISTED else adapt_messages(raw, findings, tools)
    )
    for name, turns in adapted:
        if turns:
            positions[name] = [position for position, _ in turns]
            dialogues[name] = [turn for _, turn in turns]
    if input_format == AUTO and len(findings.errors) > before:
        message = (
            f"the file was read as {TITLES[chosen]} because of its keys: if this is wrong, set "
            "--input-format"
        )
        findings.errors.insert(before, Problem("read-as", message, file=findings.file))
    findings.positions = positions
    return dialogues or None


def _chosen_format(raw: Any, stated: str, findings: Findings) -> str | None:
    """Return the format of predictions, or None if it is unclear or not the stated format."""
    fitting = sorted(marks(raw))
    if stated != AUTO:
        if not fitting or stated in fitting:
            return stated
        for other in fitting:
            message = f"this is not {stated}; it looks like {other}: use --input-format {other}"
            findings.error("wrong-format", message)
        return None
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and not is_list_of_dialogues(raw):
        return OWN_FORMAT
    names = " and ".join(fitting) or f"{SGD} and {UNIFIED}"
    what = "has keys of both" if fitting else "could be both"
    findings.error(
        "ambiguous-format",
        f"the format cannot be detected: the file {what} {names} — set --input-format",
    )
    return None


def _by_id(raw: Any) -> Any:
    """Return a list of dialogues as a map from id to turns, or as it is if some are missing."""
    dialogues: dict[Any, Any] = {}
    for dialogue in raw:
        name = dialogue.get("dialogue_id") if isinstance(dialogue, OBJECT) else None
        if not isinstance(name, str) or name in dialogues or "turns" not in dialogue:
            return raw
        dialogues[name] = dialogue["turns"]
    return dialogues


def adapt_dialogue(
    dialogue_id: str, turns: Any, input_format: str, findings: Findings, tools: Tools
) -> dict[str, Any]:
    """Return the predictions of one dialogue from its turns or messages.

    Raises `InputError` if the dialogue cannot be checked.
    """
    listed = [{"dialogue_id": dialogue_id, "turns": turns}]
    raw = listed if input_format in LISTED else {dialogue_id: turns}
    adapted: dict[str, Any] | None = adapt(raw, input_format, findings, tools)
    if adapted is None:
        findings.check()
    return adapted or {}
