"""A model whose tokenizer cannot read a task's texts is refused by every command that takes a model."""

import pytest

from common.errors import UserError
from klue.examples import load_splits
from klue.features import check_reading, load_tokenizer
from klue.runner import plan_stage
from klue.settings import KlueSettings
from tests.klue.faultless import ceilings
from tests.klue.names import KLUE_TASKS as TASKS


@pytest.mark.parametrize("name", ["ynat", "klue-dp"])
def test_fine_tuning_and_ceilings(name, sample_benchmark, tiny_roberta, tmp_path):
    """It knows the characters of the small benchmark, and few of the sample's."""
    settings = KlueSettings(data=str(sample_benchmark), tasks=[name], training={"max_seq_len": 32})
    with pytest.raises(UserError, match=rf"cannot read \d\d% of the characters of {TASKS[name].title}"):
        plan_stage(settings, tiny_roberta, tmp_path / "klue")
    with pytest.raises(UserError, match="cannot read"):
        ceilings(tiny_roberta, sample_benchmark, [name])


def test_decomposed_text_is_read_as_the_composed(sample_benchmark, sample_roberta, capsys):
    import unicodedata
    from dataclasses import replace

    examples = [
        replace(e, texts=tuple(unicodedata.normalize("NFD", text) for text in e.texts))
        for e in load_splits(TASKS["klue-mrc"], sample_benchmark).dev[:20]
    ]
    check_reading(TASKS["klue-mrc"], examples, load_tokenizer(sample_roberta), sample_roberta)
    assert "cannot read" not in capsys.readouterr().err
