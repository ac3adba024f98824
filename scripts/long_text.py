"""List the long sentences and paragraphs of README and docs: over 35 words, over 8 lines of 120 characters.

    python -m scripts.long_text [FILE ...]

Exits with 1 when there are any. Code, headings and addresses of links do not count; a code span counts as one word.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = 35
LINES = 8
COLUMNS = 120
START = re.compile(r"^\s*(?:[-*] |\d+\. )")
"""Beginning of a list item."""


def pages() -> list[Path]:
    """Return README, CONTRIBUTING and all pages below docs, in both languages."""
    return [*sorted(ROOT.glob("README*.md")), ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs, list items and table cells of a Markdown text, each with whether it is a cell."""
    text = re.sub(r"^(```|:::).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    part: list[str] = []
    for line in [*text.splitlines(), ""]:
        row = line.startswith("|")
        if part and (row or not line.strip() or line.startswith("#") or START.match(line)):
            yield " ".join(part), False
            part = []
        if row:
            yield from ((cell.strip(), True) for cell in re.split(r"(?<!\\)\|", line))
        elif line.strip() and not line.startswith("#"):
            part.append(START.sub("", line).strip())


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, with code as one word and links as their text."""
    plain = re.sub(r"`[^`]*`", "CODE", paragraph)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    return re.split(r"(?<=[.!?])[)*”\"]*\s+", plain)


def long_text(text: str) -> list[str]:
    """Return what is too long in a Markdown text, a line each."""
    findings = []
    for paragraph, cell in paragraphs(text):
        lines = -(-len(paragraph) // COLUMNS)
        if lines > LINES and not cell:
            findings.append(f"paragraph of {lines} lines: {paragraph[:80]} …")
        for sentence in sentences(paragraph):
            if (count := sum(any(map(str.isalnum, word)) for word in sentence.split())) > WORDS:
                findings.append(f"sentence of {count} words: {sentence[:120]} …")
    return findings


def main(names: list[str]) -> int:
    """Print what is too long, by file; return the number of findings."""
    count = 0
    for path in [Path(name).resolve() for name in names] or pages():
        for finding in long_text(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(ROOT)}: {finding}")
            count += 1
    print(f"{count} sentences over {WORDS} words or paragraphs over {LINES} lines")
    return count


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
