"""HTML and Markdown: the text by blocks, without what surrounds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.readers.html import html_to_text
from data.readers.markdown import markdown_to_text

from .reading import ids, read, rejects, texts


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>첫 <b>문단</b>이다.</p><p>둘째\n 문단</p>", "첫 문단이다.\n둘째 문단"),
        ("<div>앞<p>안</p>뒤</div>", "앞\n안\n뒤"),
        ("<ul><li>하나<li>둘</ul><table><tr><td>칸<td>칸2</table>", "하나\n둘\n칸\n칸2"),
        ("<nav>메뉴</nav><script>x()</script><style>p{}</style><p>글</p><footer>끝</footer><aside>곁</aside>", "글"),
        ("<p>a<br>b &amp; c&nbsp;d</p><!-- 주석 --><pre>code</pre>", "a\nb & c d"),
        ("<head><title>제목</title></head><body>몸", "몸"),
        ("글만", "글만"),
        (
            "<form action='x'><input value=y><p>글</p><select><option>고르기</select><button>보내기</button></form>",
            "글",
        ),
        ("<pre>산에는 꽃 피네\n\n꽃이 <i>피네\n갈 봄</i> 여름</pre>뒤", "산에는 꽃 피네\n꽃이 피네\n갈 봄 여름\n뒤"),
        ("앞<pre>x = 1  # 하나</pre><pre><b><code>print('한글 한글')</code></b></pre><p>뒤", "앞\n뒤"),
        ("<span>010-1234-5678</span><span>02-123-4567</span> <b>A</b>BC", "010-1234-5678 02-123-4567 ABC"),
        ("<a>a@example.com</a><b><a>b@example.com</a></b> x<i><b>y</b></i>z", "a@example.com b@example.com xyz"),
        ("<a>a@example.com</a><a>010-1234-5678</a><!-- --><b>한</b>글1<i>호</i>", "a@example.com 010-1234-5678한글1호"),
        ("", ""),
        ("<p>열린 <b>채로", "열린 채로"),
        (
            "<p>10<sup>13</sup>개, 5m<sup>2</sup>, CO<sub>2</sub>, 말<sup>가</sup>, 10<sup>&minus;6</sup>",
            "10¹³개, 5m², CO₂, 말가, 10⁻⁶",
        ),
    ],
)
def test_html(source, text):
    assert html_to_text(source) == text


@given(st.text("<>/=\"' pbdivscript가!-&;", max_size=60))
def test_any_html_gives_lines_of_its_own_letters_without_blanks_at_their_ends(source):
    text = html_to_text(source)
    assert text.count("가") <= source.count("가")
    assert all(line and line == " ".join(line.split()) for line in text.split("\n") if text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# 제목\n\n첫 줄\n둘째 줄  \n셋째 줄", "제목\n첫 줄 둘째 줄\n셋째 줄"),
        ("- 하나\n- **둘** [링크](http://a.b)\n\n> 인용 `코드`", "하나\n둘 링크\n인용 코드"),
        ("```python\n# 한글\n```\n\n    x = 1  # 코드\n\n글 ![그림](a.png)\n\n```\ny = 2\n```", "글"),
        (
            "시\n\n    나 보기가\n    가실 때에는\n\n```\n손님: 얼마예요?\n```\n\n끝",
            "시\n나 보기가\n가실 때에는\n손님: 얼마예요?\n끝",
        ),
        ("10<sup>13</sup>개, 5m<sup>2</sup>, CO<sub>2</sub>", "10¹³개, 5m², CO₂"),
        ("| 칸 | 둘 |\n|---|---|\n| 셋 | 넷 |", "칸\n둘\n셋\n넷"),
        ("<div>상자 <b>글</b></div>\n\n뒤 <a name='x'></a>글", "상자 글\n뒤 글"),
        ("[a@example.com](x)[010-1234-5678](y)![z](z)**02-123-4567**", "a@example.com 010-1234-5678 02-123-4567"),
        (">" * 60 + " 글", "글"),
        ("\n".join("  " * level + "- 글" for level in range(30)), "\n".join(["글"] * 30)),
        (":::row:::\n열\n:::row-end:::\n\n> [!NOTE]\n> 알림이다", "열\n알림이다"),
    ],
)
def test_markdown(source, text):
    assert markdown_to_text(source) == text


def test_a_file_is_a_document_without_its_front_matter(tmp_path):
    (tmp_path / "a.md").write_text("---\ntitle: 제목\n---\n# 머리\n\n글", encoding="utf-8")
    (tmp_path / "b.html").write_text("---\nslug: x\n---\n<p>글</p>", encoding="utf-8")
    (tmp_path / "c.html").write_bytes(b"<p>\xff\xfe</p>")
    items = read(tmp_path)
    assert texts(items) == ["머리\n글", "글"] and ids(items) == ["a-1", "b-1"]
    assert rejects(items) == [(1, "not UTF-8")]
