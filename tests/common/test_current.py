"""The current folders of a run: what `current.json` and the links say as a stage begins and ends."""

import hashlib
import json
from pathlib import Path

from common.current import begin_work, make_current
from common.stage_folders import folder_of, latest_folder_of, work_folder_of


def test_a_stage_that_ends_is_no_longer_at_work_and_others_stay(tmp_path: Path) -> None:
    corpus = tmp_path / "made" / "corpus-a1"
    tokens = tmp_path / "made" / "tokens-b2"
    for folder in (corpus, tokens):
        folder.mkdir(parents=True)
    begin_work(tmp_path, "corpus", corpus)
    begin_work(tmp_path, "tokens", tokens)
    assert json.loads((tmp_path / "current.json").read_bytes()) == {
        "at work": {"corpus": "corpus-a1", "tokens": "tokens-b2"},
        "current": {},
        "manifests": {},
    }
    assert (tmp_path / "corpus.partial").readlink() == Path("made/corpus-a1")
    (corpus / "manifest.json").write_text("{}")
    make_current(tmp_path, "corpus", corpus)
    assert json.loads((tmp_path / "current.json").read_bytes()) == {
        "at work": {"tokens": "tokens-b2"},
        "current": {"corpus": "corpus-a1"},
        "manifests": {"corpus-a1": hashlib.sha256(b"{}").hexdigest()},
    }
    assert (tmp_path / "corpus").readlink() == Path("made/corpus-a1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "current.json", "made", "tokens.partial"]
    assert (folder_of(tmp_path, "corpus"), latest_folder_of(tmp_path, "corpus")) == (corpus, corpus)
    assert (work_folder_of(tmp_path, "tokens"), latest_folder_of(tmp_path, "tokens")) == (tokens, tokens)


def test_a_finished_folder_that_was_edited_keeps_the_hash_of_its_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "corpus-a1"
    folder.mkdir(parents=True)
    for content in ("{}", '{"edited": 1}'):
        (folder / "manifest.json").write_text(content)
        make_current(tmp_path, "corpus", folder)
    manifests = json.loads((tmp_path / "current.json").read_bytes())["manifests"]
    assert manifests == {"corpus-a1": hashlib.sha256(b"{}").hexdigest()}
