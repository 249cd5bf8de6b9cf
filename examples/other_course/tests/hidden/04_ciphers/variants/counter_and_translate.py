"""Other idioms: a regular expression, ``Counter``, a table for ``translate``, and bytearrays."""

import re
from collections import Counter
from itertools import pairwise
from string import ascii_lowercase


def letters(text):
    return re.sub("[^a-z]", "", text.lower())


def neighbours(text):
    return Counter(pairwise(letters(text)))


def shifted(text, steps):
    steps %= 26
    moved = ascii_lowercase[steps:] + ascii_lowercase[:steps]
    table = str.maketrans(ascii_lowercase + ascii_lowercase.upper(), moved + moved.upper())
    return text.translate(table)


def likely_steps(text):
    counts = Counter(sorted(letters(text)))
    if counts:
        return (ord(counts.most_common(1)[0][0]) - ord("e")) % 26


def solved(text):
    return shifted(text, -(likely_steps(text) or 0))


def sealed(text, steps):
    message = bytearray([steps])
    message.extend(shifted(text, steps).encode("utf-8"))
    return bytes(message)
