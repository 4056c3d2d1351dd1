"""Conversations of chat models: messages of a user, an assistant and the tools that it calls.

The form is that of OpenAI's chat completions; what differs in Anthropic's messages (calls and
results as parts of the content) and in the older `function_call` is read as well. A message says
text, or parts of several kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.json_files import RepeatedKeys
from mwzeval.multiwoz.formats.calls import Call, CallState, Ledger, calls_of
from mwzeval.multiwoz.formats.exchanges import Adapted
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Tools
from mwzeval.scores.findings import OBJECT, Findings, Place, check_repeated, found, repeated

TEXTS = {"text": "text", "output_text": "text", "input_text": "text", "refusal": "refusal"}
"""Type of a part with text → the key of the text."""
CALL, RESULT = "tool_use", "tool_result"
UNSAID = ("thinking", "redacted_thinking", "reasoning")
"""Parts that the user does not see."""


class Content(NamedTuple):
    """The text of a message, and the ids in its parts that are results of calls.

    `results` are (number of the part, id of the call, what it returned). `has_other`: there are
    parts of other kinds.
    """

    text: str
    results: tuple[tuple[int, Any, Any], ...] = ()
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
    results: list[tuple[int, Any, Any]] = []
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
            results.append((index, part.get("tool_use_id"), _returned(part)))
        elif kind not in (CALL, *UNSAID):
            known = (*TEXTS, CALL, RESULT, *UNSAID)
            message = f'a part of type "{shorten(kind)}" is not used{did_you_mean(kind, known)}'
            place.warning("unknown-part", message, f"{at}.type")
            has_other = True
    text = " ".join(texts)
    return Content(text if text.strip() else "", tuple(results), has_other)


def _returned(part: Mapping[str, Any]) -> Any:
    """Return what a part says that a tool returned; anything, because tools return anything."""
    content = part.get("content")
    if isinstance(content, list | tuple) and all(isinstance(each, OBJECT) for each in content):
        content = " ".join(str(each.get("text", "")) for each in content)
    return {"error": content} if part.get("is_error") is True else content


CONTENT = "messages"
USER, ASSISTANT = "user", "assistant"
INSTRUCTIONS = ("system", "developer")
RESULTS = ("tool", "function")
ROLES = (USER, ASSISTANT, *RESULTS, *INSTRUCTIONS)


def adapt_messages(raw: Any, findings: Findings, tools: Tools = OUR_TOOLS) -> Adapted:
    """Return the predictions that conversations amount to; problems go to `findings`.

    `raw` is dialogue id → messages, or → an object with `messages`; `tools` are what it calls.
    """
    adapted = Adapted()
    if not isinstance(raw, OBJECT):
        message = 'expected an object of dialogues, {"sng0073": {"messages": […]}, …}'
        findings.error("shape", f"{message}, {found(raw)}")
        return adapted
    if isinstance(raw, RepeatedKeys):
        for key in raw.repeated:
            findings.error("repeated-key", "the dialogue is given more than once", dialogue=key)
    if not raw:
        findings.error("empty", "there is no dialogue in it")
    called = False
    for name, dialogue in raw.items():
        if not isinstance(name, str):
            findings.error("shape", f"a dialogue id must be text, {found(name)}")
            continue
        if isinstance(dialogue, OBJECT):
            if isinstance(dialogue, RepeatedKeys):
                findings.error("repeated-key", repeated(dialogue), dialogue=name)
            dialogue = dialogue.get(CONTENT)
        if not isinstance(dialogue, list | tuple):
            message = f"expected a list of messages, {found(dialogue)}"
            findings.error("shape", message, dialogue=name)
            continue
        conversation = Conversation(name, findings, tools)
        for position, message in enumerate(dialogue):
            conversation.read(message, position)
        adapted.add(name, conversation.end())
        called = called or conversation.has_called
    if adapted.dialogues and not called:
        findings.warning(
            "no-calls",
            "no function is called anywhere, so all states are empty and nothing can be offered; "
            "of a system without tools only write the responses, see docs/formats.md",
        )
    return adapted


class Conversation:
    """Reads the messages of a dialogue in order and cuts them into turns.

    A turn of the system is all that the assistant does after a message of the user, up to the
    next one; its response is the text of the last message in it. `asked` are the user's words,
    one item a turn, `has_called` whether any function was called.
    """

    def __init__(self, dialogue: str, findings: Findings, tools: Tools) -> None:
        self._dialogue = dialogue
        self._findings = findings
        self._tools = tools
        self._ledger = Ledger()
        self._state = CallState()
        self._turns: list[tuple[int, dict[str, Any]]] = []
        self._asked: Place | None = None
        self._calls: list[Call] = []
        self._answer: tuple[Place, str] | None = None
        self._has_begun = False
        self._words = ""
        self.asked: list[str] = []
        self.has_called = False

    def read(self, message: Any, position: int) -> None:
        """Take the next message."""
        place = Place(self._findings, self._dialogue, position)
        path = f"{CONTENT}[{position}]"
        if not isinstance(message, OBJECT):
            place.error("shape", f"a message is an object, {found(message)}", path)
            return
        check_repeated(message, place)
        role = message.get("role")
        if role not in ROLES:
            self._unknown_role(role, place, path)
        elif role not in INSTRUCTIONS:
            self._said(role, message, content_of(message, place, path), place, path)

    def _unknown_role(self, role: Any, place: Place, path: str) -> None:
        if isinstance(role, str):
            close = did_you_mean(role.lower(), ROLES) or f" (known: {', '.join(ROLES)})"
            message = f'unknown role "{shorten(role)}"{close}'
            place.error("unknown-role", message, f"{path}.role")
        else:
            place.error("shape", f"a role is text, {found(role)}", f"{path}.role")

    def _said(
        self, role: str, message: Mapping[str, Any], content: Content, place: Place, path: str
    ) -> None:
        count, calls = calls_of(message, place, path, self._ledger, self._tools)
        if count and role != ASSISTANT:
            place.error("calls-of-others", "only the assistant calls functions", path)
        if role in RESULTS:
            id_ = message.get("tool_call_id")
            self._result(id_, content.text, place, f"{path}.tool_call_id")
        for index, id_, returned in content.results:
            self._result(id_, returned, place, f"{path}.content[{index}].tool_use_id")
        if role == USER and not (content.results and not content.text):
            self._ask(content, place, path)
        elif role == ASSISTANT:
            self._act(count, calls, content, place, path)

    def _result(self, call: Any, returned: Any, place: Place, path: str) -> None:
        self._ledger.result(call, returned, place, path)
        self._reopen()

    def _ask(self, content: Content, place: Place, path: str) -> None:
        self._close()
        self._has_begun = True
        self._asked = place
        self._words = content.text
        if not content.text and not content.has_other:
            place.error("empty-message", "the user says nothing", path)

    def _act(
        self, count: int, calls: list[Call], content: Content, place: Place, path: str
    ) -> None:
        self._begin(place, path)
        self.has_called = self.has_called or count > 0
        self._reopen()
        self._calls += calls
        if content.text:
            self._answer = place, content.text
        elif not count and not content.has_other:
            place.error("empty-message", "the assistant neither says nor calls anything", path)

    def _begin(self, place: Place, path: str) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._asked = place
            message = "the conversation begins with the assistant: the first turn is the user's"
            place.error("order", message, path)

    def _reopen(self) -> None:
        """Something follows what was said, so that this was not the final answer."""
        if self._answer:
            self._answer[0].warning(
                "not-final",
                "what the assistant says before it calls functions or speaks again in the same "
                "turn is not scored",
                f"{CONTENT}[{self._answer[0].turn}].content",
            )
            self._answer = None

    def _close(self) -> None:
        """End the turn that is open, if there is one."""
        asked, self._asked = self._asked, None
        if asked is None:
            return
        turn = self._state.turn(self._calls)
        self._calls = []
        self.asked.append(self._words)
        self._words = ""
        if self._answer is None:
            message = "the assistant gives no final answer in text to this message of the user"
            asked.error("no-answer", message, f"{CONTENT}[{asked.turn}]")
            self._turns.append((asked.turn, {"response": "", **turn}))
        else:
            place, text = self._answer
            self._turns.append((place.turn, {"response": text, **turn}))
        self._answer = None

    def end(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the turns, each with the position of its answer."""
        self._close()
        if not self._has_begun:
            message = "there is no message of the user in it"
            self._findings.error("empty", message, dialogue=self._dialogue)
        return self._turns
