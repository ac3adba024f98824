"""HTML: tags that mark up go, tags that a text speaks of stay."""

from pathlib import Path

import pytest

from data.cleaning.markup import without_html

from ..cases import sections

CASES = sections(Path(__file__).with_name("cases.txt"))


@pytest.mark.parametrize(("text",), CASES["tags that are spoken of"])
def test_tags_that_are_spoken_of_stay(text):
    assert without_html(text) == (text, 0)
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    assert without_html(escaped) == (text, 0)


SHOWN = (
    """XML 문서는 글 사이에 요소를 둔다. 예약된 문자는 여럿이다.
& &amp; < &lt; 공백은 &nbsp;로 쓴다. parser.feed('<script>alert("<b>hello</b>");</script>')
주석을 만날 때 (예를 들어, <!-- comment -->) 불린다. 섹션 <![CDATA[글]]>의 내용도 그대로이다.
"""
    + "이 글에는 표시가 드물고, 있는 것은 모두 보여 주려고 적은 것이다.\n" * 40
)


def test_a_text_about_markup_keeps_what_it_shows():
    assert without_html(SHOWN) == (SHOWN, 0)


@pytest.mark.parametrize("name", ["다른", "xml", "XMLHttpRequest", "MHTML", "<!DOCTYPE HTML>"])
def test_a_text_that_does_not_name_markup_does_not(name):
    assert "&amp;" not in without_html(SHOWN.replace("XML", name))[0]


@pytest.mark.parametrize("ends", ["<p>{}</p>\n", "<p>{}</p>", "{}<br>\n", "{}<br />\n", "<span class='글'>{}</span> "])
def test_a_text_written_in_markup_does_not(ends):
    sentence = "HTML을 배우는 사람은 요소를 하나씩 손으로 적어 보는 것이 좋고, 적은 것을 소리 내어 읽는 것도 좋다."
    assert "<" not in without_html("".join(ends.format(sentence) for _ in range(40)))[0]


@pytest.mark.parametrize(("text", "left"), CASES["tags that mark up"])
def test_tags_that_mark_up_go(text, left):
    assert without_html(text) == (left, 0)


LINE = "강가를 걸으면 바람이 분다고 그가 말했다.\n"


@pytest.mark.parametrize(
    ("before", "named", "left"),
    [
        ("<p>글", "<!-- 숨은 글 -->", "이 이어진다"),
        ("스크립트는 <script>로 넣는다. 보기는 이렇다: ", "<script>alert(1)</script>", "끝"),
    ],
)
def test_what_is_hidden_goes(before, named, left):
    assert without_html(before + named + left) == (before.replace("<p>", "\n") + left, len(named))


@pytest.mark.parametrize(
    "text",
    [
        "HTML은 태그로 글의 얼개를 적는다.\n<h1>강</h1>\n<p>산</p>\n제목은 <h1>에, 문단은 <p>에 적는다고 한다.",
        "주석은 <!-- 로 시작한다고 한다.\n" + LINE * 120 + "끝은 --> 로 적는다.",
    ],
)
def test_what_a_text_shows_of_html_stays(text):
    assert without_html(text) == (text, 0)
