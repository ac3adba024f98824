"""Precision and recall on marked texts whose author had not read the detector."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from data.pii.detect import Span, find_many
from data.pii.type_names import PII_TYPES

ROOT = Path(__file__).parents[3]
TRUTH = Path(__file__).with_name("obfuscated_forms.jsonl")
SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA", ROOT.parent / "shared/data")) / "pii/pii_cases.jsonl"
FLOOR = 0.98


@pytest.mark.parametrize("path", [TRUTH, SHARED], ids=["own", "shared"])
def test_values_written_in_other_ways_are_found_and_what_looks_like_them_is_not(path: Path) -> None:
    if not path.exists():
        pytest.skip("the shared cases are not here")
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    truths = [{Span(span["start"], span["end"], span["type"]) for span in case["spans"]} for case in cases]
    spans = [set(span) for span in find_many([case["text"] for case in cases])]
    right = sum(len(truth & predicted) for truth, predicted in zip(truths, spans, strict=True))
    gold, predicted = sum(map(len, truths)), sum(map(len, spans))
    if path == TRUTH:
        assert gold >= 290 and {span.type for truth in truths for span in truth} == set(PII_TYPES)
        assert truths.count(set()) >= 140
    assert right / gold >= FLOOR and right / predicted >= FLOOR


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
