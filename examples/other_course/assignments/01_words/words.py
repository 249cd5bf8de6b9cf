"""Words and searching: a dictionary, a loop and a function that calls itself.

Rules for this stage, which are graded like the results:

- Properties count only if the results are right for other inputs too.
"""


def word_counts(text: str) -> dict[str, int]:
    """Count how often each word occurs in *text*, with all letters in lower case.

    Words are separated by blanks and line breaks. The result has one entry for each word.
    """
    raise NotImplementedError


def first_place(numbers: list[int], wanted: int) -> int:
    """Return the first place in the sorted list *numbers* whose number is at least *wanted*.

    If all numbers are smaller, return the length of the list. Halve the rest of the list in each
    turn, so that a list that is twice as long takes one turn more.
    """
    raise NotImplementedError


def leaves(tree: list | int) -> list[int]:
    """Return the numbers of *tree* in one list, from left to right.

    A tree is a number, or a list of trees. The lists of *tree* stay as they are.
    """
    raise NotImplementedError
