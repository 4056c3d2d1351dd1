"""Episodes in batches: the same users, the same tests, and policies that learn from rounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.batched.runner import BatchedRunner
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.policies.presets import preset_named
from mwzeval.pydial.runs.episodes import Episode, TaskRunner
from mwzeval.pydial.runs.run import run
from mwzeval.pydial.tasks import TASKS

pytestmark = pytest.mark.integration
NEURAL = ("ppo-recurrent", "acer", "ppo", "dqn", "a2c", "dqn-modern", "a2c-modern", "enac")


@pytest.mark.parametrize("name", ["Demo-CR-3", "Demo-SFR-6", "Demo-LAP-4"])
def test_the_handcrafted_policy_has_the_same_dialogues(name: str) -> None:
    task = TASKS[name]
    domain = load_domain(task.domain)
    one = TaskRunner(domain, task, "neural", confusion_seed=3)
    policy = HandcraftedPolicy(domain)
    expected = [one.test_act_policy(policy, 3, index) for index in range(20)]
    for number in (7, 64):
        many = BatchedRunner(domain, task, number, confusion_seed=3)
        assert list(many.test_handcrafted(3, 20)) == expected
        assert list(many.test_handcrafted(3, 20)) == expected


@pytest.mark.parametrize("policy", NEURAL)
def test_a_batch_of_one_is_a_dialogue_after_the_other(policy: str) -> None:
    task = TASKS["Demo-CR-3"]
    domain = load_domain(task.domain)
    scalar = TaskRunner(domain, task, "neural", confusion_seed=1)
    batched = BatchedRunner(domain, task, 1, confusion_seed=1)
    learners = [preset_named(policy).learner(scalar.size, scalar.actions, seed=1) for _ in range(2)]
    one, other = learners
    # Before the first update scores are those of the same weights.
    expected = [scalar.train(one, 1, index) for index in range(4)]
    episodes: list[Episode] = []
    while len(episodes) < 4:
        episodes += batched.train(other, 1, len(episodes), 4)  # type: ignore[arg-type]
    assert episodes == expected


@pytest.mark.parametrize("policy", NEURAL)
def test_policies_are_tested_as_one_dialogue_after_the_other(policy: str) -> None:
    task = TASKS["Demo-CR-3"]
    domain = load_domain(task.domain)
    batched = BatchedRunner(domain, task, 16, confusion_seed=1)
    learner = preset_named(policy).learner(batched.size, batched.actions, seed=1)
    done = 0
    while done < 40:
        done += len(batched.train(learner, 1, done, 40))  # type: ignore[arg-type]
    scalar = TaskRunner(domain, task, "neural", confusion_seed=1)
    expected = [scalar.test(learner, 1, index) for index in range(8)]
    assert batched.test(learner, 1, 8) == expected  # type: ignore[arg-type]


def test_a_run_in_batches_is_resumed_to_the_same_result(tmp_path: Path) -> None:
    def files(folder: Path, *checkpoints: int) -> dict[str, bytes]:
        run(
            ["Demo-CR-1"],
            ["ppo", "handcrafted"],
            folder,
            dialogues=checkpoints,
            seeds=1,
            tests=10,
            batch=16,
            processes=0,
        )
        return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*.jsonl")}

    files(tmp_path / "resumed", 16)
    whole = files(tmp_path / "whole", 16, 40)
    assert files(tmp_path / "resumed", 16, 40) == whole
    assert json.loads((tmp_path / "whole" / "run.json").read_text())["batch"] == 16
    with pytest.raises(InputError, match="batch"):
        run(["Demo-CR-1"], ["ppo"], tmp_path / "whole", dialogues=[16], seeds=1, tests=10)


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 0},
        {"batch": 8, "legacy": True},
        {"batch": 8, "policies": ["ppo", "gp-sarsa", "random"]},
    ],
)
def test_what_cannot_be_played_at_once_is_refused(
    options: dict[str, object], tmp_path: Path
) -> None:
    plan: dict[str, object] = {"tasks": ["Demo-CR-1"], "policies": ["ppo"], **options}
    with pytest.raises(UsageError):
        run(output=tmp_path / "run", **plan)  # type: ignore[arg-type]
