"""KoBEST SentiNeg: is a review positive, where test sentences are negated ones; macro F1."""

from __future__ import annotations

from klue.tasks.kobest.common import KobestTask, own_values


class SentiNeg(KobestTask):
    """Sentiment under negation. Columns change place between the splits; the scored text is `Text` in each. 1 is
    positive."""

    name = "kobest-sentineg"
    key = "sentineg"
    title = "SentiNeg"
    folder = "SentiNeg"
    sizes = (3649, 400, 397)
    labels = ("0", "1")
    text_columns = ("Text",)
    label_column = "Label"
    authors = own_values(128)
