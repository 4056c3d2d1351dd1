"""Live runs in acts: the agenda user and a system of acts, without any words between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mwzeval.conversation.loop import Ending
from mwzeval.conversation.own_code import check_call, given, imported, is_own_code
from mwzeval.conversation.protocols import User
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import UsageError
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.acts import Act
from mwzeval.multiwoz.convlab.evaluator import CorrectedEvaluator, PublicEvaluator, judged
from mwzeval.multiwoz.convlab.resources import SystemValues, load_resources
from mwzeval.multiwoz.convlab.system import (
    ActSystem,
    RefusedBookings,
    RuleSystem,
    hold_in_acts,
)
from mwzeval.multiwoz.convlab.user import AgendaUser, Draws
from mwzeval.multiwoz.live.settings.options import (
    ACTS,
    AGENDA,
    RULE_CONVLAB,
    LiveOptions,
    unknown_agent,
    unknown_user,
)
from mwzeval.multiwoz.live.user import LiveUser

OFFERED = ("seed", "dialogue")
A_SYSTEM = "a system of acts is a class whose objects have answer(acts)"


class ActSetting:
    """The agenda user talks to the rule system of ConvLab-2, or to a system of one's own, in acts.

    Raises `UsageError` for unknown names, `DataError` for missing files.
    """

    benchmark = NAME

    def __init__(self, options: LiveOptions) -> None:
        self.trusts = options.agent == RULE_CONVLAB
        if not (self.trusts or is_own_code(options.agent)):
            raise unknown_agent(options.agent, ACTS)
        if options.user != AGENDA:
            raise unknown_user(options.user, ACTS)
        self._options = options
        self._resources = load_resources(options.corpus_name, options.root)
        goals = options.select_goals(self._resources.database)
        self.items: Sequence[tuple[str, Any]] = tuple(goals.goals.items())
        self.about: Mapping[str, Any] = options.about(ACTS, goals, user_turns=options.user_turns)
        self._own: Callable[..., ActSystem] | None = None

    def __reduce__(self) -> tuple[type[ActSetting], tuple[LiveOptions]]:
        """Let each process that is no copy load the database for itself."""
        return ActSetting, (self._options,)

    def begin(self) -> None:
        """Import the system. Raises `UsageError` when that fails."""
        if self.trusts:
            return
        name = self._options.agent
        own = imported(name)
        check_call(name, own, 0, OFFERED, A_SYSTEM)
        if isinstance(own, type) and not hasattr(own, "answer"):
            raise UsageError(f'"{name}" has no answer(acts): {A_SYSTEM}')
        self._own = own

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Hold a dialogue in acts."""
        return hold_in_acts(
            lambda: self._user(planned),
            lambda: self._system(planned),
            record,
            user_turns=self._options.user_turns,
        )

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether the dialogue is a success by corrected rules, or by the public ones."""
        judge = PublicEvaluator if self._options.as_published else CorrectedEvaluator
        return bool(judged(trajectory, self._resources.database, judge).success)

    def _user(self, planned: Planned) -> User[list[Act], Sequence[Act]]:
        is_strict = self._options.strict_user
        return agenda_user(planned, self._resources.system_values if is_strict else None)

    def _system(self, planned: Planned) -> ActSystem:
        system = self._made_system(planned)
        return RefusedBookings(system, planned.goal) if self._options.fail_book else system

    def _made_system(self, planned: Planned) -> ActSystem:
        if self._own is None:
            return RuleSystem(self._resources, planned.seed, planned.item, planned.trial)
        offered = dict(zip(OFFERED, (planned.number, planned.name), strict=True))
        return self._own(**given(self._own, offered))


def agenda_user(planned: Planned, values: SystemValues | None) -> AgendaUser | LiveUser:
    """Return the agenda user of a dialogue; with `values` the public one with its faults."""
    draws = Draws(planned.seed, planned.item, planned.trial, "user")
    if values is not None:
        return AgendaUser(planned.goal, values, draws)
    return LiveUser(planned.goal, draws)
