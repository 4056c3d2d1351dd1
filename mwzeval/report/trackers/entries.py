"""What every tracker is given of a report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.report.json import to_json
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE

_REFUSED = re.compile(r"[^\w\-. ]")
"""Characters that a tracker (MLflow) refuses in names of metrics; `/` makes folders of them, and
none may be the folder of another."""

SETTINGS = ("corpus", "fold", "rules", "sources")
"""What `meta` says of the choices, beside signatures."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Numbers by flat name, and what they depend on.

    `prefix` is before each name of `numbers`; `settings` are texts by name, without it; `json` is
    the report as `evaluate -f json` writes it. `step` is None where the tracker is to count.
    """

    prefix: str
    step: int | None
    numbers: Mapping[str, float]
    settings: Mapping[str, str]
    json: str

    @classmethod
    def of(cls, report: Report, prefix: str | None, step: int | None) -> Entries:
        """Return the entries of a report, under its benchmark's name where no `prefix` is given.

        Raises `UsageError` for an empty prefix.
        """
        parts = (report.benchmark if prefix is None else prefix).strip("/").split("/")
        prefix = "/".join(map(_allowed, parts))
        if not prefix:
            raise UsageError("a prefix of metrics cannot be empty")
        numbers: dict[str, float] = {}
        for name, value in _numbers(report):
            full = f"{prefix}/{_allowed(name)}"
            while full in numbers:  # of names that differ only in what is refused
                full += "_"
            numbers[full] = value
        return cls(prefix, step, numbers, dict(_settings(report)), to_json(report))

    @property
    def file(self) -> str:
        """What the JSON report is called: a name for each step."""
        name = self.prefix.replace("/", "-")
        return f"{name}.json" if self.step is None else f"{name}-{self.step}.json"

    def check_unchanged(self, known: Mapping[str, Any]) -> None:
        """Raise `UsageError` when settings of the run, by name, are others than these."""
        changed = [name for name, text in self.settings.items() if known.get(name, text) != text]
        if changed:
            raise UsageError(
                f'the run has other settings under "{self.prefix}" ({", ".join(changed[:3])}: '
                f"{known[changed[0]]!r}, now {self.settings[changed[0]]!r}): choose another prefix="
            )


def _numbers(report: Report) -> Iterator[tuple[str, float]]:
    for score in report.scores:
        name = score.name if score.scope == WHOLE else f"{score.name}.{score.scope}"
        yield name, float(score.value)
        if score.interval is not None:
            yield f"{name}_low", float(score.interval.low)
            yield f"{name}_high", float(score.interval.high)


def _settings(report: Report) -> Iterator[tuple[str, str]]:
    meta = report.meta
    yield from ((name, str(meta[name])) for name in SETTINGS if meta.get(name) is not None)
    yield from ((f"versions/{name}", str(text)) for name, text in meta["versions"].items())
    signatures = {score.name: str(score.signature) for score in report.scores}
    yield from ((f"signature/{_allowed(name)}", text) for name, text in signatures.items())


def _allowed(name: str) -> str:
    return _REFUSED.sub("_", name)


def no_run(tracker: str, start: str) -> UsageError:
    """Return what to say where no run is active: this package starts none."""
    return UsageError(f"{tracker} has no active run: start one with {start}, or give run=")
