"""Counts the words of two programs, which show how much of their sources differs."""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping

from autograder.diagnosis.student_code import name_of, variables_of

OPERATORS = (ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.Slice, ast.Return)


def words_of(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Count the operators, the numbers and the names in *nodes*, but for those of variables."""
    every = list(nodes)
    variables = variables_of(every)
    words = Counter(type(one).__name__ for one in every if isinstance(one, OPERATORS))
    words.update(repr(one.value) for one in every if isinstance(one, ast.Constant))
    named = (name_of(one) for one in every if isinstance(one, ast.Name | ast.Attribute))
    words.update(name for name in named if name not in variables)
    return words


def more(words: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    """Return how much more often each word is in *words* than in *right*."""
    every = {word: words.get(word, 0) - right.get(word, 0) for word in {*words, *right}}
    return {word: count for word, count in every.items() if count}
