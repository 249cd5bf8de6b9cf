"""Wrong answers that the suite of stage 03 must detect."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="forgets_the_sigmoid",
        exercise="probabilities",
        swaps=(("torch.sigmoid(x @ weight + bias)", "x @ weight + bias"),),
        explanation="The weighted sums are returned; a probability lies between 0 and 1.",
        question="Which function turns any number into a probability?",
    ),
    Misconception(
        id="forgets_class_zero",
        exercise="log_loss",
        swaps=((" + (1 - targets) * (1 - p).log()", ""),),
        explanation="Only the examples of class 1 count in the loss.",
        question="What does your loss say about an example of class 0 with p = 0.99?",
    ),
    Misconception(
        id="climbs",
        exercise="Classifier",
        swaps=(("parameter -= rate", "parameter += rate"),),
        explanation="The parameters move along the gradient, so the loss grows.",
        question="In which direction does the gradient point: to larger or to smaller losses?",
    ),
)
