"""Write the logs of `inspect_logs/` with inspect_ai itself: `python make_logs.py FOLDER`.

This needs inspect_ai (version 0.3.285 wrote the stored logs) and no network, because the model is
a mock. The task has eight sums about three texts, each in two epochs. Some answers of the model are
wrong, one question raises an error, and one answer has no score.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.scorer import Score, Scorer, Target, match, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

OUTCOMES = {"weak": "11 10 00 01 10 00 11 10", "strong": "11 11 10 01 11 00 11 11"}
"""Whether the answer to each question is right in the first and second epoch."""


@solver
def answering(outcomes: str) -> Solver:
    """Answer according to the outcomes; raise in the last epoch of the seventh question."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        question = int(str(state.sample_id).removeprefix("q"))
        if (question, state.epoch) == (7, 2):
            raise RuntimeError("the calculator is broken")
        is_right = outcomes.split()[question - 1][state.epoch - 1] == "1"
        state.output.completion = state.target.text if is_right else "none"
        return state

    return solve


@scorer(metrics={"closeness": [mean()], "words": [mean()]})
def of_answers() -> Scorer:
    """Score closeness (except the first epoch of the last question) and the number of words."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        is_unscored = (state.sample_id, state.epoch) == ("q8", 1)
        closeness = float("nan") if is_unscored else 1.0 if answer == target.text else 0.25
        return Score(value={"closeness": closeness, "words": len(answer.split())})

    return score


@task
def sums(outcomes: str) -> Task:
    """Return the task with two epochs of each question."""
    samples = [
        Sample(
            input=f"How much is {n} and {n}?",
            target=str(2 * n),
            id=f"q{n}",
            metadata={"text": "abc"[n % 3]},
        )
        for n in range(1, 9)
    ]
    return Task(
        dataset=MemoryDataset(samples, name="sums"),
        solver=answering(outcomes),
        scorer=[match(), of_answers()],
        epochs=2,
        fail_on_error=False,
    )


def trimmed(log: EvalLog) -> EvalLog:
    """Return a log without data about the machine and without events, which are long."""
    log.eval.task_file = log.eval.revision = None
    for sample in log.samples or ():
        sample.events, sample.attachments = [], {}
        if sample.error:
            sample.error = sample.error.model_copy(update={"traceback": "", "traceback_ansi": ""})
    return log


def main(folder: str) -> None:
    """Write the log of the first system in both formats and that of the second in one."""
    goal = Path(folder).resolve()
    goal.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name, outcomes in OUTCOMES.items():
            (log,) = eval(sums(outcomes), model="mockllm/model", log_dir=scratch, display="none")
            whole = trimmed(read_eval_log(log.location))
            for ending in ("eval", "json"):
                write_eval_log(whole, str(goal / f"{name}.{ending}"))
    (goal / "strong.json").unlink()  # one JSON log is sufficient


if __name__ == "__main__":
    main(sys.argv[1])
