"""The Gymnasium environments, all that are registered."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mwzeval.pydial.envs as environment_module
from mwzeval.errors import DependencyError, UsageError
from mwzeval.pydial.acts import parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.goals import plain_goal
from mwzeval.pydial.registration import environment_ids, register_with_gymnasium
from mwzeval.pydial.tasks import DEMO, TASKS, task_named
from tests.places import ROOT, shared
from tests.pydial.small_domain import CAFES

gymnasium = pytest.importorskip("gymnasium")
register_with_gymnasium()
DEMO_NAME = "mwzeval/Demo-CR-3-v0"


@pytest.fixture
def demo() -> Any:
    return gymnasium.make(DEMO_NAME)


def masked_steps(environment: Any, steps: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Yield what allowed actions, drawn with the same seed, bring about."""
    generator = np.random.default_rng(seed)
    yield environment.reset(seed=seed)
    for _ in range(steps):
        mask = environment.unwrapped.action_masks()
        step = environment.step(int(generator.choice(np.flatnonzero(mask))))
        yield step
        if step[2]:
            yield environment.reset()


def plain(value: Any) -> Any:
    """Return a value that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(of) for key, of in value.items()}
    return [plain(of) for of in value] if isinstance(value, tuple | list) else value


def test_every_task_has_an_environment_with_and_without_quirks() -> None:
    ids = environment_ids()
    assert len(ids) == 72
    assert ids["mwzeval/PyDial-CR-1-v0"] == ("CR-1", False)
    assert ids["mwzeval/PyDial-LAP-6-legacy-v0"] == ("LAP-6", True)
    assert ids["mwzeval/Demo-SFR-4-v0"] == ("Demo-SFR-4", False)
    register_with_gymnasium()
    for name, (task, legacy) in ids.items():
        assert gymnasium.spec(name).kwargs == {"task": task, "legacy": legacy}


CHECKED = ("mwzeval/Demo-CR-3-v0", "mwzeval/Demo-LAP-6-legacy-v0", "mwzeval/Demo-SFR-2-v0")


@pytest.mark.parametrize(
    "name",
    [
        *CHECKED,
        *(
            pytest.param(name, marks=pytest.mark.integration)
            for name in environment_ids()
            if name not in CHECKED
        ),
    ],
)
def test_an_environment_is_as_gymnasium_wants_it(name: str) -> None:
    from gymnasium.utils.env_checker import check_env

    data = None if DEMO in name else shared("data", "pydial")
    environment = gymnasium.make(name, data=data, render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment.unwrapped)
    first = plain(list(masked_steps(environment, 30, seed=3)))
    assert plain(list(masked_steps(environment, 30, seed=3))) == first
    assert plain(list(masked_steps(gymnasium.make(name, data=data), 30, seed=3))) == first
    assert plain(list(masked_steps(environment, 30, seed=4))) != first


def python(code: str) -> None:
    """Run a program in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MADE = (
    "gymnasium.make('mwzeval/Demo-CR-1-v0').reset();"
    "gymnasium.make_vec('mwzeval/Demo-CR-1-v0', 2, 'vector_entry_point').reset();"
    "assert 'torch' not in sys.modules"
)


@pytest.mark.integration
@pytest.mark.parametrize(
    "imports",
    [
        "import sys, gymnasium, mwzeval",
        "import sys, mwzeval; assert 'gymnasium' not in sys.modules;"
        "mwzeval.pydial.registration.register_with_gymnasium(); import gymnasium",
        "import sys, gymnasium; gymnasium.make('mwzeval:mwzeval/Demo-CR-1-v0')",
        "import sys, gymnasium; gymnasium.make_vec('mwzeval:mwzeval/Demo-CR-1-v0', 2)",
    ],
)
def test_imports_register_the_environments(imports: str) -> None:
    python(f"{imports}; {MADE}")


@pytest.mark.integration
def test_mwzeval_is_imported_without_gymnasium_and_before_it() -> None:
    python("import sys; sys.modules['gymnasium'] = None; import mwzeval")
    python(
        "import sys, mwzeval, mwzeval.pydial.envs\n"
        "finders = [type(finder) for finder in sys.meta_path]\n"
        "assert not any(kind.__module__.startswith('mwzeval') for kind in finders), finders\n"
        "assert 'gymnasium' not in sys.modules\n"
    )


def test_masks_are_told_in_both_ways(demo: Any) -> None:
    _, info = demo.reset(seed=1)
    ended = False
    while not ended:
        mask = demo.unwrapped.action_masks()
        assert mask.dtype == np.bool_
        assert info["action_mask"].dtype == np.int8
        np.testing.assert_array_equal(mask, info["action_mask"] == 1)
        action = demo.action_space.sample(mask=info["action_mask"])
        _, _, ended, truncated, info = demo.step(action)
        assert not truncated
    assert {"success", "out_of_time", "exchange"} <= set(info)


def test_a_copy_goes_on_as_the_original_does(demo: Any) -> None:
    steps = list(masked_steps(demo, 10, seed=2))
    assert len(steps) > 10
    copy = pickle.loads(pickle.dumps(demo))
    generator = np.random.default_rng(0)
    for _ in range(30):
        actions = np.flatnonzero(demo.unwrapped.action_masks())
        action = int(generator.choice(actions))
        one, other = demo.step(action), copy.step(action)
        assert plain(one) == plain(other)
        if one[2]:
            assert plain(demo.reset()) == plain(copy.reset())


@pytest.mark.parametrize("action", [-1, 16, 1.5, float("inf"), "request(area)", None, [1, 2]])
def test_actions_that_are_none_are_refused(demo: Any, action: Any) -> None:
    demo.reset(seed=1)
    with pytest.raises(UsageError, match="15"):
        demo.unwrapped.step(action)


def test_masked_actions_are_refused_only_if_strict() -> None:
    strict = gymnasium.make(DEMO_NAME, strict_masks=True)
    lax = gymnasium.make(DEMO_NAME)
    for environment in (strict, lax):
        environment.reset(seed=1)
    masked = int(np.flatnonzero(~lax.unwrapped.action_masks())[0])
    assert lax.step(masked)[1] == -1
    with pytest.raises(UsageError, match=f"action {masked} "):
        strict.step(masked)


@pytest.mark.parametrize(
    ("kind", "said", "may"),
    [("", None, False), ("-legacy", None, True), ("", "policy", True), ("-legacy", "user", False)],
)
def test_goodbyes_are_left_to_the_user_as_in_a_run(kind: str, said: str | None, may: bool) -> None:
    name, options = f"mwzeval/Demo-CR-2{kind}-v0", {} if said is None else {"goodbye": said}
    one, many = gymnasium.make(name, **options), gymnasium.make_vec(name, num_envs=2, **options)
    bye = one.unwrapped.get_action_meanings().index("bye")
    for _ in range(4):
        assert bool(one.reset()[1]["action_mask"][bye]) is may
        assert (many.reset()[1]["action_mask"][:, bye] == may).all()


def test_acts_can_be_actions_themselves() -> None:
    from gymnasium.utils.env_checker import check_env

    environment = gymnasium.make(DEMO_NAME, level="act", render_mode="ansi")
    check_env(environment.unwrapped)
    observation, info = environment.reset(seed=1)
    assert "action_mask" not in info
    slot = environment.unwrapped.process.simulation.domain.ontology.constraint_slots[0]
    text = f"request({slot})"
    assert text in environment.action_space
    environment.step(text)
    assert f"system   {text}" in environment.render()
    by_act = gymnasium.make(DEMO_NAME, level="act")
    by_act.reset(seed=1)
    by_number = gymnasium.make(DEMO_NAME)
    np.testing.assert_array_equal(by_number.reset(seed=1)[0], observation)
    one, other = by_act.unwrapped.step(parse_act(text)), by_number.step(0)
    np.testing.assert_array_equal(one[0], other[0])
    with pytest.raises(UsageError, match="request"):
        by_act.unwrapped.step(3)
    strict = gymnasium.make(DEMO_NAME, level="act", strict_masks=True)
    strict.reset()
    with pytest.raises(UsageError, match="confirm"):
        strict.step("what is this")


def test_an_exchange_can_be_read() -> None:
    environment = gymnasium.make(DEMO_NAME, render_mode="ansi")
    assert environment.unwrapped.render() == ""
    environment.reset(seed=1)
    text = environment.render()
    for word in ("turn 1", "system   hello()", "user     ", "heard    ", "method   "):
        assert word in text
    assert gymnasium.make(DEMO_NAME).unwrapped.render() is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"task": "CR-7"}, '"CR-6"'),
        ({"task": "Demo-CR-1", "level": "word"}, '"word"'),
        ({"task": "Demo-CR-2", "goodbye": "nobody"}, '"nobody"'),
        ({"task": "Demo-CR-2", "goodbye": "user", "level": "act"}, "goodbye"),
        ({"task": "Demo-CR-1", "render_mode": "video"}, '"video"'),
        ({"task": 3}, "3"),
        *(({"task": "Demo-CR-1", "legacy": legacy}, "legacy") for legacy in ("x", "no", None)),
        ({"task": "Demo-CR-1", "domain": "CR"}, "'CR'"),
        ({"task": "Demo-CR-1", "confusion_seed": None}, "confusion_seed"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        environment_module.make_environment(**options)


def test_exchanges_are_printed_as_they_come(capsys: pytest.CaptureFixture[str]) -> None:
    shown, silent = (gymnasium.make(DEMO_NAME, render_mode=mode) for mode in ("human", "ansi"))
    for environment in (shown, silent):
        environment.reset(seed=1)
        first = silent.render() if environment is silent else None
        environment.step(0)
    assert capsys.readouterr().out == f"{first}\n{silent.render()}\n"


def test_all_that_is_told_is_of_numpy_and_told_always(demo: Any) -> None:
    ends = ("success", "is_success", "out_of_time")
    kinds = {"exchange": "i", "action_mask": "i", **dict.fromkeys(ends, "b")}
    _, info = demo.reset(seed=3)
    ended = False
    while not ended:
        assert {key: value.dtype.kind for key, value in info.items()} == kinds
        assert not any(info[name] for name in ends)
        _, _, ended, _, info = demo.step(0)
    assert {key: value.dtype.kind for key, value in info.items()} == kinds


def goal_said(environment: Any) -> dict[str, Any]:
    return plain_goal(environment.unwrapped.process.simulation.goal)


def test_a_dialogue_can_be_about_a_given_goal(demo: Any) -> None:
    demo.reset(seed=5)
    ontology = demo.unwrapped.process.simulation.domain.ontology
    slots, asked = ontology.constraint_slots, ontology.only_requestable[0]
    constraints = [[slots[1], "=", ontology.informable[slots[1]][0]], [slots[0], "=", "dontcare"]]
    goal = {"constraints": constraints, "requests": [asked]}
    for seed in range(4):
        first = plain(demo.reset(seed=seed, options={"goal": goal}))
        said = goal_said(demo)
        assert said["constraints"] == constraints
        assert said["requests"] == dict.fromkeys(("name", asked))
        steps = [plain(demo.step(index)) for index in (0, 3)]
        assert plain(demo.reset(seed=seed, options={"goal": said | {"requests": [asked]}})) == first
        assert [plain(demo.step(index)) for index in (0, 3)] == steps
    demo.reset(options={"goal": None})
    assert len(goal_said(demo)["constraints"]) == 3


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
def test_what_is_no_goal_is_refused(options: dict[str, Any], told: list[str], demo: Any) -> None:
    demo.reset(seed=1)
    before = goal_said(demo)
    with pytest.raises(UsageError) as error:
        demo.reset(seed=2, options=options)
    assert all(word in str(error.value) for word in told)
    assert goal_said(demo) == before


def test_masks_can_be_a_part_of_observations() -> None:
    from gymnasium.utils.env_checker import check_env

    from mwzeval.pydial.envs import MaskInObservation

    plainly, wrapped = gymnasium.make(DEMO_NAME), MaskInObservation(gymnasium.make(DEMO_NAME))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*unwrapped version")
        check_env(wrapped)
    assert wrapped.spec is not None
    assert plain(wrapped.spec.make().reset(seed=3)) == plain(wrapped.reset(seed=3))
    generator = np.random.default_rng(0)
    copy = pickle.loads(pickle.dumps(wrapped))
    assert plain(copy.reset(seed=4)) == plain(wrapped.reset(seed=4))
    one, (both, info) = plainly.reset(seed=3)[0], wrapped.reset(seed=3)
    for _ in range(40):
        assert both in wrapped.observation_space
        np.testing.assert_array_equal(both["observations"], one)
        np.testing.assert_array_equal(both["action_mask"], info["action_mask"])
        action = int(generator.choice(np.flatnonzero(both["action_mask"])))
        one, _, ended, _, _ = plainly.step(action)
        both, *_, info = wrapped.step(action)
        if ended:
            one, (both, info) = plainly.reset()[0], wrapped.reset()
    with pytest.raises(UsageError, match='"act"'):
        MaskInObservation(gymnasium.make(DEMO_NAME, level="act"))


def test_ones_own_domain_has_tasks_of_its_own_name() -> None:
    own = environment_module.make_environment("CR-3", domain=CAFES).process.simulation.task  # type: ignore[attr-defined]
    assert own == task_named("Own-Cafes-3")
    assert replace(own, name="CR-3", domain="CR") == TASKS["CR-3"]
    domain = load_domain("Demo-CR")
    same = environment_module.make_environment("Demo-CR-3", domain=domain)
    assert same.process.simulation.task == TASKS["Demo-CR-3"]  # type: ignore[attr-defined]


def test_without_gymnasium_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(DependencyError, match="rl"):
        environment_module.make_environment("Demo-CR-1")


def test_environments_do_not_disturb_each_other() -> None:
    environments = [gymnasium.make(DEMO_NAME) for _ in range(2)]
    alone = plain(list(masked_steps(gymnasium.make(DEMO_NAME), 30, seed=9)))
    runs = [masked_steps(environment, 30, seed=9) for environment in environments]
    both = list(zip(*runs, strict=True))
    assert plain([one for one, _ in both]) == plain([other for _, other in both]) == alone


def test_actions_have_names() -> None:
    environment = environment_module.make_environment("Demo-CR-1")
    names = environment.get_action_meanings()  # type: ignore[attr-defined]
    assert len(names) == environment.action_space.n  # type: ignore[attr-defined]
    assert names[environment.reset(seed=1)[1]["action_mask"].argmax()] in names
    assert {"inform", "bye", "restart"} < set(names)


def test_masks_that_were_handed_out_are_ones_own() -> None:
    environment = gymnasium.make(DEMO_NAME)
    _, info = environment.reset(seed=1)
    masks = [info["action_mask"]]
    ended = False
    while not ended:
        masks[-1][:] = 0
        _, _, ended, _, info = environment.step(0)
        assert not any(np.shares_memory(info["action_mask"], mask) for mask in masks)
        assert (environment.unwrapped.action_masks() == info["action_mask"]).all()
        masks.append(info["action_mask"])


@pytest.mark.integration
def test_stable_baselines3_counts_successes(demo: Any) -> None:
    """Oracle: rewards, of which only a success has the 20 points."""
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
