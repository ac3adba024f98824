"""MediaWiki dumps: which pages are read, compressed in streams, and wikitext to text."""

import bz2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reading import ids, read, rejects, skipped, texts

wikicode_to_text = pytest.importorskip("data.readers.wikicode").wikicode_to_text

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
        ("10<sup>13</sup>개, 5m<sup>2</sup>, CO<sub>2</sub>, 10<sup>−6</sup>", "10¹³개, 5m², CO₂, 10⁻⁶"),
        (
            '10<sup>&minus;6</sup>, 10<sup class="x">3</sup>, 10<sup>2n</sup>, 10<sup>1.5</sup>',
            "10⁻⁶, 10³, 10²ⁿ, 10^1.5",
        ),
        ("[[가|[[나|[[다|[[라|[[마|깊은]]]]]]]]]]", "마|깊은"),
    ],
)
def test_wikitext(source, text):
    assert wikicode_to_text(source) == (text, 0)


@given(st.text("[]{}|<>/='*:# \nab!-&;가", max_size=80))
def test_anything_is_converted(source):
    for line in wikicode_to_text(source)[0].split("\n"):
        assert line == line.strip()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("길이가 {{convert|12|km|mi}}이고 넓이가 {{변환|3|ha}}인 강이다.", "길이가 12 km이고 넓이가 3 ha인 강이다."),
        ("폭은 {{convert|5|-|10|m|ft}}, 키는 {{cvt|6|ft|2|in|cm}}이다.", "폭은 5–10 m, 키는 6 ft 2 in이다."),
        ("넓이는 {{변환|30|km2|sqmi|abbr=on}}이다.", "넓이는 30 km²이다."),
        ("높이는 {{val|1234}}미터이다.", "높이는 1234미터이다."),
        ("질량은 {{val|1.2|0.3|e=5|ul=kg}}이다.", "질량은 1.2±0.3×10^5 kg이다."),
        (
            "{{lang|en|Gaon}}이라 하고 {{nowrap|[[가온|이곳]]}}에 {{분수|1|2}}이 있다.",
            "Gaon이라 하고 이곳에 1/2이 있다.",
        ),
        ("{{국기나라|대한민국}}의 수도이다.", "대한민국의 수도이다."),
        ("이름은 {{작게|{{lang|ja|가}}}}이다.", "이름은 가이다."),
        ("가온강이다.{{출처|날짜=2020}} 길이{{각주|가}}는 {{sfn|가|2020}} 길다.", "가온강이다. 길이는 길다."),
        ("<nowiki>{{글자 그대로}}</nowiki>라고 [[적다|적는다]].", "{{글자 그대로}}라고 적는다."),
        ("<nowiki>''[[가]] <!--</nowiki> 뒤 ''글''<nowiki/>이다. <nowiki>열린 글", "''[[가]] <!-- 뒤 글이다. 열린 글"),
        ("10{{위첨자|13}}개, CO{{아래첨자|2}}, 2{{sup|n}}이다.", "10¹³개, CO₂, 2ⁿ이다."),
        (
            "{{인용문|백성을 가르치는 바른 소리|세종}}\n{{cquote|가는 말이 곱다.}}",
            "백성을 가르치는 바른 소리\n가는 말이 곱다.",
        ),
        ("{{정보상자\n|이름=가}}'''가온강'''은 강이다.", "가온강은 강이다."),
    ],
)
def test_values_of_templates_stay(source, text):
    assert wikicode_to_text(source) == (text, 0)


@pytest.mark.parametrize(
    ("source", "text", "gone"),
    [
        ("인구는 {{인구|서울}}명이다. 다음 글이다.", "다음 글이다.", 1),
        ("첫 글이다. 넓이는 {{면적}}.", "첫 글이다.", 1),
        ("값은 <math>x</math>이다. <chem>H2O</chem>는 물이다. 끝이다.", "끝이다.", 2),
        ("{{누구}}는 사람이다.", "", 1),
        ("{{틀}} 선수는 {{아이콘}} 한국 사람이다.", "선수는 한국 사람이다.", 0),
    ],
)
def test_no_sentence_keeps_a_hole(source, text, gone):
    assert wikicode_to_text(source) == (text, gone)


def test_sentences_that_went_are_counted(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + page(1, "첫 글이다. 인구는 {{인구}}명이다.") + "</mediawiki>", encoding="utf-8")
    assert texts(read(path)) == ["첫 글이다."]
    assert skipped(read(path)) == [(1, "a sentence with a value that only a template knows")]
