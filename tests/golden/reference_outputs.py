"""Output and files of the commands in `outputs/commands.txt`, as checksums and short texts.

Further groups record dialogues of PyDial environments, and the requests to models behind an
endpoint, including prompts and tool schemas. Only the group "vector" needs numba; the others do not
depend on numba or PyTorch.

`python -m tests.golden.reference_outputs [GROUP ...]` records the references. Each change of a
reference needs a separate commit that states the reason.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from mwzeval.cli import main
from mwzeval.pydial.envs import make_environment
from tests.documents import without_versions
from tests.places import ROOT
from tests.report.pages import readable

FOLDER = Path(__file__).parent / "outputs"
COMMANDS = FOLDER / "commands.txt"
SHORT = 1500
"""Maximum length of a recorded text; only the checksum of a longer text is recorded."""
CHANGING = re.compile(
    r'"(?:ms|seconds|cpu_seconds|created|started|finished|platform|python|numpy)": ?[^,}\]]+'
)
"""Parts of files that depend on the machine or the time."""
LONG_NUMBER = re.compile(r"-?\d+\.\d{7,}(?:e[+-]?\d+)?")
LINKED = {"predictions": "predictions", "logs": "tests/comparison/items/inspect_logs"}
"""Input folders that are linked into the working folder of commands."""
LEFT_OUT = frozenset({"times.json"})
"""Files with running times, which are not recorded."""


def groups() -> dict[str, list[str]]:
    """Return the commands of each group in order."""
    found: dict[str, list[str]] = {}
    for line in COMMANDS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            commands = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            commands.append(line)
    return found


@contextlib.contextmanager
def surroundings() -> Iterator[Path]:
    """Provide an empty folder and a wide terminal, without network and real data."""
    before = Path.cwd()
    given = {"COLUMNS": "200", "MWZEVAL_OFFLINE": "1", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, given):
        os.environ.pop("MWZEVAL_DATA", None)
        for name, place in LINKED.items():
            (Path(folder) / name).symlink_to(ROOT / place)
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def plain(text: str) -> str:
    """Remove library versions and machine-dependent parts from a text.

    Long numbers are rounded to six digits, because the last digits depend on the processor.
    """
    text = CHANGING.sub("…", without_versions(text))
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", text)


def text_record(text: str) -> dict[str, str]:
    """Return the record of a text: its checksum, and the text if it is short."""
    checksum = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"sha256": checksum} | ({"text": text} if len(text) <= SHORT else {})


def recorded(group: str) -> dict[str, Any]:
    """Run the commands of a group; return the output, exit code and new files of each."""
    if group in OTHERS:
        return {name: text_record(plain(text)) for name, text in OTHERS[group]()}
    found: dict[str, Any] = {}
    with surroundings() as folder:
        seen: dict[Path, bytes] = {}
        for line in groups()[group]:
            printed, said = io.StringIO(), io.StringIO()
            words = shlex.split(line.replace("{P}", "predictions").replace("{L}", "logs"))
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
                try:
                    code = main(words)
                except SystemExit as stopped:
                    code = stopped.code if isinstance(stopped.code, int) else 2
            found[line] = {"code": code, "out": text_record(plain(printed.getvalue()))}
            for file in sorted(folder.rglob("*")):
                inside = file.relative_to(folder)
                if inside.parts[0] in LINKED or not file.is_file():
                    continue
                content = file.read_bytes()
                if file.name in LEFT_OUT or seen.get(inside) == content:
                    continue
                seen[inside] = content
                text = readable(content.decode("utf-8", "replace"))
                found[line][str(inside)] = text_record(plain(text))
    return found


TASKS = {"Demo-CR-3": False, "Demo-SFR-6": False, "Demo-LAP-6": True}
"""Task → whether it reproduces the defects of the published program."""
STEPS = 60


def environments() -> Iterator[tuple[str, str]]:
    """Yield the steps and rendered texts of single environments with random actions."""
    for task, legacy in TASKS.items():
        yield task, "\n".join(_steps(task, legacy))


def _steps(task: str, legacy: bool) -> Iterator[str]:
    environment: Any = make_environment(task, legacy=legacy, render_mode="ansi")
    rng = np.random.default_rng(1)
    seed: int | None = 5
    for _ in range(STEPS):
        if seed is not None:
            yield _step_text(environment.reset(seed=seed))
        action = int(rng.choice(np.flatnonzero(environment.action_masks())))
        step = environment.step(action)
        yield f"{action} {_step_text(step)} {environment.render()}"
        seed = seed or 5
        seed = seed + 1 if step[2] or step[3] else None


def vector_environments() -> Iterator[tuple[str, str]]:
    """Yield the steps of vector environments, which numba compiles."""
    from mwzeval.pydial.vector_env import make_vector_environment

    for task, legacy in TASKS.items():
        many: Any = make_vector_environment(task, num_envs=4, legacy=legacy)
        rng = np.random.default_rng(1)
        lines = [_step_text(many.reset(seed=5))]
        for _ in range(STEPS):
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in many.action_masks()])
            lines.append(f"{actions.tolist()} {_step_text(many.step(actions))}")
        yield task, "\n".join(lines)


def _step_text(step: Any) -> str:
    return json.dumps(step, default=lambda value: value.tolist())


ASKED = {
    "agent and user": "live --corpus sample --agent openai:m --user openai:m --agent-base-url {URL}"
    " --user-base-url {URL} --goals corpus:test:4 --user-turns 3 --send-seed -o both.jsonl",
    "user of PyDial": "live --benchmark pydial --agent handcrafted --user openai:m"
    " --user-base-url {URL} --goals Demo-CR-3:3 -o user.jsonl",
}
"""Runs with models; they are sequential, so that the order of requests is fixed."""


def requests() -> Iterator[tuple[str, str]]:
    """Yield the prompts, tool schemas and requests that models receive, and the file of the run."""
    bodies: list[Any] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Model, bodies))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{server.server_port}"
    try:
        with surroundings() as folder, mock.patch.dict(os.environ, {"OPENAI_API_KEY": "none"}):
            for name, command in ASKED.items():
                bodies.clear()
                words = shlex.split(command.replace("{URL}", f"http://{host}/v1"))
                with contextlib.redirect_stdout(io.StringIO()):
                    assert main([*words, "-q", "-j", "1", "--concurrency", "1"]) == 0
                for prompt in dict.fromkeys(body["messages"][0]["content"] for body in bodies):
                    yield f"{name}: {prompt[:40]}", prompt
                yield f"{name}: tools", json.dumps([body.get("tools") for body in bodies])
                yield f"{name}: requests", json.dumps(bodies)
                run = (folder / words[-1]).read_text(encoding="utf-8")
                yield f"{name}: run", run.replace(host, "HOST")
    finally:
        server.shutdown()
        server.server_close()


class _Model(BaseHTTPRequestHandler):
    """Records requests; calls a function if functions exist and the last message is no result."""

    def __init__(self, bodies: list[Any], *connection: Any) -> None:
        self.bodies = bodies
        super().__init__(*connection)

    def handle_post(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        message: dict[str, Any] = {"role": "assistant", "content": "inform(area=north) A place."}
        if "tools" in body and body["messages"][-1]["role"] != "tool":
            call = {"name": "find_hotel", "arguments": '{"area": "north"}'}
            calls = [{"id": f"c{len(body['messages'])}", "type": "function", "function": call}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        answer = json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    do_POST = handle_post  # noqa: N815 - http.server looks it up

    def log_message(self, *_: object) -> None:
        """Suppress the request log."""


OTHERS: Mapping[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "environments": environments,
    "vector": vector_environments,
    "requests": requests,
}
"""Group without commands → function that yields names and texts."""


def file_of(group: str) -> Path:
    """Return the file with the reference of a group."""
    return FOLDER / f"{group}.json"


if __name__ == "__main__":
    for name in sys.argv[1:] or [*groups(), *OTHERS]:
        text = json.dumps(recorded(name), ensure_ascii=False, indent=1)
        file_of(name).write_text(f"{text}\n", encoding="utf-8")
        print(f"recorded: {name}")
