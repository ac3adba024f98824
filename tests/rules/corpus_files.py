"""The inputs of the corpus stage as files: a file of each format, and the texts that its rules are for."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..data.cases import sections
from .corpus_texts import BENCHMARK, CLEANING, HIT, NEWS, OLD_HANGUL, PERSONAL, sentences, words

_CASES = Path(__file__).parents[1] / "data"
_WIKI = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">\n{}</mediawiki>'
_PAGE = "<page><title>t</title><ns>{}</ns><id>{}</id><revision><model>{}</model><text>{}</text></revision></page>\n"


def _told(format: str, number: int = 0) -> str:
    return sentences(1, 400 + 3 * number + sum(map(ord, format)) % 97, 8)[0]


def _record(content: str, kind: str, media: str) -> bytes:
    """Return a record of a web archive."""
    body = content.encode()
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body + b"\r\n\r\n"


def _answer(status: str, content: str) -> bytes:
    response = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{content}"
    return _record(response, "response", "application/http; msgtype=response")


def write_formats(folder: Path) -> list[dict[str, Any]]:
    """Write a file of each format, with what it rejects and skips, and return the sources."""
    rows = [{"id": f"r{n}", "text": _told("rows", n), "licence": "CC0"} for n in range(3)]
    files: dict[str, tuple[str, str | bytes, dict[str, Any]]] = {
        "jsonl": ("a.jsonl", _lines([*rows, {"id": "empty", "text": None}, {"other": 1}, [1]]) + "{broken\n", {}),
        "json": ("b.json", json.dumps({"data": [
            {"text": _told("json"), "grade": 4}, {"text": "가", "grade": 1}, {"text": "나"}, 3]}),
                 {"records_field": "data", "columns": {"grade": {"min": 3}}}),
        "text": ("c.txt", f"{_told('text')}\n\n{_told('text', 1)}\n".encode() + b"\xff\xfe\xfa\n", {}),
        "paragraphs": ("d.txt", f"{_told('paragraphs')}\n{_told('paragraphs', 1)}\n\n{_told('paragraphs', 2)}\n", {}),
        "csv": ("e.csv", f'text,id\n"{_told("csv")}, 쉼표",k1\n하나만 있는 줄이다\n', {}),
        "tsv": ("f.tsv", f"id\ttext\nt1\t{_told('tsv')}\n", {}),
        "nikl": ("g.json", json.dumps({"document": [
            {"id": "N1", "paragraph": [{"form": f"{_told('nikl')} {{laughing}}"}, {"form": "((들리는)) 대로 적었다."}]},
            {"id": "N2"}]}), {}),
        "namuwiki": ("h.json", json.dumps([
            {"namespace": "0", "title": "t", "text": f"'''굵은''' [[글|말]]이다. {_told('namuwiki')}"},
            {"namespace": "0", "title": "r", "text": "#redirect t"},
            {"namespace": "6", "title": "n", "text": "틀이다."}]),
            {}),
        "mediawiki": ("i.xml", _WIKI.format(
            _PAGE.format(0, 1, "wikitext", f"'''굵은''' [[글|말]]이다. {_told('mediawiki')}")
            + _PAGE.format(1, 2, "wikitext", "다른 이름공간이다.") + _PAGE.format(0, 3, "css", "p {}")
            + _PAGE.format(0, 4, "wikitext", "#넘겨주기 [[글]]")), {}),
        "html": ("j.html", f"<html><body><h1>머리글이다</h1><p>{_told('html')}</p></body></html>", {}),
        "markdown": ("k.md", f"# 머리글이다\n\n{_told('markdown')} [이음](a.md)\n\n* 하나를 적었다.\n", {}),
        "warc": ("l.warc", b"".join([
            _record(_told("warc"), "conversion", "text/plain"),
            _answer("200 OK", f"<html><body><p>{_told('warc', 1)}</p></body></html>"),
            _answer("404 Not Found", "x")]), {}),
    }  # fmt: skip
    for name, content, _ in files.values():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    files["parquet"] = ("m.parquet", "", {"text_field": ["title", "body"]})
    pq.write_table(pa.table({"title": ["머리글이다."], "body": [_told("parquet")]}), folder / "m.parquet")
    files["sqlite"] = ("n.db", "", {"text_field": "body"})
    with closing(sqlite3.connect(folder / "n.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
        connection.executemany("INSERT INTO t (body) VALUES (?)", [(_told("sqlite"),), (None,)])
    return [
        {"path": str(folder / name), "name": format, "format": format, **more}
        for format, (name, _, more) in files.items()
    ]


def write_texts(folder: Path) -> list[dict[str, Any]]:
    """Write the texts for the rules of a text, and a file that is no text, and return the sources."""
    off = {"min_sentence_chars": 1, "hashtags": False}
    personal = [text for kind in PERSONAL.values() for text in kind]
    hits = [f"{text}\n{sentences(1, 60 + n)[0]}" for n, text in enumerate(HIT.values())] + [HIT["exact"]]
    named: dict[str, tuple[list[str], dict[str, Any]]] = {
        "cleaning": (CLEANING, {"licence": "CC-BY-4.0"}),
        "news": (NEWS, {"clean": {**off, "news": True}}),
        "old": (OLD_HANGUL, {"clean": {"old_hangul": True}}),
        "personal": (personal, {}),
        "hits": (hits, {}),
        "copies": (_copies(), {}),
        "plain": (["\n".join(sentences(4, 100 + n)) for n in range(60)], {"name": "plain"}),
    }
    sources = []
    for name, (texts, more) in named.items():
        path = folder / f"{name}.jsonl"
        path.write_text(_lines([{"id": f"{name}-{n}", "text": text} for n, text in enumerate(texts)]), encoding="utf-8")
        sources.append({"path": str(path), **more})
    (folder / "damaged.txt").write_bytes(bytes(range(32)) * 8)
    return [*sources, {"path": str(folder / "damaged.txt")}]


def write_cases(folder: Path) -> list[dict[str, Any]]:
    """Write the tables of cases of the tests of cleaning, splitting and personal data, and return the sources."""
    cleaning = sections(_CASES / "cleaning/cases.txt")
    news = [case[0] for name, cases in cleaning.items() if "news" in name for case in cases]
    others = [case[0] for name, cases in cleaning.items() if "news" not in name for case in cases]
    marked = (_CASES / "splitting_cases.txt").read_text(encoding="utf-8").splitlines()
    tables = {
        "forms": [re.sub("⟦\\w+:([^⟧]*)⟧", r"\1", case[0]) for cases in sections(_CASES / "pii/cases.txt").values()
                  for case in cases],
        "marks": others,
        "furniture": news,
        "splits": [line.replace("¦", "").replace("⏎", "\n") for line in marked if not line.startswith("#")],
    }  # fmt: skip
    for name, texts in tables.items():
        rows = _lines([{"id": f"{name}-{n}", "text": text} for n, text in enumerate(texts)])
        (folder / f"{name}.jsonl").write_text(rows, encoding="utf-8")
    return [{"path": str(folder / f"{name}.jsonl"), "clean": _cleaning_of(name)} for name in tables]


def _cleaning_of(table: str) -> dict[str, Any]:
    return {"news": table == "furniture", "min_hangul_share": 0.05 if table == "marks" else 0}


def write_benchmark(folder: Path) -> Path:
    """Write the benchmark that is searched for."""
    folder.mkdir()
    (folder / "benchmark.jsonl").write_text(_lines(BENCHMARK), encoding="utf-8")
    return folder


def _copies() -> list[str]:
    """Return documents of which some equal others, are like them, or share paragraphs and sentences with them."""
    first, near = "\n".join(sentences(8, 1)), sentences(24, 2, 8)
    shared = " ".join(sentences(3, 3))
    return [
        first,
        first.replace("\n", "  \n"),
        "\n".join(near),
        "\n".join([*near[:11], near[11].replace("에서", "까지"), *near[12:]]),
        f"{shared}\n{sentences(1, 4)[0]}",
        f"{sentences(1, 5)[0]}\n{shared}",
        f"{sentences(1, 6, 9)[0]} {sentences(1, 7)[0]}",
        f"{sentences(1, 8)[0]} {sentences(1, 6, 9)[0]}",
        sentences(1, 6, 9)[0],
    ]


def filtered_texts() -> dict[str, list[tuple[str, str]]]:
    """Return measure → (licence, text) of documents that its bound is for: one that it drops, one that it lets pass."""
    rng = random.Random(5)
    prose = "\n".join(sentences(6, 20, 9))

    def repeated(share: float, size: int, times: int = 2, total: int = 400) -> str:
        """Return words of which a run of `size`, `times` in all, makes up about a share of the text."""
        rest = words(total, 1000)
        run = words(size, 500)
        apart = rest[: round(times * size / share) - times * size]
        places = sorted(rng.sample(range(1, len(apart)), times))
        for place in reversed(places):
            apart[place:place] = run
        return " ".join(apart)

    code = ["x = f(1);", "for i in r {", "y += 2;", "}", "g(x, y);", "z = 3;", "h(z);"]
    return {
        "allowed": [("CC-BY-NC-4.0", prose)],
        "characters": [("", "짧다.")],
        "characters_per_word": [
            ("", "안 녕 하 세 요 여 러 분 반 갑 습 니 다"),
            ("", "가나다라마바사아자차카타파하람" * 3),
        ],
        "characters_per_sentence": [("", "보았다. 적었다. 들었다. 걸었다.")],
        "share": [("", "가나다 !!@@##$$ 라마바 %%^^&&** 사아 (((())))")],
        "bullet_lines": [("", "\n".join(f"- {sentence}" for sentence in sentences(7, 21)))],
        "ellipsis_lines": [("", "\n".join(f"{sentence[:-1]}…" for sentence in sentences(7, 22)))],
        "duplicate_lines": [("", "\n".join([*["같은 줄이다 그렇다"] * 7, *sentences(3, 23, 12)]))],
        "duplicate_line_characters": [("", "\n".join([*[sentences(1, 24, 12)[0]] * 3, *sentences(5, 25)]))],
        "top_2_gram": [("", repeated(0.36, 2, 12))],
        "top_3_gram": [("", repeated(0.285, 3, 10))],
        "top_4_gram": [("", repeated(0.26, 4, 8))],
        "duplicate_5_gram": [("", repeated(0.72, 30))],
        "duplicate_6_gram": [("", repeated(0.64, 30))],
        "duplicate_7_gram": [("", repeated(0.60, 56))],
        "duplicate_8_gram": [("", repeated(0.56, 56))],
        "duplicate_9_gram": [("", repeated(0.52, 63))],
        "duplicate_10_gram": [("", repeated(0.48, 30))],
        "character_runs": [("", f"그렇다 {'ㅋ' * 12} 참으로 그렇다고 했다.")],
        "hangul": [("", "These words are written in Latin letters 가나다")],
        "code_lines": [("", "\n".join([*code, *sentences(2, 26, 14)]))],
        "": [("CC0-1.0", prose + "\n끝까지 남는 글이다."), ("", "\n".join(sentences(9, 27, 7)))],
    }


def _lines(records: list[Any]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
