"""Treebanks: a sentence a document, or a document where `# newdoc` begins one."""

from .reading import ids, read, rejects, texts

SENTENCE = "# sent_id = {0}\n# text = {0} 문장이다.\n1\t{0}\t_\t_\n2\t문장이다\t_\t_\n"


def test_sentences(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("\n".join(SENTENCE.format(name) for name in ("첫", "둘째")) + "\n1\t말\t_\n\n", encoding="utf-8")
    items = read(path)
    assert texts(items) == ["첫 문장이다.", "둘째 문장이다."] and ids(items) == ["a-1", "a-6"]
    assert rejects(items) == [(11, "a sentence without '# text ='")]


def test_documents(tmp_path):
    path = tmp_path / "treebank"
    parts = [
        "# newdoc id = x\n" + SENTENCE.format("첫"),
        SENTENCE.format("둘째"),
        "# newdoc\n" + SENTENCE.format("셋째"),
    ]
    path.write_text("\n".join(parts), encoding="utf-8")
    assert texts(read(path)) == ["첫 문장이다.\n둘째 문장이다.", "셋째 문장이다."]
    assert ids(read(path)) == ["treebank-1", "treebank-12"]


def test_a_document_whose_first_sentence_has_no_text_is_one_of_its_own(tmp_path):
    path = tmp_path / "treebank"
    parts = ["# newdoc\n" + SENTENCE.format("첫"), "# newdoc\n# sent_id = 2\n1\t말\t_\n", SENTENCE.format("셋째")]
    path.write_text("\n".join(parts), encoding="utf-8")
    assert texts(read(path)) == ["첫 문장이다.", "셋째 문장이다."]
    assert rejects(read(path)) == [(7, "a sentence without '# text ='")]
