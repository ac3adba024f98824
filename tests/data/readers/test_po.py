"""gettext: translations, with plural forms and escapes; what is not translated or fuzzy is skipped."""

from .reading import ids, read, rejects, skipped, texts

CATALOGUE = """# comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

#: file.rst:1
msgid "One"
msgstr "하나"

msgctxt "menu"
msgid "Open \\"it\\""
msgstr ""
"첫 줄\\n"
"둘째 \\"줄\\""
#, fuzzy, c-format
msgid "Two"
msgstr "둘?"

msgid "Three"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "파일 %d개"
msgstr[1] "파일들"

#~ msgid "Old"
#~ msgstr "옛것"
what is this
"""


def test_translations(tmp_path):
    path = tmp_path / "ko.po"
    path.write_text(CATALOGUE, encoding="utf-8")
    items = read(path)
    assert texts(items) == ["하나", '첫 줄\n둘째 "줄"', "파일 %d개\n파일들"]
    assert ids(items) == ["ko-7", "ko-11", "ko-22"]
    assert skipped(items) == [(16, "fuzzy translation"), (19, "not translated")]
    assert rejects(items) == [(29, "not a line of gettext")]


def test_fuzzy_is_said_of_the_entry_below_alone(tmp_path):
    path = tmp_path / "ko.po"
    path.write_text('#, fuzzy\n#~ msgid "Old"\n#~ msgstr "옛것"\n\nmsgid "New"\nmsgstr "새것"\n', encoding="utf-8")
    assert texts(read(path)) == ["새것"]
