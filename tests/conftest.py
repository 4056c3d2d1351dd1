"""Each test run uses a temporary cache and no network, and reports skipped tests at its end."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.output import PROGRESS_VARIABLE
from tests.command_lines import Ran, Run
from tests.examples import QUICK, THOROUGH

for name, number in (("quick", QUICK), ("thorough", THOROUGH)):
    settings.register_profile(
        name,
        deadline=None,
        derandomize=True,
        max_examples=number,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
settings.load_profile("quick")

WHOLE_FILE = "\npytestmark = pytest.mark.integration\n"

# Progress bars would depend on the speed of the machine, and tests compare printed output.
os.environ[PROGRESS_VARIABLE] = "0"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Background jobs of a shell ignore SIGINT, and child processes would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of integration tests if this mark is not selected.

    Their imports take longer than the tests of other files.
    """
    if "not integration" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    return WHOLE_FILE in collection_path.read_text(encoding="utf-8") or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests so that both workers run the integration tests last.

    Each worker begins with half of the files and finally takes tests from the other half. The tests
    of a file stay together, so that their shared fixtures are computed once.
    """
    files = list(dict.fromkeys(item.path for item in items))
    half = {path: number % 2 for number, path in enumerate(files)}
    items.sort(key=lambda item: (half[item.path], bool(item.get_closest_marker("integration"))))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print each reason for skipped tests, with the number of tests."""
    why: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        # Expected failures are also reported as skipped, but without this tuple.
        if isinstance(report.longrepr, tuple):
            why[report.longrepr[2].removeprefix("Skipped: ")] += 1
    for reason, number in sorted(why.items()):
        tests = "1 test" if number == 1 else f"{number} tests"
        terminalreporter.write_line(f"{reason}: {tests} skipped", yellow=True)


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # All workers share a cache, so that derived data are computed once.
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MWZEVAL_DATA", "MWZEVAL_MIRROR", "GITHUB_STEP_SUMMARY"):
            patch.delenv(name, raising=False)
        patch.setenv("MWZEVAL_CACHE", str(folder / "cache"))
        patch.setenv("MWZEVAL_OFFLINE", "1")
        yield


@pytest.fixture(scope="session")
def evaluator() -> Evaluator:
    """All metrics on the sample corpus. All tests share it, because evaluators are reusable."""
    return Evaluator(True, True, True, True, corpus="sample")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `mwzeval` in this process."""

    def command(*words: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(words)
        except SystemExit as stopped:  # raised by argparse
            code = int(stopped.code or 0)
        return Ran(code, *capsys.readouterr())

    return command
