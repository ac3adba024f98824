"""Compare the vectors of programs that serve embeddings with sentence-transformers' own, for each architecture.

    python scripts/check_serving.py [--into build/serving] [--json]

Fetches the programs into a folder (npm and pip): node-llama-cpp, which brings llama.cpp; transformers.js; fastembed;
sentence-transformers 5.1 with transformers 4. The models have random weights and a vocabulary learned from the built-in
sample; they are exported as GGUF and ONNX.
Counts 1 - the smallest cosine, and texts that get other ids. Exits with 1 where a figure is too large.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from timing import Row, finish, hardware, parser_of, print_rows
from transformers import AutoTokenizer

from common.errors import UserError
from embed.base import load_model, quiet_libraries
from embed.gguf import ARCHITECTURES as GGUF_TYPES
from embed.gguf import export_gguf
from embed.onnx import TEXTS, export_encoder
from embed.settings import GGUF, GRAPHS, EmbedSettings
from embed.trainer import write_model
from hunmin.sample.folder import write_sample
from pretrain.export import save_hf_model
from pretrain.models.encoder import build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.settings import PretrainSettings
from tokenizer.save import load_tokenizer, special_ids
from tokenizer.settings import TokenizerSettings
from tokenizer.train import train_tokenizer

LENGTH, VOCABULARY = 256, 4000
TEXTS = [
    *TEXTS, " ".join(TEXTS)[:300], "링크 <URL>입니다 <URL>", "１２３ ₩5,000 → ～ 漢字와 한글", "Straße ÀÉÎ ß",
    "ㅋㅋㅋ ㅠㅠ ...!!!", "가\u200b나 \u00a0다\t라", "예시 주소는 한글로 12번길 3, 전화는 없음",
]  # fmt: skip
"""Texts that are compared; one is longer than the window of ModernBERT's local attention."""
NPM = {
    "llama.cpp": ("node-llama-cpp@3.21.1", "@node-llama-cpp/linux-x64@3.21.1", "--omit=optional"),  # which bring CUDA
    "transformers.js": ("@huggingface/transformers@4.3.1",),
}
PIP = {
    "fastembed": ("fastembed==0.9.1", "mmh3==5.3.1", "loguru==0.7.3", "py-rust-stemmers==0.1.8", "pillow"),
    "sentence-transformers 5.1": (
        "sentence-transformers==5.1.2", "transformers==4.57.3", "huggingface_hub==0.36.0", "tokenizers==0.22.1",
        "datasets==4.4.1",
    ),
}  # fmt: skip
READ = 'import fs from "fs"; const given = JSON.parse(fs.readFileSync(0, "utf8")), out = {ids: [], vectors: []};\n'
LLAMA_CPP = (
    READ
    + """
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
const llama = await getLlama({gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: given.file});
const context = await model.createEmbeddingContext({contextSize: given.length, batchSize: given.length});
for (const text of given.texts) {
  out.ids.push(model.tokenize(text));
  out.vectors.push([...(await context.getEmbeddingFor(text)).vector]);
}
console.log(JSON.stringify(out));
"""
)
TRANSFORMERS_JS = (
    READ
    + """
import {env, pipeline} from "@huggingface/transformers";
env.allowRemoteModels = false;
const extract = await pipeline("feature-extraction", given.folder, {
  dtype: "fp32", model_file_name: given.file.split("/").pop().split(".")[0], local_files_only: true});
for (const text of given.texts) {
  out.ids.push([...(await extract.tokenizer(text)).input_ids.data].map(Number));
  out.vectors.push([...(await extract(text, {pooling: "mean", normalize: true})).data]);
}
console.log(JSON.stringify(out));
"""
)
OLD_SENTENCE_TRANSFORMERS = """
import json, sys
from sentence_transformers import SentenceTransformer
given = json.load(sys.stdin)
model = SentenceTransformer(given["folder"], device="cpu", local_files_only=True)
ids = [model.tokenizer(text)["input_ids"] for text in given["texts"]]
print(json.dumps({"ids": ids, "vectors": model.encode(given["texts"]).tolist()}))
"""
FASTEMBED = """
import json, sys
from pathlib import Path
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
given = json.load(sys.stdin)
TextEmbedding.add_custom_model(
    model="local/model", pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf="local/model"),
    dim=given["width"], model_file=str(Path(given["file"]).relative_to(given["folder"])))
model = TextEmbedding("local/model", specific_model_path=given["folder"], local_files_only=True)
ids = [model.model.tokenizer.encode(text).ids for text in given["texts"]]
print(json.dumps({"ids": ids, "vectors": [[float(x) for x in vector] for vector in model.embed(given["texts"])]}))
"""


class Program(NamedTuple):
    """A program, what it runs, and the file of a model's folder that it loads."""

    name: str
    script: str
    file: str
    most: float = 1e-4
    """Largest 1 - cosine."""


PROGRAMS = (
    Program("sentence-transformers 5.1", OLD_SENTENCE_TRANSFORMERS, "modules.json"),
    Program("llama.cpp", LLAMA_CPP, GGUF),
    Program("transformers.js", TRANSFORMERS_JS, GRAPHS["onnx"]),
    Program("transformers.js, int8", TRANSFORMERS_JS, GRAPHS["onnx-int8"], 1e-2),
    Program("fastembed", FASTEMBED, GRAPHS["onnx"]),
    Program("fastembed, int8", FASTEMBED, GRAPHS["onnx-int8"], 1e-2),
)


def fetch(folder: Path) -> None:
    """Install the programs into a folder; raises CalledProcessError without npm or a network."""
    for name, packages in NPM.items():
        (own := folder / name).mkdir(parents=True, exist_ok=True)
        (own / "package.json").write_text('{"private": true, "type": "module"}')
        # their scripts would fetch CUDA
        command = ["npm", "install", "--ignore-scripts", "--no-audit", *packages]
        subprocess.run(command, cwd=own, check=True, capture_output=True)
    for name, packages in PIP.items():
        target = ["--no-deps", "--target", str(folder / name)]
        if not (folder / name).is_dir():
            command = [sys.executable, "-m", "pip", "install", "--quiet", *target, *packages]
            subprocess.run(command, check=True, capture_output=True)


def write_embedder(folder: Path, kind: str, sample: Path) -> Path:
    """Write a model of sentence embeddings with its graphs, of random weights, and return its folder."""
    if (folder / kind / GRAPHS["onnx-int8"]).is_file():
        return folder / kind
    special = "bert" if kind == "bert" else "roberta"
    tokens = folder / f"tokens-{special}"
    if not tokens.is_dir():
        tokens.mkdir(parents=True)
        names: dict[str, Any] = {"special": special, "user_tokens": ["<URL>"]}
        settings = TokenizerSettings(vocab_size=VOCABULARY, min_character_count=2, workers=1, **names)
        train_tokenizer(settings, sample / "corpora" / "books.txt", tokens)
    shape = {"type": kind, "layers": 4, "hidden": 128, "heads": 4, "initializer_range": 0.1}
    run = PretrainSettings.model_validate({"model": shape, "max_seq_len": LENGTH})
    config = build_config(run, VOCABULARY, special_ids(load_tokenizer(tokens), tokens))
    save_hf_model(build_model(run, config).eval(), tokens, folder / f"{kind}-base")
    embed = EmbedSettings.model_validate({"data": [{"path": "x"}], "max_seq_len": LENGTH})
    (model := folder / kind).mkdir(exist_ok=True)
    write_model(model, folder / f"{kind}-base", AutoTokenizer.from_pretrained(folder / f"{kind}-base"), embed)
    export_encoder(model, int8=True)
    return model


def served(program: Program, model: Path, width: int, programs: Path) -> dict[str, Any]:
    node = program.script.startswith(READ)
    place = programs / program.name.partition(",")[0]
    script = place / ("serve.mjs" if node else "serve.py")
    script.write_text(program.script)
    request = {
        "folder": str(model),
        "file": str(model / program.file),
        "length": LENGTH,
        "width": width,
        "texts": TEXTS,
    }
    done = subprocess.run(
        ["node" if node else sys.executable, str(script)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place), "HF_HUB_OFFLINE": "1"},
    )
    if done.returncode:
        raise RuntimeError(f"{program.name}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compared(kind: str, model: Path, programs: Path) -> Iterator[Row]:
    """Yield a model's figures in each program; llama.cpp is refused for types that it does not compute."""
    own = load_model(model, "cpu")
    expected = own.encode(TEXTS, normalize_embeddings=True)
    all_ids = own.tokenizer(TEXTS)["input_ids"]
    try:
        export_gguf(model)
    except UserError:
        if kind in GGUF_TYPES:
            raise
        yield Row(f"{kind}, llama.cpp", 1, "refused")
    for program in PROGRAMS:
        if not (model / program.file).is_file():
            continue
        answer = served(program, model, expected.shape[1], programs)
        vectors = np.array(answer["vectors"])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        # node-llama-cpp puts the marks around a text when it computes the vector
        different = sum(ids not in (whole, whole[1:-1]) for ids, whole in zip(answer["ids"], all_ids, strict=True))
        note = f"largest difference of an entry {np.abs(vectors - expected).max():.1e}"
        least = float((vectors * expected).sum(1).min())
        yield Row(f"{kind}, {program.name}", 1 - least, "1 - cosine", program.most, True, note)
        yield Row(f"{kind}, {program.name}: other ids", different, "texts", 0, True)


def check(into: Path, kinds: list[str]) -> list[Row]:
    quiet_libraries()
    into = into.resolve()
    fetch(into)
    sample = into / "sample"
    if not sample.is_dir():
        write_sample(sample)
    rows = []
    for kind in kinds:
        rows += print_rows(kind, list(compared(kind, write_embedder(into / "models", kind, sample), into)))
    return rows


if __name__ == "__main__":
    parser = parser_of(__doc__, json=True)
    parser.add_argument("--into", type=Path, default=Path("build/serving"), help="folder of programs and models")
    parser.add_argument("--architecture", nargs="+", default=list(ARCHITECTURES), choices=list(ARCHITECTURES))
    options = parser.parse_args()
    print(f"{hardware()}; {', '.join(one[0] for one in (*NPM.values(), *PIP.values()))}; {len(TEXTS)} texts")
    sys.exit(finish(check(options.into, options.architecture), options.json))
