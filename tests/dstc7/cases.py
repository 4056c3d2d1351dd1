"""Golden cases and small submissions, as loaded inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mwzeval.dstc7.dialogues import Example, parse_targets, stream_examples
from mwzeval.dstc7.evaluation import (
    Gold,
    Options,
    ScoredSubmission,
    Track,
    evaluate,
    validate,
)
from mwzeval.dstc7.loading import Loaded
from mwzeval.dstc7.submission import check_submission
from mwzeval.errors import Problem
from mwzeval.files.downloads import embedded
from mwzeval.scores.findings import Findings
from tests.places import read_json, shared

UBUNTU = Track("ubuntu", 1)
WITH_NONE = Track("ubuntu", 4)
SEVERAL = Track("advising", 3)


def golden(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = read_json(shared("golden", "dstc7", name))["cases"]
    return cases


def examples_in(path: str | Path) -> list[Example]:
    """Return the examples of a dialogue file. Raises `InputError` with all problems."""
    findings = Findings(file=str(path))
    examples = list(stream_examples(path, findings))
    findings.check()
    return examples


def ranks(evaluated: ScoredSubmission) -> list[int]:
    """Return the rank of the first right answer of each example, 0 if none is ranked."""
    reciprocal = evaluated.scored_table.table.column("reciprocal_rank")
    return [round(1 / value) if value else 0 for value in reciprocal.tolist()]


def submission_of(
    rankings: Mapping[str, str | Sequence[tuple[str, float]]],
) -> list[dict[str, Any]]:
    """Return a raw submission from example → "A B C" or (id, confidence) pairs."""
    return [
        {
            "example-id": int(example),
            "candidate-ranking": [
                {"candidate-id": identity, "confidence": confidence}
                for identity, confidence in _pairs(ranking)
            ],
        }
        for example, ranking in rankings.items()
    ]


def _pairs(ranking: str | Sequence[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    if not isinstance(ranking, str):
        return ranking
    ids = ranking.split()
    return [(identity, 1 / place) for place, identity in enumerate(ids, start=2)]


def targets_of(correct: Mapping[str, str]) -> str:
    """Return the text of a targets file from example → "A,B"."""
    return "".join(f"{example}\t{ids}\n" for example, ids in correct.items())


def loaded(raw: Any, targets: str, track: Track = UBUNTU, options: Options | None = None) -> Loaded:
    """Return a submission and its targets without files and without checks of consistency."""
    options = options or Options()
    findings = Findings(lenient=not options.strict)
    whole = targets.removeprefix("\ufeff")  # the file reader also removes the byte order mark
    numbered = ((n, line) for n, line in enumerate(whole.split("\n"), start=1) if line.strip())
    return Loaded(
        track,
        options,
        check_submission(raw, findings),
        parse_targets(numbered, findings, repeats=options.compat is not None),
    )


class Folder:
    """A folder with the files of a submission and its gold data."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: Any) -> Path:
        path = self.path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_bytes(text.encode("utf-8"))
        return path

    def gold(self, targets: Any, dialogues: Any = None, pool: Any = None) -> Gold:
        return Gold(
            targets=None if targets is None else self.write("targets.tsv", targets),
            dialogues=None if dialogues is None else self.write("dialogues.json", dialogues),
            pool=None if pool is None else self.write("pool.tsv", pool),
        )

    def problems(
        self,
        submission: Any,
        targets: Any,
        track: Track = UBUNTU,
        options: Options | None = None,
        **more: Any,
    ) -> list[Problem]:
        path = self.write(track.file_name, submission)
        return validate(path, self.gold(targets, **more), track, options)

    def evaluated(
        self,
        submission: Any,
        targets: Any,
        track: Track = UBUNTU,
        options: Options | None = None,
        **more: Any,
    ) -> ScoredSubmission:
        path = self.write(track.file_name, submission)
        return evaluate(path, self.gold(targets, **more), track, options)


def kinds(problems: Sequence[Problem], severity: str | None = None) -> list[str]:
    """Return the distinct codes of problems, optionally of one severity."""
    return list(dict.fromkeys(p.kind for p in problems if severity in (None, p.severity)))


def scores(evaluated: ScoredSubmission, scope: str = "total") -> dict[str, float]:
    """Return the scores of a scope by name."""
    return {s.name: s.value for s in evaluated.report().scores if s.scope == scope}


def sample_submission(track: Track, system: str) -> Path:
    """Return the path of an example submission (system `overlap` or `random`)."""
    base = Track(track.dataset, track.subtask)
    return embedded("predictions") / f"dstc7-{system}" / base.file_name
