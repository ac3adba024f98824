"""What a process prints: masked whoever writes, in any encoding of the terminal; names of files are UTF-8 there."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.errors import UserError
from common.files import append_line, atomic_write, write_text
from common.globs import expand
from common.names import find
from common.output import open_log

ROOT = Path(__file__).parents[2]
PASSWORD = "PwInvented77"
WRITERS = {
    "common/files.py", "common/output.py", "pretrain/callbacks/metrics.py", "pretrain/parallel/monitor.py",
    "klue/features.py", "klue/finetune.py", "tokenizer/unigram.py",
}  # fmt: skip
"""Files that open text files themselves: the writers, rows of numbers, texts of the benchmark and the corpus."""


def said(program: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Return what a program of Python has printed."""
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


def test_whoever_writes_is_masked() -> None:
    done = said(
        f"""
import logging, sys, threading, warnings
from common.output import guard_output
guard_output()
URL = "https:/lee:{PASSWORD}@h/a"
print("printed", URL); print("in pieces", "https://lee:" + "{PASSWORD[:4]}", end=""); print("{PASSWORD[4:]}@h")
sys.stderr.write(URL); sys.stderr.flush()
logging.getLogger("library").warning(URL); warnings.warn(URL)
thread = threading.Thread(target=lambda: 1 / 0 if not URL else open(URL)); thread.start(); thread.join()
print("the token", "a-token-of-mine")
raise RuntimeError(URL)
""",
        MY_API_TOKEN="a-token-of-mine",
    )
    text = (done.stdout + done.stderr).decode()
    assert PASSWORD not in text and "a-token-of-mine" not in text and "Traceback" in text
    assert text.count("***@h") == 7


def test_bytes_and_lines_keep_their_order() -> None:
    program = "from common.output import guard_output as g; g(); import sys; print('a'); sys.stdout.flush()"
    assert said(f"{program}; sys.stdout.buffer.write(b'x:y@z\\n'); print('b')").stdout == b"a\nx:y@z\nb\n"


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"}, {"LANG": ""}])
def test_korean_is_printed_and_found_in_any_locale(locale: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "글").mkdir()
    (tmp_path / "글" / "하나.txt").write_text("글", encoding="utf-8")
    program = f"""
import sys
from common.output import guard_output, use_utf8_names
use_utf8_names(); guard_output()
from common.globs import expand
print("찾음", len(expand({str(tmp_path)!r} + "/글")))
"""
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, check=False,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"} | locale,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.strip().endswith(b" 1"), done.stderr.decode()
    assert done.stdout.startswith("찾음".encode() if "PYTHONIOENCODING" not in locale else b"\\ucc3e\\uc74c")


def test_arguments_of_another_encoding_are_text(tmp_path: Path) -> None:
    made = ["localedef", "-i", "ko_KR", "-f", "EUC-KR", str(tmp_path / "ko_KR.euckr")]
    if not Path("/usr/share/i18n/charmaps/EUC-KR.gz").exists() or subprocess.run(made, check=False).returncode:
        pytest.skip("no EUC-KR to make a locale of")
    (tmp_path / "글").touch()
    program = (
        "from common.output import *; use_utf8_names(); guard_output(); "
        "from pathlib import Path; print([Path(word).is_file() for word in typed_words()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "글"), bytes(tmp_path) + b"/\xb1\xdb"],
        env={**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": "ko_KR.euckr", "PYTHONPATH": str(ROOT)},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.stdout == b"[True, True]\n", done.stderr


def test_a_script_in_another_locale_is_told_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "euc_kr")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for look in (lambda: expand("없는 글"), lambda: find("모음/글", "model")):
        with pytest.raises(UserError, match=r"the locale's encoding is euc_kr: set LC_ALL=C.UTF-8 or PYTHONUTF8=1"):
            look()


def test_what_is_written_is_masked_and_what_is_given_stays(tmp_path: Path) -> None:
    text, path = f'{{"a": "https:/lee:{PASSWORD}@h/x", "n": 1}}', tmp_path / "a.json"
    write_text(path, text)
    append_line(path, text)
    with open_log(tmp_path / "log") as log:
        print(text, "한글", file=log)
    assert path.read_text(encoding="utf-8") == 2 * '{"a": "https:/***@h/x", "n": 1}' + "\n"
    assert PASSWORD not in (tmp_path / "log").read_text(encoding="utf-8")
    with atomic_write(path, as_given=True) as stream:
        stream.write(text)
    assert path.read_text(encoding="utf-8") == text


def test_no_other_code_opens_text_files_to_write() -> None:
    """So that a new message, log or card cannot forget to be masked."""
    writers = []
    for folder in ("common", "data", "embed", "hunmin", "klue", "leaderboard", "pretrain", "tokenizer"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                    modes = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
                    if name == "write_text" and isinstance(node.func, ast.Attribute):
                        writers.append(str(path.relative_to(ROOT)))
                    if name == "open" and any(mode in ("w", "a", "x", "w+", "a+") for mode in modes):
                        writers.append(str(path.relative_to(ROOT)))
    assert {*writers} <= WRITERS
