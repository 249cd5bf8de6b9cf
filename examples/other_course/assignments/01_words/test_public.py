"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees

WORDS = ("tea", "milk", "bread", "salt", "rice")
TREE = [3, [1, [4, 1]], [], [[5], 9]]


def draw_numbers(probe, count, most=30):
    """Draw whole numbers from 0 to *most* - 1."""
    return [int(share * most) for share in probe.uniform(count).tolist()]


def draw_text(probe, count):
    """Draw words, some of which come several times."""
    return " ".join(WORDS[number] for number in draw_numbers(probe, count, len(WORDS)))


# word_counts


@check("word_counts", points=2, layer="probe")
def test_counts_each_word(student, reference, probe):
    """Each word has the number of times that it occurs."""
    text = draw_text(probe, 12)

    agrees(student.call("word_counts", text), reference.call("word_counts", text), "The counts")


@check("word_counts", points=1, layer="laws")
def test_upper_case_makes_no_difference(student):
    """The same word in upper and in lower case is one word."""
    agrees(student.call("word_counts", "Tea tea TEA Milk"), {"tea": 3, "milk": 1}, "The counts")


@check("word_counts", points=0.5, layer="laws")
def test_blanks_and_line_breaks_are_not_words(student):
    """Several blanks or line breaks between two words count like one."""
    agrees(student.call("word_counts", "tea  milk\n\ntea "), {"tea": 2, "milk": 1}, "The counts")


# first_place


@check("first_place", points=1.5, layer="probe")
def test_finds_the_first_place(student, reference, probe):
    """The place is the first one whose number is at least the wanted number."""
    numbers = sorted(draw_numbers(probe, 17))

    for wanted in (numbers[5], numbers[11], numbers[3] + 1, numbers[14] + 1):
        found = student.call("first_place", numbers, wanted)
        agrees(found, reference.call("first_place", numbers, wanted), "The place")


@check("first_place", points=1, layer="laws")
def test_equal_numbers_give_the_first_of_them(student):
    """Of several equal numbers, the first place is returned."""
    agrees(student.call("first_place", [2, 4, 4, 4, 4, 4, 9], 4), 1, "The place")


@check("first_place", points=1, layer="laws")
def test_both_ends_are_found(student):
    """A number below all others has place 0; one above all others has the length."""
    agrees(student.call("first_place", [2, 4, 7], 1), 0, "The place of a small number")
    agrees(student.call("first_place", [2, 4, 7], 8), 3, "The place of a large number")
    agrees(student.call("first_place", [], 8), 0, "The place in an empty list")


# leaves


@check("leaves", points=1.5, layer="probe")
def test_lists_all_leaves_from_left_to_right(student, reference, probe):
    """The numbers of a tree come in one list, in their order."""
    a, b, c, d, e = draw_numbers(probe, 5)
    tree = [a, [b, [c]], [[d], e]]

    agrees(student.call("leaves", tree), reference.call("leaves", tree), "The leaves")


@check("leaves", points=1, layer="laws")
def test_a_number_is_a_tree(student):
    """A single number gives a list with this number, and an empty list gives an empty one."""
    agrees(student.call("leaves", 7), [7], "The leaves of a number")
    agrees(student.call("leaves", [[], []]), [], "The leaves of empty lists")


@check("leaves", points=0.5, layer="laws", rules=("lists_unchanged",))
def test_the_tree_stays_as_it_is(student):
    """The call leaves the lists of the tree as they are."""
    agrees(student.call("leaves", TREE), [3, 1, 4, 1, 5, 9], "The leaves")
    expect(student.keeps_inputs("leaves", TREE), "The call changes a list of the tree.")
