"""What a submission is scored with: where it is, and what it is once it has been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from mwzeval.dstc7.options import Options
from mwzeval.dstc7.reading.checks import KnownCandidates
from mwzeval.dstc7.reading.dialogues import Example
from mwzeval.dstc7.reading.submission import Submission
from mwzeval.dstc7.reading.targets import Targets
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.errors import UsageError


@dataclass(frozen=True, slots=True)
class Gold:
    """Where gold data are: targets, or a dialogue file that has the answers itself; or both.

    A dialogue file (and in subtask 2 the pool) lets candidates be checked, and texts be shown.
    `is_sample` says that these are the embedded sample, which fits no other submission. Raises
    `UsageError` when neither is named.
    """

    targets: str | Path | None = None
    dialogues: str | Path | None = None
    pool: str | Path | None = None
    is_sample: bool = False

    def __post_init__(self) -> None:
        if self.targets is None and self.dialogues is None:
            raise UsageError(
                "scoring needs the right answers: a file of targets, or a dialogue file of train "
                "or dev, which has them itself"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A submission, and what it is scored with.

    `examples` has what was said and offered in each submitted example, and `pool` the candidates
    of subtask 2, as far as files with these were named. `targets` keep their repeats when scoring
    is to be as in 2018.
    """

    track: Track
    options: Options
    submission: Submission
    targets: Targets
    examples: Mapping[str, Example] = field(default_factory=dict)
    pool: Mapping[str, str] | None = None
    split: str = "test"
    is_sample: bool = False

    @property
    def known(self) -> KnownCandidates:
        """The candidates that there are to choose from."""
        of_example = {
            name: frozenset(candidate.candidate_id for candidate in example.candidates)
            for name, example in self.examples.items()
            if example.candidates
        }
        return KnownCandidates(of_example, None if self.pool is None else self.pool.keys())

    @property
    def checksum(self) -> str:
        """Eight hexadecimal digits that tell these targets from others, in whatever order."""
        lines = sorted(f"{name}\t{','.join(sorted(set(of)))}" for name, of in self.targets.items())
        return sha256("\n".join(lines).encode(errors="backslashreplace")).hexdigest()[:8]
