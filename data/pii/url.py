"""Where a URL ends: before blanks, quotes, closing punctuation, remarks in brackets and Hangul particles."""

from __future__ import annotations

import re

_TAIL = re.compile(r"(?::[0-9]{1,5})?(?:[/?#][^\s\"'<>`{}|\\^“”‘’「」『』《》〈〉【】·…→←]{0,2048})?")
"""Port, and path or query as far as browsers and servers read them: without an end, many URLs glued together would each
look at all that follows."""
_HANGUL = re.compile("[가-힣ㄱ-ㅎㅏ-ㅣ]")
_RUN = re.compile("[가-힣ㄱ-ㅎㅏ-ㅣ]+")
_AFTER_JOINT = re.compile("[/=_%+&#-]")
_CONTINUES = re.compile("[/=_%+&#?-][A-Za-z0-9가-힣%(]|[0-9A-Za-z]|[(\\[][가-힣]")
"""What follows a piece in Hangul that is not the last of a URL."""
_SURE = (
    "에서|에게|에는|에도|으로|로부터|부터|까지|라고|이라고|라는|이라는|은|는|을|를|에|란|이란|처럼|보다|및|등|하고|랑|이랑|입니다"
    "|이며|이고|인데|이에요|예요"
)
_EITHER = re.compile(r"(?:을\(를|를\(을|은\(는|는\(은|이\(가|가\(이|와\(과|과\(와)\)|\([으이]\)[가-힣]")
"""A particle in both its forms: 을(를), (으)로."""
_VERBS = "이다|합니다|하세요|하십시오|하여|해서|하면|하는|됩니다|되는|되어"
_OTHER = "의|도|로|와|과|이|가|만|나|이나|인"
"""Particles with which words end, too: 문의, 지도, 도로, 학과."""
_PARTICLE = re.compile(f"(?:{_SURE}|{_OTHER}|{_VERBS})(?:는|도|만|의)?(?![가-힣])")
_LAST = re.compile(f"[가-힣]{{2,}}?(?P<particle>(?:{_SURE})(?:는|도|만|의|서)?)(?![가-힣])")
_LAST_OTHER = re.compile(f"[가-힣]{{2,}}(?P<particle>{_OTHER})(?= [가-힣])")
_WORDS = re.compile(
    "(?:문의|회의|강의|정의|주의|동의|논의|합의|협의|토의|심의|건의|명의|의의|[가-힣]주의|지도|제도|속도|온도|정도|각도|년도|연도|한도|태도"
    "|빈도|강도|밀도|용도|경기도|강원도|제주도|독도|청도|[남북]도|도로|경로|대로|종로|진로|프로|회로|가로|세로|[가-힣]과|나이|차이|사이|어린이"
    "|이야기|국가|작가|평가|휴가|물가|전문가|추가|증가|참가|허가|문화가|대만|하나|바나나|[가-힣]{2}인)"
)
"""Words that end as with a particle."""
_CLOSING = ".,;:!?*~(["
_PAIRS = {")": "(", "]": "["}
_BRACKET = re.compile(r"\([^()\s]{1,60}\)|\[[^\[\]\s]{1,60}\]")


def url_end(text: str, start: int) -> int:
    """Return the end of the URL whose scheme and host end at `start`.

    Hangul belongs to it as a path or query part (…/wiki/한국), also in brackets (…/wiki/서울_(동음이의)); a particle
    behind it does not, nor a remark in brackets behind a path without Hangul (…/page(새 창)).
    """
    match = _TAIL.match(text, start)
    end = match.end() if match else start
    own = False
    hangul = _HANGUL.search(text, start, end)
    while hangul:
        at = hangul.start()
        if _EITHER.match(text, at) or _EITHER.match(text, at - 1):
            end = at - (text[at - 1] == "(")
            break
        run = _RUN.match(text, at, end).end()  # type: ignore[union-attr]
        bracket = _open_bracket(text, start, at)
        if bracket >= 0:
            whole = _BRACKET.match(text, bracket, end)
            # behind Hangul, a joint or before more of the URL: a part of it, else a remark
            joined = own or text[bracket - 1] in "=_%" or (whole and _CONTINUES.match(text, whole.end()))
            if whole is None or not joined:
                end = bracket
                break
            run = whole.end()
        else:
            last = not _CONTINUES.match(text, run)
            glued = not own and not _AFTER_JOINT.match(text, at - 1)
            if glued or (last and _PARTICLE.match(text, at)):
                end = at
                break
            if last and (particle := _particle(text, at)) >= 0:
                end = particle
                break
        own = True
        hangul = _HANGUL.search(text, run, end)
    return _strip(text, start, end)


def _open_bracket(text: str, start: int, at: int) -> int:
    opened = max(text.rfind("(", start, at), text.rfind("[", start, at))
    return opened if opened >= 0 and max(text.rfind(")", start, at), text.rfind("]", start, at)) < opened else -1


def _particle(text: str, at: int) -> int:
    if match := _LAST.match(text, at):
        return match.start("particle")
    match = _LAST_OTHER.match(text, at)
    if match is None or _WORDS.search(text, max(at, match.end() - 3), match.end()):
        return -1
    return match.start("particle")


def _strip(text: str, start: int, end: int) -> int:
    whole = end
    surplus = dict[str, int]()
    while end > start:
        last = text[end - 1]
        if last in _PAIRS:
            if last not in surplus:
                surplus[last] = text.count(last, start, whole) - text.count(_PAIRS[last], start, whole)
            if surplus[last] <= 0:
                return end
            surplus[last] -= 1
        elif last not in _CLOSING:
            return end
        end -= 1
    return end
