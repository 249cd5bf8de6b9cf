"""Wrong answers that the suite of stage 01 must detect."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="starts_at_one",
        exercise="word_counts",
        swaps=(("counts.get(word, 0)", "counts.get(word, 1)"),),
        explanation="Each count is too large by one: a word that has not come yet starts at 1.",
        question="How often has a word come before it comes for the first time?",
    ),
    Misconception(
        id="keeps_upper_case",
        exercise="word_counts",
        swaps=(("text.lower().split()", "text.split()"),),
        explanation="A word in upper case and the same word in lower case are counted separately.",
        question="Which entries does a text with `Tea` and `tea` give?",
    ),
    Misconception(
        id="finds_the_last_place",
        exercise="first_place",
        swaps=(("numbers[middle] < wanted", "numbers[middle] <= wanted"),),
        explanation="The place after the equal numbers is returned, not the first of them.",
        question="If the number in the middle equals the wanted one, can the place be further left?",
    ),
    Misconception(
        id="leaves_out_the_last_number",
        exercise="first_place",
        swaps=(("0, len(numbers)", "0, len(numbers) - 1"),),
        explanation="The search never returns the length of the list.",
        question="Which place is right if all numbers are smaller, and can your borders meet there?",
    ),
    Misconception(
        id="keeps_the_lists",
        exercise="leaves",
        swaps=(("found.extend(leaves(branch))", "found.append(leaves(branch))"),),
        explanation="The leaves of a branch are put into the result as a list in a list.",
        question="What do append and extend do with a list of two numbers?",
    ),
)
