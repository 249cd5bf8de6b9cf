"""Lists the words of a source that honest modules do not need: modules, and paths of files.

What honest modules use is a list, because the ways to hide a call have no end: a package that runs
texts, a new operator, a module of the kit. ``suite.forbidden`` leaves out the words that
the course's own code contains.
"""

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Final

_USUAL: Final = frozenset(
    {"__future__", "abc", "bisect", "collections", "contextlib", "copy", "dataclasses", "decimal"}
    | {"enum", "fractions", "functools", "heapq", "itertools", "logging", "math", "matplotlib"}
    | {"numbers", "numpy", "operator", "pprint", "random", "re", "statistics", "textwrap", "time"}
    | {"tqdm", "typing", "typing_extensions", "warnings"}
)
_USUAL_TORCH: Final = frozenset(
    {"torch", "torch.backends.cudnn", "torch.backends.mps", "torch.cuda", "torch.distributions"}
    | {"torch.functional", "torch.linalg", "torch.mps", "torch.nn", "torch.nn.functional"}
    | {"torch.nn.init", "torch.nn.modules", "torch.nn.parameter", "torch.nn.utils"}
    | {"torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler", "torch.random"}
    | {"torch.testing", "torch.types", "torch.utils", "torch.utils.data"}
)
# These run a text, so nothing that they define has a definition in the source.
_RUNNING: Final = frozenset({"exec", "eval"})
_MAX_PATH: Final = 200  # characters; longer texts are prose
_PATH: Final = re.compile(
    r"\.\./|/\w|~/|\w:\\|\\\\|.*(?:course-secret|AUTOGRADER_|gradebook\.db|tests/hidden|solutions?/)"
)


def words_of_statements(
    statements: Iterable[ast.stmt], own: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Yield the unusual words of *statements* with their lines.

    *own* are the names that the module defines itself. Docstrings and other texts that no code uses
    are left out.
    """
    unused: set[int] = set()
    for node in (inner for statement in statements for inner in ast.walk(statement)):
        if isinstance(node, ast.Expr):
            unused.add(id(node.value))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, word) for name in _imported(node) if (word := unusual(name)))
        elif isinstance(node, ast.Name) and node.id in _RUNNING and node.id not in own:
            yield node.lineno, node.id
        elif isinstance(node, ast.Constant) and id(node) not in unused and _is_path(node.value):
            yield node.lineno, repr(node.value)


def _is_path(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_PATH and bool(_PATH.match(value))


def unusual(name: str) -> str:
    """Return the module of an imported *name* if honest modules do not need it, otherwise ""."""
    parts = name.split(".")
    if parts[0] == "autograder":
        return ".".join(parts[:2])
    if parts[0] != "torch":
        return "" if parts[0] in _USUAL else parts[0]
    if private := next((part for part in parts if re.match(r"_[^_]", part)), ""):
        return f"torch.….{private}"
    module = "torch"
    for part in parts[1:]:
        inner = f"{module}.{part}"
        if inner not in sys.modules:
            # torch imports some of its modules on first use
            is_lazy = module == "torch" and part not in vars(sys.modules["torch"])
            module = inner if is_lazy else module
            break
        module = inner
    return "" if module in _USUAL_TORCH else module


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level or not node.module:
        return []
    return [f"{node.module}.{alias.name}" for alias in node.names]
