"""Tokenizer training and encoding, killed again and again: the same bytes as from runs that were left alone."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.drill
ROOT = Path(__file__).parents[2]
JOSA = ("은", "는", "이", "가", "을", "를", "에서", "으로", "에게", "까지", "도", "만", "의")
ENDINGS = ("갔다.", "왔습니다.", "보았어요.", "들었다고 한다.", "적었지만", "물었으며,", "알았을까?")
FILES, LINES = 16, 6_000


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of text files: invented words with josa and endings."""
    folder = tmp_path_factory.mktemp("texts")
    draw = random.Random(1)
    syllables = [chr(draw.randrange(0xAC00, 0xD7A4)) for _ in range(400)]
    words = ["".join(draw.choices(syllables, k=draw.randrange(1, 5))) for _ in range(20_000)]
    for number in range(FILES):
        lines = (
            " ".join([*(draw.choice(words) + draw.choice(JOSA) for _ in range(6)), draw.choice(ENDINGS)])
            for _ in range(LINES)
        )
        (folder / f"{number:02d}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def train(texts: Path, out: Path) -> subprocess.Popen[bytes]:
    options = ["--corpus", str(texts / "*.txt"), "--vocab-size", "8000", "--workers", "2", "--out", str(out)]
    line = [sys.executable, "-m", "hunmin.main", "tokenizer", "train", *options]
    return subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True)


def finish(process: subprocess.Popen[bytes]) -> None:
    errors = process.communicate(timeout=600)[1].decode()
    assert process.returncode == 0 and "Traceback" not in errors, errors


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.fixture(scope="module")
def straight(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], float]:
    """Return the files of a run that is left alone, and the seconds it took."""
    out = tmp_path_factory.mktemp("straight") / "tokenizer"
    began = time.monotonic()
    finish(train(texts, out))
    return contents(out), time.monotonic() - began


@pytest.mark.parametrize("seed", range(3))
def test_five_kills_at_random_moments(
    texts: Path, straight: tuple[dict[str, bytes], float], tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    out = tmp_path / "tokenizer"
    killed = 0
    for _ in range(5):
        process = train(texts, out)
        try:
            process.wait(timeout=draw.uniform(0.3, straight[1]))
        except subprocess.TimeoutExpired:
            family = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.communicate()
            killed += 1
            psutil.wait_procs(family, timeout=10)
            assert not [member for member in family if member.is_running() and member.status() != psutil.STATUS_ZOMBIE]
            if out.exists():  # the kill came after the folder was in its place
                assert contents(out) == straight[0]
                return
        else:
            finish(process)
            assert contents(out) == straight[0]
            return
    finish(train(texts, out))
    assert killed == 5 and contents(out) == straight[0]


def test_a_killed_worker_is_replaced(texts: Path, straight: tuple[dict[str, bytes], float], tmp_path: Path) -> None:
    out = tmp_path / "tokenizer"
    process = train(texts, out)
    counted = tmp_path / "tokenizer.partial" / ".work"
    while not list(counted.glob("*/words-*.json")):
        assert process.poll() is None
        time.sleep(0.01)
    children = psutil.Process(process.pid).children(recursive=True)
    workers = [child for child in children if "multiprocessing.forkserver" in " ".join(child.cmdline())]
    assert len(workers) == 3  # the server, and two workers
    workers[-1].kill()
    finish(process)
    assert contents(out) == straight[0]
