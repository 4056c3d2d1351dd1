"""A dialogue of a policy with a human user, on text streams.

The program shows a goal, asks for acts, and finally shows whether the goal was reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, printable, shorten
from mwzeval.pydial.acts import DONTCARE, NULL, Act
from mwzeval.pydial.decision_process import DecisionProcess
from mwzeval.pydial.domain import NAME, Domain
from mwzeval.pydial.episodes import (
    Outcome,
    SimulatedUser,
    TaskRunner,
    facts_of,
    hold_dialogue,
    item_name,
    rng_of,
)
from mwzeval.pydial.goals import Goal, plain_goal
from mwzeval.pydial.policies import ActionPolicy, VectorView
from mwzeval.pydial.policies.dqn import DQN
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.presets import (
    HANDCRAFTED,
    Origin,
    Preset,
    diverging,
    load_weights,
    preset_named,
    read_checkpoint,
)
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import GOODBYES, Task, goodbye_of, task_named
from mwzeval.pydial.users import (
    AskedUser,
    help_text,
    menu,
    typed_act,
    values_text,
)
from mwzeval.scores.sheets import plural

BUILT_IN = (HANDCRAFTED, RandomPolicy.name)


class PolicyAdapter:
    """A policy that can act in the decision process of a task.

    `policy` is None for the handcrafted policy, which chooses acts instead of summary actions.
    `preset` describes a learned policy, and `file` is its checkpoint.
    """

    def __init__(
        self,
        process: DecisionProcess,
        policy: ActionPolicy | None,
        preset: Preset | None = None,
        file: str = "",
    ) -> None:
        self.process, self.simulation, self.preset = process, process.simulation, preset
        self._policy, self._file = policy, file

    def answer(self, belief: Belief) -> Act:
        """Return the policy's act for `belief`, which must be the simulation's current belief."""
        rng = self.simulation.rng
        if self._policy is None:
            return HandcraftedPolicy().act(belief, rng)
        return self.simulation.act_of(self.choose(rng))

    def choose(self, rng: Rng) -> int:
        """Return the index of the next action, as in the tests of a run.

        Random choices use `rng`. The handcrafted policy has no actions. Raises `InputError` if the
        weights in the policy's file give no valid action.
        """
        assert self._policy is not None
        state = self.process.observed()
        with diverging(self._file):
            return self._policy.act(state, self.process.mask, rng)


def adapter_for(
    policy: str | Path,
    domain: Domain,
    task: Task,
    *,
    legacy: bool = False,
    confusion_seed: int = 0,
) -> PolicyAdapter:
    """Return the policy "handcrafted", "random" or the policy in a checkpoint file, together with
    its simulation.

    A checkpoint may come from another environment of the same domain. `legacy` reproduces the
    published program, and `confusion_seed` determines the confusion table. Raises `UsageError` if
    the name is unknown, and `InputError` if the file is not a checkpoint for this domain.
    """

    def runner_with(view: VectorView, said: str | None, *, looks_again: bool = False) -> TaskRunner:
        return TaskRunner(
            domain,
            task,
            view,
            legacy=legacy,
            confusion_seed=confusion_seed,
            goodbye=goodbye_of(said, legacy=legacy),
            looks_again=looks_again,
        )

    name = str(policy)
    if name in BUILT_IN:
        chosen = None if name == HANDCRAFTED else RandomPolicy()
        return PolicyAdapter(runner_with("neural", None).process, chosen)
    if not Path(name).exists():
        raise UsageError(
            f'no policy "{shorten(name)}"{did_you_mean(name, BUILT_IN)} ({", ".join(BUILT_IN)}, '
            "or the checkpoint of a trained policy: "
            "runs/CR-3/dqn/seed-0/model-004000.safetensors)"
        )
    origin, weights = read_checkpoint(name)
    preset = preset_named(origin.policy)
    if task_named(origin.task).domain != task.domain:
        message = (
            f"the checkpoint is for {origin.task}, which has a different domain from {task.name}"
        )
        raise InputError([Problem("other-checkpoint", message, file=name)])
    said = _goodbye_of(origin, name)
    runner = runner_with(preset.view, said, looks_again=legacy and preset.kind is DQN)
    learner = preset.learner(runner.size, runner.actions, seed=origin.seed, legacy=origin.legacy)
    load_weights(name, learner, weights)
    return PolicyAdapter(runner.process, learner, preset, name)


def _goodbye_of(origin: Origin, file: str) -> str:
    """Return who ends dialogues in environments without masks, from the settings of training."""
    said = origin.settings.get("goodbye")
    if said not in GOODBYES:
        message = f"the checkpoint has an invalid setting, goodbye={shorten(repr(said))}"
        raise InputError([Problem("bad-checkpoint", message, file=file)])
    return str(said)


PROMPT = "you> "
HOW = "Type `?` for help, `bye` to end the dialogue, Ctrl-D to leave without counting it."
LONGEST_NUMBER = 10
IN_A_ROW = 3
"""The number of menu items per line."""


class _UserLeftError(Exception):
    """The person has left the dialogue."""


def play_with_human(
    system: PolicyAdapter,
    seed: int,
    said: TextIO,
    shown: TextIO,
    *,
    index: int = 0,
    beliefs: bool = False,
    about: Mapping[str, Any] | None = None,
) -> Trajectory | None:
    """Play dialogue `index` of a seed with a person; return None if the person leaves it.

    The input of the person is read from `said`, line by line. At the end of the input, or with
    Ctrl-C, the person leaves the dialogue. The understood acts and, with `beliefs`, the N-best list
    and the belief are written to `shown`. If the input is invalid, an explanation is written and
    the input is requested again. The goal of the person is the initial goal of the simulated user
    with the same number. `about` describes the policy and is stored in the trajectory.
    """
    simulation = system.simulation
    task, ontology = simulation.task, simulation.domain.ontology
    record = Record()
    told: set[str] = set()

    def show(text: str = "") -> None:
        shown.write(printable(f"{text}\n", keep="\n"))
        shown.flush()

    def show_exchange() -> None:
        if beliefs:
            show(simulation.view.text().rstrip("\n"))
        else:
            show(_understood(simulation))

    def ask(goal: Goal, heard: Act) -> Act:
        if not record.acts:
            show(f"{task.name}, dialogue {index} of seed {seed}; your goal:")
            show(f"{_goal_text(goal)}\n{HOW}")
        else:
            show_exchange()
        show(f"\n{len(record.acts) + 1:2} system> {heard}")
        options = menu(goal, heard, told)
        show(_menu_text(options))
        while (act := chosen(options)) is None:
            pass
        told.update(item.slot for item in act.items if item.value is not None)
        return act

    def chosen(options: tuple[Act, ...]) -> Act | None:
        """Read a line, and return its act; for any other line, show a text and return None."""
        shown.write(PROMPT)
        shown.flush()
        line = said.readline()
        if not line:
            raise _UserLeftError
        text = line.strip()
        try:
            if text.startswith("?"):
                slot = text[1:].strip().lower()
                show(values_text(slot, ontology) if slot else help_text(ontology))
            elif text.isdecimal():
                number = int(text) if len(text) < LONGEST_NUMBER else 0
                if 1 <= number <= len(options):
                    return options[number - 1]
                show(f"the menu has the numbers 1 to {len(options)}")
            elif text:
                return typed_act(text, ontology)
        except UsageError as error:
            show(str(error))
        return None

    user = SimulatedUser(
        simulation,
        rng_of(seed, index),
        record,
        make_user=lambda state: AskedUser(state, ask, task.max_exchanges),
    )
    try:
        ending = hold_dialogue(user, lambda: system.answer, failures=())
    except (_UserLeftError, KeyboardInterrupt):
        simulation.d.ended = True
        show("\nyou left; the dialogue is not counted")
        return None
    assert user.goal is not None
    if beliefs:
        show_exchange()
    show(f"\n   system> {simulation.view.system_act}")
    show(_outcome_text(user.outcome(), user.goal))
    record.keep({**(about or {}), **facts_of(user)})
    planned = Planned(item_name(task.name, seed, index), plain_goal(user.goal), seed=seed)
    return record.trajectory(planned, ending)


def _understood(simulation: Simulation) -> str:
    """Return the best hypothesis of the system with its probability."""
    act, score = max(simulation.view.hypotheses, key=lambda pair: pair[1], default=(NULL, 1.0))
    if act == NULL:
        return "   (no act was recognized)"
    return f"   understood as {act} ({score:.2f})"


def _goal_text(goal: Goal) -> str:
    wants = ", ".join(
        f"any {slot}" if value == DONTCARE else f"{slot} {'not ' * negated}{value}"
        for slot, value, negated in goal.constraints
    )
    asked = [slot for slot in goal.requests if slot != NAME]
    return f"  find one with {wants}\n  ask for its {', '.join((NAME, *asked))}"


def _menu_text(options: tuple[Act, ...]) -> str:
    texts = [f"{number} {act}" for number, act in enumerate(options, start=1)]
    rows = [texts[at : at + IN_A_ROW] for at in range(0, len(texts), IN_A_ROW)]
    return "\n".join(f"   {'   '.join(row)}" for row in rows)


def _outcome_text(outcome: Outcome, goal: Goal) -> str:
    said = f"{plural(outcome.exchanges, 'turn')}, reward {outcome.reward:g}"
    if outcome.success:
        return f"success: {goal.recommended} satisfies your goal; {said}"
    if goal.recommended is None:
        why = "nothing was offered"
    elif missing := goal.unfilled():
        why = f"you did not get: {', '.join(missing)}"
    else:
        why = f"{goal.recommended} does not satisfy your goal"
    return f"no success, {why}{' in time' * outcome.out_of_time}; {said}"
