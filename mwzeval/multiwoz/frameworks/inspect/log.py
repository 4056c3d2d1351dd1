"""The dialogues of a log of inspect_ai as the file of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from inspect_ai.log import EvalLog, read_eval_log

from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.frameworks.inspect.dialogues import episodes_of, kept


def write_run(log: EvalLog | str | Path, output: str | Path) -> int:
    """Write the dialogues of a log to a file that `mwzeval` reads; return how many there are.

    Samples that failed for an error have none and are left out. Raises `UsageError` for a log
    without dialogues, `MwzevalError` when the file cannot be written.
    """
    read = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    samples = [sample for sample in read.samples or () if kept(sample.store) is not None]
    if not samples:
        name = shorten(str(read.location or "the log"), 300)
        raise UsageError(f"{name}: no sample has a dialogue of multiwoz_user() in it")
    trials = read.eval.config.epochs or 1
    places = {str(sample.id): place for place, sample in reversed(list(enumerate(samples)))}
    dialogues = [
        replace(dialogue, is_numbered=trials > 1)
        for sample in samples
        if (dialogue := kept(sample.store)) is not None
    ]
    dialogues.sort(key=lambda dialogue: (places[dialogue.item], dialogue.trial))
    episodes = episodes_of(samples[0].metadata)
    episodes.write(output, dialogues, agent=f"inspect:{read.eval.model}", trials=trials)
    return len(dialogues)
