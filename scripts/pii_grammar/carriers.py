"""Texts that hold values: sentences, forms, tables, chats, receipts, signatures, markup, JSON, judgments, letters."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import NamedTuple

from .marks import Page, Value, unmarked
from .negatives import LOOKALIKES, of_kind
from .sentences import BARE, COURT, FILLERS, NAMED, OPENERS, SAID
from .values import COMPANIES, NAMES
from .writers import Form

SEPARATORS = (": ", ":", " : ", " ", "\t", " - ", " = ", "→", " ▶ ", ") ", "\n", ":\n", "")


class Item(NamedTuple):
    """A value to be written: its form, its label, and the value itself with the writer's habit around it."""

    form: Form
    label: Value
    value: Value


BESIDE = sorted(LOOKALIKES.keys() - {"masked", "about personal data"})
"""Look-alikes that may stand in a text with values."""
Carrier = Callable[[Page, list[Item]], str]


def filled(template: str, item: Item, rng: random.Random) -> str:
    quoted = "이라" if (item.value and format(item.value, "이라").endswith("이라")) else "라"
    return template.format(v=item.value, l=item.label, n=rng.choice(NAMES), c=Value(rng.choice(COMPANIES)), e=quoted)


def sentence_of(item: Item, rng: random.Random) -> str:
    """Return a sentence for a value: one that names the type where the form needs that."""
    kind = item.form.kind.type
    named = (*NAMED, *SAID[kind])
    if item.form.labelled or rng.random() < 0.3:
        if item.form.labels:
            named = NAMED
        return filled(rng.choice(named), item, rng)
    return filled(rng.choice(BARE[kind]), item, rng)


def sentence(page: Page, items: list[Item]) -> str:
    rng = page.rng
    lines = [sentence_of(item, rng) for item in items]
    for _ in range(rng.randint(0, 2)):
        filler = of_kind(rng.choice(BESIDE), rng) if rng.random() < 0.4 else rng.choice(FILLERS)
        lines.insert(rng.randint(0, len(lines)), filler)
    return rng.choice((" ", " ", "\n")).join(lines)


def alone(page: Page, items: list[Item]) -> str:
    item = items[0]
    return f"{item.label} {item.value}" if item.form.labelled else str(item.value)


def form(page: Page, items: list[Item]) -> str:
    rng = page.rng
    between = rng.choice(SEPARATORS)
    if not between and not all(unmarked(i.value)[0].isdecimal() and i.label[-1] >= "가" for i in items):
        between = ": "
    bullet = rng.choice(("", "", "- ", "■ ", "○ ", "· ", "* ", "ㅇ ", "number"))
    rows = [(rng.choice(("성명", "이름", "신청인")), rng.choice(NAMES)), *((str(i.label), str(i.value)) for i in items)]
    if rng.random() < 0.5:
        rows.append(rng.choice((("신청일", "2024. 5. 3."), ("비고", "없음"), ("수량", "3개"), ("금액", "35,000원"))))
    lines = []
    for number, (label, value) in enumerate(rows, 1):
        start = f"{number}. " if bullet == "number" else bullet
        lines.append(f"{start}[{label}] {value}" if between == ") " else f"{start}{label}{between}{value}")
    title = rng.choice(("", "", "신청서\n", "[접수 내역]\n", "회원 정보\n\n", "◎ 기본사항\n"))
    return title + rng.choice(("\n", "\n", "\n", " / ")).join(lines)


def table(page: Page, items: list[Item]) -> str:
    rng = page.rng
    joint = rng.choice(("|", "tab", "|", ","))
    if joint == "," and any("," in unmarked(item.value) or item.form.kind.type == "URL" for item in items):
        joint = "tab"
    header = ["번호", "성명", *(str(item.label) for item in items), "비고"]
    rows = [
        [
            str(number),
            rng.choice(NAMES),
            *(str(item.value if number == 1 else item.form.write(page)) for item in items),
            "-",
        ]
        for number in (1, 2)
    ]
    if joint == "|":
        lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    else:
        lines = [("\t" if joint == "tab" else joint).join(row) for row in (header, *rows)]
    return "\n".join(lines)


def side_table(page: Page, items: list[Item]) -> str:
    rng = page.rng
    joint = rng.choice((" | ", "\t", "|"))
    rows = [["성명", rng.choice(NAMES)], *([str(i.label), str(i.value)] for i in items)]
    return "\n".join(joint.join(row) if joint == "\t" else f"|{joint.join(row)}|" for row in rows)


def chat(page: Page, items: list[Item]) -> str:
    rng = page.rng
    first, second = rng.sample(NAMES, 2)
    style = rng.choice(
        ("[{n}] [오후 {h}:{m:02d}] ", "2024. 5. 3. 오후 {h}:{m:02d}, {n} : ", "{n}: ", "{n} 오전 {h}:{m:02d}\n")
    )
    lines = [(first, rng.choice(FILLERS)), (second, rng.choice(OPENERS))]
    for item in items:
        text = rng.choice((sentence_of(item, rng), sentence_of(item, rng), f"{item.label} {item.value}"))
        lines.append((rng.choice((first, second)), text.rstrip(".") if rng.random() < 0.5 else text))
    lines.append((first, rng.choice(("넵 감사합니다", "ㅇㅋ", "확인했어요~", "네네"))))
    hour, minute = rng.randint(1, 11), rng.randint(0, 50)
    return "\n".join(style.format(n=n, h=hour, m=minute + at) + text for at, (n, text) in enumerate(lines))


def receipt(page: Page, items: list[Item]) -> str:
    rng = page.rng
    lines = [rng.choice(COMPANIES), *(f"{i.label}: {i.value}" for i in items), "-" * 24]
    lines += [
        f"{goods:<8} {rng.randint(1, 9)}  {rng.randint(1, 90)},{rng.choice((0, 500)):03d}" for goods in ("김밥", "라면")
    ]
    lines += [
        "-" * 24,
        f"합계 {rng.randint(10, 99)},000원",
        f"2024-05-03 {rng.randint(10, 21)}:{rng.randint(10, 59)}:08",
    ]
    lines += ["승인번호 0312****", "감사합니다"]
    return "\n".join(lines)


def signature(page: Page, items: list[Item]) -> str:
    rng = page.rng
    lines = [rng.choice(FILLERS), "감사합니다.", "", rng.choice(("--", "----------", "=========="))]
    lines += [
        f"{rng.choice(NAMES)} {rng.choice(('대리', '과장', '팀장', '선임연구원'))} | {rng.choice(COMPANIES)} 영업2팀"
    ]
    style = rng.choice(("{l} {v}", "{l}. {v}", "{l}: {v}"))
    values = [style.format(l=item.label, v=item.value) for item in items]
    return "\n".join([*lines, *([rng.choice((" | ", " / ", "  ")).join(values)] if rng.random() < 0.5 else values)])


def markdown(page: Page, items: list[Item]) -> str:
    rng = page.rng
    style = rng.choice(("- **{l}**: {v}", "* {l}: {v}", "1. {l} — {v}", "> {l}: {v}", "- {l}: `{v}`", "**{l}:** {v}"))
    if any("`" in unmarked(item.value) or item.form.kind.type == "MENTION" for item in items):
        style = "- **{l}**: {v}"
    return "\n".join(["## 안내", "", *(style.format(l=i.label, v=i.value) for i in items), "", rng.choice(FILLERS)])


def html(page: Page, items: list[Item]) -> str:
    rng = page.rng
    style = rng.choice(
        (
            "<tr><th>{l}</th><td>{v}</td></tr>",
            "<tr><td>{l}</td><td>{v}</td></tr>",
            "<li>{l}: {v}</li>",
            "<p><b>{l}</b> {v}</p>",
            "{l} : {v}<br>",
            "<dt>{l}</dt><dd>{v}</dd>",
            "<span>{l}</span>&nbsp;<span>{v}</span>",
        )
    )
    return rng.choice(("\n", "")).join(style.format(l=item.label, v=item.value) for item in items)


def json_line(page: Page, items: list[Item]) -> str:
    rng = page.rng
    pairs = {"이름": rng.choice(NAMES), **{str(item.label): str(item.value) for item in items}, "수량": 3}
    return json.dumps(pairs, ensure_ascii=False, separators=rng.choice(((", ", ": "), (",", ":"))))


def court(page: Page, items: list[Item]) -> str:
    item, rng = items[0], page.rng
    start = rng.choice(("사 건    2019고단1234 사기\n", "범죄사실\n", "가. ", ""))
    end = rng.choice(
        ("", " 이에 대하여 피고인은 범행을 부인하고 있다.", "\n위 사람에 대한 2019고합567호 사건에 관하여 심리하였다.")
    )
    return start + filled(rng.choice(COURT[item.form.kind.type]), item, rng) + end


def letter(page: Page, items: list[Item]) -> str:
    rng = page.rng
    lines = [f"{rng.choice(('받는 사람', '받는 분', '수령인', '수신'))}: {rng.choice(NAMES)} 님"]
    lines += [f"{item.label} {item.value}" for item in items]
    lines += ["", rng.choice(FILLERS), f"2024년 5월 3일 {rng.choice(NAMES)} 드림"]
    return "\n".join(lines)


def notice(page: Page, items: list[Item]) -> str:
    rng = page.rng
    start = rng.choice(
        ("[공지] 주차장 청소 안내", "제5회 마을 음악회 개최 알림", "<모집 공고> 2024-12호", "■ 정전 안내")
    )
    head = rng.choice(("※ ", "☎ 문의처 ", "▶ ", "* ", "끝으로 "))
    style = rng.choice(("{l}: {v}", "{l} {v}", "{l}({v})"))
    values = ", ".join(style.format(l=item.label, v=item.value) for item in items)
    return f"{start}\n일시: 2024. 5. 3.(금) 14:00~16:00\n{head}{values}"


def neighbours(page: Page, items: list[Item]) -> str:
    rng = page.rng
    joint = rng.choice((", ", " / ", " | ", "\n", " · ", "; ", " 및 ", "  "))
    return rng.choice(("", "연락망 - ", "다음과 같습니다. ")) + joint.join(f"{i.label} {i.value}" for i in items)


ENTRIES: dict[str, tuple[str, ...]] = {
    "IP": (
        '{v} - - [03/May/2024:21:10:03 +0900] "GET /index.html HTTP/1.1" 200 5120',
        "2024-05-03T21:10:03 sshd[2214]: Accepted password for root from {v} port 52211 ssh2",
        "2024-05-03 21:10:03 INFO ip={v} status=200 time=35ms",
        "May  3 21:10:03 gw dhcpd: DHCPACK on {v} (eth0)",
        "[error] 2214#0: *17 connect() failed, client: {v}, server: localhost",
    ),
    "MAC": ("dhcpd: DHCPREQUEST mac={v} via eth0", "eth0: HWaddr {v} UP", "2024-05-03 21:10:03 WARN station {v} left"),
    "EMAIL": ("postfix/smtp: to=<{v}>, relay=local, status=sent", "2024-05-03 21:10:03 INFO login user={v} ok"),
    "URL": ("GET {v} 200 35ms", "2024-05-03 21:10:03 ERROR timeout url={v}", 'Referer: "{v}"'),
    "TEL": ("2024-05-03 21:10:03 SMS to={v} result=OK", "발신 {v} 통화 00:03:12"),
}
"""Lines of logs, type by type."""


def log(page: Page, items: list[Item]) -> str:
    lines = [page.rng.choice(ENTRIES[item.form.kind.type]).format(v=item.value) for item in items]
    return "\n".join(["2024-05-03 21:09:58 INFO started pid=2214", *lines])


def official(page: Page, items: list[Item]) -> str:
    rng = page.rng
    values = [f"{i.label} {i.value}" if i.form.labelled or i.form.kind.type == "TEL" else str(i.value) for i in items]
    start = f"시행 총무과-{rng.randint(100, 9999)} (2024. 5. 3.)  접수\n"
    return start + rng.choice((" / ", " / ", "\n")).join([*values, rng.choice(("대국민 공개", "부분공개(6)"))])


def roster(page: Page, items: list[Item]) -> str:
    rng = page.rng
    blanks = [item for item in items if " " in unmarked(item.value)]
    ends = all(i.form.kind.type == "ADDRESS" and unmarked(i.value).rstrip()[-1:] in "동호층" for i in blanks)
    joint = rng.choice((" ", "\t", ", ", "  ") if ends else ("\t", " / ", " | "))
    lines = [joint.join([rng.choice(NAMES), *(str(item.value) for item in items)])]
    lines.append(joint.join([rng.choice(NAMES), *(str(item.form.write(page)) for item in items)]))
    return "\n".join(lines)


CARRIERS: dict[str, Carrier] = {
    carrier.__name__: carrier
    for carrier in (
        sentence, alone, form, table, side_table, chat, receipt, signature, markdown, html, json_line, court, letter,
        notice, neighbours, log, official, roster,
    )
}  # fmt: skip
SOLO = {"alone", "court"}
"""Carriers of one value."""
