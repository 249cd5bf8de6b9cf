"""Tests the list of rules."""

import inspect
from collections.abc import Iterator
from types import ModuleType

import pytest

from autograder.diagnosis.mistakes import rules
from autograder.diagnosis.mistakes.rewriting import Rewrite

SUBJECTS = sorted({inspect.getmodule(rule) for rule in rules.RULES}, key=lambda part: part.__name__)


def rules_in(part: ModuleType) -> list[object]:
    """Return the public functions of *part* that make rewrites from a scope and nothing else."""
    functions = inspect.getmembers(part, inspect.isfunction)
    own = [one for name, one in functions if one.__module__ == part.__name__ and name[0] != "_"]
    signatures = ((one, inspect.signature(one)) for one in own)
    return [
        one
        for one, signature in signatures
        if [*signature.parameters] == ["scope"] and signature.return_annotation == Iterator[Rewrite]
    ]


@pytest.mark.parametrize("part", SUBJECTS, ids=lambda part: part.__name__.rpartition(".")[2])
def test_each_rule_is_listed_once(part: ModuleType):
    """A rule that is not in the list would make no mistake."""
    assert [one for one in rules_in(part) if rules.RULES.count(one) != 1] == []


def test_every_subject_has_rules():
    """The list of rules contains every module of rules."""
    imported = [part for part in vars(rules).values() if isinstance(part, ModuleType)]

    assert [part for part in imported if part not in SUBJECTS and "mistakes" in part.__name__] == []
