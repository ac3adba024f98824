"""Real files in their original formats are read: as many documents as they hold, and rejects that were looked at."""

import os
from collections import Counter
from pathlib import Path

import pytest

from .reading import ids, read, rejects, skipped, texts

SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RAW = SHARED / "raw"

SOURCES = [
    ("boddari/wikinews.csv", {"text_field": "내용"}, 644),
    ("boddari/fairytale01.csv", {"text_field": "body"}, 64),
    ("boddari/wikinews.db", {"text_field": "body"}, 863),
    ("chatbot", {"text_field": ["Q", "A"]}, 11823),
    ("euc-kr/yeom_sangseop_samdae_euc-kr.txt", {}, 6342),
    ("korean_hate_speech/dev.tsv", {"text_field": "comments"}, 471),
    ("korean_hate_speech/unlabeled_comments_5.txt", {}, 33893),
    ("mdn_html", {}, 200),
    ("ms_markdown", {}, 150),
    ("nsmc_ratings_rebuilt.txt", {"text_field": "document"}, 199915),
    ("nsmc_raw_json", {"text_field": "review", "id_field": "review_id"}, 10051),
    ("parquet", {"text_field": "speech_text"}, 61),
    ("petitions_akngs_format.csv", {"text_field": ["title", "content"], "id_field": "article_id"}, 662),
    ("petitions_archive", {"text_field": "content"}, 662),
]
REJECTS = {"nsmc_ratings_rebuilt.txt": {"another number of columns than the first row": 178}}
"""Reviews with a line end in them, in a table without quoting."""
SKIPPED = {"boddari/wikinews.db": {"no text": 182}}


@pytest.mark.skipif(not RAW.is_dir(), reason="the original files are not at hand")
@pytest.mark.parametrize(("name", "fields", "documents"), SOURCES, ids=[name for name, _, _ in SOURCES])
def test_original_files(name, fields, documents):
    items = read(RAW / name, 4_000_000, **fields)
    assert len(texts(items)) == documents
    assert Counter(reason for _, reason in rejects(items)) == REJECTS.get(name, {})
    assert Counter(reason for _, reason in skipped(items)) == SKIPPED.get(name, {})
    assert len(set(ids(items))) == documents or name == "nsmc_raw_json"
    assert not any("�" in text for text in texts(items))
