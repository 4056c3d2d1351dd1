"""The rule-based user simulator.

Source: Zhu et al., TACL 2020, section 4.4. The rules are those of the public code, except that the
caller's goal is copied and never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mwzeval.crosswoz.corpus.acts import (
    INFORM,
    NO_OFFER,
    RECOMMEND,
    REQUEST,
    SELECT,
    Act,
    Acts,
    general,
    ordered,
)
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple, Value
from mwzeval.crosswoz.corpus.names import (
    LIST_SLOTS,
    NAME,
    NOTHING,
    PRICE_SLOTS,
    RATING,
    SOURCE_DOMAIN,
)
from mwzeval.crosswoz.protocols import Rng

FIRST_TURN = (2, 3, 4), (30, 50, 20)
"""The possible numbers of goal lines that the user's first turn expresses, and the weights of these
numbers."""
LATER_TURNS = (1, 2, 3, 4), (40, 25, 15, 10)
"""The possible maximum numbers of acts in a later turn (exceeded by at most one act), and their
weights."""
GOODBYE = 0.05
NO_UPPER_BOUND = 10_000
"""The upper bound if a value has a single price; as in the public code, `50元以下` (≤ 50) also has
this bound."""


class RuleSimulator:
    """A user with a goal, for a single dialogue.

    `goal` and `state` have one line per semantic tuple. Constraints that the user gives up are
    removed from `goal`.
    """

    def __init__(self, goal: Goal, rng: Rng) -> None:
        self.goal = list(goal)
        self.state = [line.with_value(line.value, expressed=False) for line in goal]
        self._rng = rng
        self._lines_of: dict[int, list[int]] = {}
        for index, line in enumerate(goal):
            self._lines_of.setdefault(line.subgoal, []).append(index)

    @property
    def terminated(self) -> bool:
        """Whether all lines were expressed and answered."""
        return not self._current()

    def begin(self) -> Acts:
        """Return the acts of the user's first turn."""
        first = [i for i, line in enumerate(self.goal) if line.subgoal == self.goal[0].subgoal]
        count = min(self._rng.weighted(*FIRST_TURN), len(first))
        acts = [general("greet")]
        for index in first[:count]:
            acts += self._express(index)
        return ordered(acts)

    def answer(self, system_acts: Iterable[Act]) -> Acts:
        """Update the state with the system's acts, and return the user's next acts."""
        self.update(system_acts)
        return self.act()

    def update(self, system_acts: Iterable[Act]) -> None:
        """Update the state with the system's acts."""
        lines = self._current()
        if not lines:
            return
        domain = self.state[lines[0]].domain
        acts = tuple(system_acts)
        informed: dict[tuple[str, str], list[str]] = {}
        for act in acts:
            if act.intent == INFORM:
                informed.setdefault((act.domain, act.slot), []).append(act.value)
        recommended = [
            act.value
            for act in acts
            if (act.intent, act.domain, act.slot) == (RECOMMEND, domain, NAME)
        ]
        if all(act.intent != NO_OFFER for act in acts):
            if all(self.state[i].expressed for i in lines if self.goal[i].value):
                self._take_answers(lines, informed)
                self._take_name(lines, recommended)
        elif recommended or (domain, NAME) in informed:
            self._accept(lines, informed)
            self._take_name(lines, recommended)
        else:
            self._give_up(lines)

    def act(self) -> Acts:
        """Return the user's next acts, and mark the lines of the goal that the acts express."""
        current = self._current()
        if not current:
            goodbye = [general("bye")] if self._rng.happens(GOODBYE) else []
            return ordered([general("thank"), *goodbye])
        references: list[Act] = []
        constraints: list[int] = []
        requests: list[int] = []
        for index in current:
            line = self.state[index]
            if not line.value:
                requests.append(index)
            elif line.expressed:
                continue
            elif line.refers:
                references += self._refer(index)
            else:
                constraints.append(index)
        limit = self._rng.weighted(*LATER_TURNS)
        acts = references
        for index in [*constraints, *requests]:
            if len(acts) > limit:
                break
            acts += self._express(index)
        return ordered(acts)

    def _current(self) -> Sequence[int]:
        """Return the lines of the first unfinished sub-goal; empty if all are finished."""
        for line in self.state:
            if not line.done:
                return self._lines_of[line.subgoal]
        return ()

    def _express(self, index: int) -> list[Act]:
        line = self.state[index] = self.state[index]._replace(expressed=True)
        if not line.value:
            return [Act(REQUEST, line.domain, line.slot, "")]
        values = (line.value,) if isinstance(line.value, str) else line.value
        return [Act(INFORM, line.domain, line.slot, value) for value in values]

    def _refer(self, index: int) -> list[Act]:
        """Return the acts that refer to a venue that was chosen in another sub-goal.

        The list is empty if that sub-goal has no venue (dialogue 24: taxi to a metro trip).
        """
        line = self.state[index]
        source = self._name_in(_referred_subgoal(line))
        if source is None:
            return []
        name = source.value if isinstance(source.value, str) else NOTHING
        if line.slot == NAME:
            self.state[index] = line._replace(expressed=True)
            return [
                Act(SELECT, line.domain, SOURCE_DOMAIN, source.domain),
                Act(INFORM, source.domain, NAME, name),
            ]
        self.state[index] = line.with_value(name)
        return [Act(INFORM, line.domain, line.slot, name)]

    def _name_in(self, subgoal: int) -> SemanticTuple | None:
        lines = (line for line in self.state if (line.subgoal, line.slot) == (subgoal, NAME))
        return next(lines, None)

    def _take_answers(
        self, lines: Sequence[int], informed: dict[tuple[str, str], list[str]]
    ) -> None:
        for index in lines:
            wanted = self.goal[index]
            values = informed.get((wanted.domain, wanted.slot))
            if values and (not wanted.value or wanted.refers):
                is_list = not isinstance(wanted.value, str)
                value = _listed(values) if is_list else values[-1]
                self.state[index] = self.state[index].with_value(value)

    def _take_name(self, lines: Sequence[int], recommended: Sequence[str]) -> None:
        for index in lines:
            wanted = self.goal[index]
            if recommended and wanted.slot == NAME and (not wanted.value or wanted.refers):
                name = self._rng.choose(recommended)
                self.state[index] = self.state[index].with_value(name)

    def _accept(self, lines: Sequence[int], informed: dict[tuple[str, str], list[str]]) -> None:
        """Accept the offered values although they differ from the goal."""
        for index in lines:
            wanted = self.goal[index]
            values = informed.get((wanted.domain, wanted.slot))
            if not values:
                continue
            if wanted.slot in LIST_SLOTS:
                self.state[index] = self.state[index].with_value(_listed(values))
            elif not wanted.value or wanted.refers or _is_other(wanted, values[0]):
                self.state[index] = self.state[index].with_value(values[0])

    def _give_up(self, lines: Sequence[int]) -> None:
        """Remove one constraint, and restart the sub-goal."""
        given = [i for i in lines if self.goal[i].value and self.state[i].expressed]
        ordinary = [i for i in given if not self.goal[i].refers]
        references = [i for i in given if self.goal[i].refers]
        candidates = [*self._rng.shuffled(ordinary), *references]
        if candidates:
            lost = self.goal[candidates[0]]
            empty: Value = "" if isinstance(lost.value, str) else ()
            self.goal[candidates[0]] = lost._replace(value=empty)
        for index in lines:
            self.state[index] = self.goal[index]._replace(expressed=False)


def _referred_subgoal(line: SemanticTuple) -> int:
    match = re.search(r"id=([0-9]{1,9})", str(line.value))
    if match is None:
        raise ValueError(
            f"{line.slot} of sub-goal {line.subgoal} refers to a sub-goal that does not exist"
        )
    return int(match[1])


def _listed(values: Sequence[str]) -> Value:
    """Return the values after the last "nothing" as a list, or "nothing" if there are none."""
    if values[-1] == NOTHING:
        return NOTHING
    after = max((i for i, value in enumerate(values) if value == NOTHING), default=-1)
    return tuple(values[after + 1 :])


def _is_other(wanted: SemanticTuple, offered: str) -> bool:
    """Return whether an offered value replaces the value in the goal."""
    asked = str(wanted.value)
    if offered == NOTHING:
        return True
    if wanted.slot == RATING:
        best, needed = _leading_number(offered), _leading_number(asked)
        return best is None or needed is None or best < needed
    if wanted.slot in PRICE_SLOTS:
        return _price_is_other(asked, offered)
    return True


def _price_is_other(asked: str, offered: str) -> bool:
    price = re.match(r"[0-9]+", offered)
    bounds = re.match(r"([0-9]+)(?:-([0-9]+))?", asked)
    if price is None or bounds is None:
        return True
    low, high = float(bounds[1]), float(bounds[2] or NO_UPPER_BOUND)
    return not low <= float(price[0]) <= high


def _leading_number(text: str) -> float | None:
    match = re.match(r"[0-9]+(?:\.[0-9]+)?", text)
    return float(match[0]) if match else None
