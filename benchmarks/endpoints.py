"""How much longer runs against a server take than the server's answers do.

`python -m benchmarks.endpoints [DATA]` prints the table alone. The server answers each request
after the same time, in a process of its own. The ideal time is that of its answers: requests ×
latency / requests at a time. Where dialogues compute more than they wait, it is the CPU time that
they take without a server, by the number of cores. The best of several runs counts: what else runs
on the machine makes all of them slower.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Row
from mwzeval.conversation.endpoint.address import Endpoint
from mwzeval.conversation.endpoint.agent import EndpointAgent
from mwzeval.conversation.endpoint.client import Client
from mwzeval.conversation.loop import Ending
from mwzeval.conversation.messages import AgentTurn, Message
from mwzeval.conversation.record import Planned, Record, hold
from mwzeval.conversation.runs import RunSetting, run
from mwzeval.conversation.tool_session import ToolSession
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz.live.settings.options import LiveOptions
from mwzeval.multiwoz.live.settings.words import WordSetting

DEFAULT_DATA = "../shared/data"
CORPUS = "multiwoz-2.1"
LATENCY = 0.02
AT_A_TIME = 64
DIALOGUES = 1000
TURNS = 4
"""Of the scripted user; the model calls a function before each second answer."""
MOST_RATIO = 1.3
REPETITIONS = 5
TEXT = "There are 14 places that might suit you, and all of them are in the centre of the town. "
CALL = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"area": "x"}'}}
ASSISTANT, USER, TOOL = (f'"role":"{role}"'.encode() for role in ("assistant", "user", "tool"))
SEED = re.compile(rb'"seed":(\d+)')


class ScriptedUser:
    """Says a sentence as often as it is to."""

    def __init__(self) -> None:
        self._left = TURNS

    def begin(self) -> str:
        """Say it."""
        self._left -= 1
        return TEXT

    def answer(self, heard: AgentTurn, /) -> str:
        """Say it again."""
        return self.begin()

    @property
    def is_done(self) -> bool:
        """Whether it was said often enough."""
        return not self._left


class ScriptedTools:
    """One function that always finds the same."""

    schema: Sequence[Mapping[str, Any]] = (
        {"type": "function", "function": {"name": "find", "description": TEXT, "parameters": {}}},
    )

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the same."""
        return {"count": 1, "results": [{"name": "a place", "phone": "01223351241"}]}


class ScriptedSetting:
    """A model behind a server, and a user and functions that take no time."""

    benchmark = "scripted"
    trusts = True
    about: Mapping[str, Any] = {}

    def __init__(self, url: str) -> None:
        self.items: Sequence[tuple[str, Any]] = [(str(each), None) for each in range(DIALOGUES)]
        self._url = url

    def begin(self) -> None:
        """Make a client."""
        self._client = Client(Endpoint("scripted", self._url))
        self._agent = EndpointAgent(self._client, TEXT * 20)

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Hold a dialogue."""
        tools = ScriptedTools()
        return hold(ScriptedUser, lambda: self._agent.partner(planned, tools, record), record)

    def stop(self) -> None:
        """End all requests."""
        self._client.close()

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return nothing."""
        return None


class ReplaySetting(WordSetting):
    """The user in words on the real corpus; the agent says what the rule agent said before.

    With a URL it is asked there, without one it is in this process.
    """

    def __init__(self, options: LiveOptions, said: Mapping[str, Any], url: str | None) -> None:
        super().__init__(options)
        self._said = said
        self._url = url
        self._client: Client | None = None

    def begin(self) -> None:
        """Make a client."""
        super().begin()
        if self._url is not None:
            self._client = Client(Endpoint("replay", self._url))
            self._model = EndpointAgent(self._client, TEXT * 20, sends_seed=True)

    def stop(self) -> None:
        """End all requests."""
        if self._client is not None:
            self._client.close()

    def _agent(self, planned: Planned, record: Record) -> ToolSession:
        tools = self._tools_of(planned)
        if self._client is not None:
            return self._model.partner(planned, tools, record)
        answers = iter(self._said[str(planned.number)])

        def respond(messages: list[Message]) -> Message:
            return next(answers)

        return ToolSession(respond, tools, record.message)


Reply = Callable[[bytes], Mapping[str, Any]]


def scripted(body: bytes) -> Mapping[str, Any]:
    """Return the message of the scripted model."""
    if body.count(USER) % 2 and body.rfind(USER) > body.rfind(TOOL):
        return {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return {"role": "assistant", "content": TEXT}


def replay(file: str) -> Reply:
    """Return what says again what is in a file."""
    said = json.loads(Path(file).read_text("utf-8"))

    def reply(body: bytes) -> Mapping[str, Any]:
        found = SEED.search(body)
        assert found is not None
        message: Mapping[str, Any] = said[found[1].decode()][body.count(ASSISTANT)]
        return message

    return reply


def serve(reply: Reply) -> None:
    """Answer on a free port, whose number is printed, until this process is killed."""
    import uvicorn

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        now = asyncio.get_running_loop().time
        begin = now()
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        choice = {"index": 0, "finish_reason": "stop", "message": reply(body)}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        text = json.dumps({"choices": [choice], "usage": usage}).encode()
        await asyncio.sleep(max(0.0, LATENCY - (now() - begin)))
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(answer, lifespan="off", log_level="critical", access_log=False)
        uvicorn.Server(config).run([listening])


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """Let a server answer in a process of its own; yield its URL."""
    command = (sys.executable, "-m", "benchmarks.endpoints", "serve", *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def timed(
    setting: RunSetting, file: Path, jobs: int = 1, concurrency: int = 1
) -> tuple[float, float]:
    """Return the seconds and CPU seconds of this process that a run takes."""
    file.unlink(missing_ok=True)
    cpu, start = time.process_time(), time.perf_counter()
    run(setting, file, jobs=jobs, concurrency=concurrency, progress=False)
    return time.perf_counter() - start, time.process_time() - cpu


def said_in(file: Path) -> dict[str, list[Any]]:
    """Return what the agent of a run has said, by the seed of the dialogue."""
    said = {}
    with file.open(encoding="utf-8") as lines:
        for line in list(lines)[1:]:
            plain = json.loads(line)
            messages = [each for each in plain["messages"] if each["role"] == "assistant"]
            said[str(Planned(plain["dialogue"], None).number)] = messages
    return said


def rows(data: Path) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    with TemporaryDirectory() as folder, serving() as url:
        file = Path(folder, "run.jsonl")
        for processes in (1, 2):
            best, _ = min(
                timed(ScriptedSetting(url), file, jobs=processes, concurrency=AT_A_TIME)
                for _ in range(REPETITIONS)
            )
            requests = sum(map(len, said_in(file).values()))
            yield row("scripted model and user", processes, best, requests * LATENCY / AT_A_TIME)
    yield from in_words(data)


def in_words(data: Path) -> Iterator[Row]:
    """Yield the lines of the user in words, on goals of the test fold."""
    options = LiveOptions("rule", goals=f"corpus:{DIALOGUES}", corpus=CORPUS, data=str(data))
    with TemporaryDirectory() as folder:
        file, table = Path(folder, "run.jsonl"), Path(folder, "said.json")
        run(WordSetting(options), file, progress=False)
        said = said_in(file)
        table.write_text(json.dumps(said), "utf-8")
        cpu = min(timed(ReplaySetting(options, said, None), file)[1] for _ in range(2))
        requests = sum(map(len, said.values()))
        ideal = max(requests * LATENCY / AT_A_TIME, cpu / (os.cpu_count() or 1))
        with serving(str(table)) as url:
            for processes in (1, 2):
                setting = ReplaySetting(options, said, url)
                best, _ = min(
                    timed(setting, file, jobs=processes, concurrency=AT_A_TIME) for _ in range(2)
                )
                assert said_in(file).keys() == said.keys()
                yield row("agenda user in words", processes, best, ideal, limit=None)


def row(
    what: str, processes: int, seconds: float, ideal: float, limit: float | None = MOST_RATIO
) -> Row:
    """Return the line of a run."""
    ratio = seconds / ideal
    return Row(
        f"{DIALOGUES:,} dialogues behind a server, {AT_A_TIME} at a time, {1000 * LATENCY:g} ms a "
        f"request, {what}, {processes} process{'es' * (processes > 1)}: to the ideal "
        f"{ideal:.2f} s",
        f"{seconds:.2f} s ({ratio:.2f} ×)",
        None,
        "" if limit is None else f"{limit} ×",
        None if limit is None else ratio <= limit,
    )


def main() -> int:
    """Print the table."""
    if sys.argv[1:2] == ["serve"]:
        serve(replay(sys.argv[2]) if sys.argv[2:] else scripted)
        return 0
    missed = False
    for line in rows(Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)):
        print(f"{line.what}: {line.measured} (at most {line.limit or '—'})", flush=True)
        missed |= line.met is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
