"""Convert predictions in any format to mwzeval's own format.

A format is recognized by its marks, which are keys of turns or messages that only this format has
at this position. All items of all dialogues are searched for marks. Predictions with marks of two
formats cause an error. Predictions without any mark are read as mwzeval's own format, whose checks
report problems.

Conversations of chat models become turns with states, bookings and responses. Their function calls
are checked against the table of functions. Active domains are estimated from the states, as for
most published systems. The domains of the calls are not used as active domains. Calls often concern
several domains per turn, whereas the estimate has only one domain, so Inform and Success would be
one or two points higher.

Two formats are lists of dialogues whose turns have speakers. In Schema-Guided Dialogue and MultiWOZ
2.2, the frames of the user's turn contain the state. In ConvLab-3's unified format, each turn has
an utterance and a state; ConvLab-3's evaluation scripts write predictions into the key
`predictions` of a turn, next to the annotation.

Sources: Rastogi et al., "Towards scalable multi-domain conversational agents", AAAI 2020; Zang et
al., "MultiWOZ 2.2", NLP4ConvAI 2020; Zhu et al., "ConvLab-3", EMNLP 2023 demonstrations, and
`unified_datasets/README.md` of its repository.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from mwzeval.benchmark import advice, recognised
from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    INSTRUCTIONS,
    ChatMessage,
    Result,
    ToolCall,
    read_message,
)
from mwzeval.errors import InputError, Problem, did_you_mean, shorten
from mwzeval.files.reading import parse_json
from mwzeval.multiwoz import AUTO, NAME, OWN_FORMAT, TITLE
from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.functions import OUR_TOOLS, Function, Parameter, Tool, Tools
from mwzeval.multiwoz.predictions import TURN_KEYS, bare, items_of
from mwzeval.multiwoz.schema import UNFILLED
from mwzeval.scores.findings import (
    LIST,
    OBJECT,
    Findings,
    Place,
    expect,
    first_item,
    found,
    misfit,
)

Adapted = Iterator[tuple[str, list[tuple[int, dict[str, Any]]]]]
"""Yields (dialogue id, turns). A turn is a pair of its position in the original file and the
converted turn.

Incomplete dialogues are also yielded, so that later checks can find further problems.
"""

# Messages of chat models

CONTENT = "messages"
BOOKING_PREFIX = "book"


def adapt_messages(raw: Any, findings: Findings, tools: Tools) -> Adapted:
    """Yield the predictions of conversations; problems are added to `findings`.

    `raw` maps a dialogue id to messages, or to an object with `messages`. The functions that the
    messages call are defined by `tools`.
    """
    expected = 'expected an object of dialogues, {"sng0073": {"messages": […]}, …}'
    if not isinstance(raw, OBJECT):
        findings.error("shape", f"{expected}, {found(raw)}")
        return
    is_read = has_called = False
    for name, dialogue in items_of(raw, findings):
        place = Place(findings, name)
        if isinstance(dialogue, OBJECT):
            expect(dialogue, OBJECT, "", place)
            dialogue = dialogue.get(CONTENT)
        if expect(dialogue, LIST, "expected a list of messages", place):
            conversation = Conversation(name, findings, tools)
            turns = conversation.read(dialogue)
            is_read, has_called = is_read or bool(turns), has_called or conversation.has_called
            yield name, turns
    if is_read and not has_called:
        findings.warning(
            "no-calls",
            "no dialogue has a function call, so all states are empty and nothing can be "
            "offered; for a system without tools, write only the responses (docs/formats.md)",
        )


class Conversation:
    """Reads the messages of a dialogue in order and divides them into turns.

    A system turn consists of all assistant messages between two user messages. The response of a
    turn is the text of its last assistant message. `asked` lists the user utterances, one per turn.
    `has_called` is true if the system has called any function.

    The arguments of a find call replace the constraints of its domain in the belief state, except
    for booking slots. A book call changes only the slots of its arguments.
    """

    def __init__(self, dialogue: str, findings: Findings, tools: Tools) -> None:
        self._dialogue = dialogue
        self._findings = findings
        self._tools = tools
        self._called: dict[str, dict[str, Any]] = {}
        """The stored call for each call id. The key `result` is added when the result of the call
        is read."""
        self._called_without_id: deque[dict[str, Any]] = deque()
        self._state: dict[str, dict[str, str]] = {}
        self._turns: list[tuple[int, dict[str, Any]]] = []
        self._begin: tuple[Place, str] | None = None
        """The position of the first message of the current turn, and the user's utterance."""
        self._calls: list[tuple[Function, dict[str, Any]]] = []
        self._answer: tuple[Place, str] | None = None
        self.asked: list[str] = []
        self.has_called = False

    def read(self, messages: Iterable[Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return the turns in a list of messages, as (position of the answer, turn) pairs."""
        for position, raw in enumerate(messages):
            place = Place(self._findings, self._dialogue, position)
            path = f"{CONTENT}[{position}]"
            if expect(raw, OBJECT, "a message must be an object", place, path):
                message = read_message(raw, place, path)
                if message is not None:
                    self.add(message, position)
        return self.end()

    def end(self) -> list[tuple[int, dict[str, Any]]]:
        """End the dialogue, and return (position, turn) pairs of all its turns."""
        self._close()
        if not self._turns:
            message = "the dialogue has no user message"
            self._findings.error("empty", message, dialogue=self._dialogue)
        return self._turns

    def add(self, message: ChatMessage, position: int) -> None:
        """Add the next message; `position` is its index in the dialogue."""
        if message.role in INSTRUCTIONS:
            return
        place = Place(self._findings, self._dialogue, position, f"{CONTENT}[{position}]")
        is_assistant = message.role == ASSISTANT_ROLE
        says_nothing = not (message.text or message.has_other)
        calls = [called for call in message.calls if (called := self._understood(call, place))]
        if message.calls and not is_assistant:
            place.error("calls-of-others", "only the assistant can call functions")
        for result in message.results:
            self._note_result(result, place)
        if self._answer and (message.results or is_assistant):
            # Another message follows the text, so it was not the final answer.
            self._answer[0].warning(
                "not-final",
                "if the assistant writes several messages in a turn, only the last message is "
                "scored",
                f"{self._answer[0].key}.content",
            )
            self._answer = None
        if message.is_user:
            self._close()
            self._begin = place, message.text
            if says_nothing:
                place.error("empty-message", "the user message is empty")
        elif is_assistant:
            if self._begin is None:
                self._begin = place, ""
                problem = (
                    "the conversation begins with the assistant, but the first turn must be "
                    "the user's"
                )
                place.error("order", problem)
            self.has_called = self.has_called or bool(message.calls)
            self._calls += calls
            if message.text:
                self._answer = place, message.text
            elif says_nothing and not message.calls:
                problem = "the assistant's message has neither text nor calls"
                place.error("empty-message", problem)

    def _close(self) -> None:
        """End the current turn, if there is one."""
        if self._begin is None:
            return
        place, words = self._begin
        self.asked.append(words)
        response = ""
        if self._answer is None:
            message = "this user message has no final text answer of the assistant"
            place.error("no-answer", message)
        else:
            place, response = self._answer
        bookings = []
        for function, record in self._calls:
            domain, arguments = function.domain, record["arguments"]
            known = self._state.get(domain, {})
            if function.kind == "find":
                known = {s: v for s, v in known.items() if s.startswith(BOOKING_PREFIX)}
            else:
                bookings.append({"domain": domain, "slots": arguments})
            filled = {
                parameter.slot: arguments[parameter.name]
                for parameter in function.parameters
                if parameter.slot and parameter.name in arguments
            }
            # A new state is created, because earlier turns refer to the previous state.
            self._state = {**self._state, domain: {**known, **filled}}
        turn = {"response": response, "state": self._state, "bookings": bookings}
        if self._calls:
            turn["calls"] = [record for _, record in self._calls]
        self._turns.append((place.turn or 0, turn))
        self._begin, self._answer, self._calls = None, None, []

    def _understood(self, call: ToolCall, place: Place) -> tuple[Function, dict[str, Any]] | None:
        """Return mwzeval's function for a call, and the call as stored in the turn.

        The result is added to the stored call later. Returns None if no function matches the call.
        """
        record: dict[str, Any] = {}
        if call.id is None:
            self._called_without_id.append(record)
        elif expect(call.id, str, "the id of a call must be a string", place, f"{call.path}.id"):
            if call.id in self._called:
                message = f'the call id "{shorten(call.id)}" occurs twice in this dialogue'
                place.error("repeated-call", message, f"{call.path}.id")
            self._called.setdefault(call.id, record)
        tool, name, known = None, call.name, self._tools.by_name
        if expect(name, str, "the name of a function must be a string", place, call.name_path):
            tool = known.get(name)
            if tool is None:
                own = "use --tools to describe your own functions"
                close = did_you_mean(name, known) or f" (known: {', '.join(known)}; {own})"
                message = f'unknown function "{shorten(name)}"{close}'
                place.error("unknown-function", message, call.name_path)
        arguments = decoded_arguments(call, place)
        if tool is None or arguments is None or tool.function is None:
            return None
        given = _arguments(tool, tool.function, arguments, call, place)
        record |= {"function": tool.function.name, "arguments": given}
        if tool.slots:
            record["slots"] = tool.slots
        return tool.function, record

    def _note_result(self, result: Result, place: Place) -> None:
        """Store the result of a call; report results without a call and repeated results."""
        name, path, problem = result.call_id, result.path, None
        record: dict[str, Any] = {}
        if name is None:
            if self._called_without_id:
                record = self._called_without_id.popleft()
            else:
                problem = "result-without-call", "the result does not belong to a pending call"
        elif not expect(name, str, "the id of a call must be a string", place, path):
            pass
        elif name not in self._called:
            message = f'no previous call has the id "{shorten(name)}"'
            problem = "result-without-call", message + did_you_mean(name, self._called)
        elif "result" in self._called[name]:
            problem = "repeated-result", f'the call "{shorten(name)}" already has a result'
        else:
            record = self._called[name]
        if problem:
            place.error(*problem, path)
        record["result"] = {"error": result.value} if result.is_error else result.value


def decoded_arguments(call: ToolCall, place: Place) -> Any:
    """Return the decoded arguments of a call, or None if the arguments are not an object."""
    raw, path = call.arguments, call.arguments_path
    if isinstance(raw, str):
        try:
            raw = parse_json(raw, path)
        except InputError as error:
            place.error("arguments-not-json", error.problems[0].message, path)
            return None
    return raw if expect(raw, OBJECT, "arguments must be an object", place.at(path)) else None


def _arguments(
    tool: Tool, function: Function, raw: Mapping[Any, Any], call: ToolCall, place: Place
) -> dict[str, str]:
    """Return values by mwzeval's argument names, without null values and unknown arguments."""
    given: dict[str, str] = {}
    for name, value in raw.items():
        path = f"{call.arguments_path}.{name}"
        slot = tool.slots.get(name, name)
        if slot is None:
            continue
        parameter = function.parameter(slot)
        if parameter is None:
            names = tool.arguments
            close = did_you_mean(str(name), names) or f" (it has {', '.join(names)})"
            message = f'{call.name} has no argument "{shorten(str(name))}"{close}'
            place.error("unknown-argument", message, path)
            continue
        if tool.is_own and isinstance(value, bool) and "yes" in parameter.values:
            value = "yes" if value else "no"
        text = _text(value, parameter, place, path)
        # Strict schemas and some models use null or an empty text for unknown values.
        if text:
            if given.setdefault(slot, text) != text:
                message = f"{call.name} was called with two values of {slot}"
                place.error("repeated-argument", message, path)
            if expected := parameter.unlike(text):
                message = f'{function.name} was called with the {slot} "{shorten(text)}"'
                place.warning("value-not-in-schema", f"{message}, which is not {expected}", path)
    for parameter in function.parameters:
        if parameter.is_required and parameter.name not in given:
            message = f"{function.name} was called without {parameter.name}"
            place.warning("missing-argument", message, call.arguments_path)
    return given


def _text(value: Any, parameter: Parameter, place: Place, path: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    is_whole = type(value) is int
    if parameter.is_number and is_whole and value >= 0:
        return str(value)
    kind = "a whole number" if parameter.is_number else "text"
    hint = f': write "{value}"' if is_whole and not parameter.is_number else ""
    place.error("argument-type", f"expected {kind}, {found(value)}{hint}", path)
    return None


# Dialogues whose turns have speakers

PREDICTIONS = "predictions"
TWO_STATES = "there is a state in this turn and in the user's turn before it: keep one of them"
SLOT_AND_VALUE = "a slot and its value must be strings"
USER, SYSTEM = "user", "system"
SPEAKERS = (USER, SYSTEM)
_FILE_NAME = re.compile(r"[A-Za-z]+\d+(\.json)?")
State = dict[str, dict[str, str]]


class SpeakerTurn(NamedTuple):
    """A turn of the user or of the system, and its position in the file."""

    turn: Mapping[str, Any]
    place: Place


Pair = tuple[SpeakerTurn, SpeakerTurn]
"""A user turn and the system's response. The user turn is empty if the system begins."""


def dialogues_of(
    raw: Any, findings: Findings, name_keys: tuple[str, ...]
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the ids and turns of a list of dialogues; add problems to `findings`.

    The id of a dialogue is the first value of `name_keys` that looks like a MultiWOZ file name
    (`MUL0001.json`), or else the value of the last key.
    """
    if not expect(raw, LIST, "expected a list of dialogues", Place(findings)):
        return
    if not raw:
        findings.error("empty", "the file has no dialogue")
    seen: set[str] = set()
    for number, dialogue in enumerate(raw):
        where = f"dialogue number {number} of the list"
        if not isinstance(dialogue, OBJECT):
            findings.error("shape", f"{where}: expected an object, {found(dialogue)}")
            continue
        names = [name for key in name_keys if isinstance(name := dialogue.get(key), str)]
        if not names:
            findings.error("missing-id", f'{where}: "{name_keys[-1]}" is missing or not a string')
            continue
        files = [dialogue_id(name) for name in names if _FILE_NAME.fullmatch(name)]
        name = files[0] if files else names[-1]
        expect(dialogue, OBJECT, "", Place(findings, name))
        if name in seen:
            findings.error("repeated-key", "the dialogue occurs more than once", dialogue=name)
            continue
        seen.add(name)
        yield name, list(_pairs(dialogue.get("turns"), Place(findings, name)))


def _pairs(turns: Any, whole: Place) -> Iterator[Pair]:
    if not expect(turns, LIST, "expected a list of turns", whole):
        return
    if not turns:
        whole.error("empty", "the dialogue has no turns")
    user: SpeakerTurn | None = None
    for position, turn in enumerate(turns):
        place = Place(whole.findings, whole.dialogue, position)
        if not expect(turn, OBJECT, "expected an object", place):
            continue
        speaker = turn.get("speaker")
        if not expect(speaker, str, "expected user or system", place, "speaker"):
            continue
        if speaker.lower() == SYSTEM:
            if user is None:
                begins = "the dialogue begins with the system"
                message = "it has two turns in a row" if position else begins
                place.error("order", f"{message}: every system turn must follow a user turn")
            yield user or SpeakerTurn({}, place), SpeakerTurn(turn, place)
            user = None
        elif speaker.lower() == USER:
            _check_answered(user)
            user = SpeakerTurn(turn, place)
        else:
            close = did_you_mean(speaker.lower(), SPEAKERS)
            message = f'unknown speaker "{shorten(speaker)}"{close} (known: {", ".join(SPEAKERS)})'
            place.error("unknown-speaker", message, "speaker")
    _check_answered(user)


def _check_answered(user: SpeakerTurn | None) -> None:
    if user:
        user.place.error("no-answer", "this user turn has no answer of the system")


def adapt_unified(raw: Any, findings: Findings) -> Adapted:
    """Yield the predictions of dialogues in the unified format; add problems to `findings`."""
    dialogues = list(dialogues_of(raw, findings, ("original_id", "dialogue_id")))
    annotated = {
        name
        for name, pairs in dialogues
        if any(PREDICTIONS in side.turn for pair in pairs for side in pair)
    }
    for name, pairs in dialogues:
        if annotated and pairs and name not in annotated:
            # The utterances are probably annotated utterances, which must not be scored.
            message = f'no turn has "{PREDICTIONS}", though other dialogues have them'
            findings.error("missing-predictions", message, dialogue=name)
        else:
            predicted = name in annotated
            yield (
                name,
                [(pair[1].place.turn or 0, _unified_turn(pair, predicted)) for pair in pairs],
            )


def _unified_turn(pair: Pair, has_predictions: bool) -> dict[str, Any]:
    prefix, keys, sides = "", ["utterance"], [*pair]
    if has_predictions:
        prefix, keys = f"{PREDICTIONS}.", ["response", "utterance"]
        sides = [
            SpeakerTurn(turn.get(PREDICTIONS, {}), place)
            for turn, place in pair
            if expect(turn.get(PREDICTIONS, {}), OBJECT, "expected an object", place, PREDICTIONS)
        ]
    turn: dict[str, Any] = {}
    place = pair[1].place
    given = [key for key in keys for side in sides if side.place is place and key in side.turn]
    if len(given) > 1:
        message = f"there is {' and '.join(given)}: keep the one that is the system's"
        place.error("ambiguous", message, f"{prefix}{given[0]}")
    if given:
        turn["response"] = sides[-1].turn[given[0]]
    with_state = [side for side in sides if "state" in side.turn]
    if len(with_state) > 1:
        place.error("ambiguous", TWO_STATES, f"{prefix}state")
    for side in with_state[:1]:
        turn["state"] = _unified_state(side.turn["state"], side.place, f"{prefix}state")
    return turn


def _unified_state(raw: Any, place: Place, path: str) -> State:
    """Return the filled slots; domains without filled slots are omitted."""
    state: State = {}
    if not expect(raw, OBJECT, "a state must be an object of domains", place, path):
        return state
    for domain, slots in raw.items():
        at = f"{path}.{domain}"
        if expect(slots, OBJECT, "the state of a domain must be an object of slots", place, at):
            for slot, value in slots.items():
                if not (isinstance(slot, str) and isinstance(value, str)):
                    if value is not None:
                        message = f"{SLOT_AND_VALUE}, {found(value)}"
                        place.error("shape", message, f"{at}.{slot}")
                    continue
                # The first of several values is used, as in gold states.
                first = value.partition("|")[0]
                if bare(first) not in UNFILLED:
                    state.setdefault(domain, {})[slot.replace(" ", "")] = first
    return state


def adapt_sgd(raw: Any, findings: Findings) -> Adapted:
    """Yield the predictions of dialogues with frames; problems are added to `findings`.

    The state of a domain without a frame does not change, because in SGD only active services have
    frames. If no frame of a dialogue has a state, the dialogue has no predicted states.
    """
    for name, pairs in dialogues_of(raw, findings, ("dialogue_id",)):
        framed = [[state for side in pair for state in _framed(*side)] for pair in pairs]
        turns: list[tuple[int, dict[str, Any]]] = []
        state: State = {}
        for (_, system), changed in zip(pairs, framed, strict=True):
            turn: dict[str, Any] = {}
            if "utterance" in system.turn:
                turn["response"] = system.turn["utterance"]
            if len(changed) > 1:
                system.place.error("ambiguous", TWO_STATES, "frames")
            if any(framed):
                for domains in changed:
                    state = {**state, **domains}
                turn["state"] = {domain: slots for domain, slots in state.items() if slots}
            turns.append((system.place.turn or 0, turn))
        yield name, turns


def _framed(turn: Mapping[str, Any], place: Place) -> list[State]:
    """Return [state] with the first value of each slot in the frames, or [] without a state."""
    state: State = {}
    frames = turn.get("frames", ())
    if not expect(frames, LIST, "expected a list of frames", place, "frames"):
        return []
    for number, frame in enumerate(frames):
        path = f"frames[{number}]"
        if not expect(frame, OBJECT, "expected an object", place, path):
            continue
        service, of_frame = frame.get("service"), frame.get("state")
        if of_frame is None or not (
            expect(service, str, "the name of a service must be a string", place, f"{path}.service")
            and expect(of_frame, OBJECT, "a state must be an object", place, f"{path}.state")
        ):
            continue
        values, path = of_frame.get("slot_values", {}), f"{path}.state.slot_values"
        if not expect(values, OBJECT, "slot values must be an object", place, path):
            continue
        domain = _domain(service)
        slots = state.setdefault(domain, {})
        for key, listed in values.items():
            at = place.at(f"{path}.{key}")
            if isinstance(listed, LIST) and not listed:
                continue
            value = listed[0] if isinstance(listed, LIST) else listed
            if not (
                expect(key, str, SLOT_AND_VALUE, at) and expect(value, str, SLOT_AND_VALUE, at)
            ):
                continue
            *prefix, slot = key.split("-", 1)
            other = _domain(prefix[0]) if prefix else domain
            if other != domain:
                at.error("wrong-service", f'a slot of "{other}" is in a frame of "{domain}"')
            elif slots.setdefault(slot, value) != value:
                at.error("repeated-key", f'"{domain}-{slot}" has two values in this turn')
    return [state] if state else []


@lru_cache(maxsize=2**10)
def _domain(service: str) -> str:
    """Return the domain of a service. SGD numbers similar services (`hotel_1`, `hotel_2`)."""
    return re.sub(r"_\d+$", "", service).lower()


# Choice of the format

MESSAGES, UNIFIED, SGD = "messages", "unified", "sgd"
TITLES = {
    MESSAGES: "chat messages",
    UNIFIED: "ConvLab-3's unified format",
    SGD: "dialogues with schema-guided frames",
}
LISTED: dict[str, Callable[[Any, Findings], Adapted]] = {UNIFIED: adapt_unified, SGD: adapt_sgd}
"""The function that converts each format that is a list of dialogues. To add a format, add a line
here and to `TITLES`, add its name to `choices.INPUT_FORMATS`, and add its distinctive keys to
`marks`."""
_OF_UNIFIED = {"state", PREDICTIONS, "utt_idx", "dialogue_acts", "db_results"}
_OF_ANNOTATED = {"speaker", "utterance", "frames", PREDICTIONS, "utt_idx"}
"""Keys of annotated turns. Predictions in mwzeval's own format do not have these keys."""


def marks(raw: Any) -> Iterator[str]:
    """Yield the formats whose distinctive keys occur in the predictions; formats may repeat."""
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
    fitting = sorted(set(marks(raw)))
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
