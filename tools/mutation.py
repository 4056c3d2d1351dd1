"""Measure the share of one-rule mutants of the package that the tests kill.

    python -m tools.mutation cover            # record the tests and seconds that cover each line
    python -m tools.mutation run -n 500       # draw mutants, run the covering tests until a kill

`cover` runs the tests of `make test-all` once with coverage contexts; `run` changes one operator,
constant or condition at a time in a copy of the tree. The tests of `make test` run first, then the
others; within each tier those of the same folder, then the cheapest files. A mutant survives a tier
if `--seconds` of its cheapest covering tests pass. A seed draws the same mutants of unchanged lines
in every version. Strings are changed only where code compares them or looks them up. Results are a
line of JSON per mutant in `build/mutation/results.jsonl`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

# Libraries that most tests need are imported once, before processes are forked.
import hypothesis.strategies  # noqa: F401
import jsonschema  # noqa: F401
import pytest
import sacrebleu  # noqa: F401
import scipy.stats  # noqa: F401

FORK = multiprocessing.get_context("fork")
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "mutation"
COVERAGE, SECONDS, RESULTS = (
    FOLDER / name for name in ("coverage.sqlite", "seconds.json", "results.jsonl")
)
TARGETS = re.compile(
    r"mwzeval/(scores|statistics|metrics|comparison)/"
    r"|mwzeval/multiwoz/(scoring/|tracking|words/|grounding/|normalization|placeholders)"
    r"|mwzeval/multiwoz/live/(user|judge|modalities)"
    r"|mwzeval/multiwoz/convlab/(user|system)"
    r"|mwzeval/crosswoz/(scoring/|simulation|user|goals)|mwzeval/dstc7/(measures|evaluation)"
    r"|mwzeval/pydial/simulator/"
)
"""Rules of scores, statistics, comparison, words, grounding, judgement, users and simulators."""
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.Break: ast.Continue, ast.Continue: ast.Break,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    """A piece of source and what replaces it."""

    file: str
    start: tuple[int, int]
    end: tuple[int, int]
    new: str
    line: int
    text: str
    """The source of the line."""

    def rank(self, seed: int) -> str:
        """Return its position in a random order that unchanged lines keep."""
        identity = f"{seed}\t{self.file}\t{self.text}\t{self.start[1]}\t{self.new}"
        return hashlib.sha256(identity.encode()).hexdigest()

    def apply(self, source: bytes) -> bytes:
        """Return the source with the piece replaced; columns count bytes, as `ast` does."""
        lines = source.splitlines(keepends=True)
        begin, last = lines[self.start[0] - 1], lines[self.end[0] - 1]
        new = self.new if self.new.isalpha() else f"({self.new})"
        changed = begin[: self.start[1]] + new.encode() + last[self.end[1] :]
        lines[self.start[0] - 1 : self.end[0]] = [changed]
        return b"".join(lines)


def changed(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    """Yield the one-rule changes of a node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            yield ast.Compare(node.left, [SWAPS[type(op)]()], node.comparators)  # type: ignore[list-item]
        case ast.BoolOp() if type(node.op) in SWAPS:
            yield ast.BoolOp(SWAPS[type(node.op)](), node.values)  # type: ignore[arg-type]
        case ast.BinOp() if type(node.op) in SWAPS and not (
            _is_text(node.left) or _is_text(node.right)
        ):
            yield ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Break() | ast.Continue():
            yield SWAPS[type(node)]()
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield ast.Call(ast.Name(CALLS[name]), node.args, node.keywords)
        case ast.Constant(value=bool(truth)):
            yield ast.Constant(not truth)
        case ast.Constant(value=int(number) | float(number)):
            yield ast.Constant(number + 1)
        case ast.Constant(value=str(text)) if (
            isinstance(parent, ast.Compare | ast.Set | ast.Dict) and " " not in text
        ):
            yield ast.Constant(f"{text}~")
    if isinstance(parent, ast.If | ast.While | ast.IfExp) and node is parent.test:
        yield ast.UnaryOp(ast.Not(), parent.test)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def mutants(file: str) -> list[Mutant]:
    """Return all mutants of a file in the order of the source."""
    found: list[Mutant] = []

    def walk(node: ast.AST, parent: ast.AST) -> None:
        match node:
            case ast.JoinedStr() | ast.Raise() | ast.Assert():
                return  # messages
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.AnnAssign():
                children: list[ast.AST] = [node.value] if node.value else []
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                children = [*node.decorator_list, *node.args.defaults]
                children += [default for default in node.args.kw_defaults if default]
                children += node.body
            case _:
                children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.expr | ast.Break | ast.Continue):
            for new in changed(node, parent):
                text = ast.unparse(ast.fix_missing_locations(new))
                start = node.lineno, node.col_offset
                end = node.end_lineno or 0, node.end_col_offset or 0
                line = lines[node.lineno - 1].strip()
                found.append(Mutant(file, start, end, text, node.lineno, line))
        for child in children:
            walk(child, node)

    source = (ROOT / file).read_text(encoding="utf-8")
    lines, tree = source.splitlines(), ast.parse(source)
    walk(tree, tree)
    return found


def cover() -> None:
    """Run all tests with coverage contexts; keep the lines of each test and its seconds."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folders = sorted({str(Path(file).parent) for file in _files()})
    rc = FOLDER / "coveragerc"
    include = "".join(f"    {folder}/*\n" for folder in folders)
    rc.write_text(f"[run]\ndata_file = {COVERAGE}\ninclude =\n{include}")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", "-p", "tools.mutation",
         "--dist", "worksteal", "--cov", f"--cov-config={rc}", "--cov-report=",
         "--cov-context=test"],
        cwd=ROOT, env=os.environ | {"MUTATION_SECONDS": "1"}, check=False,
    )  # fmt: skip


def _files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "mwzeval/*.py"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [file for file in listed.stdout.split() if TARGETS.match(file)]


# As a pytest plug-in, this module records the seconds and the tier of each test.


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark the tests that only `make test-all` runs."""
    for item in items:
        late = item.get_closest_marker("integration") is not None
        item.user_properties.append(("late", late))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the seconds of the tests that passed."""
    if "MUTATION_SECONDS" in os.environ:
        passed = terminalreporter.stats.get("passed", [])
        found = {r.nodeid: [r.duration, dict(r.user_properties).get("late")] for r in passed}
        SECONDS.write_text(json.dumps(found))


@cache
def _recorded() -> tuple[Any, dict[str, tuple[float, bool]]]:
    """Return the coverage data, and the seconds of each test and whether `make test` omits it."""
    import coverage

    data = coverage.CoverageData(str(COVERAGE))
    data.read()
    return data, json.loads(SECONDS.read_text())


@cache
def _contexts(file: str) -> dict[int, list[str]]:
    lines: dict[int, list[str]] = _recorded()[0].contexts_by_lineno(str(ROOT / file))
    return lines


def covering(mutant: Mutant) -> list[str]:
    """Return the tests of a line; of a line that runs at import, the tests of its file."""
    lines = _contexts(mutant.file)
    names = lines.get(mutant.line, [])
    if "" in names or not names:
        names = [name for line in lines.values() for name in line]
    return sorted({name.split("|")[0] for name in names} & _recorded()[1].keys())


def batches(mutant: Mutant, late: bool, limit: float) -> Iterator[list[str]]:
    """Yield lists of tests of a tier, each about twice as long as the one before."""
    seconds = _recorded()[1]
    files: dict[str, list[str]] = defaultdict(list)
    for test in covering(mutant):
        if seconds[test][1] == late:
            files[test.partition("::")[0]].append(test)
    near = str(Path(mutant.file).parent).replace("mwzeval", "tests", 1)
    cost = {file: 0.4 + sum(seconds[test][0] for test in tests) for file, tests in files.items()}
    spent, size, batch = 0.0, 3.0, list[str]()
    for file in sorted(files, key=lambda file: (not file.startswith(near), cost[file])):
        for test in sorted(files[file], key=lambda test: seconds[test][0]):
            if spent > limit and batch:
                break
            batch.append(test)
            spent += seconds[test][0]
        spent += 0.4
        if spent > size:
            yield batch
            batch, size = [], size * 2
        if spent > limit:
            return
    if batch:
        yield batch


def killed(tree: Path, tests: list[str], limit: float) -> bool:
    """Run tests in a copy of the tree; return whether one fails, or none ends in time."""
    process = FORK.Process(target=_run_tests, args=(tree, tests))
    process.start()
    process.join(timeout=60 + 5 * limit)
    if process.is_alive():
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
    return process.exitcode not in (0, 5)


def _run_tests(tree: Path, tests: list[str]) -> None:
    os.setsid()
    os.chdir(tree)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(tree)}
    os.environ.pop("MWZEVAL_DATA", None)
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(tree)]
    plugins = (f"-pno:{name}" for name in ("cacheprovider", "xdist", "cov"))
    os._exit(pytest.main(["-x", "-q", "--tb=no", *plugins, *tests]))


@cache
def _tree() -> Path:
    """Return a copy of the repository, which is next to ../shared as well."""
    tree = ROOT.parent / f"{ROOT.name}-mutants-{os.getpid()}"
    command = ["git", "clone", "-q", "--shared", str(ROOT), str(tree)]
    subprocess.run(command, stderr=subprocess.DEVNULL, check=True)
    return tree


def judge(mutant: Mutant, limit: float) -> dict[str, Any]:
    """Return the result of a mutant: the tier that killed it, or none."""
    began, path = time.perf_counter(), _tree() / mutant.file
    original = path.read_bytes()
    verdict = "survived" if covering(mutant) else "not covered"
    try:
        path.write_bytes(mutant.apply(original))
        for late in (False, True):
            if any(killed(_tree(), batch, limit) for batch in batches(mutant, late, limit)):
                verdict = "make test-all" if late else "make test"
                break
    finally:
        path.write_bytes(original)
    lines = original.splitlines()[mutant.start[0] - 1 : mutant.end[0]]
    old = b" ".join(line.strip() for line in lines).decode()
    seconds, place = round(time.perf_counter() - began, 1), f"{mutant.file}:{mutant.line}"
    return {"verdict": verdict, "place": place, "old": old, "new": mutant.new, "seconds": seconds}


def run(number: int, seed: int, limit: float) -> None:
    """Draw mutants, judge them, and print the share killed by each tier."""
    known = [mutant for file in sorted(_files()) for mutant in mutants(file)]
    known.sort(key=lambda mutant: mutant.rank(seed))
    verdicts: Counter[str] = Counter()
    with RESULTS.open("w", encoding="utf-8", buffering=1) as results:
        for mutant in known[:number]:
            found = judge(mutant, limit)
            verdicts[found["verdict"]] += 1
            results.write(f"{json.dumps(found)}\n")
    shutil.rmtree(_tree())
    total = verdicts.total()
    early, late = verdicts["make test"], verdicts["make test-all"]
    print(f"{total} of {len(known)} mutants (seed {seed}), at most {limit:g} s of tests each")
    print(f"killed by make test: {early} ({100 * early / total:.1f} %)")
    print(f"killed by make test-all: {early + late} ({100 * (early + late) / total:.1f} %)")
    print(f"survived: {verdicts['survived']}; not covered: {verdicts['not covered']}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("action", choices=["cover", "run"])
    parser.add_argument("-n", "--number", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10, help="of tests per mutant and tier")
    given = parser.parse_args()
    if given.action == "cover":
        cover()
    else:
        run(given.number, given.seed, given.seconds)


if __name__ == "__main__":
    main()
