"""Files with scores of items, whoever wrote them, read as rows with named values.

The format is recognised by the shape of the file; its name does not matter:

* CSV (also with semicolons) and TSV: a line with the names of the columns, then a row a line.
* JSON and JSON Lines: a list of objects, an object that holds such a list, or an object that has
  the scores of each item: `{"a": 1, "b": [0, 1], "c": {"f1": 0.5}}`, where a list has the trials of
  the item.
* Logs of inspect_ai, `.eval` (a zip archive) and `.json`. The item is the sample, the trial its
  epoch, and each scorer a score; a scorer whose values are objects is a score for each key
  (`scorer.key`). Letters count as inspect_ai counts them. A score that is NaN is none (inspect_ai
  calls it unscored), and a sample that ended in an error has none.
  Source: https://inspect.aisi.org.uk/eval-logs.html; value_to_float of inspect_ai.scorer.
* Results of τ-bench (a list of attempts) and τ²-bench (an object with simulations). The item is the
  task, the score the reward. Attempts of τ²-bench that infrastructure ended are none.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.errors import InputError, MwzevalError, Problem, shorten
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


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it is in the file, for messages, and its values by column."""

    place: str
    values: Mapping[str, Any]

    def get(self, column: str) -> Any:
        """Return a value, for `a.b` also the value b of an object a; None without."""
        if column in self.values:
            return self.values[column]
        outer, point, inner = column.partition(".")
        value: Any = self.values.get(outer)
        while point and isinstance(value, Mapping):
            if inner in value:
                return value[inner]
            outer, point, inner = inner.partition(".")
            value = value.get(outer)
        return None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file and its `format`.

    `columns` are those that the format defines, `header` the columns that are named before any row.
    """

    file: str
    format: str
    rows: Sequence[Row]
    columns: Columns = field(default_factory=Columns)
    warnings: tuple[Problem, ...] = ()
    header: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all columns in the order in which they come, those in objects as `a.b`."""
        names: dict[str, None] = dict.fromkeys(self.header)
        for row in self.rows:
            for name, value in row.values.items():
                if isinstance(value, Mapping):
                    names |= dict.fromkeys(f"{name}.{inner}" for inner in value)
                else:
                    names[name] = None
        return list(names)

    def values(self, column: str) -> list[Any]:
        """Return the values of a column, one a row."""
        return [row.get(column) for row in self.rows]


NO_NUMBER = frozenset({"", "nan", "na", "n/a", "null", "none"})
"""How tables say that there is no number."""


def number_of(value: Any) -> float | None:
    """Return the number that a value is; None where there is none, as NaN says.

    True and false are 1 and 0, also as words.

    Raises:
        ValueError: For a text that is not a number.
        TypeError: For any other value.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int | float):
        number = float(value)
    elif isinstance(value, str):
        text = value.strip().lower()
        if text in NO_NUMBER:
            return None
        words = {"true": 1.0, "false": 0.0}
        number = words[text] if text in words else float(text)
    else:
        raise TypeError("neither a number nor a text")
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or none at all."""
    try:
        number_of(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def read_rows(file: str) -> Rows:
    """Return the rows of a file of any known format. Raises `InputError` where there are none."""
    if not is_url(file) and is_zip(file):
        return _inspect_archive(file)
    text = read_text(file)
    if text.lstrip()[:1] not in ("{", "["):
        return _table(text, file)
    if _has_lines(text, file):
        values = [(f"line {n}", value) for n, value in parse_json_lines(text, file, constants=True)]
        if _is_harness_sample(values[0][1]):
            return _harness_samples(values, file)
        return Rows(file, JSON, _objects(values, file))
    value = parse_json(text, file, constants=True)
    for is_log_of_program, read in LOGS:
        if is_log_of_program(value):
            return read(value, file)
    return _plain_json(value, file)


def is_log(file: str) -> bool:
    """Return whether a file has a format in which a program for evaluation writes its results."""
    try:
        if not is_url(file) and is_zip(file):
            return bool(_inspect_archive(file).rows)
        text = read_text(file)
        if text.lstrip()[:1] not in ("{", "["):
            return False
        if _has_lines(text, file):
            text = text.strip().partition("\n")[0]
        value = parse_json(text, file, constants=True)
    except MwzevalError:
        return False
    return any(is_log_of_program(value) for is_log_of_program, _ in LOGS)


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


def _not_of_shape(file: str, what: str) -> InputError:
    return InputError([Problem("other-shape", what, file=file)])


def _objects(values: Iterable[tuple[str, Any]], file: str) -> list[Row]:
    """Return (place, object) pairs as rows. Raises `InputError` where one is no object."""
    rows = []
    for place, value in values:
        if not isinstance(value, Mapping):
            raise _not_of_shape(file, f"{place} is not an object with an item and its score")
        rows.append(Row(place, value))
    return rows


def _numbered(what: str, values: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"{what} {number}", value) for number, value in enumerate(values, start=1)]


# Tables.


def _table(text: str, file: str) -> Rows:
    """Return the rows of a table. Names of columns are in lower case."""
    findings = Findings(file)
    first = next(iter(text.lstrip().splitlines()), "")
    delimiter = next((sign for sign in ("\t", ",", ";") if sign in first), ",")
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    names: list[str] = []
    rows = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            place = f"line {reader.line_num}"
            if not names:
                names = [name.strip().lower() for name in cells]
                for name in sorted(name for name, count in Counter(names).items() if count > 1):
                    what = f'{place} names two columns "{shorten(name)}"'
                    findings.error("repeated-column", what)
            elif len(cells) != len(names):
                findings.error(
                    "other-columns",
                    f"{place} has {len(cells)} cells, the names of columns are {len(names)}",
                )
            else:
                stripped = [cell.strip() for cell in cells]
                rows.append(Row(place, dict(zip(names, stripped, strict=True))))
    except csv.Error as error:
        findings.error("not-a-table", f"line {reader.line_num}: {error}")
    findings.check()
    return Rows(file, "table", rows, header=tuple(names))


# JSON of our own making.

JSON = "JSON"
LISTS = ("items", "results", "samples", "rows", "data", "scores", "tasks", "simulations")
"""Where an object holds the list of its rows."""


def _plain_json(value: Any, file: str) -> Rows:
    if isinstance(value, Mapping):
        lists = (value.get(name) for name in LISTS)
        found = next(
            (of for of in lists if isinstance(of, list) and of and isinstance(of[0], Mapping)), None
        )
        if found is None:
            columns = Columns(item="item", trial="trial")
            return Rows(file, JSON, list(_by_item(value, file)), columns)
        value = found
    if not isinstance(value, list):
        raise _not_of_shape(file, "there are no rows: a list of objects, or an object by item")
    return Rows(file, JSON, _objects(_numbered("row", value), file))


def _by_item(value: Mapping[str, Any], file: str) -> Iterator[Row]:
    for item, of_item in value.items():
        of_trials = of_item if isinstance(of_item, list) else [of_item]
        for trial, scores in enumerate(of_trials, start=1):
            if isinstance(scores, Mapping):
                yield Row(f'item "{item}"', {"trial": trial, **scores, "item": item})
            elif scores is None or isinstance(scores, bool | int | float):
                yield Row(f'item "{item}"', {"trial": trial, "item": item, "score": scores})
            else:
                raise _not_of_shape(
                    file,
                    f'"{item}" is neither a score nor a list of them; an object either says the '
                    f"score of each item or holds a list of rows ({', '.join(LISTS)})",
                )


# Logs of inspect_ai.

SUMMARIES = "summaries.json"
REMOVED = "Key removed from summary (> 1k)"
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}


class Cut:
    """Stands for metadata of which the summaries of an archive have a part only.

    They are cut at about a thousand characters, so that texts that begin alike look the same.
    """

    def __str__(self) -> str:
        return (
            "cut off in the summaries of an archive: name a shorter one, or write the log as JSON "
            "(inspect log convert --to json)"
        )


def _is_inspect_log(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("eval"), Mapping)
        and ("samples" in value or "plan" in value)
    )


def _inspect_archive(file: str) -> Rows:
    """Return the samples of an `.eval` file.

    Raises `InputError` for another archive, or one without samples.
    """
    names = zip_names(file)
    if SUMMARIES in names:
        wanted = [SUMMARIES]
    else:
        # Of a run that has not ended there is what it has noted on the way.
        wanted = [name for name in names if name.startswith("_journal/summaries/")]
    if not wanted:
        raise _not_of_shape(file, f"an archive without {SUMMARIES} is no log of inspect_ai")
    samples: list[Any] = []
    for name, content in read_zip(file, wanted).items():
        place = f"{file}/{name}"
        value = parse_json(decoded(content, place), place, constants=True)
        samples += value if isinstance(value, list) else [value]
    return _inspect_samples([_of_summary(sample) for sample in samples], file)


def _of_summary(sample: Any) -> Any:
    """Return a sample with `Cut` in place of metadata that the summary has in part only."""
    metadata = sample.get("metadata") if isinstance(sample, Mapping) else None
    if not isinstance(metadata, Mapping):
        return sample
    marked = {
        key: Cut()
        if isinstance(value, str) and (value == REMOVED or value.endswith("..."))
        else value
        for key, value in metadata.items()
    }
    return {**sample, "metadata": marked}


def _inspect_log(value: Mapping[str, Any], file: str) -> Rows:
    samples = value.get("samples")
    return _inspect_samples(samples if isinstance(samples, list) else [], file)


def _inspect_samples(samples: Sequence[Any], file: str) -> Rows:
    if not samples:
        raise _not_of_shape(
            file,
            "the log has no samples: it was written without them, or only its header, or its run "
            "ended before the first",
        )
    findings = Findings(file)
    rows = []
    scorers: dict[str, None] = {}
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, Mapping) or "id" not in sample:
            raise _not_of_shape(file, f"sample {number} is not an object with an id")
        scores = {} if sample.get("error") else _inspect_scores(sample.get("scores"))
        if not scores:
            why = "ended in an error" if sample.get("error") else "have no scores"
            findings.warning("no-score", f"samples that {why} are not counted")
        scorers |= dict.fromkeys(scores)
        epoch = sample.get("epoch", 1)
        place = f'sample "{shorten(str(sample["id"]))}", epoch {epoch}'
        about = {"id": sample["id"], "epoch": epoch, "metadata": sample.get("metadata")}
        rows.append(Row(place, {**about, **scores}))
    columns = Columns(item="id", scores=tuple(scorers), trial="epoch")
    return Rows(file, "inspect_ai log", rows, columns, tuple(findings.warnings))


def _inspect_scores(scores: Any) -> dict[str, Any]:
    """Return the value of each score of a sample."""
    found: dict[str, Any] = {}
    for scorer, score in scores.items() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        parts = {scorer: value}
        if isinstance(value, Mapping):
            parts = {f"{scorer}.{key}": part for key, part in value.items()}
        elif isinstance(value, list):
            parts = {f"{scorer}.{place}": part for place, part in enumerate(value)}
        for name, part in parts.items():
            found[name] = LETTERS.get(part, part) if isinstance(part, str) else part
    return found


# Results of τ-bench and τ²-bench.

TASK, REWARD = "task_id", "reward"


def _is_tau_results(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], Mapping)
        and {TASK, REWARD} <= value[0].keys()
        and bool({"traj", "info"} & value[0].keys())
    )


def _tau_results(value: list[Any], file: str) -> Rows:
    rows = _objects(_numbered("attempt", value), file)
    return Rows(file, "τ-bench results", rows, Columns(TASK, (REWARD,), trial="trial"))


def _is_tau2_results(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("simulations"), list):
        return False
    first = next(iter(value["simulations"]), None)
    return first is None or (isinstance(first, Mapping) and TASK in first)


def _tau2_results(value: Mapping[str, Any], file: str) -> Rows:
    findings = Findings(file)
    rows = []
    for row in _objects(_numbered("simulation", value["simulations"]), file):
        reward = row.get("reward_info.reward")
        ending = str(row.get("termination_reason")).rpartition(".")[2].lower()
        if ending == "infrastructure_error":
            reward = None
            findings.warning("no-score", "simulations that infrastructure ended are not counted")
        rows.append(Row(row.place, {**row.values, REWARD: reward}))
    columns = Columns(TASK, (REWARD,), trial="trial")
    return Rows(file, "τ²-bench results", rows, columns, tuple(findings.warnings))


# Samples of lm-evaluation-harness.

DOCUMENT, FILTER, METRICS = "doc_id", "filter", "metrics"
NO_SCORES = {DOCUMENT, FILTER, METRICS, "doc", "target", "arguments", "resps", "filtered_resps"} | {
    *("doc_hash", "prompt_hash", "target_hash")
}
"""What a line has beside scores."""


def _is_harness_sample(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and DOCUMENT in value
        and bool({"resps", "filtered_resps", "doc_hash"} & value.keys())
    )


def _are_harness_samples(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and _is_harness_sample(values[0])


def _harness_file(value: Any, file: str) -> Rows:
    values = value if isinstance(value, list) else [value]
    return _harness_samples(_numbered("sample", values), file)


def _harness_samples(values: Sequence[tuple[str, Any]], file: str) -> Rows:
    findings = Findings(file)
    scores: dict[str, None] = {}
    rows = []
    for row in _objects(values, file):
        listed = row.values.get(METRICS)
        metrics = listed if isinstance(listed, list) else row.values.keys() - NO_SCORES
        of_row: dict[str, Any] = {}
        for metric in sorted(map(str, metrics)):
            value = row.values.get(metric)
            if value is None or not is_number(value):
                findings.warning(
                    "not-of-items", f"{metric} is left out: it is no number of single documents"
                )
                continue
            of_filter = row.values.get(FILTER)
            of_row[metric if of_filter in ("none", None) else f"{metric},{of_filter}"] = value
        scores |= dict.fromkeys(of_row)
        others = {key: value for key, value in row.values.items() if key in NO_SCORES}
        rows.append(Row(row.place, {**others, **of_row}))
    columns = Columns(DOCUMENT, tuple(scores))
    return Rows(file, "lm-evaluation-harness samples", rows, columns, tuple(findings.warnings))


LOGS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Rows]], ...] = (
    (_is_inspect_log, _inspect_log),
    (_is_tau_results, _tau_results),
    (_is_tau2_results, _tau2_results),
    (_are_harness_samples, _harness_file),
)
"""What recognises the JSON of a log of a program, and what reads it."""
