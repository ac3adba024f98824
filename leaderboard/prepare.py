"""What each task reads of a row: columns as published, checked, in the form that its lm-eval file takes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from leaderboard.ifeval import check_rule
from leaderboard.rows import Row, answer_index, choices, different, one_of, parsed, text, whole

TRUTH = {"0": 0, "1": 1, "True": 1, "TRUE": 1, "False": 0, "FALSE": 0}
TOPICS = ("IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치")
"""Labels of YNAT, in the order of its numbers."""
SHARES_MARGIN = 0.01
"""How far the sum of the shares may be from 1."""
LETTERS = "ABCDEFGHIJ"


def boolq(row: Row) -> Row:
    """Return a row of KoBEST BoolQ, from the hub's columns or the authors'."""
    if "Answer" in row:
        row = {"paragraph": row.get("Text"), "question": row.get("Question"), "label": row["Answer"]}
    return {
        "paragraph": text(row, "paragraph"),
        "question": text(row, "question"),
        "label": one_of(row.get("label"), TRUTH, "label"),
    }


def copa(row: Row) -> Row:
    """Return a row of KoBEST COPA, from the hub's columns or the authors'."""
    if "Answer" in row:
        row = {
            "premise": row.get("sentence"), "question": row.get("question"), "alternative_1": row.get("1"),
            "alternative_2": row.get("2"), "label": one_of(row["Answer"], {"1": 0, "2": 1}, "Answer"),
        }  # fmt: skip
    first, second = different([text(row, "alternative_1"), text(row, "alternative_2")])
    return {
        "premise": text(row, "premise"),
        "question": one_of(row.get("question"), {"원인": "원인", "결과": "결과"}, "question"),
        "alternative_1": first,
        "alternative_2": second,
        "label": one_of(row.get("label"), {"0": 0, "1": 1}, "label"),
    }


def hellaswag(row: Row) -> Row:
    """Return a row of KoBEST HellaSwag, from the hub's columns or the authors'."""
    prefix = "choice" if "choice1" in row else "ending_"
    endings = different([text(row, f"{prefix}{number}") for number in (1, 2, 3, 4)])
    label = one_of(row.get("label"), {str(number): number for number in range(4)}, "label")
    return {"context": text(row, "context"), **{f"ending_{i}": e for i, e in enumerate(endings, 1)}, "label": label}


def sentineg(row: Row) -> Row:
    """Return a row of KoBEST SentiNeg, from the hub's columns or the authors'."""
    if "Label" in row:
        row = {"sentence": row.get("Text"), "label": row["Label"]}
    return {"sentence": text(row, "sentence"), "label": one_of(row.get("label"), {"0": 0, "1": 1}, "label")}


def klue_sts(row: Row) -> Row:
    """Return a row of KLUE-STS with its binary label."""
    labels = parsed(row, "labels") if "labels" in row else row
    label = one_of(labels.get("binary-label"), {"0": 0, "1": 1}, "binary-label")
    return {"sentence1": text(row, "sentence1"), "sentence2": text(row, "sentence2"), "label": label}


def klue_ynat(row: Row) -> Row:
    """Return a row of YNAT; labels by name or number."""
    known = {name: index for index, name in enumerate(TOPICS)} | {str(index): index for index in range(len(TOPICS))}
    return {"title": text(row, "title"), "label": one_of(row.get("label"), known, "label")}


def multiple_choice(row: Row, listed: bool = False, count: int | None = None) -> Row:
    """Return a question with choices.

    Args:
        row: question, choices, answer.
        listed: the prompt lists the choices and their letters are scored; else the choices' texts are.
        count: number of choices, where the task fixes it.
    """
    options, question = choices(row, count=count), text(row, "question").strip()
    gold = answer_index(row.get("answer"), len(options))
    prompt = f"물음: {question}\n"
    if listed:
        if len(options) > len(LETTERS):
            raise ValueError(f"{len(options)} choices, more than letters")
        prompt += "".join(f"{letter}. {option}\n" for letter, option in zip(LETTERS, options, strict=False))
        options = list(LETTERS[: len(options)])
    return {"prompt": prompt + "답:", "choices": options, "gold": gold}


def winogrande(row: Row) -> Row:
    """Return the sentence to the blank with each option, and the rest, which is scored."""
    sentence, answer = text(row, "sentence"), whole(row.get("answer"), "answer")
    if sentence.count("_") != 1:
        raise ValueError(f"{sentence.count('_')} blanks (_) in 'sentence', not one")
    before, rest = sentence.split("_")
    options = different([text(row, "option1"), text(row, "option2")])
    if answer not in (1, 2):
        raise ValueError(f"answer {row['answer']!r} is beyond the 2 choices")
    if not rest.strip():
        raise ValueError("nothing follows the blank, so that nothing could be scored")
    return {"contexts": [before + option for option in options], "rest": rest, "gold": answer - 1}


def gsm8k(row: Row) -> Row:
    """Return a problem, its worked answer and the number after ####, without commas and 원."""
    answer = text(row, "answer")
    _, marked, number = answer.rpartition("####")
    number = number.strip().replace(",", "").removesuffix(".").removesuffix("원").strip()
    if not marked or not number or not math.isfinite(_number(number)):
        raise ValueError("'answer' does not end with #### and a number")
    return {"question": text(row, "question").strip(), "answer": answer.strip(), "gold": number}


def _number(value: Any) -> float:
    try:
        return float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        return float("nan")


def eqbench(row: Row) -> Row:
    """Return a prompt with the names and scores of the four emotions."""
    reference = parsed(row, "reference_answer_fullscale")
    if not isinstance(reference, dict):
        raise ValueError("'reference_answer_fullscale' is no dict")
    names = [text(reference, f"emotion{number}").strip() for number in (1, 2, 3, 4)]
    scores = [_number(reference.get(f"emotion{number}_score")) for number in (1, 2, 3, 4)]
    if not all(map(math.isfinite, scores)):
        raise ValueError("a score of 'reference_answer_fullscale' is no number")
    return {"prompt": text(row, "prompt"), "names": different(names, 4), "scores": scores}


def ifeval(row: Row) -> Row:
    """Return a prompt with its rules; what a rule is given stands as JSON, for rules differ in what they take."""
    rules, given = parsed(row, "instruction_id_list"), parsed(row, "kwargs")
    given = [json.loads(one) if isinstance(one, str) else one or {} for one in given]
    if not isinstance(rules, list) or not rules or len(rules) != len(given):
        raise ValueError("'instruction_id_list' and 'kwargs' are not as long as each other")
    given = [{name: value for name, value in one.items() if value is not None} for one in given]
    for rule, values in zip(rules, given, strict=True):
        check_rule(rule, values)
    return {"prompt": text(row, "prompt"), "rules": rules, "given": json.dumps(given, ensure_ascii=False)}


def social(row: Row, groups: Sequence[Sequence[int]]) -> Row:
    """Return a question with five choices, the share that chose each, and the share of its merged group.

    Args:
        row: question, choices, shares.
        groups: which choices count as one.
    """
    shares = [_number(share) for share in parsed(row, "shares")]
    options = choices(row, count=len(shares) if len(shares) == 5 else 5)
    if len(shares) != 5 or not all(0 <= share <= 1 for share in shares):
        raise ValueError("'shares' is no list of five numbers from 0 to 1")
    if abs(math.fsum(shares) - 1) > SHARES_MARGIN + 1e-9:
        raise ValueError(f"the shares add to {math.fsum(shares):.4g}, not to 1 ± {SHARES_MARGIN}")
    if sorted(index for group in groups for index in group) != list(range(5)):
        raise ValueError(f"the groups {groups} do not hold each of the five choices once")
    merged = {index: math.fsum(shares[other] for other in group) for group in groups for index in group}
    best = max(range(5), key=lambda index: merged[index])
    return {
        "prompt": f"물음: {text(row, 'question').strip()}\n답:", "choices": options, "shares": shares,
        "merged": [merged[index] for index in range(5)], "gold": best,
    }  # fmt: skip


def instruction(row: Row, layout: str) -> Row:
    """Return a held-out row of an instruction build.

    Args:
        row: instruction, input, output, choices where they are closed.
        layout: "plain" for Hunmin's layout, whose answers begin with a blank; "message" for a chat template.
    """
    from data.instruct.layout import plain_prompt, user_message

    message, output = user_message(text(row, "instruction"), row.get("input") or ""), text(row, "output")
    prompt, blank = (plain_prompt(message), " ") if layout == "plain" else (message, "")
    if row.get("choices") is None:
        return {"prompt": prompt, "output": output}
    options = choices(row)
    if output not in options:
        raise ValueError("the output is none of the choices")
    return {"prompt": prompt, "choices": [blank + option for option in options], "gold": options.index(output)}
