"""HTML: tags that mark up go, tags that a text speaks of stay."""

import pytest

from data.cleaning.markup import without_html


@pytest.mark.parametrize(
    "text",
    [
        "올해의 인물 <TIME> 100인 글",
        "<map> 함수는 두 값을 바꾼다.",
        "벡터는 vector<at:Tensor>이고 Some<Option>도 있다.",
        "<address> 장치의 주소입니다.",
        "새로운 <link> 요소를 찾는다.",
        '개선된 <meta name="viewport"> 태그를 쓴다.',
        "문서는 <!DOCTYPE html> 선언으로 시작한다.",
        "문서는 (<!DOCTYPE html>)로 시작한다.",
        "<!DOCTYPE html>을 쓴다.",
        "구분 기호 <![, ]]>를 쓴다.",
        "앞의 <!--와 뒤의 --> 사이에 적는다.",
        '주석의 "<!--" and "-->"를 지운다.',
        "줄은 <p> 태그로, 표는 <td> 요소로 만든다.",
        "정말 좋다 >ㅁ<b>",
    ],
)
def test_tags_that_are_spoken_of_stay(text):
    assert without_html(text) == (text, 0)
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    assert without_html(escaped) == (text, 0)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<b>굵은 글</b>과 <TIME>이라는 잡지", "굵은 글과 <TIME>이라는 잡지"),
        ("<p>첫 글<p>둘째 글<br>셋째 글", "\n첫 글\n둘째 글\n셋째 글"),
        ("<B>굵은 글</b>", "굵은 글"),
        ("<o:p>글</o:p>", "글"),
        ('<img src="a.png"> 그림', " 그림"),
        ("<table><tr><td>칸</table>", "\n\n\n칸\n"),
        ("끝이 없다</span>", "끝이 없다"),
        ("앞<![CDATA[안의 글]]>뒤", "앞안의 글뒤"),
        ("<![CDATA[<p>안의 글</p>]]>", "\n안의 글\n"),
        ("앞<![endif]>뒤<![if !IE]>", "앞뒤"),
        ('<?xml version="1.0"?><!DOCTYPE html><p>글', '<?xml version="1.0"?>\n글'),
    ],
)
def test_tags_that_mark_up_go(text, left):
    assert without_html(text) == (left, 0)
