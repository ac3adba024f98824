"""NSMC: is a film review positive; accuracy."""

from __future__ import annotations

from klue.tasks.koelectra.common import Accuracy, koelectra_values


class Nsmc(Accuracy):
    """Naver sentiment movie corpus: 150,000 train and 50,000 test reviews, no dev set, so a tenth of train is taken. 1
    is positive. The published rows chose the evaluation that was best on test."""

    name = "nsmc"
    key = "nsmc"
    title = "NSMC"
    folder = "nsmc"
    suffix = "txt"
    files = ("ratings_train.txt", "", "ratings_test.txt")
    dev_share = 0.1
    sizes = (150_000, 0, 50_000)
    labels = ("0", "1")
    text_columns = ("document",)
    authors = koelectra_values()
