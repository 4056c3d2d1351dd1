"""`mwzeval predict`: an agent answers corpus users, and its predictions can be scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.ceiling import gold_predictions
from mwzeval.multiwoz.corpus import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from tests.command_lines import Run
from tests.places import read_json

AGENTS = '''
import json, os, time
from functools import cache
from pathlib import Path
from mwzeval.conversation.protocols import InfrastructureError

CALL = {"name": "find_hotel", "arguments": json.dumps({"area": "south"})}

@cache
def answers():
    return json.loads(Path("answers.json").read_text())

class Prepared:
    """Gives the answers of a file."""
    def __init__(self, dialogue):
        self.answers = iter(answers()[dialogue])
    def __call__(self, messages):
        return next(self.answers)["response"]

def repeating(messages, tools):
    """Calls a function, and then lists the beginnings of all messages."""
    if messages[-1]["role"] == "user":
        return {"tool_calls": [{"id": 1, "function": CALL}]}
    return json.dumps([[m["role"], (m["content"] or "called")[:30]] for m in messages])

class Failing:
    """Fails in the second turn or immediately, depending on the dialogue."""
    def __init__(self, dialogue):
        self.dialogue, self.turns = dialogue, 0
        if dialogue == "smp0024":
            raise KeyError("nothing")
    def __call__(self, messages, tools=None):
        if messages[-1]["role"] == "user":
            self.turns += 1
            return {"tool_calls": [{"id": 1, "function": CALL}]}
        if self.turns == 2 and self.dialogue == "smp0021":
            raise ValueError("the second")
        if self.turns == 2 and self.dialogue == "smp0022":
            os._exit(3)
        while self.turns == 2 and self.dialogue == "smp0025":
            time.sleep(1)
        return f"{self.turns} of {len(messages)}"

class Unreachable:
    def __init__(self, dialogue):
        self.dialogue = dialogue
    def __call__(self, messages):
        if self.dialogue == "smp0022" and not Path("up").exists():
            raise InfrastructureError("the server cannot be reached")
        return "yes"

class Booking:
    def __init__(self):
        self.bookings = []
    def respond(self, utterance):
        self.bookings = [{"domain": "hotel", "slots": {"name": "hotel aurelia"}}]
        return "It is done."
'''


@pytest.fixture(autouse=True)
def agents(elsewhere: None) -> None:
    Path("mine.py").write_text(AGENTS, encoding="utf-8")


@pytest.fixture(scope="module")
def fold() -> GoldFold:
    return load_fold("sample", "test", corpus_root("sample", None, offline=True))


def call(agent: str, words: str = "", output: str = "out.json") -> list[str]:
    return ["predict", "--corpus", "sample", "--agent", agent, "-o", output, *words.split()]


def predict(agent: str, words: str = "", output: str = "out.json", code: int = 0) -> Any:
    assert main([*call(agent, words, output), "-q"]) == code
    return read_json(Path(output))


@pytest.mark.integration
@pytest.mark.parametrize("in_words", [True, False])
def test_agent_with_corpus_responses_gets_the_corpus_scores(in_words: bool, fold: GoldFold) -> None:
    gold = gold_predictions(fold, in_words=in_words)
    Path("answers.json").write_text(json.dumps(gold), encoding="utf-8")
    predictions = predict("mine.py:Prepared", "--no-states --jobs 2")
    assert predictions == {
        name: [{"response": turn["response"]} for turn in turns] for name, turns in gold.items()
    }
    evaluator = Evaluator(True, True, True, grounded=in_words, corpus="sample")
    mine, theirs = evaluator.evaluate(predictions).metrics, evaluator.evaluate(gold).metrics
    if in_words:
        del theirs["grounded"]["booking"]  # requires states or calls, which the agent lacks
        assert mine["grounded"].pop("booking") is None
    assert mine == theirs


@pytest.mark.integration
def test_history_contains_corpus_or_agent_turns_by_context_option(fold: GoldFold) -> None:
    gold, own = (
        predict("mine.py:repeating", f"--dialogues 5 --context {context}", f"{context}.json")
        for context in ("gold", "own")
    )
    assert list(gold) == list(own) == list(fold.dialogues)[:5]
    for name in gold:
        dialogue = fold.dialogues[name]
        talk = list(zip(dialogue.user_utterances, dialogue.system_utterances, strict=True))
        before: list[list[str]] = []
        mine: list[list[str]] = []
        result = gold[name][0]["calls"][0]["result"]
        for (said, answered), of_gold, of_own in zip(talk, gold[name], own[name], strict=True):
            now = [["user", said[:30]], ["assistant", "called"], ["tool", result[:30]]]
            assert json.loads(of_gold["response"]) == before + now
            assert json.loads(of_own["response"]) == mine + now
            before += [["user", said[:30]], ["assistant", answered[:30]]]
            mine += [*now, ["assistant", of_own["response"][:30]]]
            assert of_gold["state"] == of_own["state"] == {"hotel": {"area": "south"}}


@pytest.mark.integration
@pytest.mark.parametrize("context", ["gold", "own"])
def test_responses_are_empty_after_agent_failures(context: str, fold: GoldFold, run: Run) -> None:
    words = f"--dialogues 5 --context {context} --jobs 2 --turn-seconds 2 -q"
    code, _, err = run(*call("mine.py:Failing", words))
    assert code == 0
    predictions = read_json(Path("out.json"))
    step = {"gold": 2, "own": 4}[context]
    expected = {}
    for name in list(fold.dialogues)[:5]:
        turns = range(len(fold.dialogues[name].states))
        expected[name] = [f"{turn + 1} of {3 + step * turn}" for turn in turns]
    # After an exception, the agent's own history has no answer for the turn.
    expected["smp0021"][1:] = ["", f"3 of {7 if context == 'gold' else 9}"]
    for name, answered in (("smp0022", 1), ("smp0024", 0), ("smp0025", 1)):
        expected[name][answered:] = [""] * len(expected[name][answered:])
    responses = {name: [turn["response"] for turn in turns] for name, turns in predictions.items()}
    assert responses == expected
    assert predictions["smp0022"][-1]["state"] == {"hotel": {"area": "south"}}
    assert predictions["smp0024"][0]["state"] == {}
    empty = [turn == "" for turns in responses.values() for turn in turns]
    problems = (f"{sum(empty)} of {len(empty)}", "ValueError", "exit code 3", "KeyError")
    assert [problem for problem in problems if problem not in err] == []
    assert "2 seconds" in Path("out.run.jsonl").read_text(encoding="utf-8")
    assert run("evaluate", "out.json", "--corpus", "sample", "-q").code == 0


@pytest.mark.integration
def test_infrastructure_errors_are_retried(capsys: pytest.CaptureFixture[str]) -> None:
    there = predict("mine.py:Unreachable", "--dialogues 4", code=1)
    assert "1 of 4" in capsys.readouterr().err
    assert list(there) == ["smp0021", "smp0023", "smp0024"]
    Path("up").touch()
    assert "smp0022" in predict("mine.py:Unreachable", "--dialogues 4")
    predict("mine.py:Unreachable", "--dialogues 4", "other.json")
    for ending in (".json", ".run.jsonl"):
        assert Path(f"out{ending}").read_bytes() == Path(f"other{ending}").read_bytes()


@pytest.mark.integration
def test_output_is_unchanged_if_all_dialogues_fail(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    from tests.conversation.endpoint import server

    server.shorten_waits(monkeypatch)
    Path("out.json").write_text("before", encoding="utf-8")
    code, _, err = run(*call("openai:x", "--agent-base-url http://127.0.0.1:9/v1 --concurrency 2"))
    assert (code, "62 of 62" in err) == (1, True)
    assert Path("out.json").read_text(encoding="utf-8") == "before"


def test_selected_dialogues_are_answered_and_next_command_is_printed(
    fold: GoldFold, run: Run
) -> None:
    names = list(fold.dialogues)
    ran = run(*call("silent", "--dialogues 3"))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines()[-1].endswith("mwzeval evaluate out.json")
    assert list(read_json(Path("out.json"))) == names[:3]
    err = run(*call("rule", "--dialogues 3", "said.json")).err
    assert "said.json --responses lexicalized" in err
    ids = f"{names[7].upper()}.json,{names[2]}"
    assert run(*call("silent", f"--dialogues {ids}", "some.jsonl"), "-q") == (0, "", "")
    lines = [json.loads(line) for line in Path("some.jsonl").read_text("utf-8").splitlines()]
    assert [line["dialogue"] for line in lines] == [names[7], names[2]]
    assert run("evaluate", "some.jsonl", "-s", "-q").code == 0
    assert "val.json --fold dev" in run(*call("silent", "--fold val", "val.json")).err
    assert len(read_json(Path("val.json"))) == 10


@pytest.mark.integration
def test_bookings_by_agent_tools_are_written_to_the_last_turn() -> None:
    predictions = predict("mine.py:Booking", "--dialogues 2 --no-states")
    booked = [{"domain": "hotel", "slots": {"name": "hotel aurelia"}}]
    for turns in predictions.values():
        *before, last = turns
        assert last == {"response": "It is done.", "bookings": booked}
        assert all(turn == {"response": "It is done.", "bookings": []} for turn in before)


@pytest.mark.parametrize(
    ("agent", "words", "output", "named"),
    [
        ("human", "", "out.json", "play"),
        ("rules", "", "out.json", '"rule"'),
        ("rule", "", "out.txt", ".jsonl"),
        ("rule", "", "out.json.gz", "out.json.gz"),
        ("rule", "--fold tets", "out.json", '"tets"'),
        ("rule", "--dialogues 63", "out.json", "62"),
        ("rule", "--dialogues smp0001", "out.json", '"smp0001"'),
        ("rule", "--agent-args {}", "out.json", "--agent-args"),
        ("rule", "--tool-rounds -1", "out.json", "--tool-rounds"),
        pytest.param(
            "mine.py:nobody", "", "out.json", "mine.py:nobody", marks=pytest.mark.integration
        ),
    ],
)
def test_invalid_options_are_refused(
    agent: str, words: str, output: str, named: str, run: Run
) -> None:
    code, _, err = run(*call(agent, words, output))
    assert (code, named in err) == (2, True)
    assert not Path(output).exists()


def test_run_files_cannot_change_context_or_be_scored(run: Run) -> None:
    predict("silent", "--dialogues 2")
    for words, named in (
        (call("silent", "--dialogues 2 --context own"), "user.context"),
        (["evaluate", "out.run.jsonl"], "predictions"),
    ):
        code, _, err = run(*words)
        assert (code, named in err) == (2, True)
