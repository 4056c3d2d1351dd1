"""All registered Gymnasium environments."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mwzeval.errors import DependencyError, UsageError
from mwzeval.pydial import environment_ids, envs, register_with_gymnasium
from mwzeval.pydial.acts import parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.envs import make_environment
from mwzeval.pydial.goals import plain_goal
from mwzeval.pydial.job import runner_of
from mwzeval.pydial.run import planned
from mwzeval.pydial.tasks import DEMO, TASKS, task_named
from tests.places import shared
from tests.pydial.runs import python
from tests.pydial.small_domain import CAFES

gymnasium = pytest.importorskip("gymnasium")
register_with_gymnasium()
DEMO_NAME = "mwzeval/Demo-CR-3-v0"


@pytest.fixture
def demo() -> Any:
    return gymnasium.make(DEMO_NAME)


def masked_steps(environment: Any, steps: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Yield the results of random allowed actions."""
    generator = np.random.default_rng(seed)
    yield environment.reset(seed=seed)
    for _ in range(steps):
        mask = environment.unwrapped.action_masks()
        step = environment.step(int(generator.choice(np.flatnonzero(mask))))
        yield step
        if step[2]:
            yield environment.reset()


def plain(value: Any) -> Any:
    """Convert arrays to lists for comparison."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def check(environment: Any, ignored: str = "nothing") -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=ignored)
        check_env(environment)


def test_every_task_has_a_clean_and_a_legacy_environment() -> None:
    ids = environment_ids()
    assert len(ids) == 72
    assert ids["mwzeval/PyDial-CR-1-v0"] == ("CR-1", False)
    assert ids["mwzeval/PyDial-LAP-6-legacy-v0"] == ("LAP-6", True)
    assert ids["mwzeval/Demo-SFR-4-v0"] == ("Demo-SFR-4", False)
    for name, (task, legacy) in ids.items():
        assert gymnasium.spec(name).kwargs == {"task": task, "legacy": legacy}


CHECKED = ("mwzeval/Demo-CR-3-v0", "mwzeval/Demo-LAP-6-legacy-v0", "mwzeval/Demo-SFR-2-v0")
OTHERS = [name for name in environment_ids() if name not in CHECKED]


@pytest.mark.parametrize(
    "name", [*CHECKED, *(pytest.param(name, marks=pytest.mark.integration) for name in OTHERS)]
)
def test_environments_pass_the_gymnasium_checker_and_repeat_with_a_seed(name: str) -> None:
    data = None if DEMO in name else shared("data", "pydial")
    environment = gymnasium.make(name, data=data, render_mode="ansi")
    check(environment.unwrapped)
    first = plain(list(masked_steps(environment, 30, seed=3)))
    assert plain(list(masked_steps(environment, 30, seed=3))) == first
    assert plain(list(masked_steps(gymnasium.make(name, data=data), 30, seed=3))) == first
    assert plain(list(masked_steps(environment, 30, seed=4))) != first


def test_environments_do_not_share_state(demo: Any) -> None:
    alone = plain(list(masked_steps(demo, 30, seed=9)))
    runs = [masked_steps(gymnasium.make(DEMO_NAME), 30, seed=9) for _ in range(2)]
    both = list(zip(*runs, strict=True))
    assert plain([first for first, _ in both]) == plain([second for _, second in both]) == alone


MADE = (
    "gymnasium.make('mwzeval/Demo-CR-1-v0').reset();"
    "gymnasium.make_vec('mwzeval/Demo-CR-1-v0', 2, 'vector_entry_point').reset();"
    "assert 'torch' not in sys.modules"
)


@pytest.mark.integration
@pytest.mark.parametrize(
    "imports",
    [
        f"import sys, gymnasium, mwzeval; {MADE}",
        "import sys, mwzeval; assert 'gymnasium' not in sys.modules;"
        f"mwzeval.pydial.register_with_gymnasium(); import gymnasium; {MADE}",
        f"import sys, gymnasium; gymnasium.make('mwzeval:mwzeval/Demo-CR-1-v0'); {MADE}",
        f"import sys, gymnasium; gymnasium.make_vec('mwzeval:mwzeval/Demo-CR-1-v0', 2); {MADE}",
        "import sys; sys.modules['gymnasium'] = None; import mwzeval",
        "import sys, mwzeval, mwzeval.pydial.envs; assert 'gymnasium' not in sys.modules;"
        "kinds = [type(finder).__module__ for finder in sys.meta_path];"
        "assert not any(kind.startswith('mwzeval') for kind in kinds), kinds",
    ],
)
def test_imports_register_environments_without_importing_gymnasium(imports: str) -> None:
    python(imports)


def test_info_always_has_all_keys_numpy_types_and_copied_masks(demo: Any) -> None:
    ends = ("success", "is_success", "out_of_time")
    kinds = {"exchange": "i", "action_mask": "i", **dict.fromkeys(ends, "b")}
    _, info = demo.reset(seed=3)
    masks: list[Any] = []
    ended = False
    while not ended:
        assert not any(info[name] for name in ends)
        mask = demo.unwrapped.action_masks()
        assert mask.dtype == np.bool_
        assert info["action_mask"].dtype == np.int8
        np.testing.assert_array_equal(mask, info["action_mask"] == 1)
        assert not any(np.shares_memory(info["action_mask"], other) for other in masks)
        masks.append(info["action_mask"])
        masks[-1][:] = 0
        np.testing.assert_array_equal(demo.unwrapped.action_masks(), mask)
        _, _, ended, truncated, info = demo.step(0)
        assert {key: value.dtype.kind for key, value in info.items()} == kinds
        assert not truncated


def test_copies_continue_like_the_original(demo: Any) -> None:
    steps = list(masked_steps(demo, 10, seed=2))
    assert len(steps) > 10
    copy = pickle.loads(pickle.dumps(demo))
    generator = np.random.default_rng(0)
    for _ in range(30):
        action = int(generator.choice(np.flatnonzero(demo.unwrapped.action_masks())))
        first, second = demo.step(action), copy.step(action)
        assert plain(first) == plain(second)
        if first[2]:
            assert plain(demo.reset()) == plain(copy.reset())


@pytest.mark.parametrize("action", [-1, 16, 1.5, float("inf"), "request(area)", None, [1, 2]])
def test_invalid_actions_are_refused(demo: Any, action: Any) -> None:
    demo.reset(seed=1)
    with pytest.raises(UsageError, match="15"):
        demo.unwrapped.step(action)


def test_masked_actions_are_refused_only_if_strict(demo: Any) -> None:
    strict = gymnasium.make(DEMO_NAME, strict_masks=True)
    for environment in (strict, demo):
        environment.reset(seed=1)
    masked = int(np.flatnonzero(~demo.unwrapped.action_masks())[0])
    assert demo.step(masked)[1] == -1
    with pytest.raises(UsageError, match=f"action {masked} "):
        strict.step(masked)


@pytest.mark.parametrize(
    ("legacy", "goodbye", "who"),
    [
        (False, None, "user"),
        (True, None, "policy"),
        (False, "policy", "policy"),
        (True, "user", "user"),
    ],
)
def test_goodbye_option_sets_the_bye_mask_in_runs_and_environments(
    legacy: bool, goodbye: str | None, who: str
) -> None:
    for policy in ("dqn", "gp-sarsa"):
        (job,) = planned(["Demo-CR-2"], [policy], seeds=1, legacy=legacy, goodbye=goodbye)
        assert job.origin.settings["goodbye"] == who
        process = runner_of(job).process
        process.start(np.random.default_rng(0))
        bye = process.actions.index("bye")
        assert process.mask[bye] == (who == "policy")
    options = {"id": f"mwzeval/Demo-CR-2{'-legacy' * legacy}-v0"}
    options |= {} if goodbye is None else {"goodbye": goodbye}
    single, many = gymnasium.make(**options), gymnasium.make_vec(**options, num_envs=2)
    for _ in range(4):
        assert bool(single.reset()[1]["action_mask"][bye]) is (who == "policy")
        assert (many.reset()[1]["action_mask"][:, bye] == (who == "policy")).all()


def test_act_level_environments_accept_dialogue_acts_as_actions(demo: Any) -> None:
    environment = gymnasium.make(DEMO_NAME, level="act", render_mode="ansi")
    check(environment.unwrapped)
    observation, info = environment.reset(seed=1)
    assert "action_mask" not in info
    slot = environment.unwrapped.process.simulation.domain.ontology.constraint_slots[0]
    text = f"request({slot})"
    assert text in environment.action_space
    by_act = gymnasium.make(DEMO_NAME, level="act", strict_masks=True)
    by_act.reset(seed=1)
    assert plain(demo.reset(seed=1)[0]) == plain(observation)
    steps = environment.step(text), by_act.unwrapped.step(parse_act(text)), demo.step(0)
    assert plain(steps[0][0]) == plain(steps[1][0]) == plain(steps[2][0])
    assert f"system   {text}" in environment.render()
    for wrong, told in ((3, "request"), ("what is this", "confirm")):
        with pytest.raises(UsageError, match=told):
            by_act.unwrapped.step(wrong)


def test_ansi_mode_returns_and_human_mode_prints_each_exchange(
    demo: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, silent = (gymnasium.make(DEMO_NAME, render_mode=mode) for mode in ("human", "ansi"))
    assert silent.unwrapped.render() == ""
    assert demo.unwrapped.render() is None
    silent.reset(seed=1)
    first = silent.render()
    for word in ("turn 1", "system   hello()", "user     ", "heard    ", "method   "):
        assert word in first
    silent.step(0)
    shown.reset(seed=1)
    shown.step(0)
    assert capsys.readouterr().out == f"{first}\n{silent.render()}\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"task": "CR-7"}, '"CR-6"'),
        ({"level": "word"}, '"word"'),
        ({"goodbye": "nobody"}, '"nobody"'),
        ({"goodbye": "user", "level": "act"}, "goodbye"),
        ({"render_mode": "video"}, '"video"'),
        ({"task": 3}, "3"),
        *(({"legacy": legacy}, "legacy") for legacy in ("x", "no", None)),
        ({"domain": "CR"}, "'CR'"),
        ({"confusion_seed": None}, "confusion_seed"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make_environment(**{"task": "Demo-CR-2", **options})


def current_goal(environment: Any) -> dict[str, Any]:
    return plain_goal(environment.unwrapped.process.simulation.goal)


def test_reset_accepts_a_given_goal(demo: Any) -> None:
    demo.reset(seed=5)
    ontology = demo.unwrapped.process.simulation.domain.ontology
    slots, asked = ontology.constraint_slots, ontology.only_requestable[0]
    constraints = [[slots[1], "=", ontology.informable[slots[1]][0]], [slots[0], "=", "dontcare"]]
    goal = {"constraints": constraints, "requests": [asked]}
    due = {"constraints": constraints, "requests": dict.fromkeys(("name", asked))}
    for seed in range(4):
        first = plain(demo.reset(seed=seed, options={"goal": goal}))
        assert current_goal(demo) == due
        steps = [plain(demo.step(index)) for index in (0, 3)]
        assert plain(demo.reset(seed=seed, options={"goal": due})) == first
        assert [plain(demo.step(index)) for index in (0, 3)] == steps
    demo.reset(options={"goal": None})
    assert len(current_goal(demo)["constraints"]) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"goals": {}}, ['"goal"']),
        ([1], ["options"]),
        ({"goal": 3}, ["goal"]),
        ({"goal": {"constraint": []}}, ["goal"]),
        ({"goal": {"constraints": "area"}}, ["constraints"]),
        ({"goal": {"constraints": [["area", "north"]]}}, ["constraint"]),
        ({"goal": {"constraints": [["area", "!=", "x"]]}}, ["constraint"]),
        (
            {"goal": {"constraints": [["name", "=", "x"], ["area", "=", "?"]], "requests": ["p"]}},
            ['"name"', '"?"', '"p"'],
        ),
        ({"goal": {"constraints": [["area", "=", "dontcare"]] * 2}}, ["area"]),
        ({"goal": {"requests": "name"}}, ["requests"]),
        ({"goal": {"requests": {"name": "x"}}}, ['"name"']),
    ],
)
def test_invalid_goals_are_refused(options: dict[str, Any], told: list[str], demo: Any) -> None:
    demo.reset(seed=1)
    before = current_goal(demo)
    with pytest.raises(UsageError) as error:
        demo.reset(seed=2, options=options)
    assert all(word in str(error.value) for word in told)
    assert current_goal(demo) == before


def test_wrapper_adds_masks_to_observations(demo: Any) -> None:
    wrapped = envs.MaskInObservation(gymnasium.make(DEMO_NAME))
    check(wrapped, ignored=".*unwrapped version")
    assert wrapped.spec is not None
    for copy in (wrapped.spec.make(), pickle.loads(pickle.dumps(wrapped))):
        assert plain(copy.reset(seed=3)) == plain(wrapped.reset(seed=3))
    for step, masked in zip(masked_steps(demo, 40, 3), masked_steps(wrapped, 40, 3), strict=True):
        assert masked[0] in wrapped.observation_space
        np.testing.assert_array_equal(masked[0]["observations"], step[0])
        np.testing.assert_array_equal(masked[0]["action_mask"], masked[-1]["action_mask"])
    with pytest.raises(UsageError, match='"act"'):
        envs.MaskInObservation(gymnasium.make(DEMO_NAME, level="act"))


def test_tasks_of_custom_domains_are_named_after_the_domain() -> None:
    own: Any = make_environment("CR-3", domain=CAFES)
    task = own.process.simulation.task
    assert task == task_named("Own-Cafes-3")
    assert replace(task, name="CR-3", domain="CR") == TASKS["CR-3"]
    same: Any = make_environment("Demo-CR-3", domain=load_domain("Demo-CR"))
    assert same.process.simulation.task == TASKS["Demo-CR-3"]


def test_missing_gymnasium_error_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(DependencyError, match="rl"):
        make_environment("Demo-CR-1")


def test_actions_have_names(demo: Any) -> None:
    names = demo.unwrapped.get_action_meanings()
    assert len(names) == demo.action_space.n
    assert {"inform", "bye", "restart"} < set(names)


@pytest.mark.integration
def test_stable_baselines3_counts_successes(demo: Any) -> None:
    """Oracle: the last reward of a dialogue is positive only for a success."""
    dqn = pytest.importorskip("stable_baselines3.dqn")
    model = dqn.DQN("MlpPolicy", demo, learning_starts=10**6, seed=1, device="cpu")
    won: list[bool] = []

    def note(local: dict[str, Any], _: Any) -> bool:
        if local["dones"][0]:
            won.append(bool(local["rewards"][0] > 0))
        return True

    model.learn(300, callback=note)
    assert list(model.ep_success_buffer) == won[-100:]
    assert len(won) > 10
