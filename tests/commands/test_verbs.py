"""The verbs for benchmarks other than MultiWOZ: the same for all, run as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.benchmark import benchmark_named, benchmarks
from mwzeval.cli import main
from mwzeval.errors import UsageError
from mwzeval.files.downloads import embedded
from tests.places import read_json

pytestmark = pytest.mark.usefixtures("elsewhere")

OVERLAP, RANDOM = (
    str(embedded("predictions", f"dstc7-{system}", "Ubuntu_subtask_4.json"))
    for system in ("overlap", "random")
)


def test_a_benchmark_is_found_by_each_of_its_names() -> None:
    for benchmark in benchmarks(external=False):
        for name in benchmark.names:
            assert name.startswith(benchmark.info.name)
            assert benchmark_named(name) is benchmark
    for name in ("dstc8", "dstc7-ubuntu-3", "", "multiwoz-2.2"):
        with pytest.raises(UsageError, match=rf'"{name}".*(dstc7|multiwoz)'):
            benchmark_named(name)


@pytest.mark.parametrize(("gate", "code"), [("recall10=0.5", 0), ("final=0.9", 1)])
def test_gates_fail_by_the_short_names_of_the_benchmark(gate: str, code: int) -> None:
    assert main(["evaluate", "--benchmark", "dstc7", OVERLAP, "-q", "--fail-under", gate]) == code


def test_outcomes_lost_for_the_same_reason_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--benchmark", "dstc7", OVERLAP, "--reason", "ranked-belw"]) == 2
    assert '"ranked-below"' in capsys.readouterr().err
    assert main(["explain", "--benchmark", "dstc7", OVERLAP, "--worst", "10"]) == 0
    example = ""
    seen = set()
    for line in capsys.readouterr().out.splitlines():
        example = example if line.startswith(" ") else line
        assert (example, line) not in seen
        seen.add((example, line))


def test_converting_there_and_back_keeps_the_scores(elsewhere: Path) -> None:
    assert main(["dstc7", "convert", OVERLAP, "--to", "run", "-o", "run.txt"]) == 0
    back = "Ubuntu_subtask_4.json"
    assert main(["dstc7", "convert", "run.txt", "--to", "submission", "-o", back]) == 0
    reports = []
    for file in (OVERLAP, back):
        assert main(["evaluate", "--benchmark", "dstc7", "-q", "-i", file]) == 0
        reports.append(read_json(elsewhere / "evaluation_results.json")["ranking"])
    assert reports[0] == reports[1]
