"""What a message says: text, or parts of several kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mwzeval.errors import did_you_mean, shorten
from mwzeval.scores.findings import OBJECT, Place, check_repeated, found

TEXTS = {"text": "text", "output_text": "text", "input_text": "text", "refusal": "refusal"}
"""Type of a part with text → the key of the text."""
CALL, RESULT = "tool_use", "tool_result"
UNSAID = ("thinking", "redacted_thinking", "reasoning")
"""Parts that the user does not see."""


class Content(NamedTuple):
    """The text of a message, and the ids in its parts that are results of calls.

    `results` are (number of the part, id of the call). `has_other`: there are parts of other kinds.
    """

    text: str
    results: tuple[tuple[int, Any], ...] = ()
    has_other: bool = False


def content_of(message: Mapping[str, Any], place: Place, path: str) -> Content:
    """Return what a message says; its text is empty when there is none or only white space."""
    content = message.get("content")
    refusal = message.get("refusal")
    if content is None and isinstance(refusal, str):
        content = refusal
    if isinstance(content, str):
        return Content(content if content.strip() else "")
    if content is None:
        return Content("")
    if not isinstance(content, list | tuple):
        message_ = f"content is text or a list of parts, {found(content)}"
        place.error("shape", message_, f"{path}.content")
        return Content("", has_other=True)
    return _parts(content, place, f"{path}.content")


def _parts(parts: list[Any] | tuple[Any, ...], place: Place, path: str) -> Content:
    texts: list[str] = []
    results: list[tuple[int, Any]] = []
    has_other = False
    for index, part in enumerate(parts):
        at = f"{path}[{index}]"
        if not isinstance(part, OBJECT):
            place.error("shape", f"a part of the content is an object, {found(part)}", at)
            has_other = True
            continue
        check_repeated(part, place)
        kind = part.get("type")
        if not isinstance(kind, str):
            place.error("shape", f"a part's type is text, {found(kind)}", f"{at}.type")
            has_other = True
        elif kind in TEXTS:
            text = part.get(TEXTS[kind])
            if isinstance(text, str):
                texts.append(text)
            else:
                place.error("shape", f"expected text, {found(text)}", f"{at}.{TEXTS[kind]}")
                has_other = True
        elif kind == RESULT:
            results.append((index, part.get("tool_use_id")))
        elif kind not in (CALL, *UNSAID):
            known = (*TEXTS, CALL, RESULT, *UNSAID)
            message = f'a part of type "{shorten(kind)}" is not used{did_you_mean(kind, known)}'
            place.warning("unknown-part", message, f"{at}.type")
            has_other = True
    text = " ".join(texts)
    return Content(text if text.strip() else "", tuple(results), has_other)
