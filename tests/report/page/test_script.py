"""The modules of the page's script, and that they can be joined into one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import mwzeval.report.page.html
from mwzeval.report.page.html import SCRIPTS, to_html
from tests.report.systems import large_systems

FOLDER = Path(mwzeval.report.page.html.__file__).parent / "script"
IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./(\w+)\.js";$', re.MULTILINE)
DECLARED = re.compile(r"^(export )?(?:const|let|function) (?:(\w+)|\{ ([^}]*) \})", re.MULTILINE)


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.js").read_text(encoding="utf-8")


def imported(name: str) -> list[tuple[str, str]]:
    """Return pairs of a module and a name that is imported from it."""
    found = IMPORT.findall(text_of(name))
    return [(module, each) for names, module in found for each in names.split(", ")]


def declared(name: str, *, exported: bool = False) -> list[str]:
    """Return the names that a module declares at its top level."""
    found = DECLARED.findall(text_of(name))
    return [
        each
        for export, single, several in found
        if export or not exported
        for each in ([single] if single else several.split(", "))
    ]


def test_every_module_is_part_of_the_page() -> None:
    assert sorted(SCRIPTS) == sorted(file.stem for file in FOLDER.iterdir())


def test_modules_import_what_earlier_ones_export() -> None:
    for place, name in enumerate(SCRIPTS):
        assert text_of(name).count("\nimport ") == len(IMPORT.findall(text_of(name)))
        for module, each in imported(name):
            assert module in SCRIPTS[:place], (name, module)
            assert each in declared(module, exported=True), (name, module, each)


def test_names_are_imported_where_another_module_declares_them() -> None:
    home = {each: name for name in SCRIPTS for each in declared(name, exported=True)}
    for name in SCRIPTS:
        known = {each for _, each in imported(name)} | set(declared(name))
        called = set(re.findall(r"(?<![\w.])(\w+)\(", text_of(name)))
        assert not {(name, each) for each in called & set(home) if each not in known}


def test_no_two_modules_declare_the_same_name() -> None:
    names = Counter(each for name in SCRIPTS for each in declared(name))
    assert [each for each, count in names.items() if count > 1] == []


def test_the_page_has_all_modules_and_imports_nothing() -> None:
    page = to_html(large_systems(2), title="t")
    assert all(f"{each}" in page for name in SCRIPTS for each in declared(name))
    assert not re.search(r"^(import|export) ", page, re.MULTILINE)
