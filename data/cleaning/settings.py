"""Settings of cleaning: one switch a rule."""

from __future__ import annotations

from pydantic import Field

from common.settings import Settings


class CleanSettings(Settings):
    """The cleaning rules; a source may have its own set."""

    nfc: bool = True
    """Compose Hangul and accents (Unicode NFC), so that one word has one spelling."""
    control: bool = True
    """Remove control, zero-width, private-use and replacement characters (U+200B, U+FEFF …; private use is counted
    as `private_use`, too); line ends become \\n."""
    old_hangul: bool = False
    """Map old Hangul of the private-use area (the Hanyang code of word processors of the 1990s) to Unicode's jamo;
    `control` would remove it. Use it only for sources with such text, because icons of web fonts have the same code
    points. Needs hypua2jamo (`pip install hypua2jamo`)."""
    html: bool = True
    """Remove HTML tags, comments, scripts and styles (counted apart as `html_hidden`), and resolve entities; block tags
    end a line. Tags that a text only mentions or shows stay: a <TIME> that is never closed, a <link> before a word such
    as 요소. A text about HTML or XML that is not itself marked up keeps all its tags."""
    hashtags: bool = True
    """Remove hashtags at the end of a line and anchors of headings ({ #name }). Hashtags are kept if they are words of
    a sentence (#help 채널), complete it (낱말: #강 #산) or are in one line with such hashtags. A single hashtag on its
    own line, numbers (#12), colours (#FF0000) and preprocessor lines (#include) are kept too."""
    empty_brackets: bool = True
    """Remove brackets with nothing inside, as in 훈민정음(). Brackets are kept in code, as in f() and [], where a text
    is about them, as in 괄호()를 쓴다, and where they are to be filled in, as in 수도는 ( )이다."""
    blanks: bool = True
    """One space for a run of blanks, one line end for a run of line ends, none at the borders."""
    news: bool = False
    """Remove what surrounds the text of news. Each rule counts by its name: bylines and datelines (`news_reporter`:
    홍길동 기자, [서울=…]), and lines that only name a newspaper (`news_press`). Image captions and tags (`news_image`:
    사진=…), source tags (`news_source`: 출처: …) and copyright lines (`news_copyright`: ⓒ, 무단 전재) go as well. Set
    it in the `clean` of the inputs that are news."""
    repeated_lines: bool = True
    """Remove lines that have occurred twelve times before in the document: labels of 10 characters or more, and other
    lines (boilerplate of forms) of 40 or more. Labels are up to three words that form no sentence, as in navigation and
    captions."""
    max_han_kana: int | None = Field(None, ge=0)
    """Sentences with more Han or Japanese characters than this are dropped: 10 in the KLUE paper and in the built-in
    recipes for its models. None keeps Korean sentences that repeat words in Han; Chinese and Japanese text is dropped
    by `min_hangul_share`."""
    min_hangul_share: float = Field(0.05, ge=0, le=1)
    """Sentences with a smaller share of Hangul among their non-space characters are dropped: code, English, numbers;
    but not "…" or ? as an answer. A link counts as one character, and so does a run of one symbol. 0.05 keeps Korean
    sentences full of foreign names; 0 keeps everything."""
    max_word_chars: int | None = Field(1000, ge=1)
    """Sentences with a longer word (characters without a blank) are dropped: encoded files, keys held down. None keeps
    them."""
    min_sentence_chars: int = Field(1, ge=1)
    """Shorter sentences (in characters) are dropped. The paper uses 200 for web and news crawls, and no bound
    elsewhere."""
