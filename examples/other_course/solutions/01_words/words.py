"""Words and searching: a dictionary, a loop and a function that calls itself."""


def word_counts(text: str) -> dict[str, int]:
    """Count how often each word occurs in *text*, with all letters in lower case.

    Words are separated by blanks and line breaks. The result has one entry for each word.
    """
    ### BEGIN SOLUTION
    counts: dict[str, int] = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts
    ### END SOLUTION


def first_place(numbers: list[int], wanted: int) -> int:
    """Return the first place in the sorted list *numbers* whose number is at least *wanted*.

    If all numbers are smaller, return the length of the list. Halve the rest of the list in each
    turn, so that a list that is twice as long takes one turn more.
    """
    ### BEGIN SOLUTION
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
    ### END SOLUTION


def leaves(tree: list | int) -> list[int]:
    """Return the numbers of *tree* in one list, from left to right.

    A tree is a number, or a list of trees. The lists of *tree* stay as they are.
    """
    ### BEGIN SOLUTION
    if isinstance(tree, int):
        return [tree]
    found: list[int] = []
    for branch in tree:
        found.extend(leaves(branch))
    return found
    ### END SOLUTION
