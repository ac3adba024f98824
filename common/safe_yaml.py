"""YAML as recipes hold it: plain values, a date as the text that it is, each key once, no text that grows when read."""

from __future__ import annotations

import re
from typing import Any

import yaml

from common.secrets import MASK

MOST_YAML_VALUES = 100_000
"""Values in a YAML text, each alias counted as all that it stands for; the longest recipes have some hundred."""


_NAMED = re.compile(r"""(alias|anchor|tag|handle) (['"]).*\2""", re.DOTALL)  # undefined alias 'x', the tag "!it's"


class _Loader(yaml.SafeLoader):
    """The safe loader, for which a date is a string like any other: no setting is one."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def parse_yaml(text: str) -> Any:
    """Return the data in a YAML text.

    Raises:
        yaml.YAMLError: it is not YAML, has a key twice or tags that would make other objects, or is too deep or large.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _values_in(node, {}) > MOST_YAML_VALUES:
            raise yaml.YAMLError(f"it stands for more than {MOST_YAML_VALUES:,} values")
        return loader.construct_document(node)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (
        ValueError,
        AttributeError,
        LookupError,
        ArithmeticError,
    ):  # of a tag that does not fit its value (!!int x)
        raise yaml.YAMLError("a tag does not fit its value") from None
    finally:
        loader.dispose()


def yaml_fault(error: yaml.YAMLError) -> str:
    """Return what is wrong with a YAML text, and where, without what stands there: it may be a secret."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error)
    fault = ", ".join(_NAMED.sub(rf"\1 '{MASK}'", part) for part in (error.problem, error.context) if part)
    mark = error.problem_mark
    return f"{fault} (line {mark.line + 1}, column {mark.column + 1})" if mark else fault


def _values_in(node: Any, known: dict[int, int]) -> int:
    """Return how many values a node of YAML stands for; `known` gets those of the nodes in it.

    Raises:
        yaml.MarkedYAMLError: a mapping has a key twice, of which YAML would keep the last without a word.
    """
    if id(node) not in known:
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:
                    name = f"'{key.value}'" if re.fullmatch(r"[A-Za-z_]\w{0,30}", key.value) else "of this line"
                    fault = f"the key {name} is given twice"
                    raise yaml.MarkedYAMLError(problem=fault, problem_mark=key.start_mark)
                seen.add((key.tag, key.value))
        known[id(node)] = 1  # of one that holds itself, too
        items = [] if isinstance(node.value, str) else node.value
        inner = [part for item in items for part in (item if isinstance(item, tuple) else (item,))]
        known[id(node)] = 1 + sum(_values_in(part, known) for part in inner)
    return known[id(node)]
