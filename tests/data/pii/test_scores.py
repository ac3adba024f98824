"""Precision and recall on marked texts whose author had not read the detector."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from data.pii import PII_TYPES, Span, find_many

TRUTH = Path(__file__).with_name("obfuscated_forms.jsonl")
FLOOR = 0.98
ROOT = Path(__file__).parents[3]


def test_values_written_in_other_ways_are_found_and_what_looks_like_them_is_not() -> None:
    cases = [json.loads(line) for line in TRUTH.read_text("utf-8").splitlines()]
    right, gold, found = 0, 0, 0
    of_types: Counter[str] = Counter()
    for case, spans in zip(cases, find_many([case["text"] for case in cases]), strict=True):
        truth = {Span(one["start"], one["end"], one["type"]) for one in case["spans"]}
        of_types.update(one.type for one in truth)
        right, gold, found = right + len(truth & set(spans)), gold + len(truth), found + len(spans)
    assert gold >= 290 and set(of_types) == set(PII_TYPES)
    assert sum(not case["spans"] for case in cases) >= 140
    assert right / gold >= FLOOR and right / found >= FLOOR


def test_the_script_prints_a_row_a_type_and_fails_below_the_floor(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"text": "아무것도 없다", "spans": [{"start": 0, "end": 4, "type": "TEL"}]}\n', encoding="utf-8")
    for path, code in ((TRUTH, 0), (wrong, 1)):
        command = [sys.executable, "scripts/score_pii.py", str(path), "--errors"]
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == code, done.stderr
        assert all(name in done.stdout for name in PII_TYPES)
