"""What a user is told of a goal: sentences of our own, one a sub-goal.

Source: Zhu et al., TACL 2020, section 3.2, for what they are for; the wording is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from mwzeval.crosswoz.corpus.acts import SERVICE_PREFIX
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple
from mwzeval.crosswoz.corpus.names import (
    ATTRACTION,
    COST,
    DEPARTURE,
    DESTINATION,
    DISHES,
    DURATION,
    HOTEL,
    HOTEL_TYPE,
    METRO,
    NAME,
    NEARBY,
    PRICE,
    RATING,
    RESTAURANT,
    TAXI,
    TICKET,
)

_OPENINGS = {
    ATTRACTION: "第{number}步：请找一个景点",
    RESTAURANT: "第{number}步：请找一家餐馆",
    HOTEL: "第{number}步：请找一家酒店",
    METRO: "第{number}步：请查询地铁路线",
    TAXI: "第{number}步：请叫一辆出租车",
}
_CONSTRAINTS = {
    NAME: "名字是「{value}」",
    RATING: "评分要{value}",
    TICKET: "门票预算是{value}",
    DURATION: "打算游玩{value}",
    DISHES: "要吃到{value}",
    COST: "每人花费{value}",
    HOTEL_TYPE: "档次为{value}",
    PRICE: "每晚房价{value}",
    DEPARTURE: "从{value}出发",
    DESTINATION: "到{value}去",
}
"""How a constraint is worded, by its slot."""
_PLACE = "第{number}步选定的地方"
_NEAR = "要在" + _PLACE + "附近"
_SERVICE = "必须提供{value}"
_SERVICE_REQUEST = "是否提供{value}"
_REFERENCE = re.compile(r"id=([0-9]+)")
_BETWEEN, _END = "，", "。"
_NEARBY_SLOTS = frozenset(NEARBY.values())


def task_description(goal: Goal) -> tuple[str, ...]:
    """Return what the user is told, one text a sub-goal in the order of the goal."""
    return tuple(
        _described(number, list(lines))
        for number, lines in groupby(goal, key=lambda line: line.subgoal)
    )


def _described(number: int, lines: Iterable[SemanticTuple]) -> str:
    told = list(lines)
    parts = [_OPENINGS[told[0].domain].format(number=number)]
    parts += [_constraint(line) for line in told if line.value]
    asked = [_request(line) for line in told if not line.value]
    text = _BETWEEN.join(parts) + _END
    return f"{text}需要问清：{'、'.join(asked)}{_END}" if asked else text


def _constraint(line: SemanticTuple) -> str:
    if line.slot.startswith(SERVICE_PREFIX):
        return _SERVICE.format(value=line.slot.removeprefix(SERVICE_PREFIX))
    value = line.value if isinstance(line.value, str) else "和".join(line.value)
    reference = _REFERENCE.search(value) if line.refers else None
    if reference is not None:
        if line.slot == NAME:
            return _NEAR.format(number=reference[1])
        value = _PLACE.format(number=reference[1])
    wording = _CONSTRAINTS.get(line.slot)
    return wording.format(value=value) if wording else f"{line.slot}是{value}"


def _request(line: SemanticTuple) -> str:
    if line.slot.startswith(SERVICE_PREFIX):
        return _SERVICE_REQUEST.format(value=line.slot.removeprefix(SERVICE_PREFIX))
    return f"它的{line.slot}" if line.slot not in _NEARBY_SLOTS else f"有哪些{line.slot}"
