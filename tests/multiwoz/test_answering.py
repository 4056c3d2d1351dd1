"""`mwzeval predict`: an agent answers the corpus' own users; its predictions are scored as any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.ceiling import gold_predictions
from mwzeval.multiwoz.corpus import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from tests.places import read_json

AGENTS = '''
import json, os, time
from functools import cache
from pathlib import Path
from mwzeval.conversation.protocols import InfrastructureError

@cache
def answers():
    return json.loads(Path("answers.json").read_text())

class Knowing:
    """Says what a file has for its dialogue."""
    def __init__(self, dialogue):
        self.answers = iter(answers()[dialogue])
    def __call__(self, messages):
        return next(self.answers)["response"]

def telling(messages, tools):
    """Calls a function, and then says what it has seen, shortened."""
    if messages[-1]["role"] == "user":
        call = {"name": "find_hotel", "arguments": json.dumps({"area": "south"})}
        return {"tool_calls": [{"id": 1, "function": call}]}
    return json.dumps([[m["role"], (m["content"] or "called")[:30]] for m in messages])

class Erring:
    def __init__(self, dialogue):
        self.dialogue, self.turns = dialogue, 0
        if dialogue == "smp0024":
            raise KeyError("nothing")
    def __call__(self, messages, tools=None):
        if messages[-1]["role"] == "user":
            self.turns += 1
            call = {"name": "find_hotel", "arguments": json.dumps({"area": "south"})}
            return {"tool_calls": [{"id": 1, "function": call}]}
        if self.turns == 2 and self.dialogue == "smp0021":
            raise ValueError("the second")
        if self.turns == 2 and self.dialogue == "smp0022":
            os._exit(3)
        return f"{self.turns} of {len(messages)}"

class Slow:
    def __init__(self, dialogue):
        self.dialogue, self.turns = dialogue, 0
    def __call__(self, messages):
        self.turns += 1
        while self.turns == 2 and self.dialogue == "smp0022":
            time.sleep(1)
        return "yes"

class Unreachable:
    def __init__(self, dialogue):
        self.dialogue = dialogue
    def __call__(self, messages):
        if self.dialogue == "smp0022" and not Path("up").exists():
            raise InfrastructureError("the server cannot be reached")
        return "yes"

class Keeping:
    def __init__(self):
        self.bookings = []
    def respond(self, utterance):
        if not self.bookings:
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
    """Return the predictions that an agent makes."""
    assert main([*call(agent, words, output), "-q"]) == code
    return read_json(Path(output))


@pytest.mark.integration
@pytest.mark.parametrize("in_words", [True, False])
def test_an_agent_that_says_what_the_corpus_says_has_the_scores_of_the_corpus(
    in_words: bool, fold: GoldFold
) -> None:
    gold = gold_predictions(fold, in_words=in_words)
    Path("answers.json").write_text(json.dumps(gold), encoding="utf-8")
    predictions = predict("mine.py:Knowing", "--no-states --jobs 2")
    assert predictions == {
        name: [{"response": turn["response"]} for turn in turns] for name, turns in gold.items()
    }
    evaluator = Evaluator(True, True, True, grounded=in_words, corpus="sample")
    mine, theirs = evaluator.evaluate(predictions), evaluator.evaluate(gold)
    if in_words:
        del theirs.metrics["grounded"]["booking"]  # the agent has no states and calls
        assert mine.metrics["grounded"].pop("booking") is None
    assert mine.metrics == theirs.metrics
    assert mine.metrics["success"]["success"]["total"] > 80
    if not in_words:
        assert round(mine.metrics["bleu"]["sample"], 6) == 100


@pytest.mark.integration
def test_an_agent_sees_the_corpus_or_itself(fold: GoldFold) -> None:
    gold, own = (
        predict("mine.py:telling", f"--dialogues 5 --context {context}", f"{context}.json")
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
        assert gold[name][0] == own[name][0]
        assert gold[name][1] != own[name][1]


@pytest.mark.integration
@pytest.mark.parametrize("context", ["gold", "own"])
def test_a_turn_in_which_an_agent_fails_has_no_answer(
    context: str, fold: GoldFold, capsys: pytest.CaptureFixture[str]
) -> None:
    predictions = predict("mine.py:Erring", f"--dialogues 4 --context {context} --jobs 2")
    err = capsys.readouterr().err
    responses = {name: [turn["response"] for turn in turns] for name, turns in predictions.items()}
    lengths = {name: len(fold.dialogues[name].states) for name in responses}
    assert {name: len(turns) for name, turns in predictions.items()} == lengths
    raised, died, well, unmade = responses.values()
    step = {"gold": 2, "own": 4}[context]
    assert well == [f"{n} of {3 + step * (n - 1)}" for n in range(1, len(well) + 1)]
    # In its own history an agent that failed has said nothing.
    seen = 7 if context == "gold" else 9
    assert raised == [well[0], "", f"3 of {seen}"]
    assert died == [well[0], *[""] * (len(died) - 1)]
    assert unmade == [""] * len(unmade)
    assert predictions["smp0022"][-1]["state"] == {"hotel": {"area": "south"}}
    assert predictions["smp0024"][0]["state"] == {}
    empty = sum(turn == "" for turns in responses.values() for turn in turns)
    assert f"{empty} of {sum(lengths.values())}" in err
    for problem in ("ValueError", "exit code 3", "KeyError"):
        assert problem in err
    assert main(["evaluate", "out.json", "--corpus", "sample", "-q"]) == 0


@pytest.mark.integration
def test_what_is_nobodys_fault_is_held_again(capsys: pytest.CaptureFixture[str]) -> None:
    there = predict("mine.py:Unreachable", "--dialogues 4", code=1)
    assert "1 of 4" in capsys.readouterr().err
    assert list(there) == ["smp0021", "smp0023", "smp0024"]
    Path("up").touch()
    whole = predict("mine.py:Unreachable", "--dialogues 4")
    assert "smp0022" in whole
    predict("mine.py:Unreachable", "--dialogues 4", "other.json")
    for ending in (".json", ".run.jsonl"):
        assert Path(f"out{ending}").read_bytes() == Path(f"other{ending}").read_bytes()


@pytest.mark.integration
def test_where_nothing_answers_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.conversation.endpoint import server

    server.shorten_waits(monkeypatch)
    Path("out.json").write_text("before", encoding="utf-8")
    gone = "http://127.0.0.1:9/v1"
    assert main(call("openai:x", f"--agent-base-url {gone} --concurrency 2")) == 1
    assert "62 of 62" in capsys.readouterr().err
    assert Path("out.json").read_text(encoding="utf-8") == "before"


def test_which_dialogues_and_how_they_are_written(
    fold: GoldFold, capsys: pytest.CaptureFixture[str]
) -> None:
    names = list(fold.dialogues)
    assert main([*call("silent", "--dialogues 3")]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].endswith("mwzeval evaluate out.json")
    assert list(read_json(Path("out.json"))) == names[:3]
    assert main([*call("rule", "--dialogues 3", "said.json")]) == 0
    assert "said.json --responses lexicalized" in capsys.readouterr().err
    ids = f"{names[7].upper()}.json,{names[2]}"
    assert main([*call("silent", f"--dialogues {ids}", "some.jsonl"), "-q"]) == 0
    lines = [json.loads(line) for line in Path("some.jsonl").read_text("utf-8").splitlines()]
    assert [line["dialogue"] for line in lines] == [names[7], names[2]]
    assert main(["evaluate", "some.jsonl", "-s", "-q"]) == 0
    assert main(call("silent", "--fold val", "val.json")) == 0
    assert "val.json --fold dev" in capsys.readouterr().err
    assert len(read_json(Path("val.json"))) == 10


@pytest.mark.integration
def test_an_agent_with_its_own_tools_says_what_it_has_booked() -> None:
    predictions = predict("mine.py:Keeping", "--dialogues 2 --no-states")
    for turns in predictions.values():
        *before, last = turns
        booked = [{"domain": "hotel", "slots": {"name": "hotel aurelia"}}]
        assert last == {"response": "It is done.", "bookings": booked}
        assert all(turn == {"response": "It is done.", "bookings": []} for turn in before)


@pytest.mark.parametrize(
    ("agent", "words", "output", "told"),
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
def test_what_makes_no_sense_is_refused(
    agent: str, words: str, output: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(call(agent, words, output)) == 2
    assert told in capsys.readouterr().err
    assert not Path(output).exists()


def test_another_context_is_another_run_and_none_is_live(
    capsys: pytest.CaptureFixture[str],
) -> None:
    predict("silent", "--dialogues 2")
    assert main(call("silent", "--dialogues 2 --context own")) == 2
    assert "user.context" in capsys.readouterr().err
    assert main(["evaluate", "out.run.jsonl"]) == 2
    assert "predictions" in capsys.readouterr().err


@pytest.mark.integration
def test_an_agent_that_hangs_has_answered_what_it_did_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    predictions = predict("mine.py:Slow", "--dialogues 3 --turn-seconds 0.5")
    responses = [[turn["response"] for turn in turns] for turns in predictions.values()]
    assert responses[0] == ["yes"] * len(responses[0])
    assert responses[1] == ["yes", *[""] * (len(responses[1]) - 1)]
    assert responses[2] == ["yes"] * len(responses[2])
    assert "0.5 seconds" in capsys.readouterr().err
