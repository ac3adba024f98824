"""The page in a headless Chromium: what is seen, said and asked for, by keyboard, in both schemes, on paper and on a
phone. Skipped where there is no Chromium (Debian: apt install chromium)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, find_browser
from hand_made import HandMade, run_that_failed, run_with_all

from hunmin.page.page import write_page

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium here: apt install chromium")
LONG = "길고긴이름" * 12 + "-and-a-long-latin-name" * 6
CONTRAST = """(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => c.slice(0, 3).map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
    if (!text || ["SCRIPT", "STYLE"].includes(node.tagName) || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const ink = rgb(node.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(node))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), text, style.color]);
  }
  return found;
})()"""
"""[contrast, text, colour] of all text that is seen (WCAG 2.2: relative luminance)."""
OUTSIDE = """[...document.querySelectorAll('svg text')].filter((text) => {
  const box = text.getBoundingClientRect(), all = text.closest('svg').getBoundingClientRect();
  return box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1;
}).map((text) => text.textContent)"""
"""Labels that are cut off."""
OPEN_ALL = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM
    with Browser(PROGRAM) as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with all there is: published rows, a watched run, names that hardly fit."""
    run = run_with_all(tmp_path_factory.mktemp("page") / "run", name=f"{LONG} <b>&")
    path = run.path.parent / "page.html"
    write_page(run.path, path)
    return path


@pytest.fixture(scope="module")
def going(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a run that trains and waits for a process."""
    run = run_that_failed(tmp_path_factory.mktemp("going") / "run", first=LONG, failure=LONG)
    path = run.path.parent / "page.html"
    write_page(run.path, path, refresh=3600)
    return path


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["page", "going"])
def test_nothing_is_said_asked_for_or_cut_off_and_all_text_can_be_read(
    browser: Browser, request: pytest.FixtureRequest, which: str, width: int, scheme: str
) -> None:
    path: Path = request.getfixturevalue(which)
    browser.open(path, width, scheme=scheme)
    browser.run(OPEN_ALL)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.fonts.size") == 0
    found = browser.run(CONTRAST)
    assert len(found) > 300 and not [one for one in found if one[0] < 4.5]
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(244, 246, 248)", "dark": "rgb(13, 17, 23)"}[scheme]
    assert browser.messages == [] and browser.requests == [path.as_uri()]


def test_the_instruments_see_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    """What the test above rests on: a page with each of the faults."""
    path = tmp_path / "bad.html"
    path.write_text(
        '<!doctype html><meta name="viewport" content="width=device-width"><body style="background:#fff">'
        '<p style="color:#999">faint</p><svg><text y="20" style="fill:#aaa">faint too</text></svg>'
        '<p>clear</p><div style="width:900px">wide</div><img src="http://127.0.0.1:9/x.png">'
        "<script>console.log('said'); nothing.here</script>"
    )
    browser.open(path, 360)
    assert [one[1] for one in browser.run(CONTRAST) if one[0] < 4.5] == ["faint", "faint too"]
    assert browser.run("document.documentElement.scrollWidth") == 900 + 8  # the margin of the body
    assert browser.requests == [path.as_uri(), "http://127.0.0.1:9/x.png"]
    said = " ".join(browser.messages)
    assert "said" in said and "nothing is not defined" in said


def test_the_policy_of_the_page_forbids_what_it_does_not_hold(browser: Browser, page: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.html"
    more = '<img src="http://127.0.0.1:9/x.png"><script>window.ran = true</script><script src="x.js"></script></main>'
    path.write_text(page.read_text("utf-8").replace("</main>", more), encoding="utf-8")
    browser.open(path)
    assert browser.run("window.ran") is None and browser.run("document.getElementById('scheme').hidden") is False
    assert sum("Content Security Policy" in message for message in browser.messages) == 3


def test_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("sessionStorage.clear()")  # what tests before have opened
    browser.open(page)
    browser.press("Tab", 9)
    assert browser.run("document.activeElement.className") == "skip"
    reached = []
    for _ in range(12):
        browser.press("Tab", 9)
        reached.append(browser.run("document.activeElement.id || document.activeElement.tagName"))
        assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if reached[-1] == "scheme":
            break
    assert reached == ["A"] * 6 + ["scheme"]
    for key, code, scheme, label in (("Enter", 13, "dark", "Light scheme"), (" ", 32, "light", "Dark scheme")):
        browser.press(key, code)
        assert browser.run("document.documentElement.dataset.scheme") == scheme
        assert browser.run("document.activeElement.textContent") == label
    browser.press("Enter", 13)
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    for _ in range(20):
        browser.press("Tab", 9)
        if browser.run("document.activeElement.tagName") == "SUMMARY":
            break
    browser.press("Enter", 13)
    assert browser.run("document.activeElement.parentElement.open") is True
    for _ in range(100):  # the page hears of it a little later
        if browser.run("sessionStorage.length"):
            break
        time.sleep(0.1)
    browser.open(page)
    assert browser.run("document.documentElement.dataset.scheme") == "dark"  # both are kept
    assert browser.run("document.querySelectorAll('details[open]').length") == 1
    browser.run("localStorage.clear(); sessionStorage.clear()")


def test_wide_tables_scroll_by_themselves_and_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page, 360)
    table = "[...document.querySelectorAll('[role=region]')].find((box) => box.ariaLabel === 'KLUE scores')"
    wide, narrow = browser.run(f"[{table}.scrollWidth, {table}.clientWidth]")
    assert wide > 2 * narrow > 0 and browser.run(f"{table}.tabIndex") == 0
    name = "document.querySelector('#scores tbody th').getBoundingClientRect().left"
    before = browser.run(name)
    browser.run(f"{table}.scrollLeft = 300")
    assert browser.run(f"{table}.scrollLeft") == 300 and browser.run(name) == before  # the metric stays in sight


def test_charts_are_named_and_drawn_in_the_schemes_colours(browser: Browser, page: Path) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        browser.open(page, scheme=scheme)
        charts = browser.run(
            "[...document.querySelectorAll('svg[role=img]')].map((svg) => [document.getElementById("
            "svg.getAttribute('aria-labelledby')).textContent, document.getElementById(svg.getAttribute("
            "'aria-describedby')).textContent, svg.getBoundingClientRect().height])"
        )
        assert len(charts) >= 9 and all(name and said and height > 100 for name, said, height in charts)
        # labels that run over the edge of the drawing would be cut off
        assert browser.run(OUTSIDE) == []
        ids = browser.run("[...document.querySelectorAll('[id]')].map((node) => node.id)")
        assert len(ids) == len(set(ids))
        lines = "[...document.querySelectorAll('svg path, svg use')].map((one) => getComputedStyle(one).stroke)"
        colours[scheme] = set(browser.run(lines))
    assert "rgb(9, 105, 218)" in colours["light"] and "rgb(88, 166, 255)" in colours["dark"]
    assert not colours["light"] & colours["dark"] - {"none"}


def test_on_paper(browser: Browser, page: Path) -> None:
    browser.open(page, 794, scheme="dark")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.ask("Emulation.setEmulatedMedia", media="print", features=features)
    try:
        assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
        assert browser.run("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not [one for one in browser.run(CONTRAST) if one[0] < 4.5]
        assert len(browser.ask("Page.printToPDF")["data"]) > 10_000
    finally:
        browser.ask("Emulation.setEmulatedMedia", media="", features=[])


def test_without_scripts_all_is_there_but_the_button(browser: Browser, page: Path) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        assert browser.run("document.getElementById('scheme').hidden") is True
        assert browser.run("document.querySelectorAll('section').length") == 6
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_a_page_that_is_watched_loads_itself_again(browser: Browser, tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run", name="first")
    write_page(run.path, tmp_path / "page.html", refresh=1)
    browser.open(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8").replace("first", "second")
    (tmp_path / "page.html").write_text(text.replace('content="1"', 'content="3600"'), encoding="utf-8")
    for _ in range(300):
        if browser.run("document.title").startswith("second"):
            break
        time.sleep(0.1)
    assert browser.run("document.title") == "second · Hunmin"
