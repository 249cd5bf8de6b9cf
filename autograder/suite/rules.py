"""The rules that checks grade beside the right numbers: their sentences stand in the stubs."""

from pathlib import Path
from typing import Literal

import msgspec

from autograder.course import duplicates, read_toml
from autograder.errors import CourseError


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule: the *sentence* that students read, and the *methods* by which a check grades it."""

    name: str
    sentence: str
    methods: tuple[str, ...]


class RulesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``rules.toml`` as written."""

    format_version: Literal[1]
    rule: tuple[Rule, ...]


def read(path: Path) -> dict[str, Rule]:
    """Read ``rules.toml`` at *path*, which a course may lack; raises ``CourseError``."""
    if not path.is_file():
        return {}
    file = read_toml(path, RulesFile)
    for duplicate in duplicates([rule.name for rule in file.rule]):
        msg = f"{path}: two rules are named {duplicate!r}."
        raise CourseError(msg)
    return {rule.name: rule for rule in file.rule}
