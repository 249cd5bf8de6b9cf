"""Wrong answers that the suite of stage 04 must detect."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="keeps_every_letter",
        exercise="letters",
        swaps=(("if sign in ALPHABET", "if sign.isalpha()"),),
        explanation="Letters beyond a to z, such as é, are kept.",
        question="Is é in the alphabet of this stage?",
    ),
    Misconception(
        id="counts_letters_with_spaces_between",
        exercise="neighbours",
        swaps=(("kept = letters(text)", "kept = text.lower()"),),
        explanation="Pairs with spaces and signs are counted; only letters are neighbours here.",
        question="Which characters are left before the pairs are counted?",
    ),
    Misconception(
        id="sorts_the_pairs",
        exercise="neighbours",
        swaps=(("counts[pair] = counts.get(pair, 0) + 1", "pair = tuple(sorted(pair)); counts[pair] = counts.get(pair, 0) + 1"),),
        explanation="The two letters of a pair are sorted, so et counts as te.",
        question="Is the pair of t and e in te the same as in et?",
    ),
    Misconception(
        id="moves_backwards",
        exercise="shifted",
        swaps=((" + steps)", " - steps)"),),
        explanation="Each letter moves backwards in the alphabet.",
        question="Which letter follows t by one step?",
    ),
    Misconception(
        id="loses_capitals",
        exercise="shifted",
        swaps=(("ALPHABET[place].upper() if sign.isupper() else ALPHABET[place]", "ALPHABET[place]"),),
        explanation="Capital letters become small ones.",
        question="What do you know about the old letter that the new one must share?",
    ),
    Misconception(
        id="takes_the_last_of_equally_common",
        exercise="likely_steps",
        swaps=(("max(ALPHABET, key=kept.count)", "max(reversed(ALPHABET), key=kept.count)"),),
        explanation="Of equally common letters the last one is taken; the first one counts.",
        question="Which letter does max return if several are equally large?",
    ),
    Misconception(
        id="takes_the_first_to_come",
        exercise="likely_steps",
        swaps=(("max(ALPHABET, key=kept.count)", "max(kept, key=kept.count)"),),
        explanation="Of equally common letters the one that comes first in the text is taken.",
        question="In which order are equally common letters compared?",
    ),
    Misconception(
        id="has_no_remainder",
        exercise="likely_steps",
        swaps=((' - ALPHABET.index("e")) % len(ALPHABET)', ' - ALPHABET.index("e"))'),),
        explanation="The steps are negative if the commonest letter is before e.",
        question="How many steps lead from e to b, if steps only go forwards?",
    ),
    Misconception(
        id="solves_forwards",
        exercise="solved",
        swaps=(("shifted(text, -steps)", "shifted(text, steps)"),),
        explanation="The text is shifted once more in the same direction.",
        question="In which direction was it moved, and in which do you move it?",
    ),
    Misconception(
        id="puts_the_number_as_text",
        exercise="sealed",
        swaps=(("bytes([steps])", "str(steps).encode()"),),
        explanation="The number in front is a text of digits, not one byte.",
        question="What is the byte of the digit 2?",
    ),
)
