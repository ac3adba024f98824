"""Secrets: what logs in is masked, whatever it stands in, and nothing else is."""

import time

import pytest

from common.errors import HunminError, UserError
from common.progress import say
from common.secrets import MASK, masked, masked_tree, masked_urls, masked_words, remember
from common.settings import Settings, dump_settings, load_yaml


@pytest.mark.parametrize(
    ("written", "secrets"),
    [
        ("http://lee:PwInvented77@127.0.0.1:9/a.jsonl?X-Amz-Signature=SigInvented88", ["lee", "PwInv", "SigInv"]),
        ("https://h/a?part=2&X-Goog-Signature=abc12&X-Goog-Credential=me%40x", ["abc12", "me%40x"]),
        ("https://a.blob.core.windows.net/c/x?sv=2024&sig=Zm9v%2Fbar%3D", ["Zm9v"]),
        ("https://h/a#access_token=tokInv9", ["tokInv9"]),
        ("s3://AKIAINVENTED:sec/ret+Inv@bucket/x", ["AKIAINV", "sec/ret"]),
        ("https://user:p@ss@h/x", ["user", "p@ss"]),
        ("cannot open [URL('/a?X%2DAmz%2DSignature=SigInv')]", ["SigInv"]),
        ("ClientError: Authorization: Bearer abc.def.ghi-Inv", ["abc.def"]),
        ("headers {'Authorization': 'Basic bGVlOlB3SW52'}", ["bGVlOlB3SW52"]),
        ("BasicAuth(login='lee', password='two words')", ["two words"]),
        ("hunmin run r.yaml corpus.pii.key=invented-key", ["invented-key"]),
        ("corpus.pii.key = 'too short': it has 8 characters or more", ["too short'"]),
        ("export HF_TOKEN=invented AWS_SECRET_ACCESS_KEY='invented two'", ["invented"]),
        ("line 2: pii: {key: invented-key, key_env: X}", ["invented-key"]),
        ("{'password': 'invented'}", ["invented"]),
        ("401 for hf_" + "a1B2" * 9, ["hf_a1B2"]),
    ],
)
def test_what_logs_in_is_masked(written: str, secrets: list[str]) -> None:
    shown = masked(written)
    assert "***" in shown and not [secret for secret in secrets if secret in shown]


@pytest.mark.parametrize(
    "written",
    [
        "https://huggingface.co/datasets/klue/klue@main/x.parquet?lang=ko&page=2",
        "http://host:8080/path/@name and https://medium.com/@name",
        "corpus.pii.key_env: HUNMIN_PII_KEY → OTHER_KEY",
        "warning: HUNMIN_PII_KEY, the key of the pseudonyms, is not seen to reach the run",
        "mask token: [MASK], unknown key 'kye' (did you mean 'key'?)",
        "make one and keep it secret: export HUNMIN_PII_KEY=$(openssl rand -hex 32), or HF_TOKEN=$TOKEN",
        "hf:OWNER/NAME@0123 in a@b.example, ratio=3:4; step-5=done",
    ],
)
def test_what_does_not_is_left(written: str) -> None:
    assert masked(written) == written


def test_a_url_that_is_signed_anew_stays_the_same_name() -> None:
    first, second = (
        f"https://h/a.jsonl?X-Amz-Date=2026{day}&X-Amz-Expires=60&X-Amz-Signature=a{day}&part=1" for day in (1, 2)
    )
    assert masked_urls(first) == masked_urls(second) != masked_urls(first.replace("part=1", "part=2"))


def test_of_a_command_all_that_follows_is_the_secret() -> None:
    words = ["hunmin", "run", "corpus.pii.key=two words", "corpus.inputs=[http://a:b@h/x]", "seed=7"]
    assert masked_words(words) == ["hunmin", "run", "corpus.pii.key=***", "corpus.inputs=[http://***@h/x]", "seed=7"]


def test_two_hundred_values_of_eight_characters_or_more_are_known() -> None:
    remember("seven77", "corpus.pii.key")
    remember(["corpus.pii.key=eight888", *(f"corpus.pii.key=invented-{number}" for number in range(300))])
    assert masked("so seven77 it is, not eight888") == f"so seven77 it is, not {MASK}"
    assert [n for n in range(100, 300) if masked(f"invented-{n}.") == f"{MASK}."] == [*range(100, 199)]


def test_errors_and_lines_on_the_terminal_hold_none(capsys: pytest.CaptureFixture[str]) -> None:
    error = UserError("cannot open http://lee:PwInv@h/a", "as s3://k:PwInv@b", "try http://h?sig=PwInv")
    say("reading http://lee:PwInv@h/a")
    shown = f"{error!r} {error} {error.problem} {capsys.readouterr().err}"
    assert "PwInv" not in shown and "cannot open http://***@h/a" in shown
    kind, parts = HunminError("http://lee:PwInv@h").__reduce__()
    assert "PwInv" not in str(kind(*parts))


def test_settings_are_written_without_and_kept_with_it() -> None:
    class Sources(Settings):
        inputs: list[str | dict[str, str]]

    settings = Sources(inputs=["http://lee:PwInv@h/a", {"path": "http://h/b?token=TokInv"}])
    for drop in ("runtime", "secret"):
        assert dump_settings(settings, drop) == {"inputs": ["http://***@h/a", {"path": "http://h/b?token=***"}]}
    assert settings.inputs[0] == "http://lee:PwInv@h/a"  # what is opened
    assert masked_tree({"a": ("http://x:PwInv@h", 1, None)}) == {"a": ["http://***@h", 1, None]}


def test_a_recipe_that_is_no_yaml_is_shown_without_its_key(tmp_path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("corpus:\n  pii: {enabled: true, key: invented-key-1, key_env: [}\n")
    with pytest.raises(UserError, match="not valid YAML") as caught:
        load_yaml(path)
    assert "invented-key-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("*KEY", "found undefined alias '***' (line 1, column 4)"),
        ("[&KEY 1, &KEY 2]", "second occurrence, found duplicate anchor '***'; first occurrence (line 1, column 19)"),
        ("!KEY 1", "could not determine a constructor for the tag '***' (line 1, column 4)"),
        ("!it's-KEY 1", "could not determine a constructor for the tag '***' (line 1, column 4)"),
        ("!KEY!KEY 1", "found undefined tag handle '***', while parsing a node (line 1, column 4)"),
        ("[1, KEY", "expected ',' or ']', but got '<stream end>', while parsing a flow sequence (line 2, column 1)"),
        ("1\nname: KEY\nname: KEY", "the key 'name' is given twice (line 3, column 1)"),
    ],
)
def test_what_is_wrong_with_a_yaml_is_said_without_its_values(value: str, said: str, tmp_path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(f"a: {value}\n".replace("KEY", "invented1"))
    with pytest.raises(UserError) as caught:
        load_yaml(path)
    assert said in str(caught.value)
    assert "invented1" not in str(caught.value)


@pytest.mark.parametrize("piece", ["a", "A_", "a.b-", "?a", "&a=", "://a:b", "key=", "bearer ", "x-amz-", "pii "])
def test_masking_takes_no_longer_than_reading(piece: str) -> None:
    began = time.process_time()
    masked(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 10
