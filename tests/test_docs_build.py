"""The documentation builds without a warning, and its pages ask no other host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.version_info < (3, 11):
        pytest.skip("the extra dev has Sphinx from Python 3.11 on")
    out = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "docs", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_every_page_is_built(built: Path) -> None:
    made = {str(path.relative_to(built).with_suffix("")) for path in built.rglob("*.html")}
    assert made >= {name.removesuffix(".md") for name in PAGES}


@pytest.mark.slow
def test_pages_ask_no_other_host(built: Path) -> None:
    """Scripts, styles, pictures and fonts are files of the build; only what a reader clicks leads elsewhere."""
    outside = re.compile(r"""(?:<(?:script|img|iframe|source)[^>]+src|<link[^>]+href)=["'](?:https?:)?//[^"']+""")
    for page in built.rglob("*.html"):
        assert not outside.findall(page.read_text(encoding="utf-8")), page.name
    for style in built.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//|@import\s+['\"]?http", style.read_text("utf-8")), style.name


@pytest.mark.slow
def test_korean_pages_say_so(built: Path) -> None:
    assert '<html class="no-js" lang="ko"' in (built / "index.ko.html").read_text(encoding="utf-8")
    assert '<html class="no-js" lang="en"' in (built / "index.html").read_text(encoding="utf-8")


def test_a_page_links_to_its_twin() -> None:
    def twin(name: str) -> str:
        return name.replace(".ko.md", ".md") if ".ko." in name else name.replace(".md", ".ko.md")

    heads = {name: (ROOT / "docs" / name).read_text(encoding="utf-8").split("\n## ")[0] for name in PAGES}
    assert [name for name, head in heads.items() if f"]({Path(twin(name)).name})" not in head] == []


@pytest.mark.parametrize("language", ["", ".ko"])
def test_the_index_leads_to_every_page(language: str) -> None:
    index = (ROOT / "docs" / f"index{language}.md").read_text(encoding="utf-8")
    names = {name for name in PAGES if (".ko." in name) == bool(language)} - {f"index{language}.md"}
    assert names <= {*re.findall(r"\]\(([^)#]+)\)", index)}
