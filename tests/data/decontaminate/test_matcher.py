"""The decontaminator: decisions identical to the oracle's, planted copies found, innocent sentences left alone."""

import os
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.benchmark import BenchmarkSentence, load_benchmark
from data.decontaminate.criteria import Criteria, Scope
from data.decontaminate.matcher import BATCH, Decontaminator, Hit
from data.decontaminate.sources import Sources, distinct_sentences, fold_benchmark, fragment_sources
from data.decontaminate.stored import from_arrays, to_arrays
from data.decontaminate.terms import count_syllables, fold_sentences
from tests.data.decontaminate.oracle import Oracle

SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")
SENTENCE = "경찰은 어제 저녁 시청 앞에서 길을 잃은 아이를 찾아 부모에게 돌려보냈다고 밝혔다."

STEMS = tuple(
    "사람나라도시학교아이병원바다하늘음악영화기차시장겨울아침선생친구문제이유생각소식"[i : i + 2]
    for i in range(0, 40, 2)
)
ENDINGS = ["이", "은", "을", "에", "의", "도", "로", "과", "까지", "에서"]
VERBS = ["갔다", "왔다", "보았다", "말했다", "만들었다", "기다렸다", "좋아한다", "바뀌었다", "시작했다", "끝났다"]


def sentence(rng: random.Random) -> str:
    """Return a sentence of Korean-like words; few stems, so that sentences share much."""
    words = [rng.choice(STEMS) + rng.choice(ENDINGS) for _ in range(rng.randrange(1, 14))]
    return " ".join([*words, rng.choice(VERBS)]) + rng.choice([".", "", "!", "…"])


def alter(text: str, rng: random.Random) -> str:
    """Return the sentence altered in one of many ways."""
    words = text.split()
    place = rng.randrange(len(words))
    return rng.choice(
        [
            text,
            text.replace(" ", ""),
            " ".join([*words[:place], "".join(words[place : place + 2]), *words[place + 2 :]]),
            " ".join([*words[:place], rng.choice(STEMS), *words[place + 1 :]]),
            " ".join([*words[:place], words[place][:-1] + "만", *words[place + 1 :]]),
            f"{sentence(rng)} {text} {sentence(rng)}",
            " ".join(words[: max(len(words) * 2 // 3, 1)]),
            " ".join(rng.sample(words, len(words))),
            sentence(rng),
        ]
    )


def corpus(seed: int, benchmark_size: int, queries: int) -> tuple[list[BenchmarkSentence], list[str]]:
    rng = random.Random(seed)
    benchmark = [
        BenchmarkSentence(rng.choice(["t1", "t2"]), str(i // 5 if passage else i), sentence(rng), passage)
        for i in range(benchmark_size)
        for passage in [i % 15 < 5]
    ]
    return benchmark, [alter(rng.choice(benchmark).text, rng) for _ in range(queries)]


@pytest.mark.parametrize(("threshold", "short"), [(0.5, 16), (0.8, 0), (0.8, 40)])
def test_decisions_equal_the_oracle_on_korean_like_text(threshold: float, short: int) -> None:
    chosen = Criteria(threshold=threshold, bigram_threshold=threshold, short_syllables=short)
    benchmark, queries = corpus(int(threshold * 10), 150, 500)
    hits = Decontaminator.build(benchmark, chosen).match(queries)
    assert hits == Oracle(benchmark, chosen).match(queries)
    assert {"exact", "words", "bigrams"} <= {hit.rule for hit in hits if hit}


TEXT = st.one_of(
    st.text("가나다 .", max_size=40),
    st.lists(st.sampled_from(["가나", "다라마", "바사", "아", "자차카", "타.", "\n", "é"]), max_size=14).map(" ".join),
)


@settings(max_examples=150)
@given(
    st.lists(
        st.builds(BenchmarkSentence, st.sampled_from("ab"), st.sampled_from("123"), TEXT, st.booleans(), st.none()),
        max_size=8,
    ),
    st.lists(TEXT, max_size=8),
    st.sampled_from([0.4, 0.8, 1.0]),
    st.sampled_from(["passages", "all"]),
    st.sampled_from([0, 5, 100]),
)
def test_decisions_equal_the_oracle_on_anything(
    benchmark: list[BenchmarkSentence], queries: list[str], threshold: float, scope: Scope, short: int
) -> None:
    chosen = Criteria(
        threshold=threshold,
        bigram_threshold=threshold,
        fragment_threshold=threshold,
        fragment_scope=scope,
        fragment_min_syllables=min(short, 5),
        short_syllables=short,
        min_words=2,
        min_bigrams=2,
        exact_min_passage_characters=3,
    )
    queries += [s.text for s in benchmark]
    built = Decontaminator.build(benchmark, chosen)
    assert built.match(queries) == Oracle(benchmark, chosen).match(queries)
    stored = from_arrays(to_arrays(built))
    assert stored.records == built.records and list(stored.indices) == list(built.indices)
    for name, array in to_arrays(built).items():
        again = to_arrays(stored)[name]
        assert again.dtype == array.dtype and np.array_equal(again, array)
    assert stored.match(queries) == built.match(queries)


@pytest.mark.skipif(not (SHARED / "klue").is_dir(), reason="real text is not at hand")
def test_decisions_equal_the_oracle_on_real_text() -> None:
    rng = random.Random(3)
    everything = load_benchmark(SHARED / "klue" / "klue-nli-v1.1" / "klue-nli-v1.1_dev.json")
    everything += load_benchmark(SHARED / "klue" / "wos-v1.1")
    start = [rng.randrange(len(everything) - 50) for _ in range(5)]
    benchmark = [s for a in start for s in everything[a : a + 50]]
    queries = [alter(rng.choice(everything if i % 4 else benchmark).text, rng) for i in range(500)]
    chosen = Criteria()
    assert Decontaminator.build(benchmark, chosen).match(queries) == Oracle(benchmark, chosen).match(queries)


@pytest.fixture(scope="module")
def decontaminator() -> Decontaminator:
    rng = random.Random(0)
    others = [BenchmarkSentence("other", str(i), sentence(rng)) for i in range(300)]
    return Decontaminator.build([*others, BenchmarkSentence("news", "n1", SENTENCE)])


@pytest.mark.parametrize(
    ("copy", "rule"),
    [
        (SENTENCE, "exact"),
        ("“" + SENTENCE.replace(".", "!").replace(" ", "  ") + "”", "exact"),
        (SENTENCE.replace(" ", ""), "exact"),
        (SENTENCE.replace("어제 저녁", "어제저녁"), "exact"),
        (f"한편 소식통에 따르면 {SENTENCE} 그 뒤의 일은 알려지지 않았다.", "embedded"),
        (f"한편 소식통에 따르면 {SENTENCE.replace('어제 저녁', '어제 오늘 저녁')} 그 뒤의 일은 모른다.", "words"),
        (SENTENCE.replace("저녁", "새벽"), "bigrams"),
        (SENTENCE.replace("아이를", "아이도"), "bigrams"),
        (SENTENCE.replace("돌려보냈다고", "데려다주었음을"), "words"),
        ("한편 소식통에 따르면 " + SENTENCE.replace(" ", "") + " 그 뒤의 일은 알려지지 않았다.", "bigrams"),
        (" ".join(SENTENCE.split()[:10]), "fragment"),
    ],
)
def test_planted_copies_are_found(decontaminator: Decontaminator, copy: str, rule: str) -> None:
    hit = decontaminator.match([copy])[0]
    assert hit is not None
    assert (hit.task, hit.guid, hit.rule) == ("news", "n1", rule)
    assert 0.8 <= hit.score <= 1.0 and hit.text == SENTENCE
    assert (hit.score == 1.0) or rule != "exact"


def test_innocent_sentences_are_left_alone(decontaminator: Decontaminator) -> None:
    innocent = ["경찰은 어제 저녁 회의를 열었다.", "아이를 찾아 부모에게 알렸다.", "", "...", "안녕하세요.", "ㅋㅋㅋㅋ"]
    assert decontaminator.match(innocent) == [None] * len(innocent)


LONG_TURN = "내일 저녁 일곱 시에 네 명 예약해 주세요."


@pytest.mark.parametrize(
    ("text", "passage", "criteria", "rules"),
    [
        ("정말 좋아요", False, {}, {"정말좋아요!": "exact", "이 집은 정말 좋아요": None}),
        ("Microsoft", False, {}, {"microsoft": "exact", "Microsoft Teams 도움말": None}),
        ("감사합니다.", True, {}, {"감사합니다.": None}),
        (LONG_TURN, True, {}, {LONG_TURN: "exact"}),
        (SENTENCE, False, {"rules": ("words",)}, {SENTENCE: "words", SENTENCE.replace(" ", ""): None}),
        (
            *("식기세척기도 있습니다.", False, {"rules": ("exact", "embedded")}),
            {"부엌에는 식기세척기도, 있습니다! 그래요.": "embedded", "있습니다 식기세척기도": None},
        ),
        ("네, 감사합니다.", True, {"rules": ("exact", "embedded")}, {"네, 감사합니다. 또 봐요.": None}),
    ],
)
def test_a_lone_sentence_is_found_by_a_rule_that_is_for_its_length_and_kind(text, passage, criteria, rules) -> None:
    matcher = Decontaminator.build([BenchmarkSentence("t", "g", text, passage)], Criteria(**criteria))
    expected = [rule and Hit("t", "g", 1.0, rule, text) for rule in rules.values()]
    assert matcher.match(list(rules)) == expected


def test_a_list_shows_what_stands_for_personal_data() -> None:
    benchmark = [
        BenchmarkSentence(
            "t", "g", "담당자 전화는 010-9876-5432 번입니다.", True, "담당자 전화는 010-0000-0000 번입니다."
        ),
        BenchmarkSentence("t", "g", "언제든지 편하게 걸어 주시기 바랍니다.", True),
    ]
    matcher = Decontaminator.build(benchmark, Criteria(rules=("exact", "fragment")))
    exact, fragment = matcher.match([benchmark[0].text, "번입니다. 언제든지 편하게 걸어 주시기 바랍니다"])
    assert exact and fragment and (exact.rule, fragment.rule) == ("exact", "fragment")
    assert exact.text == benchmark[0].listed
    assert fragment.text == f"{benchmark[0].listed} {benchmark[1].text}"


def test_the_order_and_number_of_answers_over_batches(decontaminator: Decontaminator) -> None:
    queries = ["모르는 문장입니다."] * (2 * BATCH + 7)
    places = [0, BATCH - 1, BATCH, 2 * BATCH + 6]
    for place in places:
        queries[place] = SENTENCE
    hits = decontaminator.match(queries)
    assert [n for n, hit in enumerate(hits) if hit] == places
    assert len(hits) == len(queries)


def test_it_pickles_and_says_the_same(decontaminator: Decontaminator) -> None:
    queries = [SENTENCE, "아니다", SENTENCE.replace("저녁", "새벽")]
    assert pickle.loads(pickle.dumps(decontaminator)).match(queries) == decontaminator.match(queries)


def test_the_order_of_the_benchmark_does_not_matter() -> None:
    benchmark, queries = corpus(5, 60, 200)
    single = [BenchmarkSentence(s.task, f"{i:03}", s.text) for i, s in enumerate(benchmark)]
    shuffled = random.Random(1).sample(single, len(single))
    chosen = Criteria()
    assert Decontaminator.build(single, chosen).match(queries) == Decontaminator.build(shuffled, chosen).match(queries)


def test_sources_are_distinct_and_passages_are_joined() -> None:
    benchmark = [
        BenchmarkSentence("b", "2", "같은 글!"),
        BenchmarkSentence("a", "9", "같은 글", True),
        BenchmarkSentence("a", "9", "그 다음", True),
        BenchmarkSentence("a", "9", "..."),
    ]
    folded = fold_benchmark(benchmark)

    def texts(sources: Sources) -> list[str]:
        bounds = zip(sources.first_D, sources.end_D, strict=True)
        return [" ".join(sentence.text for sentence in folded.sentences[a:b]) for a, b in bounds]

    distinct = distinct_sentences(folded)
    assert [folded.sentences[n][:2] for n in distinct.first_D] == [("a", "9")] * 2
    assert texts(distinct) == ["같은 글", "그 다음"] and distinct.passage_D.tolist() == [False, True]
    assert texts(fragment_sources(folded, "passages")) == ["같은 글 그 다음"]
    assert texts(fragment_sources(folded, "all")) == ["같은 글 그 다음", "같은 글!"]


@pytest.mark.parametrize(
    ("benchmark", "text", "is_hit"),
    [
        ("설명하기가 무척 까다롭습니다.", "그런 예문은 다른 글보다 설명하기가 조금 더 까다롭습니다.", False),
        ("설명하기가 무척 까다롭습니다.", "이 규칙은 처음 보는 사람에게 설명하기가 무척이나 까다롭습니다.", False),
        ("정말 만족스러웠습니다.", "값이 비싼 편이지만 모든 것이 전체적으로 만족스러웠습니다.", False),
        ("세부 내용을 볼 수 있다.", "설정에서 모든 세부 내용을 바꾸고 볼 수 있다.", False),
        ("between x and y", "The difference lies between the branches and handlers.", False),
        ("승강기 단추를 눌렀다.", "각 층에 있는 승강기의 방향 단추를 눌렀다.", False),
        ("국토 최남단 등대 여행", "행사는 국토 최동단과 최남단 등대에서 여행객이 열었다.", False),
        ("삼각형의 세 각의 합은 180도이다.", "또 삼각형의 세 각의 합은 180 도이다.", True),
        ("시원한 바다로 돌아가고 싶다.", "시원한 바다에 돌아가고 싶다.", True),
        ("설명하기가 무척 까다롭습니다.", "설명하기도 무척 까다롭습니다!", True),
    ],
)
def test_a_short_sentence_must_make_up_the_text(benchmark: str, text: str, is_hit: bool) -> None:
    """It is found where little else is said, not where its words stand among others; the oracle says the same."""
    rng = random.Random(1)
    sentences = [BenchmarkSentence("other", str(i), sentence(rng)) for i in range(300)]
    sentences.append(BenchmarkSentence("t", "g", benchmark))
    chosen = Criteria(rules=("words", "bigrams"))
    hits = Decontaminator.build(sentences, chosen).match([text])
    assert (hits[0] is not None) is is_hit
    assert hits == Oracle(sentences, chosen).match([text])


def test_syllables_count_latin_letters_as_thirds() -> None:
    counts = count_syllables(fold_sentences(["가나다 漢字!", "abc de", "ㅋㅋㅋㅋㅋㅋ 좋다", "", "a가b나c"]))
    assert counts.tolist() == [5, 1, 4, 0, 3]
