"""PII settings and the key."""

import pytest

from common.errors import UserError
from common.settings import parse_settings
from data.pii.settings import PiiSettings, key_fingerprint, resolve_key
from data.pii.type_names import ON_REQUEST, PII_TYPES
from data.pii.types import BY_NAME

LONG = "0123456789abcdef"


def test_defaults() -> None:
    settings = PiiSettings()
    assert settings.enabled and settings.types == list(PII_TYPES) and settings.key is None
    assert len(PII_TYPES) == 16


def test_each_name_has_its_patterns() -> None:
    assert sorted(BY_NAME) == sorted((*PII_TYPES, *ON_REQUEST))


def test_unknown_type_names_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'BANK_ACCOUNT'"):
        parse_settings(PiiSettings, {"types": ["BANK_ACOUNT"]}, "recipe")
    with pytest.raises(UserError, match="twice"):
        parse_settings(PiiSettings, {"types": ["TEL", "TEL"]}, "recipe")


def test_environment_comes_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HUNMIN_PII_KEY", LONG)
    assert resolve_key(PiiSettings(key="another key, long enough")) == LONG.encode()
    assert capsys.readouterr().err == ""


def test_key_in_the_recipe_is_warned_about(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("HUNMIN_PII_KEY", raising=False)
    monkeypatch.delenv("A_KEY_WARNED_ABOUT", raising=False)
    settings = PiiSettings(key=LONG, key_env="A_KEY_WARNED_ABOUT")
    assert resolve_key(settings) == LONG.encode()
    assert "warning" in (shown := capsys.readouterr().err) and LONG not in shown
    assert LONG not in repr(settings)


def test_no_key_and_short_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MY_KEY", "HUNMIN_PII_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match=r"export MY_KEY=\$\(cat ~/\.hunmin-pii-key\)"):
        resolve_key(PiiSettings(key_env="MY_KEY"))
    with pytest.raises(UserError, match="holds 15 characters") as caught:
        resolve_key(PiiSettings(key=LONG[1:]))
    assert LONG[1:] not in str(caught.value)
    monkeypatch.setenv("MY_KEY", "short")
    with pytest.raises(UserError, match="environment variable MY_KEY holds 5"):
        resolve_key(PiiSettings(key_env="MY_KEY", key=LONG))


def test_fingerprint_tells_keys_apart() -> None:
    assert key_fingerprint(b"a" * 16) != key_fingerprint(b"b" * 16)
    assert len(key_fingerprint(b"a" * 16)) == 16


def test_default_stands_for_the_default_types() -> None:
    assert PiiSettings().left_out == PiiSettings(types=["default", "NAME"]).left_out == ""
    assert PiiSettings(types=["default", "NAME"]).types == [*PiiSettings().types, "NAME"]
    assert "leaves out 16 of 16 default types (URL, EMAIL, MAC …)" in PiiSettings(types=["NAME"]).left_out
    assert PiiSettings(types=["NAME"], enabled=False).left_out == ""
