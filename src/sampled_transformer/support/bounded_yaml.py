"""YAML that strangers may have written: its length, its nesting and its aliases are bounded before values are made.

A kilobyte of aliases of aliases can stand for more values than any memory holds, and every `<<` may double a mapping.
So we count what a document holds with its aliases written out, on the graph of its nodes, before we build anything.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

LONGEST = 1 << 17  # letters; two seconds of reading. Our own files have a thousand
DEEPEST = 32  # levels of nesting
MOST_VALUES = 100_000  # with all aliases written out


class _Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
    """Reads 1e-3 as a number, which YAML 1.1 takes for text."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def load_yaml(text: str) -> Any:
    """The value that a YAML document holds; whatever is wrong with it is a ValueError."""
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST:,} letters, got {len(text):,}")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        count_values(node, {}, 0)
        return loader.construct_document(node)
    except RecursionError:
        raise ValueError(f"expected at most {DEEPEST} levels of nesting, got more") from None
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, ArithmeticError, LookupError) as error:
        # Dates that no calendar has and numbers of a thousand digits are other errors than those of YAML.
        raise ValueError(str(error)) from None


def count_values(node: Any, known: dict[int, int | None], depth: int) -> int:
    """The number of values in a node with all aliases written out; too many of them, or too deep, is a ValueError."""
    if depth > DEEPEST:
        raise ValueError(f"expected at most {DEEPEST} levels of nesting, got more")
    if id(node) in known:
        count = known[id(node)]
        if count is None:
            raise ValueError("expected no alias inside of what it names, got one")
        return count
    known[id(node)] = None  # until all below it is counted
    total = 1
    if isinstance(node, yaml.SequenceNode | yaml.MappingNode):
        for below in node.value:
            for one in below if isinstance(below, tuple) else (below,):
                total += count_values(one, known, depth + 1)
                if total > MOST_VALUES:
                    raise ValueError(f"expected at most {MOST_VALUES:,} values, aliases written out, got more")
    known[id(node)] = total
    return total
