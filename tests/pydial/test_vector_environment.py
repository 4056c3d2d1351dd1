"""The vector environment equals Gymnasium's own vector loop over single environments."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from mwzeval.errors import UsageError
from mwzeval.pydial import register_with_gymnasium
from mwzeval.pydial.vector_env import make_vector_environment
from tests.pydial.runs import python
from tests.pydial.test_environments import plain

register_with_gymnasium()
NAME = "mwzeval/Demo-CR-3-v0"
NOTHING = np.zeros(3, dtype=np.int64)


@pytest.fixture
def many() -> Any:
    return make_vector_environment("Demo-CR-3", num_envs=3)


def both(name: str, number: int, mode: AutoresetMode) -> tuple[Any, Any]:
    together = gymnasium.make_vec(
        name, number, vectorization_mode="vector_entry_point", autoreset_mode=mode
    )
    apart = gymnasium.make_vec(
        name, number, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}
    )
    return together, apart


def step_values(step: Any) -> Any:
    """Return the values of a step or reset without the padding of absent info values."""
    *arrays, info = step
    return plain(arrays), _info_values(info)


def _info_values(info: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key in sorted(key for key in info if not key.startswith("_")):
        value, where = info[key], info[f"_{key}"]
        told = _info_values(value) if isinstance(value, dict) else plain(list(value[where]))
        kept[key] = where.tolist(), told
    return kept


@pytest.mark.parametrize(
    ("task", "mode"),
    [
        *(("CR-3", mode) for mode in AutoresetMode),
        *((task, AutoresetMode.NEXT_STEP) for task in ("LAP-5", "SFR-2")),
        *((f"{task}-legacy", AutoresetMode.SAME_STEP) for task in ("CR-4", "SFR-1", "LAP-6")),
    ],
)
def test_vector_environment_matches_single_environments(task: str, mode: AutoresetMode) -> None:
    together, apart = both(f"mwzeval/Demo-{task}-v0", 5, mode)
    assert together.metadata["autoreset_mode"] is mode
    assert step_values(together.reset(seed=8)) == step_values(apart.reset(seed=8))
    generator = np.random.default_rng(0)
    ends = 0
    for _ in range(60):
        masks = together.unwrapped.action_masks()
        actions = np.array([generator.choice(np.flatnonzero(mask)) for mask in masks])
        mine, theirs = together.step(actions), apart.step(actions)
        assert step_values(mine) == step_values(theirs)
        ends += int(mine[2].sum())
        if mode == AutoresetMode.DISABLED and mine[2].any():
            again = [env.reset(options={"reset_mask": mine[2].copy()}) for env in (together, apart)]
            assert step_values(again[0]) == step_values(again[1])
    assert ends > 5


def test_copies_continue_like_the_original(many: Any) -> None:
    seeded, _ = many.reset(seed=1)
    copy = pickle.loads(pickle.dumps(many))
    for _ in range(20):
        assert plain(many.step(NOTHING)) == plain(copy.step(NOTHING))
    seeds = [1, None, 3]
    assert plain(copy.reset(seed=seeds)[0]) == plain(many.reset(seed=seeds)[0])
    assert np.array_equal(many.reset(seed=np.int64(1))[0], seeded)


@pytest.mark.parametrize("wrong", [[0], [0, 0, 0, 0], None, 3, {}, [0, 99, 0], [0, 0, None]])
def test_invalid_actions_step_none_of_the_environments(many: Any, wrong: Any) -> None:
    many.reset(seed=1)
    with pytest.raises(UsageError):
        many.step(wrong)
    assert many.step(NOTHING)[4]["exchange"].tolist() == [2, 2, 2]


def test_masked_actions_are_refused_only_if_strict() -> None:
    strict: Any = make_vector_environment("Demo-CR-3", num_envs=2, strict_masks=True)
    _, info = strict.reset(seed=1)
    masked = np.array([info["action_mask"][0].argmin(), 0])
    with pytest.raises(UsageError, match=f"action {masked[0]} "):
        strict.step(masked)


MASKS = np.array([True]), [True, False, True], np.array([0, 1, 1]), np.zeros(3, dtype=np.bool_)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        *(({"seed": seed}, "seed") for seed in (-1, 1.5, "1", [1, "2", 3], [1, -2, 3])),
        *(({"seed": [1] * number}, "seed") for number in (1, 4)),
        ({"options": [1]}, "options"),
        ({"options": {"goal": {}}}, "goal"),
        *(({"options": {"reset_mask": mask}}, "reset_mask") for mask in MASKS),
    ],
)
def test_invalid_seeds_and_options_of_reset_are_refused(
    how: dict[str, Any], told: str, many: Any
) -> None:
    with pytest.raises(UsageError, match=told):
        many.reset(**how)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        *(({"num_envs": number}, "number of env") for number in (0, "3", None, 2.5, True)),
        ({"confusion_seed": "3"}, "confusion_seed"),
        ({"legacy": "no"}, "legacy"),
        ({"autoreset_mode": "now"}, "now"),
        ({"render_mode": "human"}, "human"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make_vector_environment("Demo-CR-3", **options)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_finished_dialogues_take_no_step(mode: AutoresetMode) -> None:
    many: Any = make_vector_environment(
        "Demo-CR-2", num_envs=1, autoreset_mode=mode, goodbye="policy"
    )
    bye = np.array([many.get_action_meanings().index("bye")])
    with pytest.raises(UsageError):
        many.step(bye)
    many.reset(seed=1)
    assert many.step(bye)[2].all()
    if mode == AutoresetMode.DISABLED:
        with pytest.raises(UsageError):
            many.step(bye)
    else:
        assert many.step(bye)[4]["exchange"] == [1]


def test_ansi_render_matches_the_single_environment() -> None:
    many: Any = make_vector_environment("Demo-CR-3", num_envs=2, render_mode="ansi")
    single: Any = gymnasium.make(NAME, render_mode="ansi").unwrapped
    assert many.render() == ("", "")
    many.reset(seed=1)
    single.reset(seed=1)
    ended = False
    while not ended:
        assert many.render()[0] == single.render()
        many.step(np.array([6, 6]))
        _, _, ended, _, _ = single.step(6)
    assert many.render()[0] == single.render()
    silent: Any = make_vector_environment("Demo-CR-3")
    assert silent.render() is None


def test_returned_arrays_are_copies(many: Any) -> None:
    vector, info = many.reset(seed=1)
    kept = vector.copy()
    info["action_mask"][:] = 0
    following, *_ = many.step(NOTHING)
    assert np.array_equal(vector, kept)
    assert not np.array_equal(following, kept)
    assert many.action_masks().any()


WITHOUT_NUMBA = """
import sys; sys.modules['numba'] = None
import gymnasium, mwzeval
assert gymnasium.make_vec('mwzeval/Demo-CR-1-v0', 2, vectorization_mode='sync').reset()
try: gymnasium.make_vec('mwzeval/Demo-CR-1-v0', 2)
except mwzeval.DependencyError as error: print(error)
"""


@pytest.mark.integration
def test_missing_numba_error_names_the_extra_to_install() -> None:
    assert "mwzeval[batched]" in python(WITHOUT_NUMBA)
