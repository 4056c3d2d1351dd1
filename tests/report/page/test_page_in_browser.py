"""The page in a real browser: it loads, filters, compares and links, and runs no foreign code."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from mwzeval.multiwoz.reasons import kinds
from mwzeval.report.html import to_html
from tests.report.systems import (
    HOSTILE,
    claiming_systems,
    hostile_system,
    large_systems,
    live_systems,
    tracked_systems,
)

MEANINGS = {code: kind.meaning for code, kind in kinds().items()}

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.integration

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective));
"""
WIDE, NARROW = (1440, 900), (390, 844)
WIDTH = "document.documentElement.scrollWidth"

Opener = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not (chromium and find_spec("playwright")):
        message = "the page is NOT tested in a browser: install chromium, and mwzeval[dev-all]"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    short = large_systems(30, ("a", "b", "c"))
    uneven = [short[0], replace(short[1], explanations=short[1].explanations[1:])]
    pages = {
        "large": to_html(large_systems(), title="Two large systems"),
        "three": to_html(short, title="Three systems"),
        "uneven": to_html(uneven, title="Uneven"),
        "one": to_html(short[:1], title="One system"),
        "claims": to_html(claiming_systems(), title="Claims"),
        "states": to_html(tracked_systems(), title="States", meanings=MEANINGS),
        "live": to_html(live_systems(), title="Live"),
        "hostile": to_html([hostile_system(0), hostile_system(1)], title=HOSTILE[0]),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


@pytest.fixture
def opened(browser: Browser, files: dict[str, str]) -> Iterator[Opener]:
    """Open pages; at the end, check that there were no errors, requests or foreign scripts."""
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_(name: str, place: str = "", size: tuple[int, int] = WIDE, **options: Any) -> Page:
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(WATCH)
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{files[name]}{place}")
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_
    for context in contexts:
        for page in context.pages:
            if page.evaluate("typeof violations") != "undefined":
                complaints += page.evaluate("violations")
        context.close()
    assert not complaints
    assert not [url for url in requests if not url.startswith("file://")]


def count(page: Page) -> int:
    return int(page.inner_text("#page-count").split()[0].replace(",", ""))


def heading(page: Page) -> str:
    return page.inner_text("#page-dialogue h2")


def reload(page: Page) -> None:
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")


def has(code: str, *explanations: Any, scope: str | None = None) -> bool:
    reasons = (reason for explanation in explanations for reason in explanation.reasons)
    return any(r.code == code and scope in (None, r.scope) for r in reasons)


FILTERS: tuple[tuple[dict[str, str], Callable[[Any, Any], bool]], ...] = (
    (
        {"outcome": '[null,"solved"]', "scope": "cab", "which": "1"},
        lambda a, b: b.outcomes.get("cab", {}).get("solved", 0) is None,
    ),
    (
        {"reason": "found/wrong:stars", "scope": "railway"},
        lambda a, b: has("wrong:stars", a, b, scope="railway"),
    ),
    (
        {"differs": "0/found", "scope": "diner"},
        lambda a, b: [e.outcomes.get("diner", {}).get("found") for e in (a, b)] == [1, 0],
    ),
    (
        {"search": "never-gave:phone TALK00"},
        lambda a, b: a.unit.startswith("talk00") and has("never-gave:phone", a, b),
    ),
)


def test_filters_reasons_and_searches_select_the_matching_items(opened: Opener) -> None:
    first, second = (system.explanations for system in large_systems())
    page = opened("large")
    for controls, passes in FILTERS:
        for name, value in controls.items():
            (page.fill if name == "search" else page.select_option)(f"#page-{name}", value)
        expected = sum(map(passes, first, second))
        assert count(page) == expected > 0
        assert page.locator(".row").count() < 60, "only visible rows are drawn"
        reload(page)
        assert count(page) == expected, "the filter is part of the URL"
        page.click("#page-clear")
        assert count(page) == 1000
    page.click(".reason >> text=nothing-offered")
    assert count(page) == sum(
        has("nothing-offered", *pair) for pair in zip(first, second, strict=True)
    )
    page.click(".reason >> text=nothing-offered")
    assert count(page) == 1000
    said = second[42].turns[2].utterances[1].text
    page.fill("#page-search", f'"{said}"')
    assert count(page) == 1
    page.press("#page-search", "Enter")
    assert heading(page) == "talk0042"
    assert page.inner_text("mark") == said


def test_links_open_units_and_browser_history_works(opened: Opener) -> None:
    page = opened("large", "#talk0123")
    page.evaluate("window.stayed = true")
    assert heading(page) == "talk0123"
    assert "talk0123" in page.title()
    page.click(".row >> text=talk0124")
    page.go_back()
    assert heading(page) == "talk0123"
    page.go_forward()
    assert heading(page) == "talk0124"
    page.click(".back")
    assert page.is_visible("#page-overview")
    page.evaluate("location.hash = '#TALK0007.json'")
    page.wait_for_selector("h2 >> text=talk0007")
    for name in ("nobody", "@length", "@constructor", "@1e1", "@999999"):
        page.evaluate(f"location.hash = '#{name}'")
        page.wait_for_selector(f"text=There is no dialogue called {name}")
    assert page.evaluate("window.stayed"), "the document is not reloaded"


def test_two_systems_are_shown_in_columns_and_losses_marked_at_their_turn(
    opened: Opener,
) -> None:
    systems = large_systems(100)
    page = opened("large", "#talk0005")
    turn = page.locator("#page-turn-0")
    user = systems[0].explanations[5].turns[0].utterances[0].text
    assert turn.locator(".user .cell").all_inner_texts() == [user], "equal text is shown once"
    for system, letter, cell in zip(
        systems, "AB", turn.locator(".system .cell").all(), strict=True
    ):
        assert system.explanations[5].turns[0].utterances[1].text in cell.inner_text()
        assert cell.locator(".badge").inner_text() == letter
    assert turn.locator(".fact.differs").count() > 0

    lost = next(e for e in systems[0].explanations if e.reasons and e.reasons[0].turn is not None)
    page.evaluate(f"location.hash = '#{lost.unit}'")
    page.wait_for_selector(f"h2 >> text={lost.unit}")
    [reason, *_] = lost.reasons
    mark = page.locator(f"#page-turn-{reason.turn} .lost-mark").first
    assert reason.text in mark.inner_text()
    assert "Found failed" in mark.inner_text()
    page.click(f".verdict .jump >> text=turn {reason.turn}")
    assert page.evaluate("document.activeElement.id") == f"page-turn-{reason.turn}"


def test_listed_items_can_be_downloaded(opened: Opener) -> None:
    page = opened("large", f"#?reason={quote('found/wrong:stars')}")
    assert page.input_value("#page-reason") == "found/wrong:stars"
    with page.expect_download() as saved:
        page.click("#page-export")
    assert saved.value.suggested_filename == "dialogues.jsonl"
    lines = [json.loads(line) for line in Path(saved.value.path()).read_text().splitlines()]
    assert len(lines) == count(page) > 0
    by_name = {e.unit: e for e in large_systems()[0].explanations}
    for line in lines:
        first = by_name[line["dialogue"]]
        assert line["systems"]["first"]["outcomes"] == first.outcomes
        told = [(r["code"], r["turn"]) for r in line["systems"]["first"]["reasons"]]
        assert told == [(r.code, r.turn) for r in first.reasons]


def test_the_page_is_usable_with_the_keyboard_only(opened: Opener) -> None:
    page = opened("large")

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    def focused() -> str:
        active = "document.activeElement"
        return str(page.evaluate(f"{active}.dataset.item ?? {active}.id"))

    stops: list[str] = []
    while not stops or stops[-1]:
        press("Tab")
        stops.append(focused())
    assert stops[0] == "page-skip"
    assert [stop for stop in stops if stop.isdigit()] == ["0"], "one of 1,000 rows is a tab stop"
    press("j", "k", "ArrowDown")
    assert focused() == "1"
    for key, item in (("End", "999"), ("ArrowUp", "998"), ("Home", "0"), ("ArrowDown", "1")):
        press(key)
        assert focused() == item
    press("Tab", "Shift+Tab")
    assert focused() == "1", "the focus returns to the last row"
    press("Enter")
    assert heading(page) == "talk0001"
    press("j", "x", "Escape")
    assert page.is_visible("#page-overview")
    assert focused() == "2"
    press("d")
    assert page.input_value("#page-differs") == "1"
    assert count(page) < 1000
    press("d", "/")
    page.keyboard.type("talk0500")
    assert count(page) == 1
    press("ArrowDown", "Enter")
    assert heading(page) == "talk0500"
    press("?")
    assert page.is_visible("#page-help")
    press("Escape")
    assert page.is_hidden("#page-help")
    assert heading(page) == "talk0500"


def test_single_systems_are_not_compared_and_any_two_of_three_can_be(opened: Opener) -> None:
    single = opened("one", "#talk0003", NARROW)
    assert single.locator("#page-dialogue .badge, .claim, .claims").count() == 0
    assert single.is_hidden("#page-differs")
    assert single.is_hidden("#page-which")
    single.focus("#page-skip")
    single.keyboard.press("Enter")
    assert single.evaluate("document.activeElement.id") == "page-main"
    assert single.evaluate("location.hash") == "#talk0003"

    page = opened("three", "#talk0003")
    assert page.locator(".reasons-box h3").all_inner_texts() == ["A\na", "B\nb"]
    page.select_option("#page-left", "2")
    assert page.locator(".reasons-box h3").all_inner_texts() == ["C\nc", "B\nb"]
    page.select_option("#page-right", "")
    assert page.locator(".verdict-reasons > *").count() == 1
    assert page.is_hidden("#page-differs")

    page = opened("three")
    table = page.locator("#page-scores-table")
    scores = [s for system in large_systems(30, ("a", "b", "c")) for s in system.scores]
    values = [s.value for s in scores if (s.name, s.scope) == ("solved", "total")]
    table.get_by_role("button", name="Solved").click()
    shown = table.locator("tr", has_text="Solved").locator(".figure").all_inner_texts()
    assert shown == [f"{value:.1f}" for value in sorted(values, reverse=True)]
    assert table.locator("th[aria-sort=descending]").all_inner_texts() == ["Solved"]
    best = "ABC"[values.index(max(values))]
    assert table.locator("thead th").first.inner_text().startswith(best)


def test_units_missing_in_a_system_are_shown_as_missing(opened: Opener) -> None:
    page = opened("uneven", "#talk0000")
    assert "missing" in page.inner_text(".row >> nth=0")
    assert "This dialogue is missing here." in page.inner_text(".verdict-reasons")
    said = large_systems(30, ("a", "b", "c"))[0].explanations[0].turns[0].utterances[1].text
    assert page.locator("#page-turn-0 .system .cell").all_inner_texts() == [said]
    page.keyboard.press("d")
    assert "talk0000" in page.inner_text(".row >> nth=0"), "a missing value counts as different"


def test_hostile_texts_are_displayed_as_plain_text(opened: Opener) -> None:
    page = opened("hostile", size=(1440, 2000))
    for number, name in enumerate(HOSTILE):
        row = page.locator(f'.row[data-item="{number}"]')
        place = row.get_attribute("href")
        if name.isprintable() and name:
            assert place == "#" + quote(name, safe="!'()*-._~")
        row.click()
        assert page.evaluate("location.hash") == place
        shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)
        assert page.locator("#page-dialogue h2").text_content() == shown
        assert HOSTILE[0] in page.inner_text("#page-dialogue")
        assert page.locator("#page-dialogue :is(script, img, svg, style, a, b)").count() == 0
    assert page.locator("script").count() == 2
    for name in HOSTILE:
        page.fill("#page-search", name.replace("\0", ""))
        assert page.inner_text("#page-count")


def test_the_content_policy_blocks_injected_scripts_and_images(
    browser: Browser, files: dict[str, str]
) -> None:
    page = browser.new_page()
    page.add_init_script(WATCH)
    page.goto(files["one"])
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          try { script.text = "window.ran = true"; } catch { /* trusted types */ }
          try { document.body.innerHTML = "<img src=x onerror='window.ran = true'>"; } catch {}
          const image = document.createElement("img");
          image.src = "https://example.invalid/x.png";
          document.body.append(script, image);
        }"""
    )
    page.wait_for_function("violations.length > 0")
    assert page.evaluate("window.ran") is None
    assert {"img-src", "require-trusted-types-for"} <= set(page.evaluate("violations"))
    page.close()


def test_the_colour_scheme_follows_browser_preference_and_button(opened: Opener) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light, dark = (opened("one", color_scheme=scheme) for scheme in ("light", "dark"))
    dark_colour = dark.evaluate(background)
    assert light.evaluate(background) != dark_colour
    light.click("#page-theme")
    assert light.evaluate(background) == dark_colour
    assert light.get_attribute("#page-theme", "aria-pressed") == "true"
    reload(light)
    assert light.evaluate(background) == dark_colour


SAID = "\U0001f642 Ask for <b>Bella</b> at 12, caf\u00e9 side."


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_claims_are_highlighted_in_utterances(opened: Opener, size: tuple[int, int]) -> None:
    page = opened("claims", "#talk0000", size)
    cells = page.locator("#page-turn-0 .said.system .text")
    assert cells.all_inner_texts() == [SAID, SAID]
    shown = [
        [(c.get_attribute("class"), c.inner_text()) for c in cell.locator(".claim").all()]
        for cell in cells.all()
    ]
    first, both, last = SAID[:13], SAID[13:18], SAID[18:28]
    assert shown == [
        [("claim right", first), ("claim unknown", both), ("claim unknown", last)],
        [("claim inconsistent", first), ("claim inconsistent", both), ("claim unjudged", last)],
    ]
    titles = cells.first.locator(".claim").nth(1).get_attribute("title")
    assert titles is not None
    assert [line.partition(" (")[0] for line in titles.split("\n")] == [
        "unknown: at",
        "right: name",
    ]
    assert page.locator("#page-turn-0 .said.user .claim").count() == 0
    # A claim that both systems make with the same verdict is shown once.
    assert page.locator("#page-turn-1 .said.system .claim").all_inner_texts() == [SAID[29:31]]
    assert page.evaluate(WIDTH) == size[0]


@pytest.mark.parametrize("size", [(1200, 900), NARROW])
def test_function_calls_are_folded_and_goal_progress_is_shown(
    opened: Opener, size: tuple[int, int]
) -> None:
    page = opened("live", "", size)
    tables = page.locator("table.figures")
    assert tables.count() == 2
    assert tables.evaluate_all(
        "all => all.every(e => e.scrollWidth <= e.parentElement.clientWidth)"
    )
    page.evaluate("location.hash = '#sng1'")
    page.wait_for_selector("h2 >> text=sng1")
    ticks = page.locator(".ticks li")
    assert [" ".join(line.split()) for line in ticks.all_inner_texts()] == [
        "hotel wants a cheap hotel in the north A ✓ turn 0 B ✓ turn 0",
        "hotel asks phone A ✓ turn 0 B ✓ turn 0",
        "hotel books 2 people, 3 nights from monday A ✓ turn 1 B ✗ never",
        "hotel asks entrance fee A – could not be met B – could not be met",
    ]
    calls = page.locator("#page-turn-1 .call")
    assert calls.count() == 3
    assert page.locator("#page-turn-1 .call.failed").count() == 2
    first = page.locator("#page-turn-0 .call").first
    assert not first.locator("pre").is_visible()
    first.locator("summary").click()
    assert first.locator("pre").is_visible()
    assert '"name": "<b>"' in first.locator("pre").inner_text()
    met = page.locator("#page-turn-1 .met .cell")
    assert [" ".join(cell.split()) for cell in met.all_inner_texts()] == [
        "A ✓ hotel · books: 2 people, 3 nights from monday",
        "B",
    ]
    ticks.nth(2).locator("button").first.click()
    assert page.evaluate("document.activeElement.id") == "page-turn-1"
    assert page.evaluate(WIDTH) == size[0]


def test_state_errors_are_marked_with_symbols_and_a_legend(opened: Opener) -> None:
    page = opened("states", "#smp0021")
    signs = page.eval_on_selector_all(
        ".turn .wrong-sign",
        "all => all.map((node) => [node.textContent, node.nextSibling.textContent])",
    )
    assert {tuple(pair) for pair in signs} == {("≠", "wrong"), ("−", "missing")}
    assert "spurious" not in page.inner_text("ul.claims")
    # A repeated error is one line per system; its button leads to the first turn.
    page.click("text=turn 0 and 2 more, to 2")
    assert page.evaluate("document.activeElement.id") == "page-turn-0"
    assert page.locator(".lost-code").first.get_attribute("title") in MEANINGS.values()


@pytest.mark.parametrize("name", ["large", "hostile"])
def test_narrow_screens_show_one_panel_and_never_scroll_sideways(opened: Opener, name: str) -> None:
    page = opened(name, size=NARROW)
    assert page.is_hidden("#page-browser")
    assert page.evaluate(WIDTH) == NARROW[0]
    for place, shown, hidden in (
        ("#page-tab-list", "#page-browser", "#page-overview"),
        (".row >> nth=0", "#page-dialogue", "#page-browser"),
        (".back", "#page-browser", "#page-dialogue"),
        ("#page-tab-overview", "#page-overview", "#page-browser"),
    ):
        page.click(place)
        assert page.is_visible(shown)
        assert page.is_hidden(hidden)
        assert page.evaluate(WIDTH) == NARROW[0]


def test_the_summary_is_printable_and_works_without_scripts(opened: Opener) -> None:
    page = opened("large", "#talk0001")
    assert page.is_hidden("#page-overview")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for part in ("#page-overview", "#page-dialogue", ".signatures code"):
        assert page.is_visible(part)
    assert page.is_hidden("#page-browser")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.is_hidden(".signatures code")

    page = opened("large", java_script_enabled=False)
    text = page.inner_text("#page-overview")
    for part in ("Found", "railway", "never-gave", "looks odd", "first", "wilson"):
        assert part in text
    assert "JavaScript" in page.inner_text("noscript")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("name", "place"),
    [("three", ""), ("large", "#talk0007"), ("live", ""), ("claims", ""), ("states", "")],
)
def test_axe_core_reports_no_accessibility_violations(
    name: str, place: str, scheme: str, opened: Opener
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    for size in (WIDE, NARROW):
        page = opened(name, place, size, color_scheme=scheme)
        if not place:
            page.evaluate("document.querySelectorAll('details').forEach((box) => box.open = true)")
        result = axe.Axe().run(page)
        assert result.violations_count == 0, result.generate_report()
        assert result.response["passes"]
