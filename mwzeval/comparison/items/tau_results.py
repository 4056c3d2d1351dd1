"""Result files of τ-bench (a list of attempts) and τ²-bench (an object with simulations).

The item is the task, the score the reward. Attempts of τ²-bench that infrastructure ended are none.

Source: sierra-research/tau-bench, tau_bench/types.py; sierra-research/tau2-bench, data_model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mwzeval.comparison.items.sheet import Columns, Row, Sheet, objects
from mwzeval.scores.findings import Findings

FORMAT, FORMAT_2 = "τ-bench results", "τ²-bench results"
ITEM, TRIAL, REWARD = "task_id", "trial", "reward"
ENDING = "termination_reason"
INFRASTRUCTURE = "infrastructure_error"


def is_tau_results(value: Any) -> bool:
    """Tell whether a JSON value is such a list of attempts."""
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], Mapping)
        and {ITEM, REWARD} <= value[0].keys()
        and bool({"traj", "info"} & value[0].keys())
    )


def read_tau_results(value: list[Any], file: str) -> Sheet:
    """Return the attempts of τ-bench. Raises `InputError` where one is no object."""
    rows = objects(((f"attempt {n}", row) for n, row in enumerate(value, 1)), file)
    return Sheet(file, FORMAT, rows, Columns(ITEM, (REWARD,), trial=TRIAL))


def is_tau2_results(value: Any) -> bool:
    """Tell whether a JSON value is an object with simulations of tasks."""
    if not isinstance(value, Mapping) or not isinstance(value.get("simulations"), list):
        return False
    first = next(iter(value["simulations"]), None)
    return first is None or (isinstance(first, Mapping) and ITEM in first)


def read_tau2_results(value: Mapping[str, Any], file: str) -> Sheet:
    """Return the simulations of τ²-bench. Raises `InputError` where one is no object."""
    findings = Findings(file)
    found = enumerate(value["simulations"], start=1)
    rows = []
    for row in objects(((f"simulation {n}", of) for n, of in found), file):
        reward = row.get("reward_info.reward")
        ending = str(row.get(ENDING)).rpartition(".")[2].lower()
        if ending == INFRASTRUCTURE:
            reward = None
            findings.warning("no-score", "simulations that infrastructure ended are not counted")
        rows.append(Row(row.place, {**row.values, REWARD: reward}))
    columns = Columns(ITEM, (REWARD,), trial=TRIAL)
    return Sheet(file, FORMAT_2, rows, columns, tuple(findings.warnings))
