"""Texts made to take long: the processor's time grows with their length, not with its square."""

import json
import time
from collections.abc import Callable

import pytest

from data.cleaning.rules import clean, keep_sentences
from data.cleaning.settings import CleanSettings
from data.deduplicate.exact import keys_of
from data.pii.detect import find_many, find_spans, scan
from data.readers.formats import parse_block
from data.readers.records import Block, InputFile
from data.readers.settings import SourceSettings
from data.splitting.scan import split_sentences

pytestmark = pytest.mark.slow
TEXT = [
    "<div>", "<div ", '<div a="', "<div a='x' ", "<", "<b", "<!", "<!--", "<script>", "<script></style>",
    "<!doctype ", "<p>가 ", "<p>HTML\n\n ", "&amp;", "&", "&lt;b&gt;", "#", "#가", "(", "()", "( ", "[", "{", " ",
    "\n", "\n ", "\t\u3000", "“", '"다." ', "홍길동 기자 ", "[서울=", "사진=", "출처: ", "ⓒ", "Copyright ",
    "저작권자 ", "무단 전재 ", "▲", "a@", "다.", "다. ", "(다. ", "가", "a", ".", "같은 줄이 있다\n",
    "\u115f\u1160", "1\u200b", "\ue000", "가\u0301", "\u0301\u0323\u0327\u0302", "010-", "010\n", "1 ", "공일",
    "http://", "a.", "서울 강남구 ", "12가", "aa:bb:", "1.2.3.", "a[at]b", "０１０－",
    "같은 줄이 끝없이 이어진다.\n", "가\n", "<a ", "1()", "1<b>", "1<!---->", "&a", " \n", "[사진", "무단",
    "기자 ", "<p a=b ", '<p a="', "<p a= b ='", "#a#",
]  # fmt: skip
VALUES = [
    "1", "1-", "1.", "010 ", "a", "a@", "@a.", "http://", "http://a.", "ab:", "2001:", "서울시 ",
    "서울 중구 가로", "000101-", "가1", "/가", "http://a/가", "http://a/가,", "공일공 ", "공일", "０１０－",
    "a[at]b", "a골뱅이", "1-\n", "010\n", "0 1 0 ", "1<br>", "@가", "0\u200b", "http://a:", "가@", "O1O-",
    "서울 가 가 ", "12가3456,", "010/", "성명: 김", "http://a/a,", "http://a/가(", "계좌번호 1-", "면허번호\n",
    "|차량번호|\n", "차량번호\t여권\n1\t2\n", "여권번호 A", "주민번호 000101-", "a골뱅이a.", "1.2.3.4-",
    "０１０－１２３４－５６７８ ", "９００１０１－１２３４５６７,", "hong[at]naver[dot]com, ",
    "hong 골뱅이 네이버 닷컴, ", "공일공 일이삼사 오육칠팔 ", "O1O-l234-5678 ", "010/1234/5678 ",
    "0 1 0 - 1 2 3 4 - 5 6 7 8, ", "5<br>가나 ", "010-12<br>34-5678 ", "010-1234-5678 ", "010-1234-\n",
    "서울 중구 을지로 100, ", "http://a.b/c ", "h o n g @ n a v e r . c o m ", "hong_AT_naver_DOT_com ",
    "hong at naver.com ", "hong@네이버.com ", "IP 211 . 234 . 12 . 34 ", "여권 M 123 4567 8 ",
    "주소 래미안아파트 101동 1203호 ", "010-1234-5678/5679 ", "010-1234-5678", "9001011234567,",
    "90.01.01-1234567 ", "①⓪⓪-", "010%2D1234%2D5678 ", "ㅇ1ㅇ-1234-5678 ", "Naver.com ", "한글.kr ",
    "서울 강남구 역삼동 래미안 101-1203 ",
]  # fmt: skip
NAMUMARK = [
    "{{{", "[[", "[*", "|| ", "\n||", "~~a", "''", "[[a|{{{", "]]}}}]", "= ", "[br", "--a-- ", "> ", "{{",
    "[[파일:", "'''", "{{{#!wiki ", "~~", "== ", "[[a|", "{{a|", "<ref>", "{|", "<nowiki>",
]  # fmt: skip
WIKICODE = [
    "{{a|", "[[a|", "\n= a", "[[a|[[b", "{{{a|", "[http://a ", "<b>", "<ref>", "\n{|\n|", "<a <",
    "[[a|[http://b ", "''", "[[", "{{", "{{{", "[[파일:", "|| ", "'''", "{{{#!wiki ", "~~", "== ", "{|",
    "<nowiki>",
]  # fmt: skip
TAGS = [
    "<div>", "<ul><li>", "<p>", "<b><i>", "<table><tr><td>", "</div>", "<!--", '<a href="',
]  # fmt: skip
MARKS = [
    "[", "![](", "> ", "* ", "`", "**a", "| ", "# ", "[a](", "_a ", "- - ",
]  # fmt: skip

SENTENCES = [
    "가", "가 ", '"', '" ', "' ", "(", "다. (", "다. (가", "“가", '"가 ', '." ', "[", ")", ".", ". ", "다.", "… ", "ㅋ",
    "다ㅋ", "다 ㅋ", "다 !", "닼ㅋ", "갈까 ", "갈까 말까 ", "먹었다 잤다 ", "1. ", "1.", "가. ", " ", "A.", "A. ",
    "'가", "요 ", "? ", "!? ㅋ~",
]  # fmt: skip


def build(text: str) -> None:
    """Do with a text what the corpus stage does."""
    cleaned = clean(text, CleanSettings(news=True), {})
    find_many([text, cleaned], on_request=True)
    keep_sentences(split_sentences(cleaned), CleanSettings(), {})
    keys_of([text])


def split(text: str) -> None:
    for head in ("", "했다 ", '그는 "'):
        split_sentences(f"{head}{text}x")


def find(text: str) -> None:
    text = f"http://a.b/ {text}\ud800"
    find_spans(text)
    scan(text, 0, len(text))


def parse(form: str, content: str) -> None:
    file = InputFile("a", "a", SourceSettings.model_validate({"path": "a", "format": form}))
    list(parse_block(file, form, Block(0, 1, content.encode())))  # type: ignore[arg-type]


def namuwiki(text: str) -> None:
    parse("namuwiki", json.dumps([{"namespace": "0", "title": "t", "text": text}]))


def mediawiki(text: str) -> None:
    text = text.replace("<", "&lt;")
    parse("mediawiki", f"<page><title>t</title><ns>0</ns><revision><text>{text}</text></revision></page>\n")


WORKS: dict[str, tuple[Callable[[str], None], list[str], int]] = {
    "corpus": (build, [*TEXT, "<p" + " " * 300, "<p a=" + "/" * 300, "<p " + "a" * 60], 60_000),
    "values": (find, VALUES, 40_000),
    "sentences": (split, SENTENCES, 40_000),
    "namuwiki": (namuwiki, NAMUMARK, 100_000),
    "mediawiki": (mediawiki, WIKICODE, 40_000),
    "html": (lambda text: parse("html", text), TAGS, 100_000),
    "markdown": (lambda text: parse("markdown", text), [*TAGS, *MARKS], 40_000),
}


def is_square(work: Callable[[str], object], piece: str, size: int) -> bool:
    """Return whether eight times the text takes far more than eight times as long; the square would be 64."""

    def seconds(length: int) -> float:
        text = piece * max(1, length // len(piece))
        began = time.process_time()
        work(text)
        return time.process_time() - began

    # a busy machine may take long once: only what takes long again is a square
    return all(seconds(size) > 24 * seconds(size // 8) + 0.2 for _ in range(3))


@pytest.mark.parametrize("name", WORKS)
def test_time_grows_with_the_length(name: str) -> None:
    work, pieces, size = WORKS[name]
    work(pieces[0])  # what is compiled is compiled
    assert [piece for piece in pieces if is_square(work, piece, size)] == []


def test_the_measure_sees_a_square() -> None:
    assert is_square(lambda text: [0 for character in text for other in text], "a", 8_000)
    assert not is_square(lambda text: [0 for character in text], "a", 8_000)
