"""Holds the skeletons of a stage: one with torch, and one in plain Python.

``new_stage`` fills in the words in capital letters.
"""

from typing import Final, NamedTuple


class Skeleton(NamedTuple):
    """The texts of a small stage with the exercise *name*; *checks* follow the suite's title."""

    name: str
    hints: str
    solution: str
    checks: str
    hollow: str
    variant: str
    misconception: str
    question: str
    lab_setup: str
    lab_example: str


TORCH: Final = Skeleton(
    name="centered",
    hints="""\
centered = [
  "What is the mean of one token's features, and how many such means are there?",
  "Keep the axis that you average over, so that the means can be subtracted from their rows.",
  "Subtract x.mean(dim=-1, keepdim=True).",
]
""",
    solution='''\
"""TITLE: say in one sentence what students build here.

Shapes in this stage: T tokens with d features each; x is (T, d).
"""

from torch import Tensor


def centered(x: Tensor) -> Tensor:
    """Subtract from each token the mean of its own features: (T, d) -> (T, d)."""
    ### BEGIN SOLUTION
    means = x.mean(dim=-1, keepdim=True)  # (T, 1)
    return x - means
    ### END SOLUTION
''',
    checks='''\
# Four common errors in first stages, each with the line to write instead:
# 1. An exercise has no grade cell in lab.ipynb. The id of the cell is the exercise, its only line:
#        lab.check("centered")
# 2. Entries of a dictionary are compared one by one. Compare the whole dictionary:
#        agrees(student.call("f", x), reference.call("f", x), "The result")
# 3. Entries of a tuple are unpacked before they are compared. The line of 2 compares tuples, too.
# 4. Gradients of a tuple or dictionary lack the entries that count. Name them in the cotangent:
#        student.gradients("f", x, cotangent={0: probe.normal(5, 3)})

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike


@check("centered", points=5, layer="probe")
def test_centers_each_token(student, reference, probe):
    """Each token loses the mean of its own features."""
    x = probe.normal(5, 3)  # two different sizes, so that a swapped axis is detected

    agrees(student.call("centered", x), reference.call("centered", x), "The centered tokens")


@check("centered", points=3, layer="laws")
def test_all_features_add_up_to_zero(student, probe):
    """All centered features add up to zero, and twice the input gives twice the result."""
    x = probe.normal(5, 3)
    found, doubled = student.call("centered", x), student.call("centered", 2 * x)

    agrees(found.sum(), x.sum() * 0, "The sum of all centered features")
    agrees(doubled, 2 * found, "The result for twice the input")
    expect(not alike(found, 0 * x), "The centered tokens are zero.")


@check("centered", points=2, layer="laws")
def test_each_token_has_its_own_mean(student, probe):
    """A number added to a token has no effect; added to one feature only, it has one."""
    x, token, feature = probe.normal(5, 3), probe.normal(5, 3) * 0, probe.normal(5, 3) * 0
    token[2], feature[2, 1] = 4.0, 4.0
    found = student.call("centered", x)

    agrees(student.call("centered", x + token), found, "The result for one shifted token")
    changed = not alike(student.call("centered", x + feature), found)
    expect(changed, "A changed feature has no effect.")
''',
    hollow='''\
"""Zeros of the right shapes."""

import torch


def centered(x):
    return torch.zeros_like(x)
''',
    variant='''\
"""A correct solution in a different idiom: one token at a time."""

import torch


def centered(x):
    return torch.stack([token - token.sum() / len(token) for token in x])
''',
    misconception="""\
    Misconception(
        id="subtracts_one_mean_from_all",
        exercise="centered",
        swaps=(("x.mean(dim=-1, keepdim=True)", "x.mean()"),),
        explanation="One mean of all tokens is subtracted from each of them.",
        question="How many means does a text of T tokens have?",
    ),
""",
    question="""\
[subtracts_one_mean_from_all]
question = "How many means does a text of T tokens have, one for each token or one for all?"
""",
    lab_setup="""\
import torch

from autograder.student.lab import Lab

lab = Lab("STAGE")
MODULE = lab.module()""",
    lab_example="""\
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 6.0, 8.0]])
with lab.needs("centered"):
    print(MODULE.centered(x))""",
)
PLAIN: Final = Skeleton(
    name="initials",
    hints="""\
initials = [
  "What are the words of a text, and which letter of each one counts?",
  "Split the text, and join the first letters of its words.",
  "\\"\\".join(word[0] for word in text.split())",
]
""",
    solution='''\
"""TITLE: say in one sentence what students build here."""


def initials(text: str) -> str:
    """Return the first letters of the words in *text*: "tea at noon" gives "tan".

    Words are separated by spaces.
    """
    ### BEGIN SOLUTION
    return "".join(word[0] for word in text.split())
    ### END SOLUTION
''',
    checks='''\
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees

WORDS = ("tea", "milk", "bread", "salt", "rice", "Oil")


@check("initials", points=5, layer="probe")
def test_takes_the_first_letter_of_each_word(student, reference, probe):
    """The first letters of an unseen text come in the order of its words."""
    text = " ".join(WORDS[int(share * len(WORDS))] for share in probe.uniform(9).tolist())

    agrees(student.call("initials", text), reference.call("initials", text), "The letters")


@check("initials", points=3, layer="laws")
def test_the_letters_of_two_texts_follow_each_other(student):
    """The letters of two texts are those of the first, then those of the second."""
    first, second = student.call("initials", "tea milk"), student.call("initials", "tea rice")

    agrees(student.call("initials", "tea milk tea rice"), first + second, "The letters of both")
    expect(first != second, "Other words have the same letters.")


@check("initials", points=2, layer="laws")
def test_spaces_are_not_words(student):
    """Several spaces between two words count like one, and an empty text has no letters."""
    agrees(student.call("initials", "tea  at   noon "), "tan", "The letters")
    agrees(student.call("initials", ""), "", "The letters of an empty text")
''',
    hollow='''\
"""Empty results of the right types."""


def initials(text):
    return ""
''',
    variant='''\
"""A correct solution in a different idiom: one word at a time."""


def initials(text):
    letters = ""
    for word in text.split():
        letters += word[:1]
    return letters
''',
    misconception="""\
    Misconception(
        id="takes_the_last_letter",
        exercise="initials",
        swaps=(("word[0]", "word[-1]"),),
        explanation="The last letter of each word is taken.",
        question="Which position does the first letter of a word have?",
    ),
""",
    question="""\
[takes_the_last_letter]
question = "Which position does the first letter of a word have, and which one the last?"
""",
    lab_setup="""\
from autograder.student.lab import Lab

lab = Lab("STAGE")
MODULE = lab.module()""",
    lab_example="""\
with lab.needs("initials"):
    print(MODULE.initials("tea at noon"))""",
)
STAGE: Final = """\
format_version = 1
title = "TITLE"
goal = "Say in one sentence what students can do after this stage."
module = "MODULE"
prerequisites = []

[[exercise]]
name = "EXERCISE"
minutes = 5
"""
SUITE_HEAD: Final = '''\
"""Hidden suite of stage NUMBER: TITLE."""

'''
MISCONCEPTIONS: Final = '''\
"""Wrong answers that the suite of stage NUMBER must detect."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
MISTAKE)
'''
SENTENCES: Final = """\
# Your own sentences about mistakes of this stage, for example in another language.
# `autograder diagnose` shows the name of a mistake. A sentence that you leave out stays.

"""
READY: Final = '''\
"""Exercises by ready-made code, if this stage teaches what such code does; none yet."""
'''
EQUIVALENTS: Final = """\
# Small changes to the solution that `autograder mutate` finds and that are right, with the reason.

format_version = 1
equivalent = []
"""
RULES: Final = """\
# The rules that checks grade in addition to the right result; docs/author.md describes the keys.

format_version = 1
"""
DOCUMENTED: Final = """\
# The values that the documents of the course print; docs/author.md describes the keys.

format_version = 1
"""
