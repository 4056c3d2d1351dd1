"""Logs of inspect_ai: `.eval`, a zip archive, and `.json`; nothing of it needs to be installed.

The item is the sample, the trial its epoch, and each scorer a score; one whose values are objects
is a score for each key (`scorer.key`). Letters count as inspect_ai counts them: C is 1, P a half, I
and N nothing. A score that is NaN is none (inspect_ai calls it unscored), and a sample that ended
in an error has none.

The summaries of an archive have metadata cut at about a thousand characters, which end in dots
then; one that is needed cannot be told from others that begin alike.

Source: https://inspect.aisi.org.uk/eval-logs.html; value_to_float of inspect_ai.scorer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.comparison.items.sheet import Columns, Cut, Row, Sheet, not_of_shape
from mwzeval.errors import shorten
from mwzeval.files.json_files import decoded, parse_json
from mwzeval.files.reading import read_zip, zip_names
from mwzeval.scores.findings import Findings

FORMAT = "inspect_ai log"
SUMMARIES = "summaries.json"
REMOVED = "Key removed from summary (> 1k)"
CUT = Cut(
    "cut off in the summaries of an archive: name a shorter one, or write the log as JSON "
    "(inspect log convert --to json)"
)
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}


def is_inspect_log(value: Any) -> bool:
    """Tell whether a JSON value is such a log."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("eval"), Mapping)
        and ("samples" in value or "plan" in value)
    )


def read_inspect_archive(file: str) -> Sheet:
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
        raise not_of_shape(file, f"an archive without {SUMMARIES} is no log of inspect_ai")
    samples: list[Any] = []
    for name, content in read_zip(file, wanted).items():
        place = f"{file}/{name}"
        value = parse_json(decoded(content, place), place, constants=True)
        samples += value if isinstance(value, list) else [value]
    return _sheet([_of_summary(sample) for sample in samples], file)


def _of_summary(sample: Any) -> Any:
    """Return a sample with a mark in place of metadata that the summary has in part only."""
    metadata = sample.get("metadata") if isinstance(sample, Mapping) else None
    if not isinstance(metadata, Mapping):
        return sample
    marked = {
        key: CUT
        if isinstance(value, str) and (value == REMOVED or value.endswith("..."))
        else value
        for key, value in metadata.items()
    }
    return {**sample, "metadata": marked}


def read_inspect_log(value: Mapping[str, Any], file: str) -> Sheet:
    """Return the samples of a `.json` file. Raises `InputError` for one without samples."""
    samples = value.get("samples")
    return _sheet(samples if isinstance(samples, list) else [], file)


def _sheet(samples: Sequence[Any], file: str) -> Sheet:
    if not samples:
        raise not_of_shape(
            file,
            "the log has no samples: it was written without them, or only its header, or its run "
            "ended before the first",
        )
    findings = Findings(file)
    rows = []
    scorers: dict[str, None] = {}
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, Mapping) or "id" not in sample:
            raise not_of_shape(file, f"sample {number} is not an object with an id")
        scores = {} if sample.get("error") else _scores(sample.get("scores"))
        if not scores:
            why = "ended in an error" if sample.get("error") else "have no scores"
            findings.warning("no-score", f"samples that {why} are not counted")
        scorers |= dict.fromkeys(scores)
        epoch = sample.get("epoch", 1)
        place = f'sample "{shorten(str(sample["id"]))}", epoch {epoch}'
        about = {"id": sample["id"], "epoch": epoch, "metadata": sample.get("metadata")}
        rows.append(Row(place, {**about, **scores}))
    columns = Columns(item="id", scores=tuple(scorers), trial="epoch")
    return Sheet(file, FORMAT, rows, columns, tuple(findings.warnings))


def _scores(scores: Any) -> dict[str, Any]:
    """Return the value of each score of a sample."""
    found: dict[str, Any] = {}
    for scorer, score in scores.items() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        parts = {scorer: value}
        if isinstance(value, Mapping):
            parts = {f"{scorer}.{key}": part for key, part in value.items()}
        elif isinstance(value, list):
            parts = {f"{scorer}.{place}": part for place, part in enumerate(value)}
        found |= {name: _counted(part) for name, part in parts.items()}
    return found


def _counted(value: Any) -> Any:
    return LETTERS.get(value, value) if isinstance(value, str) else value
