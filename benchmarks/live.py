"""Speed of live dialogues on MultiWOZ, one core.

`python -m benchmarks.live` prints the table alone. CPU seconds of this process, so that what else
runs on the machine counts little; the median of several runs, each with other choices.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import REPETITIONS, Row, at_least
from mwzeval.conversation.runs import run
from mwzeval.multiwoz.convlab.dialogue import hold_dialogue, judged, rule_system
from mwzeval.multiwoz.convlab.resources import load_resources
from mwzeval.multiwoz.convlab.scores import row
from mwzeval.multiwoz.corpus.corpora import corpus_root
from mwzeval.multiwoz.goals.goals import Goal
from mwzeval.multiwoz.goals.selection import select_goals
from mwzeval.multiwoz.live.scored.file_scorer import LiveScorer
from mwzeval.multiwoz.live.scored.reading import Settings
from mwzeval.multiwoz.live.settings.options import LiveOptions
from mwzeval.multiwoz.live.settings.words import WordSetting

DEFAULT_DATA = "../shared/data"
CORPUS = "multiwoz-2.1"
RATE = "Live MultiWOZ: dialogues a second"
ACT_A_SECOND = 500
GOALS = 500


SCORED = 1000
SCORED_SECONDS = 1.5

Goals = Mapping[str, Goal]


def rows(data: Path) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    root = corpus_root(CORPUS, data, offline=True)
    resources = load_resources(CORPUS, root)
    for source, what in (
        (f"corpus:{GOALS}", "test goals"),
        (f"sampled:{GOALS}", "sampled goals"),
    ):
        goals = select_goals(source, corpus=CORPUS, root=root, database=resources.database).goals

        def in_acts(item: str, seed: int, goals: Goals = goals) -> object:
            system = partial(rule_system, resources, seed, item, 1)
            dialogue = hold_dialogue(goals[item], system, resources, seed=seed, item=item)
            return dialogue.line(), row(judged(dialogue, resources.database))

        rate = a_second(in_acts, list(goals))
        yield at_least(f"{RATE} in acts, rule pair on {what}, judged", rate, ACT_A_SECOND)
    yield scoring(data)


def scoring(data: Path) -> Row:
    """Return what it takes to score the file of a run in words, its data read before."""
    options = LiveOptions("rule", goals=f"corpus:{SCORED}", corpus=CORPUS, data=str(data))
    with TemporaryDirectory() as folder:
        file = Path(folder, "run.jsonl")
        run(WordSetting(options), file, progress=False)
        text = file.read_text(encoding="utf-8")
    scorer = LiveScorer(Settings.of(CORPUS, data=data))
    first = "".join(text.splitlines(keepends=True)[:2])
    times = []
    for _ in range(REPETITIONS):
        scorer.score(first, None)
        start = time.process_time()
        scorer.score(text, None).report()
        times.append(time.process_time() - start)
    taken = statistics.median(times)
    return Row(
        f"Live MultiWOZ: {SCORED:,} trajectories in words scored, CPU seconds",
        f"{taken:.2f}",
        None,
        f"at most {SCORED_SECONDS}",
        taken <= SCORED_SECONDS,
    )


def a_second(hold: Callable[[str, int], object], items: list[str]) -> float:
    """Return the median rate at which dialogues about these goals are held, by id and seed."""
    rates = []
    for seed in range(REPETITIONS):
        start = time.process_time()
        for item in items:
            hold(item, seed)
        rates.append(len(items) / (time.process_time() - start))
    return statistics.median(rates)


def main() -> int:
    """Print the table."""
    missed = False
    for line in rows(Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)):
        print(f"{line.what}: {line.measured} ({line.limit or 'no limit'})", flush=True)
        missed |= line.met is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
