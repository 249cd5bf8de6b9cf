"""Correct solutions with Python's own library, and a tree that is walked with a list."""

from bisect import bisect_left
from collections import Counter


def word_counts(text):
    return dict(Counter(text.lower().split()))


def first_place(numbers, wanted):
    return bisect_left(numbers, wanted)


def leaves(tree):
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += reversed(node)
        else:
            found.append(node)
    return found
