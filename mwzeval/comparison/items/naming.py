"""Which column of a file says what: as asked for, as the format says, or by its usual names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mwzeval.comparison.items.sheet import Columns, Sheet, is_number
from mwzeval.errors import did_you_mean, shorten
from mwzeval.scores.findings import Findings

ITEM = (
    *("item", "item_id", "task", "task_id", "goal", "dialogue", "example", "example_id"),
    *("question_id", "doc_id", "sample_id", "unit", "id"),
)
TRIAL = ("trial", "repetition", "epoch", "attempt")
CLUSTER = ("cluster", "cluster_id")
METRIC = ("metric", "measure", "scorer")
SCORE = (
    *("score", "reward", "success", "value", "correct", "is_correct", "accuracy", "acc"),
    *("acc_norm", "exact_match", "em", "f1", "passed", "pass", "resolved"),
)
"""Names of columns, the most telling first; upper and lower case are the same."""

LOWER = frozenset(
    {
        *(
            "error",
            "errors",
            "wer",
            "cer",
            "ter",
            "der",
            "loss",
            "nll",
            "perplexity",
            "ppl",
            "byte",
        ),
        *(
            "brier",
            "mae",
            "mse",
            "rmse",
            "distance",
            "latency",
            "seconds",
            "ms",
            "duration",
            "time",
        ),
        *("cost", "price", "tokens", "turns", "steps", "retries", "hallucination", "toxicity"),
    }
)
"""Words in names of scores that are mostly better when lower."""

SHOWN = 12


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user says of columns; what is None or empty is found out.

    `lower` names the scores that are better when lower, of all that there are.
    """

    item: str | None = None
    scores: tuple[str, ...] = ()
    cluster: str | None = None
    trial: str | None = None
    lower: tuple[str, ...] = ()


def may_be_lower(score: str) -> bool:
    """Tell whether the name of a score says that it is better when lower."""
    return not LOWER.isdisjoint(re.split(r"[\W_]+", score.lower()))


def whole_names(parts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names in a list that was split at commas, which names may have themselves.

    lm-evaluation-harness calls scores `exact_match,strict-match`; the longest name that is
    `known` is taken.
    """
    names = []
    rest = list(parts)
    while rest:
        lengths = range(len(rest), 1, -1)
        length = next((n for n in lengths if _named(",".join(rest[:n]), known)), 1)
        names.append(",".join(rest[:length]))
        del rest[:length]
    return names


def columns_of(sheet: Sheet, asked: Asked, findings: Findings) -> Columns:
    """Return the columns that are read. Raises `InputError` where item or score is missing."""
    names, known = sheet.names, sheet.columns
    objects = {name.partition(".")[0] for name in names if "." in name}
    item = _column("item", "--item-column", asked.item, known.item, ITEM, names, findings)
    if item is None and asked.item is None:
        usual = " or ".join(f'"{name}"' for name in ITEM[:4])
        findings.error(
            "no-such-column",
            f"no column is the item: call it {usual}, or name it by --item-column{_there(names)}",
        )
    if item is not None and asked.item is None and known.item is None:
        _tell_other_items(sheet, item, findings)
    cluster = _column(
        "cluster", "--cluster-column", asked.cluster, known.cluster, CLUSTER, names, findings
    )
    trial = _column("trial", "--trial-column", asked.trial, known.trial, TRIAL, names, findings)
    if asked.trial is None and trial is not None and _is_empty(sheet, trial):
        trial = None  # attempts are then told by their order
    metric = None
    if not asked.scores and not known.scores:
        metric = _first(METRIC, names)
    taken = {item, cluster, trial, metric}
    scores = _scores(sheet, asked.scores, names, taken, objects, findings)
    findings.check()
    assert item is not None
    return Columns(item, scores, cluster, trial, metric)


def _column(
    what: str,
    option: str,
    asked: str | None,
    of_format: str | None,
    usual: Sequence[str],
    names: Sequence[str],
    findings: Findings,
) -> str | None:
    if asked is None:
        return of_format or _first(usual, names)
    found = _named(asked, names)
    if found is None:
        findings.error(
            "no-such-column",
            f'{option}: no column "{shorten(asked)}" for the {what}'
            f"{did_you_mean(asked, names)}{_there(names)}",
        )
    return found


def _scores(
    sheet: Sheet,
    asked: Sequence[str],
    names: Sequence[str],
    taken: set[str | None],
    objects: set[str],
    findings: Findings,
) -> tuple[str, ...]:
    scored = sheet.columns.scores
    if asked:
        found = []
        for name in whole_names(asked, (*scored, *names)):
            # Of the scores of a format first: `match` is its scorer, whatever else is called so.
            column = _named(name, scored) or _named(name, names)
            if column is None:
                findings.error(
                    "no-such-column",
                    f'--score: no column "{shorten(name)}"{did_you_mean(name, names)}'
                    f"{_numbers(sheet, names, taken)}{_there(names)}",
                )
            else:
                found.append(column)
        return tuple(dict.fromkeys(found))
    if scored:
        return scored
    usual = [name for known in SCORE for name in names if name.lower() == known]
    for known in ("scores", *SCORE, "metrics"):
        if known in objects:
            usual += [name for name in names if name.partition(".")[0] == known]
    usual = [name for name in usual if name not in taken]
    numbers = [name for name in usual if all(map(is_number, sheet.values(name)))]
    for name in usual if numbers else ():
        if name not in numbers:
            findings.warning("not-a-score", f'column "{shorten(name)}" is left out: no numbers')
    if not usual:
        known = " or ".join(f'"{name}"' for name in SCORE[:3])
        findings.error(
            "no-such-column",
            f"no column is the score: call it {known}, or name it by --score"
            f"{_numbers(sheet, names, taken)}{_there(names)}",
        )
    return tuple(numbers or usual[:1])


def _tell_other_items(sheet: Sheet, item: str, findings: Findings) -> None:
    """Warn where another column may be the item as well, and tells rows apart otherwise."""
    number = len(set(map(str, sheet.values(item))))
    others = (name for known in ITEM for name in sheet.names if name.lower() == known)
    for other in others:
        pairs = set(zip(map(str, sheet.values(item)), map(str, sheet.values(other)), strict=True))
        found = len({pair[1] for pair in pairs})
        if not len(pairs) == number == found:
            findings.warning(
                "other-item",
                f'the item is column "{shorten(item)}" ({number} of them), not '
                f'"{shorten(other)}" ({found}); if it is that: --item-column "{shorten(other)}"',
            )


def _is_empty(sheet: Sheet, column: str) -> bool:
    return all(value in (None, "") for value in sheet.values(column))


def _first(usual: Iterable[str], names: Sequence[str]) -> str | None:
    return next((name for known in usual if (name := _named(known, names))), None)


def _named(name: str, names: Sequence[str]) -> str | None:
    """Return the column of a name, that with the same case first."""
    if name in names:
        return name
    return next((known for known in names if known.lower() == name.lower()), None)


def _numbers(sheet: Sheet, names: Sequence[str], taken: set[str | None]) -> str:
    """Return which columns have numbers, and so may be scores."""
    found = [
        name
        for name in names
        if name not in taken
        and any(value is not None for value in sheet.values(name))
        and all(map(is_number, sheet.values(name)))
    ]
    return f" (numbers are in: {_listed(found)})" if found else ""


def _there(names: Sequence[str]) -> str:
    return f" (there are: {_listed(names)})" if names else " (there are none)"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(f'"{shorten(name)}"' for name in names[:SHOWN]) + more
