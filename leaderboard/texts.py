"""Texts of a suite's test rows, which training rows must not hold."""

from pathlib import Path

from data.benchmark import BenchmarkSentence
from data.splitting.scan import split_sentences
from leaderboard.rows import find_rows, read_rows
from leaderboard.suites import SUITES, TASKS


def test_files(suite: str, data: Path) -> list[str]:
    """Return the files with rows of a suite's tasks; none for `instruct`, which has no test set."""
    return [str(path) for name in SUITES[suite] if (path := find_rows(data, name, TASKS[name].files))]


def test_texts(suite: str, data: Path) -> list[BenchmarkSentence]:
    """Return the texts of a suite's test rows that lie in a folder, cut into sentences."""
    sentences = []
    for name in SUITES[suite]:
        path = find_rows(data, name, TASKS[name].files)
        for number, row in enumerate(read_rows(path) if path else []):
            guid = str(row.get("guid") or f"{name}:{number}")
            for columns in TASKS[name].texts.values():
                value = next((row[column] for column in columns if isinstance(row.get(column), str)), "")
                pieces = [piece.strip() for piece in split_sentences(value) if piece.strip()]
                sentences += [BenchmarkSentence(name, guid, piece, len(pieces) > 1) for piece in pieces]
    return sentences
