"""Predictions of any format → those that are checked and scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mwzeval.benchmark import recognised
from mwzeval.multiwoz import NAME, TITLE
from mwzeval.multiwoz.choices import AUTO, OWN_FORMAT
from mwzeval.multiwoz.formats.adapted import Adapted
from mwzeval.multiwoz.formats.detection import (
    MESSAGES,
    SGD,
    UNIFIED,
    is_list_of_dialogues,
    marks,
)
from mwzeval.multiwoz.formats.frames import adapt_sgd
from mwzeval.multiwoz.formats.messages import adapt_messages
from mwzeval.multiwoz.formats.unified import adapt_unified
from mwzeval.scores.findings import Findings

_ADAPTERS: dict[str, Callable[[Any, Findings], Adapted]] = {
    MESSAGES: adapt_messages,
    UNIFIED: adapt_unified,
    SGD: adapt_sgd,
}
"""Format → what reads it. To teach the evaluator a format, add a line here, its name to
`choices.INPUT_FORMATS` and its marks to `detection.py`."""


def adapt(raw: Any, input_format: str, findings: Findings) -> Any:
    """Return predictions as mwzeval writes them; the same object when they are so already.

    `input_format` is one of `choices.INPUT_FORMATS`. Problems go to `findings`, which from then on
    places turns where they stand in the original. None when nothing is left that could be checked.
    """
    if foreign := recognised(raw, but=NAME):
        findings.error("other-benchmark", foreign.advice(TITLE))
        return None
    if input_format == AUTO:
        chosen = _detected(raw, findings)
        if chosen is None:
            return None
        input_format = chosen
    elif _is_of_another_format(raw, input_format, findings):
        return None
    if input_format == OWN_FORMAT:
        return raw
    adapted = _ADAPTERS[input_format](raw, findings)
    findings.positions = adapted.positions
    return adapted.dialogues or None


def adapt_dialogue(
    dialogue_id: str, turns: Any, input_format: str, findings: Findings
) -> dict[str, Any]:
    """Return the predictions of one dialogue, given by its turns or messages alone.

    Raises `InputError` when nothing is left that could be checked.
    """
    is_listed = input_format in (UNIFIED, SGD)
    raw = [{"dialogue_id": dialogue_id, "turns": turns}] if is_listed else {dialogue_id: turns}
    adapted: dict[str, Any] | None = adapt(raw, input_format, findings)
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
