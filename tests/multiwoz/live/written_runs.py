"""Live dialogues on the embedded sample: runs, and scripted trajectory files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mwzeval.cli import main
from mwzeval.conversation.trajectory import Planned, header
from mwzeval.multiwoz import SAMPLE
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.goals import ORDERING, Goal, annotated_goals, without
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.report import LiveScorer, ScoredRun
from mwzeval.multiwoz.live.tools import DatabaseTools, Tools
from mwzeval.multiwoz.live.understanding import Vocabulary
from mwzeval.scores.score import WHOLE
from tests.places import read_json

USED = ("smp0021", "smp0022", "smp0023", "smp0024")
HEADER = header(
    "multiwoz",
    "1.0",
    {
        "corpus": SAMPLE,
        "agent": {"spec": "script"},
        "user": {"spec": "agenda-words"},
        "goals": {"source": "corpus:test:4", "sha": "01234567"},
        "limits": {"user_turns": 20},
    },
)
Line = dict[str, Any]
Message = dict[str, Any]


ROOT = corpus_root(SAMPLE, None, offline=True)


@cache
def tables() -> Any:
    return read_tables(ROOT)


@cache
def town() -> DatabaseTools:
    return DatabaseTools(tables())


@cache
def reader() -> AgentReader:
    return AgentReader(tables())


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary(tables())


@cache
def sample_goals() -> dict[str, Goal]:
    """Return the goals of the sample's test fold without bookings that must fail."""
    known = annotated_goals(SAMPLE, "test", ROOT)
    return {name: without(k.goal, "fail_book", k.goal[ORDERING]) for name, k in known.items()}


def goals() -> dict[str, Goal]:
    return {name: sample_goals()[name] for name in USED}


def talk(*texts: str) -> list[Message]:
    """Return alternating messages, the user's first."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def live(agent: str, output: Path | str, *options: str) -> list[Line]:
    """Run dialogues on the sample corpus; return their lines."""
    command = ["live", "--agent", agent, "--corpus", SAMPLE, "-q", "-o", str(output), *options]
    assert main(command) == 0
    _, *lines = Path(output).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def report(*arguments: Path | str) -> Any:
    """Return the report of `mwzeval evaluate`."""
    assert main(["evaluate", *map(str, arguments), "-q", "-o", "report.json"]) == 0
    return read_json(Path("report.json"))


class Script:
    """A scripted dialogue that serves a goal domain by domain, except the `skipped` parts."""

    def __init__(self, name: str, goal: Goal, skipped: Iterable[str] = ()) -> None:
        self.messages: list[Message] = []
        self._tools = Tools(town(), Planned(name, goal))
        self._skipped = set(skipped)
        for domain in goal[ORDERING]:
            self._serve(domain, goal[domain])
        self._say("That is all, thank you.", "You are welcome.")

    def _serve(self, domain: str, part: Mapping[str, Any]) -> None:
        info = {slot.lower(): value for slot, value in part["info"].items()}
        wishes = " and ".join(f"{slot} {value}" for slot, value in info.items())
        asked = ", ".join(part.get("reqt", ()))
        self._user(f"I am looking for a {domain} with {wishes}. Tell me the {asked or 'name'}.")
        found = self._call(f"find_{domain}", info)["results"][0]
        name = found.get("name", found.get("trainid"))
        told = {slot.lower().replace(" ", ""): slot for slot in part.get("reqt", ())}
        facts = [f"its {told[slot]} is {found[slot]}" for slot in told if slot not in self._skipped]
        if domain == "train":
            facts.append(f"it leaves at {found['leaveat']} and arrives by {found['arriveby']}")
        self._agent(f"I recommend the {domain} {name}; {' and '.join(facts)}.")
        if part.get("book") and "book" not in self._skipped:
            details = " and ".join(f"{slot} {value}" for slot, value in part["book"].items())
            self._user(f"Please book the {domain} {name} for {details}.")
            which = "trainid" if domain == "train" else "name"
            booked = self._call(f"book_{domain}", {which: name, **part["book"]})
            self._agent(f"I have booked {name}. The reference number is {booked['reference']}.")

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        function = {"name": name, "arguments": json.dumps(arguments)}
        id_ = f"call_{len(self.messages)}"
        calls = [{"id": id_, "type": "function", "function": function}]
        self.messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        result = self._tools.call(name, arguments)
        content = json.dumps(result)
        self.messages.append({"role": "tool", "tool_call_id": id_, "content": content})
        return result

    def _say(self, user: str, agent: str) -> None:
        self._user(user)
        self._agent(agent)

    def _user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def _agent(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": text})


def line(name: str, *skipped: str, trial: int | None = None, **keys: Any) -> Line:
    """Return the line of a scripted dialogue that omits the `skipped` parts of the goal."""
    goal = goals()[name]
    messages = Script(name, goal, skipped).messages
    called = name if trial is None else f"{name}#{trial}"
    plain = {"dialogue": called, "trial": trial or 1, "goal": goal, "messages": messages}
    turns = sum(message["role"] == "user" for message in messages)
    report = {"complete": True, "faults": []}
    return {**plain, "end": "user_stop", "turns": turns, "user": report, **keys}


def write(path: Path, lines: Iterable[Line], *, head: Line | None = HEADER) -> str:
    """Write a trajectory file; return its name."""
    rows = [*([] if head is None else [head]), *lines]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


LIVE = LiveScorer(SAMPLE, offline=True)


def scored(*lines: Mapping[str, Any], scorer: LiveScorer = LIVE) -> ScoredRun:
    return scorer.score("".join(json.dumps(record) + "\n" for record in lines), "run.jsonl")


def values(run: ScoredRun, scope: str = WHOLE) -> dict[str, float]:
    return {score.name: score.value for score in run.report().scores if score.scope == scope}
