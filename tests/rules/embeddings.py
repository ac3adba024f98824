"""What the stage embed makes of sets of every shape: rows, what is removed of them, labels, and drawn batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from embed.batches import Drawn, draw_batches, epoch_batches
from embed.card import loss_name
from embed.data import load_sets, positives_of
from embed.rerank import load_pairs, reranker_settings
from embed.settings import EmbedDataSettings, EmbedSettings, Use
from klue.examples import read_examples
from klue.tasks import TASKS
from tests.klue.conftest import write_sample
from tests.klue.suite_files import write_suites

CODE = (
    *(f"embed/{name}.py" for name in ("batches", "card", "data", "rerank", "scored", "sets", "settings", "trainer")),
    *("data/decontaminate/normalise.py", "klue/examples.py", "klue/tasks"),
)
INPUT = (
    *("tests/rules/embeddings.py", "hunmin/sample/sample.tar.xz"),
    *("tests/klue/conftest.py", "tests/klue/suite_files.py"),
)
BUILT_IN = get_args(Use)
PLACES = ("강릉", "경주", "대전", "목포", "부산", "서울", "여수")
NLI = {"entailment": "있었다", "contradiction": "없었다", "neutral": "살았다"}
THINGS = ("감자", "귤", "딸기", "마늘", "배추", "사과", "오이", "포도")


def output(folder: Path) -> dict[str, Any]:
    """Read the sets of two recipes below a folder; return rows, counts and batches, and those of a reranker."""
    folder.mkdir(parents=True)
    sources = [str(write_sample(folder / "klue")), str(write_suites(folder / "suites"))]
    kornli = ["sentence1\tsentence2\tgold_label"]
    kornli += [f"{place}에 갔다\t{place}에 {end}\t{label}" for place in PLACES for label, end in NLI.items()]
    (folder / "suites/kornli/multinli.train.ko.tsv").write_text("\n".join(kornli) + "\n", encoding="utf-8")
    settings = EmbedSettings.model_validate({
        "sources": sources, "batch": 4, "score": ["KLUE-STS"], "seed": 5,
        "data": [
            *(_file(folder, name, rows) | more for name, (rows, more) in _rows(sources).items()),
            *({"use": use, "weight": 0.5} for use in BUILT_IN if use != "korquad"),
            {"use": "klue-nli", "split": "dev", "weight": 2.0},
        ],
    })  # fmt: skip
    sets = load_sets(settings)
    # the answers of its passages are one text, of which a batch holds no two
    korquad = EmbedSettings(sources=tuple(sources), data=[EmbedDataSettings(use="korquad")], batch=2)
    pairs = load_pairs(reranker_settings(settings.model_copy(update={"data": settings.data[2:3]})))
    steps = sum(epoch_batches(dataset, settings.batch) for dataset in sets)
    return {
        "sets": [_described(entry) for entry in sets],
        "korquad": [_described(entry) for entry in load_sets(korquad)],
        "positives": {query: sorted(texts) for query, texts in positives_of(sets).items()},
        "batches": list(draw_batches(sets, settings.batch, steps + 5, settings.seed)),
        "parts": list(Drawn(sets, settings, 6, 2)),
        "reranker": [_described(entry) for entry in pairs],
        "losses": [
            loss_name(shape, distill, guide, mini)
            for shape in ("ranking", "scored", "distilled")
            for distill in ("margin-mse", "kl")
            for guide in (None, "m")
            for mini in (None, 8)
        ],
    }


def _rows(sources: list[str]) -> dict[str, tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Return the name of a file → its rows and settings: each shape, and rows that hold what is scored."""
    sts = TASKS["klue-sts"]
    first, *_, last = read_examples(sts, Path(sources[0]) / str(sts.file("dev")))
    ranked = [
        {"query": f"{place}에는 무엇이 나나", "positive": f"{place}에는 {goods}가 난다"}
        for n, place in enumerate(PLACES)
        for goods in THINGS[n % 3 : n % 3 + 2]
    ]
    shared = [
        {"query": f"{place}의 이야기", "positive": f"{goods} 이야기"}
        for n, place in enumerate(PLACES)
        for goods in THINGS[n : n + 2]
    ]
    leaking = [{"query": first.texts[0], "positive": first.texts[1]}, {"query": last.texts[0], "positive": "다른 글"}]
    triplets = [
        {"query": f"{place} {goods}", "positive": f"{goods}는 {place}에서 판다", "negatives": [f"{n}번은 없다"]}
        for n, (place, goods) in enumerate(zip(PLACES * 2, THINGS * 2, strict=False))
    ]
    taught = [{**row, "query": f"{row['query']} 어디", "scores": [n / 20, -0.25]} for n, row in enumerate(triplets)]
    scored = [
        {"text_a": f"{place} {n}", "text_b": THINGS[n % 8], "score": n % 6 * 0.8} for n, place in enumerate(PLACES)
    ]
    return {
        "ranked": ([*ranked, *leaking], {"weight": 1.5}),
        "shared": (shared, {"weight": 3}),
        "1-triplets": (triplets, {"prompts": {}}),
        "taught": (taught, {"distill": "kl", "licence": "CC0"}),
        "scored": (scored, {"range": [0, 5]}),
    }


def _file(folder: Path, name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return {"path": str(path)}


def _described(dataset: Any) -> dict[str, Any]:
    names = ("name", "shape", "licence", "texts", "labels", "removed", "counts")
    return {name: getattr(dataset, name) for name in names} | {"origins": sorted(dataset.origins)}


def unhit(output: dict[str, Any]) -> list[str]:
    """Return the shapes and built-in sets without rows, and what is counted of no set."""
    sets = [*output["sets"], *output["korquad"]]
    counts = {name for entry in sets for name, count in entry["counts"].items() if count}
    asked = {
        "shape": (("ranking", "scored", "distilled"), {entry["shape"] for entry in sets}),
        "set": (BUILT_IN, {entry["name"].partition("-")[2] for entry in sets if entry["texts"]}),
        "count": (("read", "removed as a scored pair", "with one scored text (not removed)"), counts),
    }
    return [f"{kind} {name}" for kind, (names, hit) in asked.items() for name in names if name not in hit]
