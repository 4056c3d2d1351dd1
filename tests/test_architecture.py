"""Which module may import which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mwzeval
from mwzeval.benchmark import REGISTRY
from tests.places import ROOT

PACKAGE = ROOT / "mwzeval"
MODULES = sorted(PACKAGE.rglob("*.py"))
BENCHMARKS = tuple(package.rpartition(".")[2] for package in REGISTRY)
ORDER: tuple[tuple[str, ...], ...] = (
    ("errors", "libraries", "parser", "progress", "version"),
    ("files", "output"),
    ("scores", "neural"),
    ("statistics",),
    ("metrics", "arguments", "output_checks"),
    ("comparison",),
    ("report",),
    ("cluster",),
    ("conversation",),
    ("benchmark", "moved"),
    BENCHMARKS,
    ("commands",),
    ("doctor",),
    ("cli",),
    ("completion",),
    ("__main__", "__init__"),
)
"""The parts of the package, layer on layer: one imports from its own layer or those above here."""
LAYERS = {part: layer for layer, parts in enumerate(ORDER) for part in parts}
REPORTED = ("errors", "libraries", "scores", "statistics", "comparison", "metrics")
HEAVY = frozenset(
    {"torch", "transformers", "gymnasium", "dask", "distributed", "fsspec", "matplotlib", "pandas"}
    | {"wandb", "mlflow", "tensorboard", "trackio", "mcp", "uvicorn", "starlette", "anyio"}
)


def part_of(module: str) -> str:
    """Return `metrics` for `mwzeval.metrics.bleu`, `__init__` for `mwzeval` itself."""
    return [*module.split("."), "__init__"][1]


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def imports_of(source: str) -> Iterator[tuple[str, bool]]:
    """Yield (module, whether it is imported when the importing module is) for every import."""
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(source), True)]
    while waiting:
        node, at_once = waiting.pop()
        match node:
            case ast.Import():
                yield from ((alias.name, at_once) for alias in node.names)
            case ast.ImportFrom():
                assert node.level == 0, "imports are written in full"
                module = node.module or ""
                yield module, at_once
                # A name may be a module: `from mwzeval import data_command`.
                yield from ((f"{module}.{alias.name}", at_once) for alias in node.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                at_once = False
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                at_once = False
        waiting.extend((child, at_once) for child in ast.iter_child_nodes(node))


def forbidden(importer: str, imported: str) -> str | None:
    """Return why a module of the package must not import another; None when it may."""
    source, target = part_of(importer), part_of(imported)
    if source == target:
        return None
    if LAYERS[target] > LAYERS[source]:
        return f"{target} stands above {source}"
    if source in BENCHMARKS and target in BENCHMARKS:
        return "no benchmark knows another"
    if source == "report" and target not in REPORTED:
        return f"report knows nothing but {', '.join(REPORTED)}"
    return None


def wrong_imports(path: Path) -> dict[str, str]:
    """Return what a module imports and must not, with the reason."""
    importer = name_of(path)
    if part_of(importer) not in LAYERS:
        return {importer: "it has no layer yet"}
    wrong = {}
    for imported, _ in imports_of(path.read_text(encoding="utf-8")):
        if imported.split(".")[0] != "mwzeval" or imported == "mwzeval":
            continue  # of `from mwzeval import x` the x counts
        if importer == "mwzeval.metrics" and imported == "mwzeval.Evaluator":
            continue  # an old place of it, looked up when asked for
        if part_of(imported) not in LAYERS:
            wrong[imported] = "only modules are imported from the package itself"
            continue
        reason = forbidden(importer, imported)
        if reason:
            wrong[imported] = reason
    return wrong


def test_modules_import_only_what_they_may() -> None:
    assert len(MODULES) > 100
    found = {name_of(path): wrong_imports(path) for path in MODULES}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    found = {}
    for path in MODULES:
        imported = imports_of(path.read_text(encoding="utf-8"))
        found[name_of(path)] = {m.split(".")[0] for m, at_once in imported if at_once} & HEAVY
    assert {name: heavy for name, heavy in found.items() if heavy} == {}


def test_there_is_no_circle_of_imports() -> None:
    """Of those that are run when a module is imported."""
    names = {name_of(path): path for path in MODULES}
    graph = {
        name: {
            imported
            for imported, at_once in imports_of(path.read_text(encoding="utf-8"))
            if at_once and imported in names and imported not in (name, "mwzeval")
        }
        for name, path in names.items()
    }
    for imported in graph.values():  # of `from package import module` only the module counts
        imported -= {name.rpartition(".")[0] for name in imported}
    TopologicalSorter(graph).prepare()  # raises an error that names the circle


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("mwzeval.cli", "mwzeval.errors", True),
        ("mwzeval.cli", "mwzeval.multiwoz.corpus.corpora", True),
        ("mwzeval.multiwoz.evaluator", "mwzeval.cli", False),
        ("mwzeval.metrics.bleu", "mwzeval.multiwoz.corpus.corpora", False),
        ("mwzeval.metrics.bleu", "mwzeval.scores.table", True),
        ("mwzeval.multiwoz.corpus.corpora", "mwzeval.multiwoz.corpus.gold", True),
        ("mwzeval.multiwoz.corpus.corpora", "mwzeval.crosswoz.corpus.folds", False),
        ("mwzeval.report.formats", "mwzeval.scores.score", True),
        ("mwzeval.report.formats", "mwzeval.files.json_files", False),
        ("mwzeval.report.formats", "mwzeval.multiwoz.choices", False),
        ("mwzeval.errors", "mwzeval.files.json_files", False),
        ("mwzeval.files.json_files", "mwzeval.multiwoz.evaluator", False),
    ],
)
def test_the_import_rule_tells_right_from_wrong(
    importer: str, imported: str, allowed: bool
) -> None:
    assert (forbidden(importer, imported) is None) is allowed


def test_imports_are_found_wherever_they_stand() -> None:
    source = (
        "import a.b, c\nfrom d import e\nif True:\n    import f\n"
        "if TYPE_CHECKING:\n    import g\ndef x():\n    from h import i\nclass Y:\n    import j\n"
    )
    found = dict(imports_of(source))
    assert {m for m, at_once in found.items() if at_once} == {"a.b", "c", "d", "d.e", "f", "j"}
    assert {m for m, at_once in found.items() if not at_once} == {"g", "h", "h.i"}


def test_the_public_names_are_these() -> None:
    assert mwzeval.__all__ == [
        "DataError",
        "DependencyError",
        "Evaluator",
        "InputError",
        "MwzevalError",
        "PredictedTurn",
        "Predictions",
        "Problem",
        "Report",
        "Reward",
        "RewardWeights",
        "UsageError",
        "__version__",
    ]
    for name in mwzeval.__all__:
        assert getattr(mwzeval, name) is not None
    assert (PACKAGE / "py.typed").exists()


OTHER_READERS = {
    "commands/data.py": "embedded files",
    "files/downloads.py": "embedded files",
    "report/boards.py": "embedded files",
    "report/page/html.py": "embedded files",
    "pydial/batched/compiled.py": "the modules of this package",
    "pydial/workers/on_cluster.py": "what a job has just written",
    "pydial/runs/checkpoints.py": "an archive in memory, held against the limit",
    "output.py": "nothing is read",
    "progress.py": "nothing is read",
}
"""Modules that read without `mwzeval.files.reading`, and what."""


def test_all_that_users_supply_is_read_in_one_place() -> None:
    """Elsewhere there is no limit on how much is read."""
    readers = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                match node.func:
                    case ast.Attribute(attr="read_bytes" | "ZipFile"):
                        readers.add(path.relative_to(PACKAGE).as_posix())
                    case ast.Attribute(attr="read_text") if (
                        not isinstance(node.func.value, ast.Name) or node.keywords
                    ):
                        readers.add(path.relative_to(PACKAGE).as_posix())
                    case ast.Name(id="open"):
                        readers.add(path.relative_to(PACKAGE).as_posix())
    assert readers - {"files/reading.py"} == set(OTHER_READERS)
