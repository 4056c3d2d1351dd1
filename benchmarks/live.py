"""Speed of live dialogues on MultiWOZ, one core.

`python -m benchmarks.live` prints the table alone. CPU seconds of this process, so that what else
runs on the machine counts little; the median of several runs, each with other choices.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import REPETITIONS, Row, at_least
from mwzeval.conversation.messages import calls_in
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.runs import run
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz.convlab.dialogue import hold_dialogue, judged, rule_system
from mwzeval.multiwoz.convlab.resources import load_resources
from mwzeval.multiwoz.convlab.scores import row
from mwzeval.multiwoz.corpus.corpora import corpus_root, read_tables
from mwzeval.multiwoz.goals.goals import Goal
from mwzeval.multiwoz.goals.selection import select_goals
from mwzeval.multiwoz.live.scored.file_scorer import LiveScorer
from mwzeval.multiwoz.live.scored.reading import Settings
from mwzeval.multiwoz.live.settings.options import LiveOptions
from mwzeval.multiwoz.live.settings.words import WordSetting
from mwzeval.multiwoz.live.tools import DatabaseTools

DEFAULT_DATA = "../shared/data"
CORPUS = "multiwoz-2.1"
RATE = "Live MultiWOZ: dialogues a second"
ACT_A_SECOND = 500
WORDS_A_SECOND = 60
CALL_MICROSECONDS = 50
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
    options = LiveOptions("rule", goals=f"corpus:{SCORED}", corpus=CORPUS, data=str(data))
    setting = WordSetting(options)
    yield in_words(setting)
    yield tool_calls(setting, root)
    yield scoring(setting, data)


def in_words(setting: WordSetting) -> Row:
    """Return the rate at which the rule agent talks to the user in words."""
    goals = dict(setting.items[:GOALS])

    def hold(item: str, seed: int) -> object:
        record, planned = Record(), Planned(item, goals[item], seed=seed)
        return record.trajectory(planned, setting.hold(planned, record)).line()

    rate = a_second(hold, list(goals))
    return at_least(f"{RATE} in words, rule agent on test goals", rate, WORDS_A_SECOND)


def tool_calls(setting: WordSetting, root: DataRoot) -> Row:
    """Return what a call on the database takes, of those that the rule agent makes."""
    calls = []
    for item, goal in setting.items[:GOALS]:
        record = Record()
        setting.hold(Planned(item, goal), record)
        made = chain.from_iterable(map(calls_in, record.messages))
        calls.append([(call.name, json.loads(call.arguments)) for call in made])
    tables = read_tables(root)
    times = []
    for seed in range(REPETITIONS):
        shared = DatabaseTools(tables)  # which has not been asked anything yet
        start = time.process_time()
        for number, of_dialogue in enumerate(calls):
            tools = shared.of_dialogue(seed, str(number))
            for name, arguments in of_dialogue:
                tools.call(name, arguments)
        times.append((time.process_time() - start) / sum(map(len, calls)))
    taken = 1e6 * statistics.median(times)
    return Row(
        "Live MultiWOZ: a tool call on the database on average, CPU µs",
        f"{taken:.0f}",
        None,
        f"at most {CALL_MICROSECONDS}",
        taken <= CALL_MICROSECONDS,
    )


def scoring(setting: WordSetting, data: Path) -> Row:
    """Return what it takes to score the file of a run in words, its data read before."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "run.jsonl")
        run(setting, file, progress=False)
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
