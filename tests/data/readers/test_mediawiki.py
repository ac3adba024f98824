"""MediaWiki dumps: which pages are read, compressed in streams, and wikitext to text."""

import bz2
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.readers.wikicode import wikicode_to_text

from .reading import ids, read, rejects, skipped, texts

HEAD = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo><sitename>W</sitename></siteinfo>\n'


def page(number: int, text: str, ns: int = 0, more: str = "") -> str:
    head = f"<title>T{number}</title><ns>{ns}</ns><id>{number}</id>{more}\n"
    body = f'<id>9</id><model>wikitext</model><text bytes="3" xml:space="preserve">{text}</text>'
    return f"  <page>\n    {head}    <revision>{body}</revision>\n  </page>\n"


def test_pages(tmp_path):
    path = tmp_path / "kowiki-pages-articles.xml.bz2"
    dump = [
        HEAD + page(5, "'''수도'''는 [[나라]]의 도시다."),
        page(6, "#넘겨주기 [[수도]]") + page(7, "x", more='<redirect title="수도" />') + page(8, "토론이다", ns=1),
        page(9, "A &amp;amp; B &lt;br /&gt;다음 줄") + page(10, "본").replace("wikitext</model>", "json</model>"),
        page(11, "깨진 & 글") + "</mediawiki>",
    ]
    path.write_bytes(b"".join(bz2.compress(part.encode()) for part in dump))  # as the multistream dumps are
    items = read(path)
    assert texts(items) == ["수도는 나라의 도시다.", "A & B\n다음 줄"]
    assert ids(items) == ["kowiki-pages-articles-5", "kowiki-pages-articles-9"]
    assert skipped(items) == [(2, "redirect"), (3, "redirect"), (4, "other namespace"), (6, "no wikitext")]
    assert rejects(items) == [(7, "not well-formed XML")]


def test_a_dump_that_breaks_off_is_a_reject(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + page(1, "글") + page(2, "둘")[:60], encoding="utf-8")
    items = read(path)
    assert texts(items) == ["글"] and rejects(items) == [(2, "cut short")]


def test_the_last_revision_counts(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + page(1, "옛글").replace("</revision>", "</revision><revision><text>새 글</text></revision>"))
    assert texts(read(path)) == ["새 글"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{정보상자|이름=가|값={{안}}}}글이다.", "글이다."),
        ("[[서울특별시|서울]]과 [[부산]], [[파일:a.png|섬네일|[[속]] 설명]][[분류:도시]][[en:Seoul]]", "서울과 부산,"),
        ('글<ref name="a">출처</ref>과 <ref name="a" />말<!-- 주석 -->', "글과 말"),
        ("== 역사 ==\n* 하나\n# 둘\n: 셋", "역사\n하나\n둘\n셋"),
        ('앞\n{| class="wikitable"\n! 머리\n|-\n| 칸\n|}\n뒤', "앞\n뒤"),
        ("'''굵게''' ''기울임'' &nbsp;&lt;끝&gt; <b>진한</b> <math>x^2</math>", "굵게 기울임 \xa0<끝> 진한"),
        ("[https://example.org 누리집] [https://example.org]", "누리집"),
        ("__목차숨김____NOTOC__글", "글"),
        ("줄<br/>바꿈<div>상자</div>끝", "줄\n바꿈\n상자\n끝"),
        ("{{열린 틀 글 [[열린 고리 <ref>열린 주석", "열린 틀 글 열린 고리 열린 주석"),
        ("{{틀|{{{1|}}}|[[안]]<ref>안</ref>}}글 {|\n표", "글 {|\n표"),
        ("a < b, <3, 5 &lt; 6, &#xD800;끝", "a < b, <3, 5 < 6, 끝"),
        ("[[가|[[나|[[다|[[라|[[마|깊은]]]]]]]]]]", "마|깊은"),
    ],
)
def test_wikitext(source, text):
    assert wikicode_to_text(source) == text


MARKS = [
    "{{a|",
    "[[a|",
    "\n= a",
    "[[a|[[b",
    "{{{a|",
    "[http://a ",
    "<b>",
    "<ref>",
    "\n{|\n|",
    "<a <",
    "[[a|[http://b ",
    "''",
]


@pytest.mark.parametrize("mark", MARKS)
def test_time_is_linear_in_marks_that_nobody_closes(mark):
    def seconds(count: int) -> float:
        start = time.process_time()
        wikicode_to_text(mark * count)
        return time.process_time() - start

    short, long = (min(seconds(count) for _ in range(2)) for count in (1_000, 8_000))
    assert long < 24 * short + 0.2


@given(st.text("[]{}|<>/='*:# \nab!-&;가", max_size=80))
def test_anything_is_converted(source):
    for line in wikicode_to_text(source).split("\n"):
        assert line == line.strip()
