"""Files with scores of items, whoever wrote them, read as rows with named values.

The format is recognised by the shape of the file; its name does not matter:

* CSV (also with semicolons) and TSV: a line with the names of the columns, then a row a line.
* JSON and JSON Lines: a list of objects, an object that holds such a list, or an object that has
  the scores of each item: `{"a": 1, "b": [0, 1], "c": {"f1": 0.5}}`, where a list has the trials of
  the item. Results of τ-bench are such a list.
* Logs of inspect_ai, `.eval` (a zip archive) and `.json`. The item is the sample, the trial its
  epoch, and each scorer a score; a scorer whose values are objects is a score for each key
  (`scorer.key`). Letters count as inspect_ai counts them. A score that is NaN is none (inspect_ai
  calls it unscored), and a sample that ended in an error has none.
  Source: https://inspect.aisi.org.uk/eval-logs.html; value_to_float of inspect_ai.scorer.
* Results of τ²-bench: an object with simulations. The item is the task, the score the reward. A
  simulation that infrastructure ended has none.
  Source: sierra-research/tau-bench, tau_bench/types.py; sierra-research/tau2-bench, data_model.
* Samples of lm-evaluation-harness (`--log_samples`): a line a document and filter. The item is the
  document; the scores are those that a line lists in `metrics`, in older files all numbers. With
  several filters each has its own score (`exact_match,strict-match`, its name in the results of the
  harness). Scores that the harness has only over all documents are left out.
  Source: EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py (logged_samples).
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from mwzeval.errors import InputError, MwzevalError, shorten
from mwzeval.files.json_files import decoded, parse_json, parse_json_lines, read_text
from mwzeval.files.reading import is_url, is_zip, read_zip, zip_names
from mwzeval.scores.findings import Findings


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file to read; None or empty means that their names decide.

    `metric` is the column with the name of the score of a row, where each row has one of several.
    `lower` names the scores that are better when lower.
    """

    item: str | None = None
    scores: tuple[str, ...] = ()
    cluster: str | None = None
    trial: str | None = None
    metric: str | None = None
    lower: tuple[str, ...] = ()


Row: TypeAlias = tuple[str, Mapping[str, Any]]
"""Where a row is in the file, for messages, and its values by column."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file; a value in an object is in the column `a.b`.

    `columns` are those that the format defines, `header` the columns that are named before any row;
    `is_log` says that a program for evaluation wrote the file.
    """

    rows: Sequence[Row]
    columns: Columns = field(default_factory=Columns)
    header: Sequence[str] = ()
    is_log: bool = False

    @property
    def names(self) -> list[str]:
        """The names of all columns in the order in which they come."""
        names = dict.fromkeys(self.header)
        for _, values in self.rows:
            names |= dict.fromkeys(values)
        return list(names)

    def values(self, column: str) -> list[Any]:
        """Return the values of a column, one a row; None where a row has none."""
        return [values.get(column) for _, values in self.rows]


WORDS = {"": None, "na": None, "n/a": None, "null": None, "none": None, "true": 1, "false": 0}
"""Texts that stand for a number, or say that there is none."""


def number_of(value: Any) -> float | None:
    """Return the number that a value is, 1 and 0 for true and false; None for null and NaN.

    Raises:
        ValueError: For a text that is not a number, and for infinity.
        TypeError: For lists and objects.
        OverflowError: For integers that are too large.
    """
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower(), value)
    if value is None or math.isnan(number := float(value)):
        return None
    if math.isinf(number):
        raise ValueError("not finite")
    return number


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or none at all."""
    try:
        number_of(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def is_log(file: str) -> bool:
    """Return whether a file has a format in which a program for evaluation writes its results."""
    try:
        return read_rows(file, Findings()).is_log
    except MwzevalError:
        return False


def read_rows(file: str, findings: Findings) -> Rows:
    """Return the rows of a file of any known format, and add what is not counted to `findings`.

    Raises `InputError` for other files.
    """
    if not is_url(file) and is_zip(file):
        return _inspect_archive(file, findings)
    text = read_text(file)
    if text.lstrip()[:1] not in ("{", "["):
        return _table(text, findings)
    if _has_lines(text, file):
        lines = parse_json_lines(text, file, constants=True)
        return _json_rows([(f"line {number}", value) for number, value in lines], findings)
    value = parse_json(text, file, constants=True)
    if isinstance(value, Mapping):
        if isinstance(value.get("eval"), Mapping) and ("samples" in value or "plan" in value):
            return _inspect_samples(value.get("samples"), findings)
        simulations = value.get("simulations")
        if isinstance(simulations, list) and all(map(_is_attempt, simulations[:1])):
            return _tau2_results(simulations, findings)
        lists = (of for name in LISTS if isinstance(of := value.get(name), list))
        found = next((of for of in lists if of and isinstance(of[0], Mapping)), None)
        if found is None and not _is_harness_sample(value):
            rows = list(_by_item(value, findings))
            return Rows(rows, Columns("item", trial="trial"))
        value = found or [value]
    return _json_rows(_numbered(value), findings)


def _has_lines(text: str, file: str) -> bool:
    """Return whether the first line is a JSON value by itself, and more follows."""
    first, _, rest = text.strip().partition("\n")
    if not rest.strip():
        return False
    try:
        parse_json(first, file, constants=True)
    except InputError:
        return False
    return True


def _json_rows(values: Sequence[tuple[str, Any]], findings: Findings) -> Rows:
    _check_objects(values, findings)
    first = values[0][1] if values else {}
    if _is_harness_sample(first):
        return _harness_samples(values, findings)
    is_tau_bench = {"task_id", "reward"} <= first.keys() and bool({"traj", "info"} & first.keys())
    return Rows([(place, _flat(value)) for place, value in values], is_log=is_tau_bench)


def _check_objects(values: Sequence[tuple[str, Any]], findings: Findings) -> None:
    for place, value in values:
        if not isinstance(value, Mapping):
            _refuse(findings, f"{place} is not an object with an item and its score")


def _refuse(findings: Findings, what: str) -> NoReturn:
    findings.error("other-shape", what)
    raise InputError(findings.errors)


def _numbered(values: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"row {number}", value) for number, value in enumerate(values, start=1)]


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with those in objects under names such as `a.b`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": part for inner, part in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _table(text: str, findings: Findings) -> Rows:
    """Return the rows of a table. Names of columns are in lower case."""
    first = next(iter(text.lstrip().splitlines()), "")
    delimiter = next((sign for sign in ("\t", ",", ";") if sign in first), ",")
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    names: list[str] = []
    rows = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            place = f"line {reader.line_num}"
            if not any(cells):
                continue
            if not names:
                names = [name.lower() for name in cells]
                for name in sorted(name for name, count in Counter(names).items() if count > 1):
                    what = f'{place} names two columns "{shorten(name)}"'
                    findings.error("repeated-column", what)
            elif len(cells) != len(names):
                findings.error(
                    "other-columns",
                    f"{place} has {len(cells)} cells, the names of columns are {len(names)}",
                )
            else:
                rows.append((place, dict(zip(names, cells, strict=True))))
    except csv.Error as error:
        findings.error("not-a-table", f"line {reader.line_num}: {error}")
    findings.check()
    return Rows(rows, header=names)


LISTS = ("items", "results", "samples", "rows", "data", "scores", "tasks", "simulations")
"""Where an object holds the list of its rows."""


def _by_item(items: Mapping[str, Any], findings: Findings) -> Iterator[Row]:
    for item, of_item in items.items():
        of_trials = of_item if isinstance(of_item, list) else [of_item]
        for trial, value in enumerate(of_trials, start=1):
            is_score = value is None or isinstance(value, bool | int | float)
            scores = {"score": value} if is_score else value
            if not isinstance(scores, Mapping):
                _refuse(
                    findings,
                    f'"{item}" is neither a score nor a list of them; an object either says the '
                    f"score of each item or holds a list of rows ({', '.join(LISTS)})",
                )
            yield f'item "{item}"', _flat({"trial": trial, **scores, "item": item})


# Logs of inspect_ai.

SUMMARIES = "summaries.json"
REMOVED = "Key removed from summary (> 1k)"
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
CUT = (
    "cut off in the summaries of an archive: name a shorter one, or write the log as JSON (inspect "
    "log convert --to json)"
)
"""Stands for metadata of which the summaries of an archive have about a thousand characters only,
so that texts that begin alike look the same."""


def _inspect_archive(file: str, findings: Findings) -> Rows:
    names = zip_names(file)
    # A run that has not ended has no summary, but a journal of its parts.
    journal = [name for name in names if name.startswith("_journal/summaries/")]
    wanted = [SUMMARIES] if SUMMARIES in names else journal
    if not wanted:
        _refuse(findings, f"an archive without {SUMMARIES} is no log of inspect_ai")
    samples: list[Any] = []
    for name, content in read_zip(file, wanted).items():
        place = f"{file}/{name}"
        value = parse_json(decoded(content, place), place, constants=True)
        samples += value if isinstance(value, list) else [value]
    for sample in samples:
        metadata = sample.get("metadata") if isinstance(sample, dict) else None
        if isinstance(metadata, dict):
            ends = (REMOVED, "...")
            cut = [key for key, text in metadata.items() if str(text).endswith(ends)]
            metadata |= dict.fromkeys(cut, CUT)
    return _inspect_samples(samples, findings)


def _inspect_samples(samples: Any, findings: Findings) -> Rows:
    if not samples or not isinstance(samples, list):
        _refuse(
            findings,
            "the log has no samples: it was written without them, or only its header, or its run "
            "ended before the first",
        )
    rows = []
    scorers: dict[str, None] = {}
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, Mapping) or "id" not in sample:
            _refuse(findings, f"sample {number} is not an object with an id")
        scores = {} if sample.get("error") else _inspect_scores(sample.get("scores"))
        if not scores:
            why = "ended in an error" if sample.get("error") else "have no scores"
            findings.warning("no-score", f"samples that {why} are not counted")
        scorers |= dict.fromkeys(scores)
        epoch = sample.get("epoch", 1)
        about = {"id": sample["id"], "epoch": epoch, "metadata": sample.get("metadata")}
        place = f'sample "{shorten(str(sample["id"]))}", epoch {epoch}'
        rows.append((place, {**_flat(about), **scores}))
    return Rows(rows, Columns("id", tuple(scorers), trial="epoch"), is_log=True)


def _inspect_scores(scores: Any) -> dict[str, Any]:
    """Return the value of each score of a sample."""
    values: dict[str, Any] = {}
    for scorer, score in scores.items() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        values[scorer] = dict(enumerate(value)) if isinstance(value, list) else value
    flat = _flat(values)
    return {name: LETTERS.get(v, v) if isinstance(v, str) else v for name, v in flat.items()}


def _is_attempt(value: Any) -> bool:
    return isinstance(value, Mapping) and "task_id" in value


def _tau2_results(simulations: Sequence[Any], findings: Findings) -> Rows:
    _check_objects(_numbered(simulations), findings)
    rows = []
    for place, values in _numbered(map(_flat, simulations)):
        ending = str(values.get("termination_reason")).rpartition(".")[2].lower()
        reward = values.get("reward_info.reward")
        if ending == "infrastructure_error":
            reward = None
            findings.warning("no-score", "simulations that infrastructure ended are not counted")
        rows.append((place, {**values, "reward": reward}))
    return Rows(rows, Columns("task_id", ("reward",), trial="trial"), is_log=True)


# Samples of lm-evaluation-harness.

DOCUMENT, FILTER, METRICS = "doc_id", "filter", "metrics"
NO_SCORES = {DOCUMENT, FILTER, METRICS, "doc", "target", "arguments", "resps", "filtered_resps"} | {
    *("doc_hash", "prompt_hash", "target_hash")
}
"""What a line has beside scores."""


def _is_harness_sample(value: Mapping[str, Any]) -> bool:
    return DOCUMENT in value and not {"resps", "filtered_resps", "doc_hash"}.isdisjoint(value)


def _harness_samples(samples: Sequence[Row], findings: Findings) -> Rows:
    scores: dict[str, None] = {}
    rows = []
    for place, values in samples:
        listed, of_filter = values.get(METRICS), values.get(FILTER)
        ending = "" if of_filter in ("none", None) else f",{of_filter}"
        metrics = listed if isinstance(listed, list) else values.keys() - NO_SCORES
        row = _flat({key: value for key, value in values.items() if key in NO_SCORES})
        for metric in sorted(map(str, metrics)):
            value = values.get(metric)
            if value is None or not is_number(value):
                what = f"{metric} is left out: it is no number of single documents"
                findings.warning("not-of-items", what)
            else:
                row[metric + ending] = value
                scores[metric + ending] = None
        rows.append((place, row))
    return Rows(rows, Columns(DOCUMENT, tuple(scores)), is_log=True)
