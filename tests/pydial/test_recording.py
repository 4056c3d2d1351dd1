"""Recorded data sets, checked with Minari and Gymnasium."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mwzeval.pydial import register_with_gymnasium
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.recording import (
    BEHAVIOURS,
    behaviour_named,
    handcrafted_action,
    recordings,
    write_dataset,
)
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.tasks import task_named
from tests.command_lines import Run
from tests.places import ROOT, write_json
from tests.pydial.runs import files, small_run

register_with_gymnasium()
pytestmark = pytest.mark.integration
h5py = pytest.importorskip("h5py")
minari = pytest.importorskip("minari")
TASK = task_named("Demo-CR-3")
DOMAIN = load_domain(TASK.domain)
SEED, DIALOGUES = 3, 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data set "mixed"."""
    place = tmp_path_factory.mktemp("sets")
    behaviour = behaviour_named("mixed", DOMAIN, TASK, confusion_seed=SEED)
    write_dataset(place, behaviour, SEED, DIALOGUES)
    return place


@pytest.fixture
def dataset(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The data set as loaded by Minari."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    assert list(minari.list_local_datasets()) == ["mixed/Demo-CR-3-v0"]
    return minari.load_dataset("mixed/Demo-CR-3-v0")


def test_minari_datasets_contain_the_played_dialogues(dataset: Any) -> None:
    again = behaviour_named("mixed", DOMAIN, TASK, confusion_seed=SEED)
    played = list(recordings(again, SEED, DIALOGUES))
    about = list(dataset.storage.get_episode_metadata(range(DIALOGUES)))
    assert len(dataset) == len(played)
    assert dataset.total_steps == sum(len(p.actions) for p in played)
    for episode, recording, known in zip(dataset, played, about, strict=True):
        assert (known["seed"], known["policy"]) == (recording.seed, recording.policy)
        for name in ("observations", "actions", "rewards"):
            expected = getattr(recording, name)
            assert np.array_equal(getattr(episode, name), expected)
            assert getattr(episode, name).dtype == expected.dtype
        assert episode.terminations.tolist() == [*[False] * (len(episode) - 1), True]
        assert not episode.truncations.any()
        assert episode.infos.keys() == recording.infos.keys() >= {"action_mask", "success"}
        for name, values in recording.infos.items():
            assert np.array_equal(episode.infos[name], values)
    # The first dialogues do not depend on the number of dialogues.
    assert [p.seed for p in recordings(again, SEED, 2)] == [p.seed for p in played[:2]]


def test_recovered_environment_replays_the_recorded_dialogues(dataset: Any) -> None:
    environment = dataset.recover_environment(strict_masks=True)
    about = dataset.storage.get_episode_metadata(range(DIALOGUES))
    for episode, known in zip(dataset, about, strict=True):
        observation, info = environment.reset(seed=known["seed"])
        for at, action in enumerate(episode.actions):
            assert np.array_equal(observation, episode.observations[at])
            assert np.array_equal(info["action_mask"], episode.infos["action_mask"][at])
            assert info["action_mask"][action]
            observation, reward, ended, _, info = environment.step(action)
            assert (reward, ended) == (episode.rewards[at], episode.terminations[at])
        assert ended
        assert info["success"] == episode.infos["success"][-1]
    assert dataset.observation_space == environment.observation_space
    assert dataset.action_space == environment.action_space
    # Recording did not change the registered environment.
    registered = gymnasium.spec(environment.spec.id).kwargs
    assert registered == {"task": "Demo-CR-3", "legacy": False}


def test_mixed_behaviour_alternates_handcrafted_and_random_policies() -> None:
    means = {}
    for name in BEHAVIOURS:
        behaviour = behaviour_named(name, DOMAIN, TASK)
        played = list(recordings(behaviour, 0, 60))
        means[name] = np.mean([recording.rewards.sum() for recording in played])
    assert [recording.policy for recording in played[:4]] == ["handcrafted", "random"] * 2
    assert means["handcrafted"] > 8
    assert means["random"] < -8
    assert means["random"] < means["mixed"] < means["handcrafted"]


def test_handcrafted_actions_give_the_acts_of_the_handcrafted_policy() -> None:
    """This holds if an allowed action can express the act; offers may have another entity."""
    process = behaviour_named("random", DOMAIN, TASK).process
    policy = HandcraftedPolicy()
    masked = seen = 0
    for number in range(40):
        process.simulation.forget()
        process.begin(Rng(number))
        ended = False
        while not ended:
            belief, mask = process.simulation.belief, process.mask
            act = policy.act(belief, Rng(7))
            only = handcrafted_action(belief, np.ones_like(mask), Rng(7))
            process.simulation.d.rng, before = Rng(7), process.simulation.d.rng
            said = process.simulation.act_of(only)
            process.simulation.d.rng = before
            assert said.name == act.name
            if act.name != "inform":
                assert said == act
            taken = handcrafted_action(belief, mask, Rng(7))
            assert mask[taken]
            masked, seen = masked + (taken != only), seen + 1
            ended = process.step(taken).ended
    assert masked < 0.05 * seen


def test_checkpoint_datasets_contain_the_dialogues_of_the_policy(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (job,) = small_run(tmp_path, "gp-sarsa", dialogues=(20,))
    model = job.model_file(tmp_path, 20)
    folder = write_dataset(tmp_path, behaviour_named(model, DOMAIN, TASK), 0, 3)
    assert folder == tmp_path / "gp-sarsa" / "Demo-CR-3-v0"
    environment = gymnasium.make("mwzeval/Demo-CR-3-v0", strict_masks=True)
    place = behaviour_named(model, DOMAIN, TASK)
    for episode, played in zip(
        minari.MinariDataset(folder / "data"), recordings(place, 0, 3), strict=True
    ):
        assert episode.actions.tolist() == played.actions.tolist()
        environment.reset(seed=played.seed)
        for action in episode.actions:
            ended = environment.step(action)[2]
        assert ended
    source = json.loads((folder / "data/metadata.json").read_text())["mwzeval"]
    assert len(source["model"]) == 64


def test_custom_domain_datasets_have_no_environment_spec(tmp_path: Path, run: Run) -> None:
    values = {
        "name": [f"m{number}" for number in range(12)],
        "area": ["north", "south"],
        "kind": ["art", "toys", "trains"],
        "size": ["large", "small"],
    }
    ontology = {
        "type": "museum",
        "requestable": [*values, "phone"],
        "system_requestable": ["area", "kind", "size"],
        "informable": values,
    }
    entities = [
        {"phone": "1", **{slot: known[number % len(known)] for slot, known in values.items()}}
        for number in range(12)
    ]
    own = ["--ontology", write_json(tmp_path / "old.museums.json", ontology)]
    own += ["--entities", write_json(tmp_path / "rows.json", entities)]
    call = ["pydial", "record", "Own-old.museums-3", *own, "--dialogues", "2"]
    assert run(*call, "-o", str(tmp_path)).code == 0
    dataset = minari.MinariDataset(tmp_path / "mixed/Own-old-museums-3-v0/data")
    assert dataset.env_spec is None
    assert len(dataset) == 2


def test_recording_is_deterministic_and_never_overwrites(elsewhere: Path, run: Run) -> None:
    call = ["--policy", "random", "--dialogues", "2", "-o"]
    place = "random/Demo-CR-1-v0"
    absolute = elsewhere / "a" / place
    for output, folder in ((elsewhere / "a", absolute), ("b", Path("b", place))):
        done = run("pydial", "record", "Demo-CR-1", *call, str(output))
        assert done == (0, "", f"wrote {folder}: 2 dialogues\n")
        assert {file.name for file in Path(folder, "data").iterdir()} == {
            "main_data.hdf5",
            "metadata.json",
        }
    before = files(Path("a"))
    assert before == files(Path("b"))
    assert run("pydial", "record", "Demo-CR-3", *call, "a").code == 0
    kept = files(Path("a"))
    tasks = ["Demo-CR-2", "Demo-CR-1", "Demo-CR-3"]
    refused = run("pydial", "record", *tasks, *call, "a")
    assert refused.code == 2
    for number in (1, 3):
        assert f"a/random/Demo-CR-{number}-v0" in refused.err
    assert files(Path("a")) == kept
    assert len(list(Path("a/random").iterdir())) == 2


def test_a_full_disk_gives_one_error_and_leaves_no_files(tmp_path: Path) -> None:
    """The test uses a separate process, because HDF5 would abort it."""
    call = ["pydial", "record", "Demo-CR-1", "--dialogues", "20", "-o", str(tmp_path)]
    limited = subprocess.run(
        [sys.executable, "-m", "mwzeval", *call],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    folder = tmp_path / "mixed/Demo-CR-1-v0"
    assert limited.stderr == f"error: cannot write {folder}: File too large\n"
    assert limited.returncode == 2
    assert not list(folder.parent.iterdir())
