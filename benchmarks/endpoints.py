"""Time of runs against a server compared with the time of the server's answers.

The server answers each request after the same latency, in its own process. The ideal time is
requests × latency / requests at a time. The fastest of several runs is reported.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Row, seconds
from mwzeval.conversation.completions import Client, Endpoint
from mwzeval.conversation.loop import converse
from mwzeval.conversation.messages import AgentTurn
from mwzeval.conversation.models import endpoint_agent
from mwzeval.conversation.protocols import Ending
from mwzeval.conversation.runs import run
from mwzeval.conversation.trajectory import Planned, Record, Trajectory

LATENCY = 0.02
AT_A_TIME = 64
DIALOGUES = 1000
TURNS = 4
"""Turns of the scripted user; the model calls a function before every second answer."""
MOST_RATIO = 1.4
REPETITIONS = 5
TEXT = "There are 14 places that might suit you, and all of them are in the centre of the town. "
CALL = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"area": "x"}'}}
USER, TOOL = b'"role":"user"', b'"role":"tool"'


class ScriptedUser:
    """A user that repeats a sentence."""

    def __init__(self) -> None:
        self._left = TURNS

    def begin(self) -> str:
        self._left -= 1
        return TEXT

    def answer(self, heard: AgentTurn, /) -> str:
        return self.begin()

    @property
    def is_done(self) -> bool:
        return not self._left


class ScriptedTools:
    """A function with a constant result."""

    schema: Sequence[Mapping[str, Any]] = (
        {"type": "function", "function": {"name": "find", "description": TEXT, "parameters": {}}},
    )

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return {"count": 1, "results": [{"name": "a place", "phone": "01223351241"}]}


class ScriptedSetting:
    """A model behind a server, and a user and functions that take no time."""

    benchmark = "scripted"
    trusts = True
    about: Mapping[str, Any] = {}

    def __init__(self, url: str) -> None:
        self.items: Sequence[tuple[str, Any]] = [(str(number), None) for number in range(DIALOGUES)]
        self._url = url

    def begin(self) -> None:
        self._client = Client(Endpoint("scripted", self._url))
        self._agent = endpoint_agent(self._client, TEXT * 20)

    def hold(self, planned: Planned, record: Record) -> Ending:
        tools = ScriptedTools()
        return converse(ScriptedUser, lambda: self._agent(planned, tools, record), record=record)

    def stop(self) -> None:
        self._client.close()

    def judge(self, trajectory: Trajectory) -> bool | None:
        return None


def scripted(body: bytes) -> Mapping[str, Any]:
    """Return the message of the scripted model to a request."""
    if body.count(USER) % 2 and body.rfind(USER) > body.rfind(TOOL):
        return {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return {"role": "assistant", "content": TEXT}


def serve() -> None:
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
        choice = {"index": 0, "finish_reason": "stop", "message": scripted(body)}
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
def serving() -> Iterator[str]:
    """Run a server in a separate process; yield its URL."""
    command = (sys.executable, "-m", "benchmarks.endpoints")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def rows(_: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    with TemporaryDirectory() as folder, serving() as url:
        file = Path(folder, "run.jsonl")

        def hold_all(processes: int) -> None:
            file.unlink(missing_ok=True)
            setting = ScriptedSetting(url)
            run(setting, file, jobs=processes, concurrency=AT_A_TIME, progress=False)

        for processes in (1, 2):
            best = min(seconds(partial(hold_all, processes)) for _ in range(REPETITIONS))
            requests = file.read_bytes().count(b'"role":"assistant"')
            ideal = requests * LATENCY / AT_A_TIME
            what = f"{DIALOGUES:,} dialogues behind a server, {AT_A_TIME} at a time, "
            what += f"{1000 * LATENCY:g} ms a request, {processes} process{'es' * (processes > 1)}"
            limit, met = f"{MOST_RATIO} × of {ideal:.2f} s", best / ideal <= MOST_RATIO
            yield Row(what, f"{best:.2f} s", best / ideal, limit, met)


if __name__ == "__main__":
    serve()
