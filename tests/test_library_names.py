"""Names of libraries that are theirs alone, or that a release has moved before: each library has one test, which fails
with the names that are gone.
"""

from __future__ import annotations

from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import pytest

NAMES = {
    "lm_eval": """
        lm_eval.api.model:LM.loglikelihood_rolling  lm_eval.evaluator:evaluate(limit,bootstrap_iters,log_samples)
        lm_eval.evaluator:evaluate(apply_chat_template,fewshot_as_multiturn)
        lm_eval.models.huggingface:HFLM(backend,tokenizer,dtype,batch_size,trust_remote_code)
        lm_eval.models.huggingface:HFLM._encode_pair(context,continuation)
        lm_eval.models.huggingface:HFLM._loglikelihood_tokens(requests)  lm_eval.models.huggingface:HFLM.max_length
        lm_eval.models.huggingface:HFLM.generate_until(requests,disable_tqdm)
        lm_eval.models.huggingface:HFLM.tok_encode(string)
        lm_eval.tasks:TaskManager(include_path,include_defaults,metadata)  lm_eval.tasks:TaskManager.load
        lm_eval.api.task:ConfigurableTask.set_config(key,value,update)  lm_eval.api.task:ConfigurableTask.eval_docs
        lm_eval.api.task:ConfigurableTask.doc_to_choice  lm_eval.api.task:ConfigurableTask.aggregation
        lm_eval.api.metrics:acc_bytes_fn
    """,
    "sentence_transformers": """
        sentence_transformers.base.trainer:BaseTrainer.get_multi_dataset_batch_sampler
        sentence_transformers.base.trainer:BaseTrainer.add_model_card_callback(default_args_dict)
        sentence_transformers.base.trainer:BaseTrainer._save(output_dir,state_dict)
        sentence_transformers.base.trainer:BaseTrainer._load_from_checkpoint(checkpoint_path)
        sentence_transformers.base.trainer:BaseTrainer.data_collator_class
        sentence_transformers.base.modules:Transformer(max_seq_length,model_kwargs,processor_kwargs,config_kwargs)
        sentence_transformers.sentence_transformer.data_collator:SentenceTransformerDataCollator.__call__(features)
        sentence_transformers.sentence_transformer.modules:Pooling
        sentence_transformers.sentence_transformer.losses:CachedGISTEmbedLoss(guide,temperature,mini_batch_size)
        sentence_transformers.sentence_transformer.losses:CachedGISTEmbedLoss(gather_across_devices)
        sentence_transformers.sentence_transformer.losses:MultipleNegativesRankingLoss(scale,gather_across_devices)
        sentence_transformers.sentence_transformer.losses:CachedMultipleNegativesRankingLoss(mini_batch_size)
        sentence_transformers.sentence_transformer.losses:CoSENTLoss(scale)
        sentence_transformers.sentence_transformer.losses:MarginMSELoss(similarity_fct)
        sentence_transformers.sentence_transformer.losses:DistillKLDivLoss(similarity_fct,teacher_temperature)
        sentence_transformers.sentence_transformer.losses:MatryoshkaLoss
        sentence_transformers.cross_encoder.losses:BinaryCrossEntropyLoss
        sentence_transformers:CrossEncoder(num_labels,max_length,activation_fn)
        sentence_transformers:SentenceTransformer.encode_query(convert_to_tensor,normalize_embeddings)
    """,
    "mteb": """
        mteb:evaluate(encode_kwargs,cache,overwrite_strategy,prediction_folder,co2_tracker,show_progress_bar)
        mteb.cache:ResultCache  mteb.models:SentenceTransformerEncoderWrapper  mteb.models.abs_encoder:AbsEncoder
        mteb.models.model_meta:ModelMeta.create_empty  mteb.models.model_meta:ScoringFunction.COSINE
        mteb.abstasks:AbsTaskClassification  mteb.abstasks.task_metadata:TaskMetadata.descriptive_stats
        mteb.abstasks.retrieval:AbsTaskRetrieval.convert_v1_dataset_format_to_v2(num_proc)
        mteb.abstasks.retrieval:AbsTaskRetrieval.convert_to_reranking(top_k)
        mteb.results:TaskResult._to_hf_benchmark_result
    """,
    "peft": """
        peft:get_peft_model  peft:LoraConfig(target_modules,task_type)  peft:set_peft_model_state_dict
        peft.tuners.lora:LoraModel.merge_and_unload
    """,
}
"""Library → MODULE:NAME.ATTRIBUTE(ARGUMENT,…)."""


def fault(name: str) -> str:
    """Return what of a name is gone, "" where nothing is."""
    module, _, rest = name.partition(":")
    path, _, arguments = rest.removesuffix(")").partition("(")
    try:
        value: Any = import_module(module)
        for part in path.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        return f"{module}:{path}: {error}"
    taken = signature(value).parameters if arguments else {}
    free = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in taken.values())
    absent = [parameter for parameter in arguments.split(",") if parameter and parameter not in taken and not free]
    return f"{module}:{path} takes no {', '.join(absent)}" if absent else ""


@pytest.mark.parametrize("library", NAMES)
def test_nothing_has_moved(library: str) -> None:
    pytest.importorskip(library)
    assert [message for message in map(fault, NAMES[library].split()) if message] == []


def test_what_moved_is_named() -> None:
    assert "peft:LoraKonfig" in fault("peft:LoraKonfig") and "no module" in fault("peft.gone:X").lower()
    assert fault("json:dumps(object)") == "" and fault("json:loads(x)") == ""  # it takes any keyword
    assert fault("pathlib:Path.mkdir(mode,deep)") == "pathlib:Path.mkdir takes no deep"
