"""Hashtags and empty brackets: what hangs on goes, what a sentence speaks of stays."""

import pytest

from data.cleaning.marks import remove_empty_brackets, remove_hashtags


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("강가를 걸었다. #산책 #강 #저녁", "강가를 걸었다. "),
        ("강가를 걸었다 #산책 #강", "강가를 걸었다 "),
        ("강가를 걸었다! #산책", "강가를 걸었다! "),
        ("#산책 #강\n글이다.", "\n글이다."),
        ("1 #나\n강가를 걸었다 #산책 #강", "1 #나\n강가를 걸었다 "),
        ("시작하기 { #get-started }\n글이다.", "시작하기 \n글이다."),
    ],
)
def test_hashtags_beside_the_text_go(text, left):
    assert remove_hashtags(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "번호 앞에 #을 붙이면 글과 이어집니다.",
        "#나는 강가에 사는 사람이다.",
        "#학생은 친구들과 강가에 갔다.",
        "#할당: 할당한 횟수입니다.",
        "다른 사람을 #돕는 일을 하자.",
        "저들의 #사과를 #바란다 강가에서 한 말을.",
        "그가 밝힌 #강#산#들(대담)",
        "오늘 #강가 다녀왔다",
        "궁금하면 #help 채널에서 물어보세요.",
        "#default 슬롯과 #fallback 슬롯이 있다.",
        "#app-root 안의 #modal-root에 그린다.",
        "#Line 지시문은 줄 번호를 바꾼다.",
        "설정에는 #rgb, #argb를 쓴다.",
        "값 { #name }을 넣는다",
        "무한대는 1.#INF",
        "#강 #산 #들 등의 모든 이야기를 들려준다.",
        "글이다. #첫째는 #둘째는 다른 이야기다.",
        "그가 밝힌 #강가 이야기 #산 #들",
        "뜨거운 발표 #강 #산 [새 글]",
        "오늘의 낱말: #강 #산 #들",
        "내가 좋아하는 것은 #강 #산",
        "#머리말\n강가를 걸었다.",
        "조건문은 {#if}",
    ],
)
def test_hashtags_that_are_words_of_a_sentence_stay(text):
    assert remove_hashtags(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "이름 뒤에 콜론(:)을 쓴다.",
        "우리나라의 수도는 (     ).",
        "첫 글자는( )이다. 해는 동쪽에서 뜬다. (   )",
        "예(  ) 아니오(  )",
        "〔   〕은 법을 만드는 곳이다.",
        "낫표 「」와 겹낫표 『』를 쓴다.",
        "빈 리스트()와 객체()를 만든다.",
        "세미콜론(;)과 슬래시(/)와 줄임표(···)를 쓴다.",
        "목록은 []로 만든다.",
        "벡터는 [ ]를 쓰고, 사전은 {}를 쓴다.",
        "()는 조금 짧다.",
        "공백( )과 괄호()를 남긴다.",
        "쓸 수 없는 것: & ' ( ) * + [ ] { } |.",
        "[]byte 형이고 크기는 ()이다.",
        "모양 = (), 이름 = 없음",
        "함수에 f([])와 g({}, {})를 넘긴다.",
        '값이 "[]"이면 비었다.',
        "이름 뒤에 쉼표(,)를 쓴다.",
        "빈 [] 배열과 [] 대신에 () 을 쓰는 튜플",
        "#[]와 $()를 쓴다.",
        "형은 { a: string }[], 다음은 f(a, [])이다.",
        "[ ] 할 일을 적는다.",
        "기본값: []\n모양: ()",
        "쓸 수 있는 것: - / [ ]",
        "이름 앞의 연산자는 ( :: )이다.",
        "이름을 세미콜론( ; )으로 나눈다.",
        "가람(()) 구문을 쓴다.",
        "Ok (()) 구문과 (( )) 식",
        'torch.empty(()) 안의 "f (x ())"',
        "형상 [(), (), (7,)]을 만든다.",
        "DATEFORMAT (TODAY (), 1)와 EyesPose ()\n다음",
        "for( ; ; ) 절과 while (, , ) 절",
        "테이블[]과 문자열[] 형, PyMethodDef []\n다음, [][]byte []",
        "빈 튜플 괄호 안에 ( ) ()",
        "설정된 원격 주소() 함수에 넘긴다.",
        "`유닛 타입 ()`을 돌려준다. () =>을 잊는다.",
        "필터 '(&()()(!()))'",
        "값 _+_+))(())((+++",
        "f((), 1)과 (string | null)[]과 (가 | 나)[]를 쓴다.",
    ],
)
def test_brackets_that_are_spoken_of_stay(text):
    assert remove_empty_brackets(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("가람( , )은 강이다.", "가람은 강이다."),
        ("가람()은 강(; )이다.", "가람은 강이다."),
        ("가람()과 「」 사이", "가람과  사이"),
        ("가람 ()\n다음", "가람 \n다음"),
        ("가람 (), 다음", "가람 , 다음"),
        ("가람().\n가람(\t,)을", "가람.\n가람을"),
        ("가람 「」과 강(（）)", "가람 과 강(（）)"),
    ],
)
def test_brackets_that_lost_what_they_held_go(text, left):
    assert remove_empty_brackets(text) == left
