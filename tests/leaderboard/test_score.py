"""The runner: results with their facts, kept jobs, constants on small rows, shots, limits, refusals."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from common.errors import HunminError, UserError
from leaderboard import score
from leaderboard.models import ConstantLM, load_model
from leaderboard.report import read_results
from leaderboard.score import interval, score_model
from leaderboard.settings import LeaderboardSettings
from tests.leaderboard.invented import nine_rows, write


def settings(**changes: Any) -> LeaderboardSettings:
    return LeaderboardSettings(**{"suites": ("leaderboard2",), "max_gen_toks": 8, **changes})


@pytest.fixture(scope="module")
def scored(tiny: Path, kit: Path, nine: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All fifteen tasks, scored with no network and no file in the user's home."""
    out = tmp_path_factory.mktemp("scored")
    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection"))
    patch.setattr("subprocess.Popen.__init__", lambda *_, **__: pytest.fail("a process"))
    try:
        first = score_model(settings(suites=("kit19",), data=str(kit)), tiny, out)
        second = score_model(settings(data=str(nine)), tiny, out)
    finally:
        patch.undo()
    return {"out": out, **first["tasks"], **second["tasks"]}


def constants(result: dict[str, Any]) -> dict[str, list[float]]:
    """Return answer → its scores, by the names of the metrics."""
    return {
        row.pop("answer"): [round(row[key], 4) for key in sorted(row)]
        for row in map(dict, result["hunmin"]["constants"])
    }


def test_constants_by_hand(scored: dict[str, Any]) -> None:
    # BoolQ: yes 2 of 3, F1 (0.8 + 0) / 2; STS: 2 of 5 the same; YNAT: 8 titles, two of 사회
    assert constants(scored["kobest_boolq"]) == {"아니오": [0.3333, 0.25], "예": [0.6667, 0.4]}
    assert constants(scored["klue_sts"]) == {"아니오": [0.6, 0.0], "예": [0.4, 0.5714]}
    ynat = constants(scored["klue_ynat"])
    assert ynat["사회"] == [0.25, round(2 * 0.25 / 1.25 / 7, 4)] and ynat["정치"] == [0.125, round(2 / 9 / 7, 4)]
    assert constants(scored["kobest_copa"]) == {"choice 1": [0.3333, 0.25], "choice 2": [0.6667, 0.4]}
    assert constants(scored["kobest_hellaswag"])["나갔다."] == [0.25, 0.25, 0.1]
    assert constants(scored["ko_winogrande"]) == {"choice 1": [0.3333], "choice 2": [0.6667]}
    assert constants(scored["ko_gsm8k"]) == {"": [0.0, 0.0], "#### 4": [0.5, 0.5]}
    assert constants(scored["ko_eqbench"]) == {"": [0.0, 0.0]}
    # "네" has no comma; the title is missing, and one word is not two
    assert constants(scored["ko_ifeval"]) == {
        "": [0.0] * 5, "네": [round((1 / 2 + 1 / 3) / 2, 4), 0.3333, 0.3333, 0.5, 0.5],
    }  # fmt: skip
    assert constants(scored["kornat_social"])["보통"] == [0.2, 0.2]


def test_results_hold_what_it_takes_to_trust_them(scored: dict[str, Any], nine: Path) -> None:
    import hashlib

    result = json.loads(only(scored["out"], "results", "ko_gsm8k").read_text(encoding="utf-8"))
    assert result.pop("digest") and result == json.loads(json.dumps(scored["ko_gsm8k"]))
    facts = result["hunmin"]
    rows = hashlib.sha256((nine / "ko_gsm8k.jsonl").read_bytes()).hexdigest()
    assert facts["data"] == {"ko_gsm8k.jsonl": rows} and facts["n"] == 4 and facts["limit"] is None
    assert facts["versions"]["lm-eval"] == "0.4.13" and facts["shots"] == 0 and facts["cut"] == 0
    assert facts["generation"]["max_gen_toks"] == 8
    low, high = facts["intervals"]["exact_match,strict-match"]
    assert low <= result["results"]["ko_gsm8k"]["exact_match,strict-match"] <= high
    answers = only(scored["out"], "samples", "ko_gsm8k").read_text(encoding="utf-8").splitlines()
    assert len(answers) == 8 and "사과" not in "".join(answers)  # two filters; no prompts
    assert facts["best"] == 0.5


def only(out: Path, folder: str, task: str) -> Path:
    """Return the one file that a task has in a folder of its scores."""
    (path,) = (out / folder).glob(f"{task}-*")
    return path


def test_results_of_other_settings_stand_beside(scored: dict[str, Any], tiny: Path, nine: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(scored["out"], tmp_path / "out"))
    shutil.copytree(nine, tmp_path / "rows")
    data = {"data": str(tmp_path / "rows"), "tasks": ("ko_winogrande", "kornat_common")}

    def files() -> dict[Path, int]:
        kinds = ("results", "samples", "logs")
        return {path: path.stat().st_mtime_ns for kind in kinds for path in sorted((out / kind).iterdir())}

    def new(**changes: Any) -> list[str]:
        before = files()
        score_model(settings(**{**data, **changes}), tiny, out)
        after = files()
        assert {path: after[path] for path in before} == before  # nothing is written again
        made = [path.relative_to(out).as_posix().rpartition("-")[0] for path in after if path not in before]
        assert [made.count(f"{kind}/{path}") for kind in ("samples", "logs") for path in data["tasks"]] == [
            made.count(f"results/{path}") for path in data["tasks"]
        ] * 2
        return [path.removeprefix("results/") for path in made if path.startswith("results/")]

    def n() -> dict[str, Any]:
        return {score.task: score.facts["n"] for score in read_results([out]) if score.task in data["tasks"]}

    assert new(batch_size=2) == [] and len(read_results([out])) == 15
    assert new(limit=2) == ["ko_winogrande", "kornat_common"] and n() == {"ko_winogrande": 2, "kornat_common": 2}
    before = n()
    assert new() == [] and n() != before and len(read_results([out])) == 15  # going back costs nothing
    write(tmp_path / "rows/kornat_common.jsonl", nine_rows()["kornat_common"][:3])
    assert new() == ["kornat_common"] and n()["kornat_common"] == 3
    assert {*n()} == {score.task for score in read_results([out / "results"]) if score.task in data["tasks"]}
    renamed = score_model(settings(**data), tiny, out, name="renamed")["tasks"]
    assert {task["model_name"] for task in renamed.values()} == {"renamed"}
    assert {score.model for score in read_results([out])} == {"renamed"}


def test_a_board_of_another_model_does_not_count(
    scored: dict[str, Any], tiny: Path, nine: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(scored["out"], tmp_path / "out"))
    other = Path(shutil.copytree(tiny, tmp_path / "other"))
    (other / "notes.txt").write_text("another vocabulary, say")
    score_model(settings(data=str(nine), tasks=("kornat_common",)), other, out)
    assert [(score.model, score.task) for score in read_results([out])] == [("other", "kornat_common")]


@pytest.mark.parametrize("damage", ["cut", "score", "fact", "file of another", "not finite"])
def test_a_damaged_result_is_refused_and_stays(
    damage: str, scored: dict[str, Any], tiny: Path, nine: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(scored["out"], tmp_path / "out"))
    path, other = only(out, "results", "ko_winogrande"), only(out, "results", "kornat_common")
    text, score = path.read_text(), scored["ko_winogrande"]["results"]["ko_winogrande"]["acc,none"]
    damaged = {
        "cut": text[:100], "score": text.replace(f'"acc,none": {score}', '"acc,none": 0.987', 1),
        "fact": text.replace('"shots": 0', '"shots": 5'), "file of another": other.read_text(),
        "not finite": text.replace(f'"acc,none": {score}', '"acc,none": NaN', 1),
    }[damage]  # fmt: skip
    assert damaged != text
    path.write_text(damaged)
    with pytest.raises(HunminError, match=f"{path.name} is"):
        score_model(settings(data=str(nine), tasks=("ko_winogrande",)), tiny, out)
    assert path.read_text() == damaged
    if damage != "file of another":
        with pytest.raises(HunminError, match=f"{path.name} is damaged"):
            read_results([out])
    path.unlink()
    tasks = score_model(settings(data=str(nine), tasks=("ko_winogrande",)), tiny, out)["tasks"]["ko_winogrande"]
    assert tasks["results"] == scored["ko_winogrande"]["results"] and len(read_results([out])) == 15


def test_a_kill_leaves_no_half_of_a_result(tiny: Path, nine: Path, tmp_path: Path) -> None:
    """The answers are there, the result is not: what is there of the board counts."""
    chosen = settings(data=str(nine), tasks=("ko_winogrande", "kornat_common"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leaderboard.score._result", stopping(score._result, after=1))
        with pytest.raises(KeyboardInterrupt):
            score_model(chosen, tiny, tmp_path)
    assert [result.task for result in read_results([tmp_path])] == ["ko_winogrande"]
    assert only(tmp_path, "samples", "kornat_common").is_file()
    assert not [*(tmp_path / "results").glob("*kornat_common*")]
    score_model(chosen, tiny, tmp_path)
    assert [result.task for result in read_results([tmp_path])] == ["ko_winogrande", "kornat_common"]


def stopping(function: Any, after: int) -> Any:
    """Return a function that does all of its work, but is stopped before it can return, after some calls."""
    calls = []

    def stopped(*arguments: Any) -> Any:
        calls.append(function(*arguments))
        if len(calls) > after:
            raise KeyboardInterrupt
        return calls[-1]

    return stopped


def test_a_score_that_is_no_number_is_an_error(tiny: Path, nine: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lm_eval.api.task.get_aggregation", lambda name: lambda values: float("nan"))
        with pytest.raises(HunminError, match="kornat_common has acc,none nan"):
            score_model(settings(data=str(nine), tasks=("kornat_common",)), tiny, tmp_path)
    assert not [*(tmp_path / "results").glob("*")]


def test_shots_and_limits(tiny: Path, tmp_path: Path) -> None:
    for name in ("ko_gsm8k", "kornat_common"):
        write(tmp_path / f"{name}.jsonl", nine_rows()[name])
    write(
        tmp_path / "ko_gsm8k.fewshot.jsonl",
        [{"question": f"{n} 더하기 1?", "answer": f"답 #### {n + 1}"} for n in (5, 6)],
    )
    chosen = settings(data=str(tmp_path), tasks=("ko_gsm8k", "kornat_common"), shots={"ko_gsm8k": 2}, limit=2)
    tasks = score_model(chosen, tiny, tmp_path / "out")["tasks"]
    assert tasks["ko_gsm8k"]["hunmin"]["shots"] == 2 and len(tasks["ko_gsm8k"]["hunmin"]["data"]) == 2
    assert [task["hunmin"]["n"] for task in tasks.values()] == [2, 2]
    for shots in ({"ko_gsm8k": 3}, {"kornat_common": 1}):
        with pytest.raises(UserError, match="shots"):
            score_model(settings(data=str(tmp_path), shots=shots), tiny, tmp_path / "other")


def test_shots_stand_before_the_prompt(tiny: Path, tmp_path: Path) -> None:
    seen = []
    write(tmp_path / "ko_gsm8k.jsonl", nine_rows()["ko_gsm8k"][:1])
    write(tmp_path / "ko_gsm8k.fewshot.jsonl", [{"question": "5 더하기 1?", "answer": "여섯. #### 6"}])
    patch = pytest.MonkeyPatch()
    patch.setattr(ConstantLM, "generate_until", lambda self, asked: seen.extend(call.args[0] for call in asked) or [""])
    try:
        score_model(settings(data=str(tmp_path), shots={"ko_gsm8k": 1}), tiny, tmp_path / "out")
    finally:
        patch.undo()
    assert seen[0] == "문제: 5 더하기 1?\n풀이: 여섯. #### 6\n\n문제: 사과 1개에 2개를 더하면?\n풀이:"


def test_prompts_beyond_the_positions_are_counted(tiny: Path, tmp_path: Path) -> None:
    long = {"question": "비가 온다. " * 200, "choices": ["가", "나"], "answer": 0}
    write(tmp_path / "kornat_common.jsonl", [long, {**long, "question": "짧다"}])
    problem = {"question": "비가 온다. " * 200, "answer": "#### 1"}
    write(tmp_path / "ko_gsm8k.jsonl", [problem, {**problem, "question": "짧다"}])
    tasks = score_model(settings(data=str(tmp_path)), tiny, tmp_path / "out")["tasks"]
    assert [task["hunmin"]["cut"] for task in tasks.values()] == [1, 1]


def test_absent_rows_are_told_and_all_absent_is_an_error(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "rows/kornat_common.jsonl", nine_rows()["kornat_common"])
    data = {"data": str(tmp_path / "rows")}
    board = score_model(settings(**data), tiny, tmp_path / "out", name="base of mine")
    assert capsys.readouterr().err.count("leaderboard: base of mine, kornat_common") == 2  # a run scores two models
    assert list(board["tasks"]) == ["kornat_common"] and len(board["absent"]) == 8
    assert "ko_winogrande.{jsonl,json,csv,parquet}" in board["absent"]["ko_winogrande"]
    for bad, why in (
        ({"data": str(tmp_path)}, "no rows"),
        ({"data": ""}, "no rows"),
        ({**data, "tasks": ("ko_winogrande",)}, "no rows in"),
        ({**data, "tasks": ("ko_winogrand",)}, "ko_winogrande"),
        ({**data, "shots": {"gsm8k": 5}}, "ko_gsm8k"),
        ({**data, "suites": ("instruct",)}, "held-out"),
        ({**data, "chat_template": True}, "chat template"),
        ({**data, "device": "cuda:7"}, "cuda:7"),
    ):
        with pytest.raises(UserError, match=why):
            score_model(settings(**bad), tiny, tmp_path / "other")


def test_answers_longer_than_the_positions_are_refused(tiny: Path, nine: Path, tmp_path: Path) -> None:
    chosen = settings(data=str(nine), tasks=("ko_ifeval",), max_gen_toks=None)
    with pytest.raises(UserError, match="max_gen_toks"):  # 1,280 tokens, 512 positions
        score_model(chosen, tiny, tmp_path)


def test_chat_template(tiny: Path, nine: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "chat")
    (tmp_path / "chat/chat_template.jinja").write_text("{% for m in messages %}<{{ m.content }}>{% endfor %}답")
    chosen = settings(data=str(nine), tasks=("kornat_common", "ko_winogrande"), chat_template=True)
    tasks = score_model(chosen, tmp_path / "chat", tmp_path / "out")["tasks"]
    assert {task["hunmin"]["prompts"] for task in tasks.values()} == {"chat template"}


def model_folder(path: Path, **config: Any) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    (path / "tokenizer.json").write_text("{}")
    return path


def refused(folder: Path, why: str, nine: Path, out: Path) -> None:
    """Scoring, tuning and answers refuse a model by the same sentence."""
    from pretrain.decoders.answer import answer
    from pretrain.decoders.load import read_base

    for use in (lambda: score_model(settings(data=str(nine)), folder, out), lambda: read_base(folder, 8),
                lambda: next(answer(folder, []), None)):  # fmt: skip
        with pytest.raises(UserError, match=why):
            use()


def test_models_that_are_refused(nine: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number, (config, why) in enumerate(
        (
            ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "no causal decoder"),
            ({"model_type": "bert", "architectures": ["BertLMHeadModel"], "is_decoder": True}, "no causal decoder"),
            ({"model_type": "llama", "architectures": ["LlamaModel"]}, "no causal decoder"),
            ({"model_type": "llama"}, "no causal decoder"),
            ({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}, "no causal decoder"),
            ({"model_type": "exaone", "auto_map": {"AutoConfig": "m.M"}}, "brings Python code of its own"),
        )
    ):
        refused(model_folder(tmp_path / str(number), **config), why, nine, out)
    bare = model_folder(tmp_path / "llama", model_type="llama", architectures=["LlamaForCausalLM"])
    (bare / "tokenizer.json").unlink()
    for folder, why in ((bare, "no tokenizer"), (tmp_path, r"config\.json")):
        with pytest.raises(UserError, match=why):
            score_model(settings(data=str(nine)), folder, out)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match="is an adapter"):
        score_model(settings(data=str(nine)), tmp_path, out)


def test_a_tokenizer_that_ends_prompts_is_refused(tiny: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    shutil.copytree(tiny, tmp_path / "ends")
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    tokenizer.post_processor = TemplateProcessing(single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)])
    tokenizer.save(str(tmp_path / "ends/tokenizer.json"))
    with pytest.raises(UserError, match="ends prompts"):
        load_model(tmp_path / "ends", settings())


def test_without_the_extra(tiny: Path, nine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.extras.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs lm-eval, which is not installed\n.*\[llm\]"):
        score_model(settings(data=str(nine)), tiny, tmp_path)


def test_interval_is_the_bootstraps() -> None:
    values = [1.0] * 60 + [0.0] * 40
    low, high = interval(values, sum, 2000, 1)
    assert low == pytest.approx(0.504, abs=0.02) and high == pytest.approx(0.696, abs=0.02)  # 0.6 ± 1.96 √(.24/100)
    assert interval(values, sum, 2000, 1) == [low, high]
    pairs = interval([(1, 1)] * 30 + [(1, 0)] * 10, lambda items: sum(g == p for g, p in items) / len(items), 500, 2)
    assert pairs[0] < 0.75 < pairs[1]
    assert interval([[True], [False, True]], lambda items: float(len(items)), 100, 1) == [2.0, 2.0]
