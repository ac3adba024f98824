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
        "모든 URL 특성 <a href=''> 또는 다른 특성에 쓰지 않는다.",
        '도움말 단추는 <button icon="help">는 아이콘과 함께 만든다.',
        "글 앞에서 열린 <a />태그를 닫는다.",
        "모두 읽은 다음에는 <body>태그에 처리기를 둔다.",
        'data 특성은 <object data="a.swf"/>로 준다.',
        "<p> 표시되는 PIN입니다.\n<path> 파일 경로입니다.",
        "값은 <x:Boolean>True</x:Boolean>처럼 쓴다.",
        "다음을 </body> 바로 앞에 넣는다.",
        "꼭 </head> 태그 앞에 넣는다.",
        "그림은 <img>를 쓴다.",
        "<p>와 <div>의 차이는 크다.",
        "<ul>, <ol>, <li>의 차이를 본다.",
    ],
)
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
        ("<p>글 <path> 글</p><p>글", "\n글 <path> 글\n\n글"),
        ("글<br>는 두 줄이다", "글\n는 두 줄이다"),
        ('단추 <img src="a.png">를 누른다', "단추 를 누른다"),
        ("<b>는</b>은 조사이다", "는은 조사이다"),
        ('그는 "<b>큰 강</b>"이라고 했다', '그는 "큰 강"이라고 했다'),
        ('<a href="a" title="강">는</a>', "는"),
        ("<p>나&nbsp;그리고 &amp; 너 &lt; 강", "\n나\u00a0그리고 & 너 < 강"),
        ("앞<![CDATA[안의 글]]>뒤", "앞안의 글뒤"),
        ("<![CDATA[<p>안의 글</p>]]>", "\n안의 글\n"),
        ("앞<![endif]>뒤<![if !IE]>", "앞뒤"),
        ('<?xml version="1.0"?><!DOCTYPE html><p>글', '<?xml version="1.0"?>\n글'),
        ("여러 요소를 <div>로 감싼다. <div>보기</div>", "여러 요소를 <div>로 감싼다. \n보기\n"),
        ("10<sup>6</sup>개, 9.8m/s<sup>2</sup>이다", "10⁶개, 9.8m/s²이다"),
        ("H<sub>2</sub>O와 Na<SUP>+</SUP>, 10<sup>-3</sup>", "H₂O와 Na⁺, 10⁻³"),
        ("제1<sup>st</sup> 글", "제1 st 글"),
        (
            "파일에는 <script> 구역이 있다. 그 안에 적는다.\nlet a = {b: 1};\n</script>로 닫는다.",
            "파일에는  구역이 있다. 그 안에 적는다.\nlet a = {b: 1};\n로 닫는다.",
        ),
    ],
)
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
