"""Data sets: Minari and Gymnasium are the oracles of what is in them."""

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

from mwzeval.cli import main
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.job import Job, run_job
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.recording import (
    BEHAVIOURS,
    HandcraftedActions,
    behaviour_named,
    recordings,
    write_dataset,
)
from mwzeval.pydial.registration import register_with_gymnasium
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.tasks import task_named
from tests.places import ROOT

register_with_gymnasium()
pytestmark = pytest.mark.integration
h5py = pytest.importorskip("h5py")
minari = pytest.importorskip("minari")
TASK = task_named("Demo-CR-3")
DOMAIN = load_domain(TASK.domain)
SEED, DIALOGUES = 3, 8
SIZE, ACTIONS = 268, 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of data sets with "mixed"."""
    place = tmp_path_factory.mktemp("sets")
    behaviour = behaviour_named("mixed", DOMAIN, TASK, confusion_seed=SEED)
    write_dataset(place, behaviour, SEED, DIALOGUES)
    return place


def loaded(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    assert list(minari.list_local_datasets()) == [name]
    return minari.load_dataset(name)


def test_minari_gives_back_the_dialogues_that_were_played(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = loaded(folder, "mixed/Demo-CR-3-v0", monkeypatch)
    again = behaviour_named("mixed", DOMAIN, TASK, confusion_seed=SEED)
    played = list(recordings(again, SEED, DIALOGUES))
    about = list(dataset.storage.get_episode_metadata(range(DIALOGUES)))
    assert len(dataset) == len(played)
    assert dataset.total_steps == sum(len(each.actions) for each in played)
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
    # The first of more dialogues are the same.
    assert [each.seed for each in recordings(again, SEED, 2)] == [p.seed for p in played[:2]]


def test_an_environment_goes_through_the_same_dialogues(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = loaded(folder, "mixed/Demo-CR-3-v0", monkeypatch)
    environment = dataset.recover_environment(strict_masks=True)
    about = dataset.storage.get_episode_metadata(range(DIALOGUES))
    for episode, known in zip(dataset, about, strict=True):
        observation, info = environment.reset(seed=known["seed"])
        for at, action in enumerate(episode.actions):
            assert np.array_equal(observation, episode.observations[at])
            assert np.array_equal(info["action_mask"], episode.infos["action_mask"][at])
            assert info["action_mask"][action]
            observation, reward, ended, _, info = environment.step(action)
            assert reward == episode.rewards[at]
            assert ended == episode.terminations[at]
        assert ended
        assert info["success"] == episode.infos["success"][-1]
    assert dataset.observation_space == environment.observation_space
    assert dataset.action_space == environment.action_space
    # Recording did not change what others get from Gymnasium by the same name.
    registered = gymnasium.spec(environment.spec.id).kwargs
    assert registered == {"task": "Demo-CR-3", "legacy": False}


def test_mixed_takes_turns_and_each_part_is_as_good_as_alone() -> None:
    means = {}
    for name in BEHAVIOURS:
        behaviour = behaviour_named(name, DOMAIN, TASK)
        played = list(recordings(behaviour, 0, 60))
        means[name] = np.mean([each.rewards.sum() for each in played])
    assert [each.policy for each in played[:4]] == ["handcrafted", "random"] * 2
    assert means["handcrafted"] > 8
    assert means["random"] < -8
    assert means["random"] < means["mixed"] < means["handcrafted"]


def test_handcrafted_actions_say_what_the_handcrafted_policy_says() -> None:
    """Wherever the act can be said with an allowed action; offers have another first entity."""
    process = behaviour_named("random", DOMAIN, TASK).process
    by_acts, by_actions = HandcraftedPolicy(), HandcraftedActions()
    masked = seen = 0
    for number in range(40):
        process.simulation.forget()
        process.begin(Rng(number))
        ended = False
        while not ended:
            belief, mask = process.simulation.belief, process.mask
            act = by_acts.act(belief, Rng(7))
            only = by_actions.choose(belief, np.ones_like(mask), Rng(7))
            process.simulation.d.rng, before = Rng(7), process.simulation.d.rng
            said = process.simulation.act_of(only)
            process.simulation.d.rng = before
            assert said.name == act.name
            if act.name != "inform":
                assert said == act
            taken = by_actions.choose(belief, mask, Rng(7))
            assert mask[taken]
            masked, seen = masked + (taken != only), seen + 1
            ended = process.step(taken).ended
    assert masked < 0.05 * seen


def test_dialogues_of_a_checkpoint_are_those_of_its_policy(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    job = Job("Demo-CR-3", "gp-sarsa", 0, (20,), tests=1)
    run_job(job, tmp_path)
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


def test_a_domain_of_ones_own_is_recorded_without_an_environment_to_recover(
    tmp_path: Path,
) -> None:
    kinds = ["art", "toys", "trains"]
    ontology = {
        "type": "museum",
        "requestable": ["name", "area", "kind", "size", "phone"],
        "system_requestable": ["area", "kind", "size"],
        "informable": {
            "name": [f"m{number}" for number in range(12)],
            "area": ["north", "south"],
            "kind": kinds,
            "size": ["large", "small"],
        },
    }
    entities = [
        {
            "name": f"m{number}",
            "area": ["north", "south"][number % 2],
            "kind": kinds[number // 2 % 2],
            "size": ["large", "small"][number // 4 % 2],
            "phone": f"{number}",
        }
        for number in range(12)
    ]
    own = {"ontology": tmp_path / "old.museums.json", "entities": tmp_path / "rows.json"}
    own["ontology"].write_text(json.dumps(ontology))
    own["entities"].write_text(json.dumps(entities))
    files = [f"--{name}={path}" for name, path in own.items()]
    call = ["pydial", "record", "Own-old.museums-3", *files, "--dialogues", "2"]
    assert main([*call, "-o", str(tmp_path)]) == 0
    dataset = minari.MinariDataset(tmp_path / "mixed/Own-old-museums-3-v0/data")
    assert dataset.env_spec is None
    assert len(dataset) == 2


def test_the_same_call_writes_the_same_bytes_and_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["pydial", "record", "Demo-CR-1", "--policy", "random", "--dialogues", "2", "-o"]
    assert main([*call, str(tmp_path / "a")]) == 0
    told = capsys.readouterr()
    folder = tmp_path / "a/random/Demo-CR-1-v0"
    assert told.out == ""
    assert told.err == f"wrote {folder}: 2 dialogues\n"
    monkeypatch.chdir(tmp_path)
    assert main([*call, "b"]) == 0
    files = sorted(path.name for path in (folder / "data").iterdir())
    assert files == ["main_data.hdf5", "metadata.json"]
    before = (folder / "data/main_data.hdf5").read_bytes()
    other = tmp_path / "b/random/Demo-CR-1-v0/data/main_data.hdf5"
    assert before == other.read_bytes()
    capsys.readouterr()
    assert main([*call, str(tmp_path / "a")]) == 2
    assert capsys.readouterr().err == (
        f"error: {folder} exists already: remove it, or name another folder\n"
    )
    assert (folder / "data/main_data.hdf5").read_bytes() == before
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]


def test_data_sets_that_are_there_are_named_before_any_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["--policy", "random", "--dialogues", "1", "-o", str(tmp_path)]
    for task in ("Demo-CR-1", "Demo-CR-3"):
        assert main(["pydial", "record", task, *call]) == 0
    capsys.readouterr()
    assert main(["pydial", "record", "Demo-CR-2", "Demo-CR-1", "Demo-CR-3", *call]) == 2
    there = [str(tmp_path / f"random/Demo-CR-{number}-v0") for number in (1, 3)]
    assert capsys.readouterr().err == (
        f"error: {', '.join(there)} exist already: remove them, or name another folder\n"
    )
    assert sorted(map(str, (tmp_path / "random").iterdir())) == there


def test_a_full_disk_is_one_message_and_leaves_nothing(tmp_path: Path) -> None:
    """In a process of its own, which HDF5 would take down."""
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
