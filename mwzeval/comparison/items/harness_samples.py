"""Samples of lm-evaluation-harness (`--log_samples`): a line a document and filter.

The item is the document (`doc_id`); the scores are those that a line lists in `metrics`, in older
files all that are numbers. With several filters each has its own (`exact_match,strict-match`, as
the harness calls it in its results). Scores that the harness has only over all documents, such as
perplexity and BLEU, stand there as parts that are not numbers; they are left out.

Source: EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py (logged_samples).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.comparison.items.sheet import Columns, Row, Sheet, is_number, objects
from mwzeval.scores.findings import Findings

FORMAT = "lm-evaluation-harness samples"
ITEM, FILTER, METRICS = "doc_id", "filter", "metrics"
OTHERS = frozenset({ITEM, FILTER, METRICS, "doc", "target", "arguments", "resps"}) | {
    *("filtered_resps", "doc_hash", "prompt_hash", "target_hash")
}
"""What a line has beside scores."""
UNFILTERED = ("none", None)


def is_harness_sample(value: Any) -> bool:
    """Tell whether a JSON value is such a line."""
    return (
        isinstance(value, Mapping)
        and ITEM in value
        and bool({"resps", "filtered_resps", "doc_hash"} & value.keys())
    )


def read_harness_samples(values: Sequence[tuple[str, Any]], file: str) -> Sheet:
    """Return the rows of (place, line) pairs. Raises `InputError` where one is no object."""
    findings = Findings(file)
    scores: dict[str, None] = {}
    rows = []
    for row in objects(values, file):
        listed = row.values.get(METRICS)
        metrics = listed if isinstance(listed, list) else row.values.keys() - OTHERS
        of_row: dict[str, Any] = {}
        for metric in sorted(map(str, metrics)):
            value = row.values.get(metric)
            if value is None or not is_number(value):
                findings.warning(
                    "not-of-items", f"{metric} is left out: it is no number of single documents"
                )
                continue
            of_filter = row.values.get(FILTER)
            of_row[metric if of_filter in UNFILTERED else f"{metric},{of_filter}"] = value
        scores |= dict.fromkeys(of_row)
        others = {key: value for key, value in row.values.items() if key in OTHERS}
        rows.append(Row(row.place, {**others, **of_row}))
    return Sheet(file, FORMAT, rows, Columns(ITEM, tuple(scores)), tuple(findings.warnings))
