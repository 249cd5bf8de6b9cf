"""Wrong answers that the suite of stage 00 must detect."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="adds_without_halving",
        exercise="mix",
        swaps=(("0.5 * a + 0.5 * b", "a + b"),),
        explanation="The two vectors are added but not halved, so the result is twice the mixture.",
        question="If you mix a vector with itself, what should come out?",
    ),
    Misconception(
        id="halves_only_the_second",
        exercise="mix",
        swaps=(("0.5 * a + 0.5 * b", "a + b / 2"),),
        explanation="Only b is halved; a must be halved as well.",
        question="In a + b / 2, what does Python divide by 2?",
    ),
    Misconception(
        id="takes_the_difference",
        exercise="mix",
        swaps=(("0.5 * a + 0.5 * b", "0.5 * a - 0.5 * b"),),
        explanation="Half of b is subtracted; it must be added.",
        question="Which sign is between the two halves?",
    ),
)
