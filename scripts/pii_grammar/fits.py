"""Which values are written in which texts, and what may stand around them there."""

from __future__ import annotations

from .carriers import ENTRIES, Item
from .habits import HABITS
from .marks import BY_LETTER, Page, Value, unmarked
from .sentences import COURT, LABELS
from .writers import Form

ONE_LINE = {"table", "side_table", "json_line", "log", "roster"}
"""Carriers whose values cannot hold a line end."""
BUSINESS = {"TEL", "BRN", "ADDRESS", "CARD", "URL", "EMAIL", "BANK_ACCOUNT", "VEHICLE_PLATE"}
CONTACT = {"TEL", "EMAIL", "ADDRESS", "URL", "MENTION"}


def carrier_fits(name: str, form: Form, text: str) -> bool:
    kind = form.kind.type
    if "\n" in text and name in ONE_LINE:
        return False
    if name == "table" and "|" in text:
        return False
    if name == "alone" and kind == "VEHICLE_PLATE":
        return False
    if name == "court":
        return kind in COURT and not form.labelled and "\n" not in text
    if name == "roster":
        return not form.labelled and kind not in ("URL", "IP", "MAC", "VEHICLE_PLATE")
    allowed = {"receipt": BUSINESS, "signature": CONTACT, "letter": CONTACT, "official": CONTACT, "log": ENTRIES}.get(
        name
    )
    return allowed is None or (kind in allowed and not (name == "log" and form.labelled))


WRITTEN = {"sentence", "chat", "court"}
"""Carriers whose values stand in sentences."""
KEYED = {"table", "side_table", "json_line", "html", "markdown"}
"""Carriers whose labels are words, not single letters."""
LISTS = {"form", "table", "side_table", "receipt", "markdown", "html", "alone"}
"""Carriers whose values stand behind a label or in a cell."""
LAYOUT = {"sign before": LISTS, "tab before": LISTS, "mark behind": LISTS, "repeated": LISTS | {"json_line", "notice"}}
"""Habit → the carriers it is found in, where these are not all."""
SIGNED = {"quotes", "brackets", "emphasis", "mark behind"}


def habit_fits(name: str, carrier: str, form: Form, text: str) -> bool:
    """Return whether a habit can stand around a value in such texts without becoming part of it."""
    kind = form.kind
    if carrier == "log" or (carrier == "roster" and name not in ("quotes", "brackets")):
        return False
    if carrier not in LAYOUT.get(name, {carrier}) or (carrier == "court" and name in ("brackets", "emphasis")):
        return False
    if name in ("mark behind", "emphasis") and kind.type in ("URL", "EMAIL", "MENTION", "IP"):
        return False
    if name == "emphasis" and any(sign in text for sign in "_*~`xX"):
        return False
    if name in SIGNED and any(sign in text for sign in "\n()[]{}（）〈〉<>"):
        return False
    if name == "two values glued" and kind.type in BY_LETTER | {"ADDRESS"}:
        return False
    if name == "repeated" or name.startswith("two values"):
        return not any(sign in text for sign in "\n,/·ㆍ")
    return not (carrier == "html" and name == "brackets")


def item_of(page: Page, form: Form, value: Value, carrier: str, plain: float) -> Item:
    """Return a value with a label and, but for the share `plain`, with something around it."""
    rng = page.rng
    names = [name for name in HABITS if habit_fits(name, carrier, form, unmarked(value))]
    if names and rng.random() >= plain:
        habit = rng.choice(names)
        second_value = form.write(page) if habit.startswith("two values") else value
        value = Value(HABITS[habit](value, second_value, rng))
        page.put_around(value, habit)
    labels = form.labels or LABELS[form.kind.type]
    if carrier in WRITTEN | KEYED:
        labels = tuple(label for label in labels if len(label) > 1 and label[-1] != ".")
    return Item(form, Value(rng.choice(labels)), value)
