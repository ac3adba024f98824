"""The fields that each task reads of a row, by the task file's metadata; ValueError for a row of another task."""

import json
import math
from typing import Any

from data.instruct.layout import plain_prompt, user_message
from leaderboard.ifeval import check_rule
from leaderboard.rows import Row, answer_index, different, number, one_of, parsed, text

LISTED = ("ko_gpqa_diamond_zeroshot",)
GROUPS = ((0, 1), (2,), (3, 4))
"""Default tasks of `listed`, and default `groups`, of the settings."""


def columns(row: Row, task: Any, options: Row) -> Row:
    """Return the task's fields, from the hub's columns or the authors'."""
    row = row | parsed(row, "labels", dict) if "labels" in row else row

    def column(names: Any) -> str:
        return str(next((name for name in names if name in row), [*names][-1]))

    fields: Row = {field: text(row, column(names)) for field, names in task.texts.items()}
    for field, known in task.labels.items():
        name = column(known)
        fields[field] = one_of(row.get(name), known[name], name)
    if task.different:
        different([fields[field] for field in task.different])
    return fields


def multiple_choice(row: Row, task: Any, options: Row) -> Row:
    """Return a question with choices: their texts are scored, or, where the prompt lists them, their letters."""
    choices = different(parsed(row, "choices"))
    question = text(row, "question").strip()
    gold = answer_index(row.get("answer"), len(choices))
    prompt = f"물음: {question}\n"
    if task.name in options.get("listed", LISTED):
        letters = [chr(ord("A") + index) for index in range(len(choices))]
        prompt += "".join(f"{letter}. {choice}\n" for letter, choice in zip(letters, choices, strict=True))
        choices = letters
    return {"prompt": prompt + "답:", "choices": choices, "gold": gold}


def winogrande(row: Row, task: Any, options: Row) -> Row:
    """Return the sentence to the blank with each option, and the rest, which is scored."""
    before, *rests = text(row, "sentence").split("_")
    if len(rests) != 1 or not rests[0].strip():
        raise ValueError("'sentence' has not one blank (_) with text after it")
    fills = different([text(row, "option1"), text(row, "option2")])
    gold = answer_index(row.get("answer"), 2, first=1)
    return {"contexts": [before + fill for fill in fills], "rest": rests[0], "gold": gold}


def gsm8k(row: Row, task: Any, options: Row) -> Row:
    """Return a problem, its worked answer and the number after ####, without commas and 원."""
    answer = text(row, "answer").strip()
    gold = answer.rpartition("####")[2].strip().replace(",", "").removesuffix(".").removesuffix("원").strip()
    if "####" not in answer or not math.isfinite(number(gold)):
        raise ValueError("'answer' does not end with #### and a number")
    return {"question": text(row, "question").strip(), "answer": answer, "gold": gold}


def eqbench(row: Row, task: Any, options: Row) -> Row:
    """Return a prompt with the names and scores of the four emotions."""
    reference = parsed(row, "reference_answer_fullscale", dict)
    names = [text(reference, f"emotion{nth}").strip() for nth in (1, 2, 3, 4)]
    scores = [number(reference.get(f"emotion{nth}_score")) for nth in (1, 2, 3, 4)]
    if not all(map(math.isfinite, scores)):
        raise ValueError("a score of 'reference_answer_fullscale' is no number")
    return {"prompt": text(row, "prompt"), "names": different(names), "scores": scores}


def ifeval(row: Row, task: Any, options: Row) -> Row:
    """Return a prompt with its rules; their arguments stand as JSON, for rules differ in what they take."""
    rules = parsed(row, "instruction_id_list")
    kwargs = parsed(row, "kwargs")
    if not rules or len(rules) != len(kwargs) or not all(isinstance(arguments, dict | None) for arguments in kwargs):
        raise ValueError("'kwargs' does not hold the arguments of each rule of 'instruction_id_list'")
    kwargs = [{name: value for name, value in (arguments or {}).items() if value is not None} for arguments in kwargs]
    for rule, values in zip(rules, kwargs, strict=True):
        check_rule(rule, values)
    return {"prompt": text(row, "prompt"), "rules": rules, "given": json.dumps(kwargs, ensure_ascii=False)}


def social(row: Row, task: Any, options: Row) -> Row:
    """Return a question with five choices, the share that chose each, and the share of its merged group."""
    choices = different(parsed(row, "choices"), 5)
    shares = [number(share) for share in parsed(row, "shares")]
    groups = options.get("groups", GROUPS)
    if sorted(index for group in groups for index in group) != list(range(5)):
        raise ValueError(f"the groups {groups} do not hold each of the five choices once")
    if len(shares) != 5 or not all(0 <= share <= 1 for share in shares):
        raise ValueError("'shares' is no list of five numbers from 0 to 1")
    if abs(math.fsum(shares) - 1) > 0.01 + 1e-9:
        raise ValueError(f"the shares add to {math.fsum(shares):.4g}, not to 1 ± 0.01")
    merged = [math.fsum(shares[i] for group in groups if index in group for i in group) for index in range(5)]
    fields = {"prompt": f"물음: {text(row, 'question').strip()}\n답:", "choices": choices, "shares": shares}
    return fields | {"merged": merged, "gold": merged.index(max(merged))}


def instruction(row: Row, task: Any, options: Row) -> Row:
    """Return a held-out row of a build, for Hunmin's layout or a chat template; {} for one of another use or kind."""
    closed = row.get("choices") is not None
    if row.get("task") != options.get("use") or closed != (task.kind == "likelihood"):
        return {}
    message = user_message(text(row, "instruction"), row.get("input") or "")
    output = text(row, "output")
    plain = options.get("layout", "plain") == "plain"
    prompt = plain_prompt(message) if plain else message
    if not closed:
        return {"prompt": prompt, "output": output}
    gold = one_of(output, {choice.strip(): i for i, choice in enumerate(different(row["choices"]))}, "output")
    return {"prompt": prompt, "choices": [" " * plain + choice for choice in row["choices"]], "gold": gold}
