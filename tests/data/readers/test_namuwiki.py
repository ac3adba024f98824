"""The Namuwiki dump: which pages are read, and namumark to text in linear time."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.readers.namumark import is_redirect, namumark_to_text

from .reading import read, rejects, skipped, texts


def test_pages_of_the_main_namespace_that_are_no_redirects(tmp_path):
    path = tmp_path / "dump.json"
    pages = [
        {"namespace": "0", "title": "가", "text": "'''가'''는 글자다.[* 각주]", "contributors": ["A"]},
        {"namespace": "0", "title": "나", "text": "#redirect 가\n"},
        {"namespace": "1", "title": "틀", "text": "틀이다"},
        {"namespace": 0, "title": "다", "text": "다도 글자다."},
        {"namespace": "0", "title": "라"},
    ]
    path.write_text(json.dumps(pages, ensure_ascii=False), encoding="utf-8")
    items = read(path)
    assert texts(items) == ["가는 글자다.", "다도 글자다."]
    assert skipped(items) == [(2, "redirect"), (3, "other namespace")]
    assert rejects(items) == [(5, "no field 'text'")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("== 개요 ==\n글이다.", "개요\n글이다."),
        ("=== #접힌 것# ===", "#접힌 것#"),
        ("==# 접힌 것 #==", "접힌 것"),
        ("[[서울]]과 [[부산광역시|부산]]에 [[대구#역사]]", "서울과 부산에 대구"),
        ("[[파일:a.png|width=100]]그림[[분류:글자]]", "그림"),
        ("[[https://example.org|누리집]] [[https://example.org]]끝", "누리집 끝"),
        ("'''굵게''' ''기울임'' __밑줄__ 2^^2^^ H,,2,,O", "굵게 기울임 밑줄 2² H₂O"),
        ("10^^-13^^개와 2^^n^^개, 5m^^2^^", "10⁻¹³개와 2ⁿ개, 5m²"),
        ("산 ~~바보~~ 사람 --취소-- 2000--2001", "산  사람  2000--2001"),
        ("글[* 각주 [[링크]] 안의 글]은 [*A 이름] 남는다", "글은  남는다"),
        ("[목차]\n[include(틀:상위 문서, top1=가)]\n[[분류:x]]글[br]둘째", "글\n둘째"),
        ("[ruby(漢字, ruby=한자)] [youtube(abc, width=3)]", "漢字"),
        ('{{{+1 큰 글}}} {{{#red 빨강}}} {{{#!wiki style="a"\n안쪽}}}', "큰 글 빨강 안쪽"),
        ("{{{#!folding [ 펼치기 ]\n접힌 글}}}", "접힌 글"),
        ("{{{#!html <b>x</b>}}}{{{#!syntax python\nx = 1}}}남음 {{{그대로}}}", "남음 그대로"),
        ("앞\n|| 칸 || [[칸|둘]] ||\n||<-2> 여러\n줄 ||\n뒤 || 글", "앞\n뒤 || 글"),
        (" * 항목 하나\n  1. 항목 둘\n> 인용\n----\n## 주석\n끝", "항목 하나\n항목 둘\n인용\n끝"),
        ("\\[그대로\\] [대괄호]", "[그대로] [대괄호]"),
        ("{{{열린 글\n[[닫히지 않은 글\n다음", "열린 글\n닫히지 않은 글\n다음"),
        ("{{{+1 [[가|{{{#blue 나}}}]]}}}", "나"),
    ],
)
def test_marks(source, text):
    assert namumark_to_text(source) == (text, 0)


@pytest.mark.parametrize("source", ["#redirect 가", "#넘겨주기 가", "\n#REDIRECT 가"])
def test_redirects(source):
    assert is_redirect(source) and not is_redirect("글 " + source)


@given(st.text("{}[]|*'~-=#\n \\가a!", max_size=80))
def test_anything_is_converted_and_lines_hold_text(source):
    for line in namumark_to_text(source)[0].split("\n"):
        assert line == line.strip()


def test_no_sentence_keeps_a_hole():
    source = "나이는 [age(1990-01-02)]세이다. 값은 [math(x^2)]이고 {{{#!latex y}}}이다. 끝이다.[각주]"
    assert namumark_to_text(source) == ("끝이다.", 2)
