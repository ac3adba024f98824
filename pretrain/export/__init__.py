"""A checkpoint as a folder that transformers loads, with the files that go beside it, and its checks."""

from pretrain.export.checkpoint import (
    EXPORT_FILES,
    Dtype,
    export_checkpoint,
    is_export_of,
    load_checkpoint,
    load_hf_model,
    save_hf_model,
)

__all__ = [
    "EXPORT_FILES",
    "Dtype",
    "export_checkpoint",
    "is_export_of",
    "load_checkpoint",
    "load_hf_model",
    "save_hf_model",
]
