"""Question pair: do two questions to a chatbot mean the same; accuracy."""

from __future__ import annotations

from klue.tasks.koelectra.common import Accuracy, koelectra_values


class QuestionPair(Accuracy):
    """Paraphrases of questions; in spite of the column's name, is_duplicate, 0 means that they are."""

    name = "question-pair"
    key = "question_pair"
    title = "Question pair"
    folder = "question_pair"
    sizes = (6136, 682, 758)
    labels = ("0", "1")
    text_columns = ("question1", "question2")
    label_column = "is_duplicate"
    authors = koelectra_values()
