"""Control characters: shown as escapes, and no part of a name."""

import pytest

from common.control_characters import escaped, one_line


def test_what_a_terminal_obeys_is_shown_as_an_escape() -> None:
    assert escaped("in/a\x1b]0;TITLE\x07\x1b[2Jb.pdf") == "in/a\\x1b]0;TITLE\\x07\\x1b[2Jb.pdf"
    assert escaped("\x9b31m\r\x00\x7f") == "\\x9b31m\\r\\x00\\x7f"  # C1, too: 0x9b is ESC [
    assert escaped("a\u202etxt.exe\u2066") == "a\\u202etxt.exe\\u2066"
    assert escaped("한\udcff") == "한\\udcff"  # of a file's name that is not UTF-8
    assert escaped("첫 줄\n\t둘째 줄 👩‍👧") == "첫 줄\n\t둘째 줄 👩‍👧"
    assert escaped("a\nb", keep="") == "a\\nb"


@pytest.mark.parametrize("name", ["", "  ", "x\ntouch /tmp/x\n#", "x\r", "x\x1b[2J", "x\u2028y", "x\u202ey", "x\x85y"])
def test_names_are_one_printable_line(name: str) -> None:
    with pytest.raises(ValueError):
        one_line(name)


def test_other_names_stay() -> None:
    for name in ("a b", "한국어 실험 #3", "$(x) `y` 'z' \"w\"", "가족 👩‍👧"):
        assert one_line(name) == name
