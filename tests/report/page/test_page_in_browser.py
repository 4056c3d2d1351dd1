"""The page in a real browser: it loads, filters, compares, links and lets nothing run."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from mwzeval.multiwoz.reasons import MEANINGS
from mwzeval.report.page.html import to_html
from mwzeval.report.page.model import PageSystem
from mwzeval.scores.score import Signature
from tests.report.page.conversations import live_systems
from tests.report.systems import (
    HOSTILE,
    claiming_systems,
    hostile_systems,
    large_systems,
    tracked_systems,
)

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

Opener = Callable[..., "Page"]


def unavailable(what: str) -> None:
    message = f"the page is NOT tested in a browser: {what}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        unavailable("install Debian's package chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("install the extra mwzeval[dev-all], which has playwright")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield launched
        launched.close()


def given(system: PageSystem, conditioning: str) -> PageSystem:
    """Return a system whose scores say what was given to it."""
    signature = Signature.of("found", {"conditioning": conditioning})
    scores = (replace(score, signature=signature) for score in system.scores)
    return replace(system, scores=tuple(scores))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    systems = large_systems()
    short = large_systems(30, ("a", "b", "c"))
    pages = {
        "large": to_html(systems, title="Two large systems"),
        "three": to_html(short, title="Three systems"),
        "uneven": to_html(
            [short[0], replace(short[1], explanations=short[1].explanations[1:])], title="Uneven"
        ),
        "apart": to_html(
            [given(each, f"gold_previous_state_{each.name}") for each in short], title="Apart"
        ),
        "one": to_html(short[:1], title="One system"),
        "claims": to_html(claiming_systems(), title="Claims"),
        "states": to_html(tracked_systems(), title="States", meanings=MEANINGS),
        "live": to_html(live_systems(), title="Live"),
        "hostile": to_html(hostile_systems(), title=HOSTILE[0]),
    }
    paths = {name: folder / f"{name}.html" for name in pages}
    for name, page in pages.items():
        paths[name].write_text(page, encoding="utf-8")
    return paths


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Iterator[Opener]:
    """Opens a page; afterwards nothing must have been complained about, fetched or run."""
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
        page.goto(f"{files[name].as_uri()}{place}")
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


@contextmanager
def same_page(page: Page) -> Iterator[None]:
    """The document must not be loaded anew meanwhile."""
    page.evaluate("window.stayed = true")
    yield
    assert page.evaluate("window.stayed")


def count(page: Page) -> int:
    text = page.inner_text("#page-count")
    return int(text.split()[0].replace(",", ""))


def heading(page: Page) -> str:
    return page.inner_text("#page-dialogue h2")


def expected(passes: Callable[[Any, Any], bool]) -> int:
    first, second = large_systems()
    return sum(map(passes, first.explanations, second.explanations))


def test_only_rows_in_sight_are_in_the_document(opened: Opener) -> None:
    page = opened("large")
    assert count(page) == 1000
    assert 10 < page.locator(".row").count() < 60
    page.evaluate("document.getElementById('page-rows').scrollTop = 1e9")
    page.wait_for_selector(".row >> text=talk0999")


@pytest.mark.parametrize(
    ("controls", "passes"),
    [
        (
            {"outcome": '[null,"solved"]', "scope": "cab", "which": "1"},
            lambda a, b: "cab" in b.outcomes and b.outcomes["cab"]["solved"] is None,
        ),
        (
            {"differs": "1", "scope": "diner"},
            lambda a, b: "diner" in a.outcomes and a.outcomes["diner"] != b.outcomes["diner"],
        ),
        (
            {"reason": "wrong:stars", "scope": "railway"},
            lambda a, b: any(
                (r.code, r.scope) == ("wrong:stars", "railway") for r in a.reasons + b.reasons
            ),
        ),
        (
            {"differs": "0/found", "scope": "diner"},
            lambda a, b: (
                "diner" in a.outcomes
                and a.outcomes["diner"]["found"]
                and not b.outcomes["diner"]["found"]
            ),
        ),
        (
            {"search": "never-gave:phone TALK00"},
            lambda a, b: (
                a.unit.startswith("talk00")
                and any(r.code == "never-gave:phone" for r in a.reasons + b.reasons)
            ),
        ),
    ],
    ids=lambda v: "+".join(v) if isinstance(v, dict) else "",
)
def test_a_filter_keeps_what_it_says(
    opened: Opener, controls: dict[str, Any], passes: Callable[[Any, Any], bool]
) -> None:
    page = opened("large")
    for name, value in controls.items():
        if name == "search":
            page.fill("#page-search", value)
        elif name == "reason":
            option = page.locator("#page-reason option", has_text=re.compile(rf"^\s*{value}$"))
            page.select_option("#page-reason", option.get_attribute("value"))
        else:
            page.select_option(f"#page-{name}", value)
    assert count(page) == expected(passes) > 0
    assert page.locator(".row").count() < 60, "only rows in sight are drawn"
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert count(page) == expected(passes), "a filter is part of the address"
    page.click("#page-clear")
    assert count(page) == 1000


def test_the_search_looks_into_texts_and_marks_what_it_found(opened: Opener) -> None:
    said = large_systems(43)[1].explanations[42].turns[2].utterances[1].text
    page = opened("large")
    page.fill("#page-search", f'"{said}"')
    assert count(page) == 1
    page.press("#page-search", "Enter")
    assert heading(page) == "talk0042"
    assert page.inner_text("mark") == said


def test_a_reason_in_the_histogram_leads_to_its_units(opened: Opener) -> None:
    page = opened("large")
    page.click(".reason >> text=nothing-offered")
    assert count(page) == expected(
        lambda a, b: any(r.code == "nothing-offered" for r in a.reasons + b.reasons)
    )
    page.click(".reason >> text=nothing-offered")
    assert count(page) == 1000


def test_a_link_opens_a_unit_and_the_way_back_works(opened: Opener) -> None:
    page = opened("large", "#talk0123")
    with same_page(page):
        assert heading(page) == "talk0123"
        assert "talk0123" in page.title()
        page.click(".row >> text=talk0124")
        assert heading(page) == "talk0124"
        page.go_back()
        assert heading(page) == "talk0123"
        page.go_forward()
        assert heading(page) == "talk0124"
        page.click(".back")
        assert page.is_visible("#page-overview")
        page.go_back()
        assert heading(page) == "talk0124"
        page.evaluate("location.hash = '#TALK0007.json'")
        page.wait_for_selector("h2 >> text=talk0007")
        page.evaluate("location.hash = '#nobody'")
        page.wait_for_selector("text=There is no dialogue called nobody")
        for number in ("length", "constructor", "1e1", "999999"):
            page.evaluate(f"location.hash = '#@{number}'")
            page.wait_for_selector(f"text=There is no dialogue called @{number}")


def test_two_systems_stand_side_by_side(opened: Opener) -> None:
    explanations = [system.explanations[5] for system in large_systems(6)]
    page = opened("large", "#talk0005")
    turn = page.locator("#page-turn-0")
    users = turn.locator(".user .cell").all_inner_texts()
    assert users == [explanations[0].turns[0].utterances[0].text], "what is shared is there once"
    for index, cell in enumerate(turn.locator(".system .cell").all()):
        assert explanations[index].turns[0].utterances[1].text in cell.inner_text()
        assert cell.locator(".badge").inner_text() == "AB"[index]
    boxes = [cell.bounding_box() for cell in turn.locator(".system .cell").all()]
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert turn.locator(".fact.differs").count() > 0
    head = turn.locator(".fact .head:has(.scope)").first
    weights = "nodes => nodes.map(node => Number(getComputedStyle(node).fontWeight))"
    texts = page.locator("#page-turn-0 :is(.text, .own, .scope)")
    assert set(texts.evaluate_all(weights)) == {400}, "bold type marks the best and headings"
    parts = head.locator("span").all_inner_texts()
    assert head.inner_text() == " ".join(parts), "the line may break between them, not in a word"


def test_a_score_orders_the_systems_and_their_cells_follow(opened: Opener) -> None:
    page = opened("three")
    table = page.locator("#page-scores-table")
    values = [
        next(s.value for s in system.scores if (s.name, s.scope) == ("solved", "total"))
        for system in large_systems(30, ("a", "b", "c"))
    ]
    for times in range(2):
        table.get_by_role("button", name="Solved").click()
        shown = table.locator("tr", has_text="Solved").locator(".figure").all_inner_texts()
        assert shown == [f"{value:.1f}" for value in sorted(values, reverse=True)], times
    assert table.locator("th[aria-sort=descending]").all_inner_texts() == ["Solved"]
    best = "ABC"[values.index(max(values))]
    assert table.locator("thead th").first.inner_text().startswith(best)


def test_what_is_listed_can_be_saved(opened: Opener) -> None:
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


def test_a_lost_outcome_is_marked_at_its_turn(opened: Opener) -> None:
    system = large_systems(100)[0]
    lost = next(e for e in system.explanations if e.reasons and e.reasons[0].turn is not None)
    page = opened("large", f"#{lost.unit}")
    [reason, *_] = lost.reasons
    mark = page.locator(f"#page-turn-{reason.turn} .lost-mark").first
    assert reason.text in mark.inner_text()
    assert "Found lost" in mark.inner_text()
    page.click(f".verdict .jump >> text=turn {reason.turn}")
    assert page.evaluate("document.activeElement.id") == f"page-turn-{reason.turn}"


def test_the_keyboard_is_enough(opened: Opener) -> None:
    page = opened("large")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("ArrowDown")
    assert "talk0001" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert heading(page) == "talk0001"
    page.keyboard.press("j")
    assert heading(page) == "talk0002"
    page.keyboard.press("x")
    page.keyboard.press("Escape")
    assert page.is_visible("#page-overview")
    assert "talk0002" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("d")
    assert page.input_value("#page-differs") == "1"
    assert count(page) < 1000
    page.keyboard.press("d")
    page.keyboard.press("/")
    page.keyboard.type("talk0500")
    assert count(page) == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert heading(page) == "talk0500"
    page.keyboard.press("?")
    assert page.is_visible("#page-help")
    page.keyboard.press("Escape")
    assert page.is_hidden("#page-help")
    assert heading(page) == "talk0500"


def focused(page: Page) -> str:
    found = page.evaluate("(e => e.dataset.item ?? (e.id || e.tagName))(document.activeElement)")
    assert isinstance(found, str)
    return found


def test_the_list_is_one_tab_stop(opened: Opener) -> None:
    page = opened("large")
    stops = []
    for _ in range(40):
        page.keyboard.press("Tab")
        stops.append(focused(page))
        if stops[-1] == "BODY":
            break
    rows = [stop for stop in stops if stop.isdigit()]
    assert rows == ["0"], "of 1,000 dialogues one is a stop"
    assert stops[0] == "page-skip"
    page.focus(".row[data-item='0']")
    for key, unit in (("ArrowDown", "1"), ("End", "999"), ("ArrowUp", "998"), ("Home", "0")):
        page.keyboard.press(key)
        assert focused(page) == unit
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    assert not focused(page).isdigit()
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "1", "the list is entered where it was left"
    page.evaluate("document.getElementById('page-rows').scrollTop = 1e9")
    page.wait_for_selector(".row >> text=talk0999")
    assert page.locator(".row[tabindex='0']").count() == 1, "also where the chosen row is not drawn"


@pytest.mark.parametrize(("place", "size"), [("", WIDE), ("#talk0001", WIDE), ("", NARROW)])
def test_a_link_skips_to_the_content_and_keeps_the_address(
    opened: Opener, place: str, size: tuple[int, int]
) -> None:
    page = opened("one", place, size)
    if size == NARROW:
        page.click("#page-tab-list")
    page.focus("#page-skip")
    page.keyboard.press("Enter")
    assert focused(page) == "page-main"
    assert page.evaluate("location.hash") == place
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_of_three_systems_any_two_are_compared(opened: Opener) -> None:
    one = opened("one", "#talk0003")
    assert one.locator("#page-dialogue .badge, .claim, .claims").count() == 0
    assert one.is_hidden("#page-differs")
    assert one.is_hidden("#page-which")
    page = opened("three", "#talk0003")
    assert page.locator(".reasons-box h3").all_inner_texts() == ["A\na", "B\nb"]
    page.select_option("#page-left", "2")
    assert page.locator(".reasons-box h3").all_inner_texts() == ["C\nc", "B\nb"]
    page.select_option("#page-right", "")
    assert page.locator(".verdict-reasons > *").count() == 1
    assert page.is_hidden("#page-differs")


def test_a_unit_that_a_system_lacks_is_shown_as_missing(opened: Opener) -> None:
    page = opened("uneven", "#talk0000")
    assert "missing" in page.inner_text(".row >> nth=0")
    assert "This dialogue is missing here." in page.inner_text(".verdict-reasons")
    said = large_systems(30, ("a", "b", "c"))[0].explanations[0].turns[0].utterances[1].text
    assert page.locator("#page-turn-0 .system .cell").all_inner_texts() == [said]
    page.keyboard.press("d")
    assert "talk0000" in page.inner_text(".row >> nth=0"), "to be missing is to differ"


def test_hostile_texts_stay_texts(opened: Opener) -> None:
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


def test_a_policy_stops_what_should_ever_slip_in(browser: Browser, files: dict[str, Path]) -> None:
    page = browser.new_page()
    page.add_init_script(WATCH)
    page.goto(files["one"].as_uri())
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


def background(page: Page) -> str:
    found = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert isinstance(found, str)
    return found


def test_light_and_dark_follow_the_viewer_and_the_button(opened: Opener) -> None:
    light = opened("one", color_scheme="light")
    dark = opened("one", color_scheme="dark")
    colours = background(light), background(dark)
    assert colours[0] != colours[1]
    light.click("#page-theme")
    assert background(light) == colours[1]
    assert light.get_attribute("#page-theme", "aria-pressed") == "true"
    light.reload()
    light.wait_for_selector("html[data-ready]", state="attached")
    assert background(light) == colours[1]


SAID = "\U0001f642 Ask for <b>Bella</b> at 12, caf\u00e9 side."


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_claims_stand_out_in_the_words(opened: Opener, size: tuple[int, int]) -> None:
    page = opened("claims", "#talk0000", size)
    cells = page.locator("#page-turn-0 .said.system .text")
    assert cells.all_inner_texts() == [SAID, SAID]
    shown = [
        [
            (claim.get_attribute("class"), claim.inner_text())
            for claim in cell.locator(".claim").all()
        ]
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
    assert "by database" in titles
    assert page.locator("#page-turn-0 .said.user .claim").count() == 0
    # What both say, and is judged alike, is there once.
    assert page.locator("#page-turn-1 .said.system .claim").all_inner_texts() == [SAID[29:31]]
    lines = {
        claim.evaluate("e => getComputedStyle(e).textDecorationStyle")
        for claim in page.locator(".claims .claim").all()
    }
    assert lines == {"wavy", "dashed", "solid", "dotted"}
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]


@pytest.mark.parametrize("size", [WIDE, (1700, 900), (390, 800)])
def test_calls_are_folded_and_the_goal_is_ticked_off(opened: Opener, size: tuple[int, int]) -> None:
    page = opened("live", "#sng1", size)
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
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]


LINES_OF_WORDS = """cells => cells.flatMap(cell => {
  const lines = [], walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    for (const word of walker.currentNode.data.matchAll(/\\p{L}+/gu)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      lines.push([word[0], range.getClientRects().length]);
    }
  }
  return lines;
})"""


def test_no_word_of_a_setting_is_broken_on_a_narrow_screen(opened: Opener) -> None:
    page = opened("apart", size=NARROW)
    lines = page.locator(".scores tbody th").evaluate_all(LINES_OF_WORDS)
    assert {"gold", "previous", "state"} <= {word for word, _ in lines}
    assert {number for _, number in lines} == {1}


@pytest.mark.parametrize("size", [(1200, 900), NARROW])
def test_tables_of_totals_fit_beside_the_scores(opened: Opener, size: tuple[int, int]) -> None:
    page = opened("live", "", size)
    tables = page.locator("table.figures")
    assert tables.count() == 2
    (row,) = tables.first.locator("tbody tr").all_inner_texts()
    shown = "Agent: messages cut off 0.000123 0.000010–0.012340 — 12,345,678"
    assert row.split() == shown.split()
    assert page.locator(".figures-title").first.inner_text().startswith("A What it cost (agent:")
    for table in tables.all():
        assert table.evaluate("e => e.scrollWidth <= e.parentElement.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]


def test_what_is_wrong_with_states_has_signs_and_a_legend(opened: Opener) -> None:
    page = opened("states", "#smp0021")
    signs = page.eval_on_selector_all(
        ".turn .wrong-sign",
        "all => all.map((node) => [node.textContent, node.nextSibling.textContent])",
    )
    assert {tuple(pair) for pair in signs} == {("≠", "wrong"), ("−", "missing")}
    told = page.inner_text("ul.claims")
    assert "missing: annotated, and not predicted" in told
    assert "spurious" not in told
    # Of each system what stays wrong is one line, whose button leads to the first turn.
    page.click("text=turn 0 and 2 more, to 2")
    assert page.evaluate("document.activeElement.id") == "page-turn-0"
    page.click("text=What the reasons mean")
    assert MEANINGS["wrong-slot"] in page.inner_text("dl.meanings")
    assert page.locator(".lost-code").first.get_attribute("title") in MEANINGS.values()


@pytest.mark.parametrize("name", ["large", "hostile"])
def test_a_phone_shows_a_page_at_a_time_and_never_scrolls_sideways(
    opened: Opener, name: str
) -> None:
    page = opened(name, size=NARROW)
    width = "document.documentElement.scrollWidth"
    assert page.is_hidden("#page-browser")
    assert page.evaluate(width) == NARROW[0]
    page.click("#page-tab-list")
    assert page.is_hidden("#page-overview")
    assert page.evaluate(width) == NARROW[0]
    page.click(".row >> nth=0")
    assert page.is_hidden("#page-browser")
    assert page.evaluate(width) == NARROW[0]
    page.click(".back")
    assert page.is_visible("#page-browser")
    page.click("#page-tab-overview")
    assert page.is_visible("#page-overview")


def test_paper_has_the_summary_and_the_open_unit(opened: Opener) -> None:
    page = opened("large", "#talk0001")
    assert page.is_hidden("#page-overview")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.is_visible("#page-overview")
    assert page.is_visible("#page-dialogue")
    assert page.is_visible(".signatures code")
    assert page.is_hidden("#page-browser")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.is_hidden(".signatures code")


def test_the_summary_needs_no_script(opened: Opener) -> None:
    page = opened("large", java_script_enabled=False)
    text = page.inner_text("#page-overview")
    for part in ("Found", "railway", "never-gave", "looks odd", "first", "wilson"):
        assert part in text
    assert "JavaScript" in page.inner_text("noscript")
