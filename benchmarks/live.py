"""Speed of live dialogues on MultiWOZ on one core, in CPU time."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import REPETITIONS, Row, at_least, at_most, cpu_seconds, median_rate
from mwzeval.conversation.messages import read_messages
from mwzeval.conversation.runs import run
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.episodes import ActSetting, WordSetting
from mwzeval.multiwoz.live.options import ACTS, LiveOptions
from mwzeval.multiwoz.live.report import LiveScorer
from mwzeval.multiwoz.live.tools import DatabaseTools, Tools

CORPUS = "multiwoz-2.1"
RATE = "Live MultiWOZ: dialogues a second"
ACT_A_SECOND = 500
WORDS_A_SECOND = 60
CALL_MICROSECONDS = 50
GOALS = 500
SCORED = 1000
SCORED_SECONDS = 1.5


def rows(data: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    root = corpus_root(CORPUS, data, offline=True)
    for source, what in (
        (f"corpus:{GOALS}", "test goals"),
        (f"sampled:{GOALS}", "sampled goals"),
    ):
        options = LiveOptions(
            "rule-convlab",
            goals=source,
            corpus=CORPUS,
            data=str(data),
            strict_user=True,
            level=ACTS,
        )
        rate = held(ActSetting(options))
        yield at_least(f"{RATE} in acts, rule pair on {what}, judged", rate, ACT_A_SECOND)
    options = LiveOptions("rule", goals=f"corpus:{SCORED}", corpus=CORPUS, data=str(data))
    setting = WordSetting(options)
    setting.begin()
    what = f"{RATE} in words, rule agent on test goals"
    yield at_least(what, held(setting), WORDS_A_SECOND)
    yield tool_calls(setting, root)
    yield scoring(setting, data)


def held(setting: ActSetting | WordSetting) -> float:
    """Return the number of dialogues per second, including judgement at the act level."""
    goals = setting.items[:GOALS]

    def hold(seed: int) -> None:
        for item, goal in goals:
            record, planned = Record(), Planned(item, goal, seed=seed)
            trajectory = record.trajectory(planned, setting.hold(planned, record))
            assert trajectory.problem is None, trajectory.problem
            trajectory.line()
            if isinstance(setting, ActSetting):
                setting.judge(trajectory)

    return median_rate(len(goals), hold)


def tool_calls(setting: WordSetting, root: DataRoot) -> Row:
    """Return the mean time of the rule agent's calls on the database."""
    calls = []
    for item, goal in setting.items[:GOALS]:
        record = Record()
        setting.hold(Planned(item, goal), record)
        made = chain.from_iterable(message.calls for message in read_messages(record.messages))
        calls.append([(call.name, json.loads(call.arguments)) for call in made])
    tables = read_tables(root)

    def call_all(seed: int) -> None:
        shared = DatabaseTools(tables)  # has an empty cache
        for number, of_dialogue in enumerate(calls):
            tools = Tools(shared, Planned(str(number), None, seed=seed))
            for name, arguments in of_dialogue:
                tools.call(name, arguments)

    taken = 1e6 / median_rate(sum(map(len, calls)), call_all)
    what = "Live MultiWOZ: a tool call on the database on average"
    return at_most(what, taken, "µs", CALL_MICROSECONDS, 0)


def scoring(setting: WordSetting, data: Path) -> Row:
    """Return the time to score the file of a text-level run without loading the data."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "run.jsonl")
        run(setting, file, progress=False)
        text = file.read_text(encoding="utf-8")
    scorer = LiveScorer(CORPUS, data=data)
    first = "".join(text.splitlines(keepends=True)[:2])
    times = []
    for _ in range(REPETITIONS):
        scorer.score(first, None)
        times.append(cpu_seconds(lambda: scorer.score(text, None).report()))
    what = f"Live MultiWOZ: scoring {SCORED:,} trajectories in words"
    return at_most(what, statistics.median(times), "s", SCORED_SECONDS)
