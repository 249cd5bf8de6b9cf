"""Empty results of the right types."""


def word_counts(text):
    return {}


def first_place(numbers, wanted):
    return 0


def leaves(tree):
    return []
