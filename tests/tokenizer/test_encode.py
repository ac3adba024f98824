"""The encode stage: what is in the token folder, the same bytes for any workers, and after a kill."""

import hashlib
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import tokenizer.encode as encode_module
from common.errors import HunminError, UserError
from data.shards import shard_paths
from tokenizer.encode import EncodeSettings, encode_corpus
from tokenizer.save import load_tokenizer
from tokenizer.shards import TokenShards

SETTINGS = EncodeSettings(workers=1)


@pytest.fixture(scope="module", autouse=True)
def small_shards():
    """Close a shard every 600 tokens, so that the corpus takes several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode_module, "SHARD_TOKENS", 600)
        yield


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def straight(corpus_folder: Path, tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tokens")
    encode_corpus(SETTINGS, corpus_folder, tokenizer_folder, out)
    return out


def test_shards_hold_every_document_in_order(straight: Path, corpus_folder: Path, tokenizer_folder: Path) -> None:
    loaded = load_tokenizer(tokenizer_folder)
    expected = []
    for path in shard_paths(corpus_folder):
        for sentences in pq.read_table(path).column("sentences").to_pylist():
            ids = [loaded.encode(sentence, add_special_tokens=False).ids for sentence in sentences]
            if any(ids):
                expected.append([stored for stored in ids if stored])
                expected[-1][-1] = [*expected[-1][-1], 2]
    shards, stored = TokenShards(straight), []
    for index in range(len(shards.shards)):
        tokens, documents, sentences = shards.tokens(index), shards.documents(index), shards.sentences(index)
        assert tokens.dtype == np.dtype("<u2")
        assert set(documents) <= set(sentences)
        for start, end in itertools.pairwise(documents):
            cuts = sentences[(sentences >= start) & (sentences <= end)]
            stored.append([tokens[a:b].tolist() for a, b in itertools.pairwise(cuts)])
    assert stored == expected


def test_counts_and_meta_agree(straight: Path, corpus_folder: Path, tokenizer_folder: Path, tmp_path: Path) -> None:
    counts = encode_corpus(SETTINGS, corpus_folder, tokenizer_folder, tmp_path)
    meta = json.loads((straight / "tokens.json").read_text())
    shards = TokenShards(straight)
    assert counts["tokens"] == meta["tokens"] == sum(len(shards.tokens(i)) for i in range(len(shards.shards)))
    assert counts["unk"] == sum(int((shards.tokens(i) == 3).sum()) for i in range(len(shards.shards)))
    assert counts["empty_documents"] == 1
    assert counts["shards"] == len(shards.shards) > 3
    assert all(shards.documents(i)[-2] < 600 for i in range(len(shards.shards)))  # closed at the first end past 600


def test_same_bytes_with_two_workers(
    straight: Path, corpus_folder: Path, tokenizer_folder: Path, tmp_path: Path
) -> None:
    encode_corpus(SETTINGS.model_copy(update={"workers": 2}), corpus_folder, tokenizer_folder, tmp_path)
    assert digest(tmp_path) == digest(straight)


@pytest.mark.slow
def test_same_bytes_with_ray(straight: Path, corpus_folder: Path, tokenizer_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    settings = SETTINGS.model_copy(update={"executor": "ray", "ray_address": "local", "workers": 2})
    encode_corpus(settings, corpus_folder, tokenizer_folder, tmp_path)
    assert digest(tmp_path) == digest(straight)


class Killed(BaseException):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, 100, 9))
def test_killed_at_any_write_resumes_to_the_same_bytes(
    at: int,
    straight: Path,
    corpus_folder: Path,
    tokenizer_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0

    def stopping(function):  # type: ignore[no-untyped-def]
        def wrapped(*args, **kwargs):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            if calls == at:
                raise Killed
            return function(*args, **kwargs)

        return wrapped

    with monkeypatch.context() as patch:
        for name in ("write_shard", "write_meta"):
            patch.setattr(encode_module, name, stopping(getattr(encode_module, name)))
        patch.setattr(Path, "replace", stopping(Path.replace))
        patch.setattr(Path, "unlink", stopping(Path.unlink))
        with pytest.raises(Killed):
            encode_corpus(SETTINGS, corpus_folder, tokenizer_folder, tmp_path)
    (tmp_path / ".tokens-00000.bin.abc.tmp").write_bytes(b"half")  # what SIGKILL leaves of an atomic write
    encode_corpus(SETTINGS, corpus_folder, tokenizer_folder, tmp_path)
    assert digest(tmp_path) == digest(straight)


def test_finished_corpus_shards_are_not_encoded_again(
    straight: Path, corpus_folder: Path, tokenizer_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(encode_module, "_number_through", lambda *_: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            encode_corpus(SETTINGS, corpus_folder, tokenizer_folder, tmp_path)
    monkeypatch.setattr(encode_module, "_encode_task", lambda *_, **__: pytest.fail("encoded again"))
    encode_corpus(SETTINGS, corpus_folder, tokenizer_folder, tmp_path)
    assert digest(tmp_path) == digest(straight)


def test_bad_input(corpus_folder: Path, tokenizer_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no text shards"):
        encode_corpus(SETTINGS, tmp_path, tokenizer_folder, tmp_path)
    with pytest.raises(UserError, match=r"no tokenizer\.json"):
        encode_corpus(SETTINGS, corpus_folder, tmp_path, tmp_path)
    broken = shutil.copytree(corpus_folder, tmp_path / "broken")
    path = broken / "shards" / "shard-00001.parquet"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(HunminError, match=r"shard-00001\.parquet"):
        encode_corpus(SETTINGS, broken, tokenizer_folder, tmp_path / "broken")


def test_copies_of_corpus_shards_stand_in_the_token_folder(
    corpus_folder: Path, tokenizer_folder: Path, tmp_path: Path
) -> None:
    """Nothing is stored twice: a mixture changes what tokens.json says of a shard, not its files."""
    mixed, plain = tmp_path / "corpus", tmp_path / "plain"
    shutil.copytree(corpus_folder, mixed)
    encode_corpus(SETTINGS, mixed, tokenizer_folder, _folder(plain))
    copies = {}
    for number, path in enumerate(shard_paths(mixed)):
        manifest = json.loads(path.with_suffix(".json").read_text())
        copies[number] = (3, 0, 1)[number % 3]
        path.with_suffix(".json").write_text(json.dumps({**manifest, "copies": copies[number]}))
    assert len(copies) > 1
    counts = encode_corpus(SETTINGS, mixed, tokenizer_folder, _folder(tmp_path / "out"))
    same, other = digest(plain), digest(tmp_path / "out")
    assert {name for name in same if same[name] != other[name]} == {"tokens.json"} and counts["tokens"] > 0
    shards = TokenShards(tmp_path / "out")
    copies_of_shards = [shards.copies(index) for index in range(len(shards.shards))]
    assert set(copies_of_shards) == set(copies.values())
    assert [n for n, _ in itertools.groupby(copies_of_shards)] == list(copies.values())
    sizes = [len(shards.tokens(index)) for index in range(len(shards.shards))]
    assert shards.tokens_in_a_pass == sum(n * size for n, size in zip(copies_of_shards, sizes, strict=True))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
