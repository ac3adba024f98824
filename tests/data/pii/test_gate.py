"""The gate: a relaxation of every exact pattern, and exact line and character ranges."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.pii import detect, gate, line_wrapped, runs
from data.pii.detect import find_spans, scan
from data.pii.fold import fold
from data.pii.obfuscated import FINDERS, FOLD
from data.pii.types import BY_NAME
from data.pii.types.address import head

from .examples import COMMON, NOTHING, OTHERWISE

PIECES = [case.text for case in COMMON] + NOTHING
ALPHABET = "0123456789" * 2 + "-. :@/()+,=가동로길시구군읍번지서울산M aFx_\u2013ㅡ"

AFTER = ["", " ", ".", ", 3호", "번지", " 번지", "번지 3호", " 대한", "에서", " (가나동)", "-", "\u2013"]

GATE = gate.gate(on_request=True)
FORMS = [case.text for case in OTHERWISE]


def line_types(line: str, used: gate.Gate = GATE) -> gate.Types:
    return used.line_types(line, 0, len(line))


@pytest.mark.parametrize("name", BY_NAME)
def test_relaxation(name: str) -> None:
    @settings(max_examples=300)
    @given(st.lists(st.sampled_from(PIECES + FORMS) | st.text(ALPHABET, max_size=25), max_size=4).map("".join))
    def check(line: str) -> None:
        # the pattern of an address is its head alone: whether it is one is for the tail to say
        if scan(line, 0, len(line), [name]) if name == "ADDRESS" else BY_NAME[name].pattern.search(line):
            assert name in line_types(line)

    check()


@pytest.mark.parametrize("name", FINDERS)
def test_relaxation_of_other_ways_of_writing(name: str) -> None:
    @settings(max_examples=300)
    @given(
        st.lists(st.sampled_from(FORMS) | st.text(ALPHABET + "공일이삼사오at골뱅이", max_size=25), max_size=4).map(
            "".join
        )
    )
    def check(line: str) -> None:
        if list(FINDERS[name][1](line, 0, len(line))):
            assert name in line_types(line)

    check()


@settings(max_examples=500)
@given(st.lists(st.sampled_from(FORMS + PIECES), max_size=3).map(" ".join))
def test_folding_without_its_gate_finds_nothing_more(line: str) -> None:
    line = line.replace("\n", " ").replace("\r", " ")
    if FOLD not in line_types(line):
        assert find_spans(fold(line, 0, len(line)).text) == find_spans(line)


def test_relaxation_at_the_edges_of_an_address() -> None:
    for road in ("가·로", "가로 3길", "나1동2가", "다리 라리", "가대로지하 "):
        for number in ("1", "12345", "1-2"):
            for after in AFTER:
                line = f"세종특별자치시 {road}{number}{after}"
                assert not scan(line, 0, len(line), ["ADDRESS"]) or "ADDRESS" in line_types(line), line


@pytest.mark.parametrize(
    "line",
    [
        "F길0길1",
        "가나 A로 12길 3",
        "경기 수원 가온동 12 부근",
        "경기 수원 가온리 7",
        "경기 수원 가온로 12대 300평",
        "주소: 가온로 12강남",
        "주소 가온로, 12",
        "주소: 가온1동 12-3",
        "서울 강남구 가온3로 12",
    ],
)
def test_an_address_passes_the_gate_whatever_stands_before_its_last_word(line: str) -> None:
    assert scan(line, 0, len(line), ["ADDRESS"])
    assert "ADDRESS" in line_types(line)


@pytest.mark.parametrize("line", ["서울시 강남구 표면으로 12", "서울시 강남구 그러므로 12 앞", "시작으로 2"])
def test_what_ends_in_a_particle_is_no_road(line: str) -> None:
    assert not scan(line, 0, len(line), ["ADDRESS"])
    assert "ADDRESS" not in line_types(line)


@pytest.mark.parametrize("name", sorted(detect._NEAR))
def test_values_of_a_long_line_stand_near_what_their_gate_matches(name: str) -> None:
    @settings(max_examples=100)
    @given(
        st.lists(
            st.sampled_from(PIECES + FORMS + ["가온구 나로 12 ", "주소: 101동 1203호 "])
            | st.text(ALPHABET, max_size=25),
            min_size=1,
            max_size=4,
        ),
        st.lists(st.sampled_from([0, 1, 30, 60, 90]), min_size=4, max_size=4),
    )
    def check(pieces: list[str], gaps: list[int]) -> None:
        line = "".join(piece + " 깨끗한 글" * gap for piece, gap in zip(pieces, gaps, strict=False)).replace("\n", " ")
        types = line_types(line)
        if name in BY_NAME:
            assert scan(line, 0, len(line), [name] if name in types else [], types) == scan(line, 0, len(line), [name])
        else:
            values = list(detect._obfuscated(name, line, 0, len(line), types[name])) if name in types else []
            assert values == list(FINDERS[name][1](line, 0, len(line)))

    check()


def test_parts_of_a_line_are_counted_in_characters() -> None:
    line = "다" * 400 + " 서울 강남구 가온로 12 " + "라" * 400
    types = GATE.line_types("\n\n" + line, 2, 2 + len(line))
    assert types["ADDRESS"] == [(2 + 409 - gate.REACH, 2 + 415 + gate.REACH)]


def test_a_type_is_looked_for_in_the_parts_that_its_own_gate_matches() -> None:
    line = "010-1234-5678" + " 깨끗한 글" * 200 + " 192.168.0.1"
    types = line_types(line)
    assert [part[0] for part in types["TEL"] or ()] == [0]
    assert [part[1] for part in types["IP"] or ()] == [len(line)]


def test_an_address_without_any_evidence_is_not_looked_for() -> None:
    for line in ("두말로 2번", "가온로 12"):
        assert "ADDRESS" not in line_types(line)
    for line in (
        "서울 강남구 가온로 12",
        "가온로 12길 3",
        "가온동 101동 1203호",
        "주소: 가온로 12",
        "가온로 12로 보내 주세요",
    ):
        assert "ADDRESS" in line_types(line), line
    text = "받는 곳\n가온로 12"
    (window,) = GATE.windows([text])
    assert "ADDRESS" in window.types, "on the line before"


def test_the_types_of_a_line_are_the_same_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [" ".join(pair) for pair in zip(PIECES[:80:20], FORMS[:80:20], strict=True)]
    expected = [line_types(line) for line in lines]
    monkeypatch.setattr(gate, "DFA_BYTES", 2 << 20)  # filled by a line or two
    assert [line_types(line, gate.Gate(on_request=True)) for line in lines] == expected


def test_windows_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["깨끗한 글", "가나\n010-1234-5678\n다라", "", "a@b.co", "끝 010-1234-5678"]
    for size in (1, 20, 1 << 16):
        monkeypatch.setattr(gate, "BATCH_CHARACTERS", size)
        windows = [(w.text, texts[w.text][w.start : w.end]) for w in gate.gate().windows(texts)]
        assert windows == [(1, "010-1234-5678"), (3, "a@b.co"), (4, "끝 010-1234-5678")]


@pytest.mark.parametrize("line", ["번호 ㅇ1ㅇ-1234-56780/0", "1234-56780/0", "12/345678/9-0"])
def test_relaxation_where_joints_are_mixed(line: str) -> None:
    names = [name for name, kind in BY_NAME.items() if kind.pattern.search(line)]
    assert set(names) <= set(line_types(line))


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES + FORMS) | st.text(ALPHABET, max_size=25), max_size=4).map("".join))
@example("F길/1")
def test_an_address_begins_as_its_relaxation_says(line: str) -> None:
    whole = re.compile(head.PATTERN.pattern.replace(f"(?={head.BEGINS})", ""))
    assert whole.pattern != head.PATTERN.pattern
    assert [m.span() for m in whole.finditer(line)] == [m.span() for m in head.PATTERN.finditer(line)]


@pytest.mark.parametrize(
    "run_",
    [
        "1.2.3.4567-89",
        "2019-09-01",
        "010.12345.678",
        "1)2)345678",
        "0-1-0-1-2-3-4-5-6-7-8",
        "2016, 2019,2020",
        "1588 1234",
    ],
)
def test_a_run_that_is_passed_over_holds_no_value(run_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = list(runs.run(run_, 0, len(run_)))
    monkeypatch.setattr(runs, "_DECIDED", re.compile("(?!)"))
    assert list(runs.run(run_, 0, len(run_))) == passed


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(PIECES + FORMS + ["\n", "가동", "나로", " 1"]) | st.text(ALPHABET + "\n\r"), max_size=5)
)
def test_a_line_end_within_an_address_is_one_that_is_looked_at(pieces: list[str]) -> None:
    text = "".join(pieces)
    for at in (place for place, sign in enumerate(text) if sign == "\n"):
        place = max(0, at - 4), at + 64
        assert not line_wrapped._ADDRESS_BREAK.search(text, *place) or line_wrapped._MAY_BREAK.search(text, *place)


@settings(max_examples=500)
@given(
    st.sampled_from(
        ["01012345678", "0212345678", "15881234", "821012345678", "9001011234567", "1234567890", "4111111111111111"]
    ),
    st.lists(
        st.sampled_from(["", "-", " ", ".", "/", "~", " - ", ") (", "][", "--", ".-", "\u00a0", "에", " 다시 "]),
        min_size=2,
        max_size=2,
    ),
    st.lists(st.integers(0, 2), min_size=16, max_size=16),
    st.sampled_from(["", "전화 ", "계좌: ", "카드,", "(", "[", "1234567/", "사업자\n"]),
)
def test_the_gate_of_runs_knows_every_joint(digits: str, joints: list[str], places: list[int], before: str) -> None:
    line = before + "".join(sign + ("", *joints)[place] for sign, place in zip(digits, places, strict=False))
    start = line.find("\n") + 1
    if list(runs.run(line, start, len(line))):
        assert "run" in line_types(line[start:])
