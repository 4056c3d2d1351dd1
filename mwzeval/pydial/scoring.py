"""The scores of PyDial episodes and their explanations.

Source: Casanueva et al. (2017), section 4: success rate and mean reward over test dialogues.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mwzeval.benchmark import FileScorer, ScoredFile
from mwzeval.conversation.protocols import AGENT_ERROR, USER_ERROR
from mwzeval.errors import Problem, UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import (
    Measure,
    Rate,
    Resampling,
    ScoredTable,
    of_items,
)
from mwzeval.pydial import NAME as BENCHMARK
from mwzeval.pydial import SCORING_REVISION
from mwzeval.pydial.domain import NAME
from mwzeval.pydial.episode_files import ENVIRONMENTS, Record, Selection, read_records
from mwzeval.pydial.episodes import Episode
from mwzeval.pydial.tasks import in_order
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.runs import FEWEST_RUNS
from mwzeval.version import __version__, versions

COLUMNS = ("dialogues", "successes", "exchanges", "reward")
FEW_SEEDS = 20
"""With fewer seeds, intervals that resample seeds are too narrow, so a warning is printed."""
SUCCESS = "success"
OUT_OF_TIME, ENDED = "out-of-time", "ended-without-success"
NO_OFFER, UNANSWERED, WRONG_OFFER = "no-offer", "unanswered", "wrong-offer"
FAILED = {AGENT_ERROR: "agent-error", USER_ERROR: "user-error"}
MEANINGS = {
    OUT_OF_TIME: "The dialogue reached the maximum number of turns.",
    NO_OFFER: "The system had no entity on offer at the end of the dialogue.",
    UNANSWERED: "The system never gave the value of at least one requested slot.",
    WRONG_OFFER: "The system gave the values of all requested slots, but for an entity that "
    "does not satisfy the goal.",
    ENDED: "The dialogue was ended before the goal was met.",
    FAILED[AGENT_ERROR]: "The agent failed with an error during a live dialogue.",
    FAILED[USER_ERROR]: "The simulated user failed with an error during a live dialogue.",
}
"""Each failure reason with its description (`docs/pydial.md` has the same list)."""


def table_of(episodes: Iterable[Episode], tasks: Sequence[str] = ()) -> Table:
    """Return a table with one row per episode, in the given order, and the columns `COLUMNS`.

    For each task in `tasks`, the table repeats `COLUMNS` for the episodes of that task.
    """
    played = list(episodes)
    rows = [(1.0, float(e.success), float(e.exchanges), e.reward) for e in played]
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))
    parts = [values]
    for task in tasks:
        is_of_task = np.array([e.task == task for e in played], dtype=np.float64)
        parts.append(values * is_of_task[:, np.newaxis])
    columns = [f"{name}{scope}" for scope in ("", *(f"@{t}" for t in tasks)) for name in COLUMNS]
    return Table(tuple(e.unit for e in played), tuple(columns), np.hstack(parts))


RATES = (
    Rate("success", "Success", "successes", "dialogues", is_outcome=True),
    Rate("reward", "Reward", "reward", "dialogues", places=2, unit="points"),
    Rate(
        "exchanges",
        "Exchanges",
        "exchanges",
        "dialogues",
        places=2,
        unit="exchanges",
        lower_is_better=True,
        is_description=True,
    ),
)


def measures(
    signature: Signature, sums: Mapping[str, float], tasks: Sequence[str] = (), *, block: int = 1
) -> Iterator[Measure]:
    """Yield success rate (percent), mean reward and mean number of turns, in total and for each
    task.

    `sums` has the sums of the columns that `table_of` creates. `block` is the number of consecutive
    episodes that are resampled together. The episodes of a block have the same seed, so they share
    a confusion table and, if the policy is learned, the training. If `block` exceeds 1, the
    interval of the success rate also comes from resampled seeds. With a `block` of 1, the interval
    assumes that episodes are independent.
    """
    for scopes in ((), *((task,) for task in tasks)):
        for rate in RATES:
            for measure in rate.measures(sums, signature, scopes, "@"):
                outcome = measure.outcome if block == 1 else None
                yield replace(measure, block=block, outcome=outcome)


def mean_of(score: str, episodes: Sequence[Episode]) -> float:
    """Return the success rate (percent) or mean reward of episodes."""
    values = [100.0 * e.success if score == "success" else e.reward for e in episodes]
    return sum(values) / len(values) if values else math.nan


@dataclass(frozen=True, slots=True, eq=False)
class ScoredEpisodes(ScoredFile):
    """The success rate, reward and number of turns of episodes.

    If `few_seeds` is True, the scores have no intervals, because the number of seeds is too small.
    """

    records: Mapping[str, Record]
    meta: Mapping[str, Any]
    scored_table: ScoredTable
    warnings: tuple[Problem, ...]
    few_seeds: bool = False

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and with intervals if requested."""
        scores = self.scored_table.scores(None if self.few_seeds else resampling)
        return Report(
            metrics={BENCHMARK: _plain(scores)},
            scores=scores,
            table=self.scored_table.table,
            warnings=self.warnings,
            meta=self.meta,
            benchmark=BENCHMARK,
        )

    def explain(self, unit: str) -> Explanation:
        """Explain the success or failure of an episode. Raises `UsageError` for an unknown name."""
        if unit not in self.records:
            hint = did_you_mean(unit, self.records)
            raise UsageError(f'no dialogue "{shorten(unit)}"{hint} (TASK/SEED/NUMBER)')
        return explain(self.records[unit])


def evaluate(
    path: str, chosen: Selection | None = None, *, strict: bool = False, independent: bool = False
) -> ScoredEpisodes:
    """Return the scores of an episode file, or of the tests of one policy in a run folder.

    Episodes of one seed share a confusion table and a trained policy. If there are several seeds
    with equal numbers of episodes, intervals and tests resample seeds, unless `independent` is
    True. `chosen` selects the tests of a folder; with `strict`, warnings are errors. Raises
    `InputError` with all problems, and `UsageError` if a folder has no such tests.
    """
    chosen = chosen or Selection()
    findings = Findings(strict=strict)
    records, checksum = read_records(path, chosen, findings)
    findings.check()
    notes = Findings()  # these warnings do not concern the input, so `strict` ignores them
    block = 1 if independent else _block(records, notes)
    tasks = in_order(record.episode.task for record in records)
    scopes = tasks if len(tasks) > 1 else ()
    environment = "+".join(sorted({ENVIRONMENTS[record.legacy] for record in records}))
    policies = sorted({record.policy for record in records if record.policy is not None})
    users = sorted({record.user for record in records if record.user is not None})
    if len(policies) > 1:
        notes.warning("several-policies", f"scored together: {', '.join(policies)}")
    signature = Signature.of(
        BENCHMARK,
        {
            "tasks": "+".join(tasks),
            "environment": environment,
            **({"user": "+".join(users)} if users else {}),
            "resampled": "dialogues" if block == 1 else f"seeds of {block}",
            "n": len(records),
            "rev": SCORING_REVISION,
            "version": __version__,
        },
    )
    episodes = [record.episode for record in records]
    seeds = len({episode.seed for episode in episodes})
    meta = {
        "corpus": f"{BENCHMARK}-{tasks[0]}"
        if len(tasks) == 1
        else f"{BENCHMARK} ({len(tasks)} tasks)",
        "unit": "dialogue",
        "fold": "test",
        "tasks": "+".join(tasks),
        "policy": "+".join(policies) or None,
        "environment": environment,
        "seeds": seeds,
        "sources": checksum,
        "coverage": {"dialogues": {"scored": len(records), "of": len(records)}},
        "versions": versions(SCORING_REVISION),
    }
    table = table_of(episodes, scopes)
    scored = ScoredTable(table, tuple(measures(signature, table.sums(), scopes, block=block)))
    if any(episode.trial is not None for episode in episodes):
        scored = of_items(scored)
    return ScoredEpisodes(
        {r.episode.unit: r for r in records},
        meta,
        scored,
        (*findings.warnings, *notes.warnings),
        few_seeds=block > 1 and seeds < FEWEST_RUNS,
    )


def validate(path: str, chosen: Selection | None = None, *, strict: bool = False) -> list[Problem]:
    """Return all problems of episodes, errors first.

    Raises `InputError` if a file is unreadable, and `UsageError` if a folder has no such tests.
    """
    findings = Findings(strict=strict)
    read_records(path, chosen or Selection(), findings)
    return findings.problems


@dataclass(frozen=True, slots=True)
class EpisodesScorer(FileScorer):
    """Scores episode files and run folders."""

    chosen: Selection
    strict: bool = False
    independent: bool = False

    @property
    def reasons(self) -> Mapping[str, str]:
        """The failure reasons that explanations use, with their descriptions."""
        return MEANINGS

    def score(self, file: str, *, progress: bool = False) -> ScoredEpisodes:
        """Score the episodes in a file or folder.

        Raises `InputError` if a file is invalid, and `UsageError` if the folder has no such tests.
        """
        return evaluate(file, self.chosen, strict=self.strict, independent=self.independent)

    def validate(self, file: str) -> list[Problem]:
        """Return all problems of an episode file or folder.

        Raises `InputError` if a file cannot be read, and `UsageError` if the folder has no such
        tests.
        """
        return validate(file, self.chosen, strict=self.strict)


def _block(records: Sequence[Record], notes: Findings) -> int:
    """Return the number of consecutive episodes per seed, or 1 if dialogues are resampled."""
    sizes: dict[int, Counter[str]] = {}
    items = {record.episode.item: record.episode for record in records}
    for episode in items.values():
        sizes.setdefault(episode.seed, Counter())[episode.task] += 1
    first, *others = sizes.values()
    if not others:
        return 1
    if any(other != first for other in others):
        message = (
            "the seeds have different tasks or dialogues, so intervals treat all dialogues as "
            "independent"
        )
        notes.warning("unequal-seeds", message)
        return 1
    block = sum(first.values())
    if block > 1 and len(sizes) < FEW_SEEDS:
        message = (
            f"{len(sizes)} seeds are too few for an interval over seeds (--independent computes "
            "intervals over dialogues instead)"
            if len(sizes) < FEWEST_RUNS
            else (
                f"intervals and tests resample only {len(sizes)} seeds, so intervals are "
                "slightly too narrow and small p values are impossible (`mwzeval pydial table` "
                "prints t intervals)"
            )
        )
        notes.warning("few-seeds", message)
    return block


def _plain(scores: Sequence[Score]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for score in scores:
        plain.setdefault(score.name, {})[score.scope] = score.value
    return plain


def explain(record: Record) -> Explanation:
    """Explain the result of an episode; a failed episode has a failure reason."""
    episode = record.episode
    return Explanation(
        unit=episode.unit,
        outcomes={WHOLE: {SUCCESS: episode.success}},
        goal=tuple(_goal(record)),
        turns=tuple(_turn(turn) for turn in record.turns),
        reasons=() if episode.success else tuple(_reasons(record)),
    )


def _goal(record: Record) -> Iterator[Fact]:
    for slot, sign, value in record.constraints or ():
        yield Fact("wants", f"{slot} {sign} {value}")
    for slot, answer in (record.requests or {}).items():
        yield Fact("asks for", f"{slot} → {'no answer' if answer is None else answer}")
    yield Fact("exchanges", str(record.episode.exchanges))
    yield Fact("reward", f"{record.episode.reward:g}")


def _turn(raw: Mapping[str, Any]) -> TurnView:
    said = (Utterance(who, str(raw[who])) for who in ("system", "user") if raw.get(who) is not None)
    heard = raw.get("heard") or []
    hypotheses = "; ".join(f"{act} {confidence:.2f}" for act, confidence in heard)
    return TurnView(tuple(said), (Fact("heard", shorten(hypotheses, 300)),) if heard else ())


def _reasons(record: Record) -> Iterator[Reason]:
    def reason(code: str, text: str) -> Reason:
        return Reason(code, SUCCESS, WHOLE, None, text)

    exchanges = record.episode.exchanges
    requests = record.requests
    if record.failed is not None:
        side = "the agent" if record.failed == AGENT_ERROR else "the user"
        yield reason(FAILED[record.failed], f"{side} failed: {record.problem or 'no reason given'}")
        return
    late = record.out_of_time or exchanges >= record.task.max_exchanges
    if late:
        yield reason(OUT_OF_TIME, f"the goal was not met within {exchanges} turns")
    if requests is None:
        if not late:
            yield reason(ENDED, f"the dialogue was ended after {exchanges} turns")
    elif requests.get(NAME) is None:
        yield reason(NO_OFFER, "no entity was offered, or the last offer was withdrawn")
    else:
        missing = [slot for slot, answer in requests.items() if answer is None]
        for slot in missing:
            yield reason(f"{UNANSWERED}:{slot}", f"the value of {slot} was never given")
        if not missing:
            name = requests[NAME]
            yield reason(WRONG_OFFER, f"{name} does not satisfy the final goal")
