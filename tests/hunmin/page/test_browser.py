"""The page in a headless Chromium: what is seen, said and asked for, by keyboard, in both schemes, on paper and on a
phone. Skipped where there is no Chromium (Debian: apt install chromium)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, find_browser
from hand_made import HandMade, result, run_that_failed, run_with_all

from hunmin.page.page import write_comparison, write_page
from klue.tasks import names_of

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
CLIPPED = """(() => {
  const wide = document.documentElement.clientWidth, said = [];
  for (const node of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(node), box = node.getBoundingClientRect();
    if (!box.width || !box.height || node.closest(".heard, .skip, #verdict > h2, .u-over")) continue;
    const name = `${node.tagName}.${node.getAttribute("class")}: ${node.textContent.trim().slice(0, 40)}`;
    const scrolls = (of) => ["auto", "scroll"].includes(getComputedStyle(of).overflowX);
    let inside = node.parentElement;
    while (inside && !scrolls(inside)) inside = inside.parentElement;
    if (!inside && (box.left < -1 || box.right > wide + 1)) said.push(`off the page: ${name}`);
    const cuts = ["hidden", "clip"].includes(style.overflowX);
    if (cuts && node.scrollWidth > node.clientWidth + 1) said.push(`cut: ${name}`);
    if (style.textOverflow === "ellipsis") said.push(`ellipsis: ${name}`);
  }
  return said;
})()"""
"""Elements that are off the page or cut by their box, unless a box around them scrolls."""
SCROLLING = """[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1)
  .map((box) => box.ariaLabel)"""
OPEN_ALL = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"


def settle(browser: Browser) -> None:
    """Wait for two frames: charts are drawn when their boxes have a size."""
    browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(colour: list[int]) -> str:
    """Return a script that counts the pixels of a colour in the first chart of the training."""
    return f"""(() => {{
      const canvas = document.querySelector("#training canvas");
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let found = 0;
      for (let at = 0; at < data.length; at += 4)
        found += data[at + 3] === 255 && {colour}.every((part, channel) => data[at + channel] === part);
      return found;
    }})()"""


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


@pytest.fixture(scope="module")
def korean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page in Korean, with the notes and the synthetic scores of a run as it is by default."""
    run = run_with_all(tmp_path_factory.mktemp("korean") / "run")
    rows = [result(task, init, seed, 40.0 + seed, data_note="synthetic (hunmin sample)")
            for task in names_of(["klue"]) for init in ("pretrained", "random") for seed in (1, 2)]  # fmt: skip
    run.write("klue/results.jsonl", rows)
    path = run.path.parent / "page.html"
    write_page(run.path, path, language="ko")
    return path


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of three runs, one with a long name."""
    folder = tmp_path_factory.mktemp("several")
    runs = [run_with_all(folder / str(number), name=name).path for number, name in enumerate(("a", "b", LONG))]
    write_comparison(runs, folder / "page.html")
    return folder / "page.html"


@pytest.mark.parametrize("width", [360, 768, 1280, 1600])
@pytest.mark.parametrize("which", ["page", "korean", "going", "several"])
def test_nothing_is_clipped(browser: Browser, request: pytest.FixtureRequest, which: str, width: int) -> None:
    path: Path = request.getfixturevalue(which)
    browser.open(path, width)
    for _ in range(2):
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run(CLIPPED) == []
        if width >= 1280 and which == "korean":
            assert browser.run(SCROLLING) == []  # all columns are in sight
        browser.run(OPEN_ALL)
        settle(browser)


@pytest.mark.parametrize("width", [360, 768, 1280, 1600])
@pytest.mark.parametrize("which", ["korean", "several"])
def test_scores_stand_first(browser: Browser, request: pytest.FixtureRequest, which: str, width: int) -> None:
    browser.open(request.getfixturevalue(which), width)
    assert browser.run("document.querySelector('#scores tbody td').getBoundingClientRect().bottom") < 1200


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["page", "going", "several"])
def test_nothing_is_said_or_asked_for_and_all_text_can_be_read(
    browser: Browser, request: pytest.FixtureRequest, which: str, scheme: str
) -> None:
    path: Path = request.getfixturevalue(which)
    browser.open(path, 1280, scheme=scheme)
    browser.run(OPEN_ALL)
    settle(browser)
    assert browser.run("document.fonts.size") == 0
    contrasts = browser.run(CONTRAST)
    assert len(contrasts) > 100 and not [text for text in contrasts if text[0] < 4.5]
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
    assert [text[1] for text in browser.run(CONTRAST) if text[0] < 4.5] == ["faint", "faint too"]
    assert browser.run("document.documentElement.scrollWidth") == 900 + 8  # the margin of the body
    assert browser.requests == [path.as_uri(), "http://127.0.0.1:9/x.png"]
    said = " ".join(browser.messages)
    assert "said" in said and "nothing is not defined" in said
    assert browser.run(CLIPPED) == ["off the page: DIV.null: wide"]


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
    assert reached == ["A"] * 7 + ["scheme"]
    for key, code, scheme, label in (("Enter", 13, "dark", "Light"), (" ", 32, "light", "Dark")):
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
    table = "[...document.querySelectorAll('[role=region]')].find((box) => box.ariaLabel === 'Published models')"
    wide, narrow = browser.run(f"[{table}.scrollWidth, {table}.clientWidth]")
    assert wide > narrow > 0 and browser.run(f"{table}.tabIndex") == 0
    name = f"{table}.querySelector('tbody th').getBoundingClientRect().left"
    before = browser.run(name)
    browser.run(f"{table}.scrollLeft = 300")
    assert browser.run(f"{table}.scrollLeft") == 300 and browser.run(name) == before  # the metric stays in sight


def test_charts_are_named_and_drawn_in_the_schemes_colours(browser: Browser, page: Path) -> None:
    """The first pixel of a chart that is neither transparent nor of the axes is found by its colour."""
    blues = {"light": [9, 105, 218], "dark": [88, 166, 255]}
    for scheme, other in (("light", "dark"), ("dark", "light")):
        browser.open(page, scheme=scheme)
        browser.run(OPEN_ALL)
        settle(browser)
        charts = browser.run(
            "[...document.querySelectorAll('.plot')].map((box) => [document.getElementById("
            "box.getAttribute('aria-labelledby')).textContent, document.getElementById(box.getAttribute("
            "'aria-describedby')).textContent, box.querySelector('canvas').getBoundingClientRect().height])"
        )
        assert len(charts) >= 7 and all(name and said and height > 100 for name, said, height in charts)
        ids = browser.run("[...document.querySelectorAll('[id]')].map((node) => node.id)")
        assert len(ids) == len(set(ids))
        assert browser.run(pixels(blues[scheme])) > 50 and browser.run(pixels(blues[other])) == 0
    browser.run("document.getElementById('scheme').click()")
    assert browser.run(pixels(blues["light"])) > 50  # drawn again in the other scheme
    browser.run("localStorage.clear()")


def test_values_are_shown_under_the_pointer_and_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    settle(browser)
    legend = (
        "[...document.querySelectorAll('#training .plot')[0].querySelectorAll('.u-value')].map((v) => v.textContent)"
    )
    assert browser.run(legend) == ["100", "5", "4.75"]  # the last ones, before a pointer comes
    shares = browser.run(legend.replace("[0]", "[1]"))[1:]
    assert shares and all(re.fullmatch(r"[\d.]+%", share) for share in shares)
    browser.run("document.querySelector('#training .plot').focus()")
    browser.press("ArrowRight", 39)
    browser.press("ArrowRight", 39)
    settle(browser)
    assert browser.run(legend) == ["10", "9.5", "9.5"]  # the validation's nearest point is that of step 0
    browser.run("document.querySelector('#training').scrollIntoView()")
    box = browser.run(
        "(() => { const box = document.querySelector('#training .u-over').getBoundingClientRect();"
        "return [box.right - 2, box.top + 20]; })()"
    )
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    settle(browser)
    assert browser.run(legend) == ["100", "5", "4.75"]
    browser.press("ArrowLeft", 37)
    settle(browser)
    assert browser.run(legend) == ["90", "5.5", "4.75"]
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    settle(browser)
    assert browser.run(legend) == ["100", "5", "4.75"]


def test_equal_dots_of_several_runs_are_all_seen(browser: Browser, several: Path) -> None:
    """Three runs of the same losses: each dot is in the colours of all three."""
    browser.open(several)
    settle(browser)
    pixels = browser.run(
        """(() => {
          const canvas = [...document.querySelectorAll("#training figure")]
            .find((one) => one.textContent.includes("Validation loss")).querySelector("canvas");
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return [[9, 105, 218], [188, 76, 0], [26, 127, 55]].map((colour) => {
            let seen = 0;
            for (let at = 0; at < data.length; at += 4)
              seen += data[at + 3] > 0 && colour.every((part, channel) => Math.abs(data[at + channel] - part) < 8);
            return seen;
          });
        })()"""
    )
    assert min(pixels) > 20


def test_a_link_opens_a_folded_section(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("sessionStorage.clear()")
    browser.open(page)
    assert browser.run("document.querySelector('#corpus .fold').open") is False
    browser.run("document.querySelector('nav a[href=\"#corpus\"]').click()")
    settle(browser)
    assert browser.run("document.querySelector('#corpus .fold').open") is True
    browser.run("sessionStorage.clear()")


def test_on_paper(browser: Browser, page: Path) -> None:
    browser.open(page, 794, scheme="dark")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.ask("Emulation.setEmulatedMedia", media="print", features=features)
    try:
        assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
        assert browser.run("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not [text for text in browser.run(CONTRAST) if text[0] < 4.5]
        assert len(browser.ask("Page.printToPDF")["data"]) > 10_000
    finally:
        browser.ask("Emulation.setEmulatedMedia", media="", features=[])


def test_without_scripts_all_is_there_but_the_button(browser: Browser, page: Path) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        assert browser.run("document.getElementById('scheme').hidden") is True
        assert browser.run("document.querySelectorAll('section').length") == 8
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
