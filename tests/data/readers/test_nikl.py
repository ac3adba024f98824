"""MODU JSON: paragraphs, utterances and sentences; ids of the corpus; marks of what was no text."""

import json

from .reading import ids, read, rejects, texts


def test_newspaper_and_written(tmp_path):
    path = tmp_path / "NWRW0001.json"
    document = {
        "id": "NWRW0001.1",
        "metadata": {"title": "신문", "topic": "사회"},
        "paragraph": [
            {"id": "NWRW0001.1.1", "form": "시장이 열렸다"},
            {"id": "NWRW0001.1.2", "form": "사람이 모였다."},
        ],
    }
    tree = {"id": "NWRW0001", "metadata": {"title": "말뭉치"}, "document": [document, {**document, "id": "NWRW0001.2"}]}
    path.write_text(json.dumps(tree, ensure_ascii=False, indent=4), encoding="utf-8")
    items = read(path)
    assert ids(items) == ["NWRW0001.1", "NWRW0001.2"]
    assert texts(items) == ["시장이 열렸다\n사람이 모였다."] * 2


def test_spoken_and_messenger(tmp_path):
    path = tmp_path / "MDRW0001.json"
    utterances = [
        {"form": "어 {laughing} 그거 ((아마)) 맞아", "original_form": "어 그거", "speaker_id": "P1"},
        {"form": "{share:photo}", "speaker_id": "P2"},
        {"form": "&name1& 언니 왔어{emoji}", "speaker_id": "P1"},
        {"form": None, "original_form": "ㅋㅋ 그래", "speaker_id": "P2"},
    ]
    path.write_text(json.dumps({"id": "MDRW0001", "document": [{"id": "MDRW0001.1", "utterance": utterances}]}))
    assert texts(read(path)) == ["어  그거 아마 맞아\n&name1& 언니 왔어\nㅋㅋ 그래"]


def test_one_document_that_is_no_array_and_annotated_sentences(tmp_path):
    path = tmp_path / "SBRW0001.json"
    path.write_text(json.dumps({"id": "SBRW0001", "document": {"utterance": [{"form": "개의를 선포합니다."}]}}))
    assert read(path)[0] == ("SBRW0001-1", "SBRW0001", "", "개의를 선포합니다.")
    path.write_text(json.dumps({"document": [{"id": "x", "sentence": [{"form": "첫 문장."}, {"form": "둘째 문장."}]}]}))
    assert texts(read(path)) == ["첫 문장.\n둘째 문장."]


def test_documents_of_another_shape_are_rejects(tmp_path):
    path = tmp_path / "a.json"
    documents = [{"id": "1"}, {"paragraph": "글"}, {"paragraph": [{"text": "글"}]}, {"paragraph": [{"form": "좋다"}]}]
    path.write_text(json.dumps({"document": documents}))
    items = read(path)
    assert texts(items) == ["좋다"]
    assert rejects(items) == [
        (1, "no paragraph, utterance or sentence"),
        (2, "no paragraph, utterance or sentence"),
        (3, "a paragraph or utterance without form"),
    ]
