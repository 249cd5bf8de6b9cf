"""Hidden suite of stage 04: texts, bytes, None, and dictionaries with pairs as keys."""

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
SIGNS = "The Zoo, at 5: e-mail é ß\n"
COMMON = "eeeeeeeettttaaoinshr"  # e is the commonest letter of what is drawn


def draw_numbers(probe, count, most):
    """Draw whole numbers from 0 to *most* - 1."""
    return [int(share * most) for share in probe.uniform(count).tolist()]


def draw_text(probe, count, signs=ALPHABET + ALPHABET.upper() + " .,é1"):
    """Draw *count* characters of *signs*."""
    return "".join(signs[number] for number in draw_numbers(probe, count, len(signs)))


def draw_steps(probe):
    """Draw a number of steps from 1 to 25, which is not 13, so that both directions differ."""
    return 1 + probe.seed % 12 if probe.seed % 2 else 14 + probe.seed % 12


@check("letters", points=0.6, layer="documented")
def test_keeps_the_documented_letters(student, documented):
    """The letters of "Tea, please!" are "teaplease"."""
    documented["tea.letters"].matches(student.call("letters", "Tea, please!"), "The letters")


@check("letters", points=0.5, layer="probe")
def test_keeps_the_letters_of_unseen_texts(student, reference, probe):
    """The letters of an unseen text come in their order, in lower case."""
    text = draw_text(probe, 70)

    agrees(student.call("letters", text), reference.call("letters", text), "The letters")


@check("letters", points=0.3, layer="laws")
def test_letters_of_letters_are_the_same(student, probe):
    """Letters alone are kept; the letters of two texts follow each other."""
    one, other = draw_text(probe, 12, ALPHABET), draw_text(probe, 9, ALPHABET)
    both = student.call("letters", f"{one} - {other.upper()}")

    agrees(both, one + other, "The letters of two texts")


@check("letters", points=0.2, layer="laws")
def test_a_text_without_letters_has_none(student):
    """Digits, signs and letters beyond a to z are no letters here."""
    agrees(student.call("letters", "7 é ß, 1!"), "", "The letters")


@check("neighbours", points=0.6, layer="documented")
def test_counts_the_documented_pairs(student, documented):
    """In "Tea, please!", "ea" comes twice and every other pair once."""
    documented["tea.neighbours"].matches(student.call("neighbours", "Tea, please!"), "The counts")


@check("neighbours", points=0.5, layer="probe")
def test_counts_the_pairs_of_unseen_texts(student, reference, probe):
    """Each pair has the number of times that it occurs."""
    text = draw_text(probe, 60, "abcd ABé")

    agrees(student.call("neighbours", text), reference.call("neighbours", text), "The counts")


@check("neighbours", points=0.3, layer="laws")
def test_pairs_overlap(student):
    """Three equal letters are two pairs."""
    agrees(student.call("neighbours", "aaa b"), {("a", "a"): 2, ("a", "b"): 1}, "The counts")


@check("neighbours", points=0.2, layer="laws")
def test_short_texts_have_no_pairs(student):
    """A text with one letter or none has no pair, a text with two letters has one."""
    for text in ("", "7!", "a."):
        agrees(student.call("neighbours", text), {}, "The counts of a short text")
    agrees(student.call("neighbours", "b a"), {("b", "a"): 1}, "The counts of two letters")


@check("shifted", points=0.7, layer="documented")
def test_shifts_the_documented_word(student, documented):
    """Shifted by three steps, "Tea at the Zoo" is "Whd dw wkh Crr"."""
    documented["tea.shifted"].matches(student.call("shifted", "Tea at the Zoo", 3), "The text")


@check("shifted", points=0.7, layer="probe")
def test_shifts_unseen_texts(student, reference, probe):
    """Each letter of an unseen text moves by the steps."""
    text, steps = draw_text(probe, 120), draw_steps(probe)

    agrees(
        student.call("shifted", text, steps), reference.call("shifted", text, steps), "The text"
    )


@check("shifted", points=0.4, layer="laws")
def test_shifting_back_gives_the_text(student, probe):
    """A text that is shifted there and back is the same, and in between it is not."""
    text, steps = draw_text(probe, 40), draw_steps(probe)
    there = student.call("shifted", text, steps)
    expect(there != text, "The shifted text is the text itself.")

    agrees(student.call("shifted", there, -steps), text, "The text that was shifted back")


@check("shifted", points=0.3, layer="laws")
def test_after_26_steps_everything_is_as_before(student, probe):
    """27 steps are one step, 26 steps are none."""
    text = draw_text(probe, 30, ALPHABET)
    once = text.translate(str.maketrans(ALPHABET, ALPHABET[1:] + "a"))

    agrees(student.call("shifted", text, 26), text, "The text after 26 steps")
    agrees(student.call("shifted", text, 27), once, "The text after 27 steps")


@check("shifted", points=0.3, layer="laws")
def test_capitals_and_signs_stay(student):
    """A capital letter stays a capital one, and other characters stay as they are."""
    agrees(student.call("shifted", SIGNS, 1), "Uif App, bu 5: f-nbjm é ß\n", "The text")


@check("likely_steps", points=0.6, layer="documented")
def test_finds_the_documented_steps(student, documented):
    """"Whd, sohdvh!" was shifted by three steps."""
    documented["tea.steps"].matches(student.call("likely_steps", "Whd, sohdvh!"), "The steps")


@check("likely_steps", points=0.5, layer="probe")
def test_finds_the_steps_of_unseen_texts(student, reference, probe):
    """The commonest letter of a shifted text shows the steps."""
    text = reference.call("shifted", draw_text(probe, 60, COMMON + " ."), draw_steps(probe))

    agrees(
        student.call("likely_steps", text), reference.call("likely_steps", text), "The steps"
    )


@check("likely_steps", points=0.3, layer="laws")
def test_the_first_of_equally_common_letters_counts(student):
    """Of equally common letters, the first one in the alphabet counts, wherever it stands."""
    agrees(student.call("likely_steps", "gf GF"), 1, "The steps")
    agrees(student.call("likely_steps", "zzg g7"), 2, "The steps")
    agrees(student.call("likely_steps", "ddd e"), 25, "The steps")


@check("likely_steps", points=0.3, layer="laws")
def test_a_text_without_letters_has_no_steps(student):
    """A text without letters gives None, one with letters a number."""
    agrees(student.call("likely_steps", "7, é!"), None, "The steps of a text without letters")
    agrees(student.call("likely_steps", "7, é: e!"), 0, "The steps of a text with an e")


@check("solved", points=0.5, layer="documented")
def test_solves_the_documented_text(student, documented):
    """"Whd, sohdvh!" is "Tea, please!"."""
    documented["tea.solved"].matches(student.call("solved", "Whd, sohdvh!"), "The text")


@check("solved", points=0.5, layer="probe")
def test_solves_unseen_texts(student, reference, probe):
    """The letters move back by the likely steps."""
    text = reference.call("shifted", draw_text(probe, 50, COMMON + " ."), draw_steps(probe))

    agrees(student.call("solved", text), reference.call("solved", text), "The text")


@check("solved", points=0.4, layer="laws")
def test_texts_stay_if_there_is_nothing_to_solve(student):
    """A text without letters stays, and so does one whose commonest letter is e."""
    agrees(student.call("solved", "7, é!"), "7, é!", "The text without letters")
    agrees(student.call("solved", "See! The Tree"), "See! The Tree", "The text with many e")
    agrees(student.call("solved", "Ffb"), "Eea", "The text that was shifted by one")


@check("sealed", points=0.5, layer="documented")
def test_seals_the_documented_text(student):
    """"tea" and two steps are the bytes 2, then "vgc"."""
    agrees(student.call("sealed", "tea", 2), b"\x02vgc", "The bytes")


@check("sealed", points=0.4, layer="probe")
def test_seals_unseen_texts(student, reference, probe):
    """The first byte is the number of steps, and the shifted text follows as UTF-8."""
    text, steps = draw_text(probe, 20), draw_steps(probe)

    agrees(student.call("sealed", text, steps), reference.call("sealed", text, steps), "The bytes")


@check("sealed", points=0.4, layer="laws")
def test_a_letter_may_have_two_bytes(student):
    """é has two bytes; a text without letters only gets the byte in front."""
    agrees(student.call("sealed", "é b", 1), b"\x01\xc3\xa9 c", "The bytes of é and b")
    agrees(student.call("sealed", "", 25), b"\x19", "The bytes of an empty text")
