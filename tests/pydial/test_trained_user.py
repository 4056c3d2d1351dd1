"""The example of a user that is trained to imitate the agenda user."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mwzeval.errors import InputError
from mwzeval.pydial.acts import parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.rng import Rng
from tests.command_lines import Run
from tests.places import ROOT
from tests.pydial.runs import PYDIAL, TASK, read_lines

pytestmark = pytest.mark.integration
EXAMPLE = ROOT / "examples" / "pydial_trained_user.py"


@pytest.fixture(scope="module")
def example() -> Any:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


@pytest.fixture(scope="module")
def turns(example: Any) -> Any:
    return example.agenda_turns(TASK, range(40), 1)


@pytest.fixture(scope="module")
def network(example: Any, turns: Any) -> Any:
    pytest.importorskip("torch")
    return example.trained(turns, seed=1, epochs=10)


@pytest.fixture(scope="module")
def file(example: Any, network: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("trained") / "user.npz"
    example.saved(str(path), network, TASK, 1, 40)
    return path


def test_trained_user_learns_a_deterministic_user(example: Any) -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 2, (300, 6)).astype(np.float32)
    # The act depends on a combination of two features.
    said = ["affirm()" if row[0] == row[3] else f"inform(c{int(row[1])})" for row in seen]
    toy = [example.Turn(*turn) for turn in zip(seen, said, strict=True)]
    network = example.trained(toy[:200], epochs=80)
    found = network.log_probabilities(seen[200:]).argmax(axis=-1)
    assert [network.acts[at] for at in found] == said[200:]
    assert network.log_likelihood(toy[200:]) > -0.1


def test_trained_user_predicts_new_dialogues_better_than_frequencies(
    example: Any, turns: Any, network: Any
) -> None:
    others = example.agenda_turns(TASK, range(40, 56), 1)
    frequent = example.frequencies(network, turns, others)
    assert network.log_likelihood(others) > frequent + 0.3


@pytest.mark.parametrize(
    ("act", "relative", "after"),
    [
        ('inform(area="north",type="garden")', "inform(c1,type)", {}),
        ('inform(="dontcare")', "inform(any)", {}),
        ('inform(area="dontcare")', "inform(free1)", {"area": "dontcare"}),
        ('deny(kind="thai")', "deny(heard0)", {}),
        ('negate(kind="indian")', "negate(c0)", {}),
        ("request(phone)", "request(r1)", {}),
        ("bye()", "bye()", {}),
    ],
)
def test_acts_convert_to_and_from_goal_relative_form(
    example: Any, act: str, relative: str, after: dict[str, str]
) -> None:
    constraints = list(parse_act('inform(kind="indian",area="north")').items)
    goal = Goal(constraints, {"name": None, "phone": None})
    account = example.Account(goal, load_domain("Demo-CR"))
    account.hear(parse_act('confirm(kind="thai")'))
    assert account.relative(parse_act(act)) == relative
    assert str(account.act(relative, Rng(0))) == act
    account.say(parse_act(act))
    wanted = {item.slot: item.value for item in goal.constraints}
    assert wanted == {"kind": "indian", "area": "north"} | after


def test_relative_acts_about_missing_goal_parts_give_no_act(example: Any) -> None:
    account = example.Account(Goal([], {"name": None}), load_domain("Demo-CR"))
    for relative in ("inform(c0)", "request(r1)", "request(offer)", "inform(asked)"):
        assert account.act(relative, Rng(0)) is None


def test_checkpoints_restore_predictions_and_are_reproducible(
    example: Any, turns: Any, network: Any, file: Path, tmp_path: Path
) -> None:
    read = example.loaded(str(file))
    assert read.acts == network.acts
    features = np.stack([turn.features for turn in turns[:50]])
    np.testing.assert_array_equal(
        read.log_probabilities(features), network.log_probabilities(features)
    )
    again = tmp_path / "again.npz"
    example.saved(str(again), example.trained(turns, seed=1, epochs=10), TASK, 1, 40)
    assert again.read_bytes() == file.read_bytes()


def test_repeated_runs_give_the_same_dialogues(
    file: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("TRAINED_USER", str(file))
    runs = []
    for output in ("first.jsonl", "second.jsonl"):
        call = ["live", *PYDIAL, "--agent", "handcrafted", "-q", "-o", output]
        run(*call, "--goals", f"{TASK}:6", "--user", f"{EXAMPLE}:TrainedUser")
        runs.append(read_lines(output))
    assert runs[0] == runs[1]
    assert len(runs[0]) == 6
    assert not any(record["end"] == "user_error" for record in runs[0])
    assert any(record["success"] for record in runs[0])


def test_damaged_files_are_refused_with_one_message(
    example: Any, network: Any, file: Path, tmp_path: Path
) -> None:
    cut, small, unknown = (tmp_path / f"{name}.npz" for name in ("cut", "small", "unknown"))
    cut.write_bytes(file.read_bytes()[:-100])
    first, *others = network.layers
    acts = ("dance(c0,x²)", *network.acts[1:])
    for path, other in (
        (small, example.Network(network.acts, (first[1:], *others))),
        (unknown, example.Network(acts, network.layers)),
    ):
        example.saved(str(path), other, TASK, 1, 40)
    for path in (cut, small, unknown):
        with pytest.raises(InputError) as refused:
            example.loaded(str(path))
        assert len(refused.value.problems) == 1
        assert str(path) in str(refused.value)
