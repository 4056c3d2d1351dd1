"""`mwzeval live` of every benchmark that somebody can talk to, on embedded data.

A benchmark is tested unless it has a sentence, in place of `live`, why there is nobody to talk to.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from tests.samples import LIVE_NAMES, LiveSample, live_sample

OWN = """
import time
import zlib

class Fine(Base):
    def answer(self, said):
        if zlib.crc32(repr(said).encode()) % 29 == 0:
            self.fail()
        return super().answer(said)

    def fail(self):
        pass

class Raising(Fine):
    def fail(self):
        raise ValueError("no idea")

class Hanging(Fine):
    def fail(self):
        while True:
            time.sleep(1000)
"""
RUN = Path("run.jsonl")


pytestmark = pytest.mark.parametrize("name", LIVE_NAMES)


@pytest.fixture
def sample(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LiveSample:
    monkeypatch.chdir(tmp_path)
    found = live_sample(name)
    Path("own_agents.py").write_text(found.base + OWN, encoding="utf-8")
    return found


def held(name: str, sample: LiveSample, agent: str, more: str = "") -> bytes:
    """Return the content of the file, which is gone on with if it is there."""
    command = f"live --benchmark {name} --agent {agent} {sample.options} {more} -q -o {RUN}"
    assert main(command.split()) == 0
    return RUN.read_bytes()


def dialogues_in(raw: bytes) -> dict[str, dict[str, Any]]:
    lines = map(json.loads, raw.splitlines()[1:])
    return {line["dialogue"]: line for line in lines}


@pytest.mark.integration
def test_neither_jobs_nor_a_cut_change_a_byte(name: str, sample: LiveSample) -> None:
    whole = held(name, sample, sample.agent)
    assert len(dialogues_in(whole)) > 2
    rng = random.Random(7)
    for jobs in (1, 2):
        for _ in range(2):
            RUN.write_bytes(whole[: rng.randrange(len(whole))])
            assert held(name, sample, sample.agent, f"--jobs {jobs}") == whole


@pytest.mark.integration
def test_an_agent_that_fails_ends_its_own_dialogue(name: str, sample: LiveSample) -> None:
    fine = dialogues_in(held(name, sample, "own_agents.py:Fine"))
    assert {line["end"] for line in fine.values()} <= {"user_stop", "limit"}
    failed: dict[str, set[str]] = {}
    for agent, problem in (("Raising", "ValueError: no idea"), ("Hanging", "no answer within 2 s")):
        RUN.unlink()
        found = dialogues_in(
            held(name, sample, f"own_agents.py:{agent}", "--jobs 2 --turn-seconds 2")
        )
        failed[agent] = {key for key, line in found.items() if line != fine[key]}
        assert 0 < len(failed[agent]) < len(fine) == len(found)
        for key in failed[agent]:
            assert found[key]["end"] == "agent_error"
            assert problem in found[key]["problem"]
        assert main(["evaluate", str(RUN)]) == 0
    assert failed["Raising"] == failed["Hanging"]


def test_a_file_of_a_run_is_scored_and_explained_by_itself(
    name: str, sample: LiveSample, capsys: pytest.CaptureFixture[str]
) -> None:
    dialogues = dialogues_in(held(name, sample, sample.agent))
    printed = capsys.readouterr().out
    assert main(["validate", str(RUN)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(RUN)]) == 0
    scored = capsys.readouterr().out
    assert printed == scored
    assert f"{len(dialogues)} of {len(dialogues)} dialogues" in scored
    assert main(["explain", str(RUN), next(iter(dialogues))]) == 0
    assert next(iter(dialogues)) in capsys.readouterr().out


@pytest.mark.parametrize("end", ["agent_error", "infrastructure"])
def test_a_dialogue_in_which_nothing_was_said_is_none_or_lost(
    end: str, name: str, sample: LiveSample, capsys: pytest.CaptureFixture[str]
) -> None:
    header, first, *others = held(name, sample, sample.agent).splitlines()
    line = json.loads(first)
    kept = {key: line[key] for key in line if key not in ("acts", "messages")}
    failed = {**kept, "messages": [], "end": end, "problem": "none", "turns": 0}
    RUN.write_bytes(b"\n".join([header, json.dumps(failed).encode(), *others, b""]))
    capsys.readouterr()
    assert main(["evaluate", str(RUN)]) == 0
    out, err = capsys.readouterr()
    scored = len(others) + (end == "agent_error")
    assert re.search(rf"\bn:{scored}\b|\b{scored} of \d+ dialogues", out)
    assert ("infrastructure error" in err) == (end == "infrastructure")
