"""What a corpus holds after the whole stage, read from its shards: none of the values that stood in the inputs.

The truth is written here by hand, value beside text, and not taken from the detector.
"""

import json
import re
import unicodedata

import pyarrow.parquet as pq
import pytest

from ..building import build, settings

LINES = (
    ("제 번호는 ０１０－７３９１－４６２８이니 저녁에 전화 주세요.", "73914628"),
    ("급하면 010 － 8264 － 1935로 문자를 남겨 주시기 바랍니다.", "82641935"),
    ("주민번호는 ８７０３１２－２３４５６１７이라고 적혀 있었습니다.", "8703122345617"),
    ("아이의 번호는 2105143827461이고 아직 등본은 받지 못했습니다.", "2105143827461"),
    ("신청서에는 19780624-1593728이라고 쓰여 있었습니다.", "1593728"),
    ("생년과 번호는 780625/2593721로 적어 내면 된다고 들었습니다.", "2593721"),
    ("담당 부서는 ☎ 051(739)2846으로 연결하면 된다고 했습니다.", "7392846"),
    ("번호는 공일공 칠삼오일 구이사팔이니까 적어 두세요.", "칠삼오일"),
    ("공일공에 육이칠사에 삼팔오일로 연락을 주시면 됩니다.", "육이칠사"),
    ("연락은 010-5827-<br>1946 번호로 주시면 감사하겠습니다.", "58271946"),
    ("사무실 번호가 010-4\u200b7\u200b1\u200b8-\u200b2935로 바뀌었다고 합니다.", "47182935"),
    ("사무실 번호가 02-7\u00ad31-\u00ad8264로 바뀌었다고 합니다.", "7318264"),
    ("자료는 kim.yuna＠example.com 주소로 보내 주시기 바랍니다.", "yuna"),
    ("자료는 leejiho[at]naver[dot]com 주소로 보내 주시기 바랍니다.", "jiho"),
    ("자료는 parkmina 골뱅이 네이버 닷컴 주소로 보내 주세요.", "mina"),
    ("저장소는 http://choiminsu:secret77@blog.kr/a 주소에 두었습니다.", "minsu"),
    ("그 사람의 메일은 햇님달님@example.com 이라고 들었습니다.", "달님"),
    ("공지는 https://달빛가게.한국/알림판 주소에 올려 두었습니다.", "달빛"),
    ("뺑소니 차량은 63나7184,47다3926 두 대라고 신고했습니다.", "7184"),
    ("뺑소니 차량은 63나7184,47다3926 두 대라고 신고했습니다.", "3926"),
    ("오토바이 번호판은 대구 달서 가 5827이었다고 적었습니다.", "5827"),
    ("집은 서울특별시 강남구 역삼동 무지개아파트 107동 1304호입니다.", "무지개"),
    ("접속 주소는 ２０３．０．１１３．７７로 기록되어 있었습니다.", "20301137"),
    ("문의는 @유관순 확인 부탁드린다고 댓글로 남겨 주세요.", "유관순"),
    ("증번호 28461937502를 적어서 창구에 내면 됩니다.", "28461937502"),
)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("leak")
    (folder / "in").mkdir()
    lines = [json.dumps({"text": text}, ensure_ascii=False) for text in dict.fromkeys(text for text, _ in LINES)]
    (folder / "in" / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    build(settings(folder / "in"), folder / "out")
    tables = [pq.read_table(path).to_pydict() for path in sorted((folder / "out" / "shards").glob("*.parquet"))]
    return "\n".join(str(value) for table in tables for column in table.values() for value in column)


@pytest.mark.parametrize(("text", "value"), LINES)
def test_no_value_is_left(text: str, value: str, shards: str) -> None:
    assert value in re.sub("<br>|[^0-9가-힣A-Za-z]", "", unicodedata.normalize("NFKC", text)), (
        "the truth is in the input"
    )
    plain = re.sub("[^0-9가-힣A-Za-z]", "", unicodedata.normalize("NFKC", shards))
    assert value not in plain


def test_the_sentences_stay(shards: str) -> None:
    for words in ("저녁에 전화 주세요", "등본은 받지 못했습니다", "두 대라고 신고했습니다", "창구에 내면 됩니다"):
        assert words in shards
