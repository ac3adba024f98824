"""What the tests of filters share: documents around texts, and the scores of a filter by measure."""

from data.filters.base import Batch
from data.filters.chain import build_filters
from data.filters.settings import FilterSettings
from data.readers.records import Document


def documents_of(texts: list[str], licences: list[str] | None = None) -> list[Document]:
    """Return a document a text."""
    licences = licences or [""] * len(texts)
    return [Document(f"d{n}", f"s{n % 2}", licence, "") for n, licence in enumerate(licences)]


def batch_of(texts: list[str]) -> Batch:
    """Return the texts as a batch."""
    return Batch(documents_of(texts), texts)


def scores(tree: dict, texts: list[str], licences: list[str] | None = None) -> dict[str, list[float]]:
    """Return measure → the value of each text, of one filter named as in a recipe."""
    chain = build_filters([FilterSettings.model_validate(tree)])
    values = chain.steps[0].filter.scores(Batch(documents_of(texts, licences), texts))
    names = [measure.name for measure in chain.steps[0].filter.measures]
    assert values.shape == (len(texts), len(names))
    return {name: values[:, n].tolist() for n, name in enumerate(names)}
