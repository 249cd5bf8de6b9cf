"""Wrong answers that the suite of stage 02 must detect."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="keeps_the_sign",
        exercise="squared_distances",
        swaps=(("(differences**2)", "differences"),),
        explanation="The differences are summed without their squares, so they cancel each other.",
        question="How far is (1, -1) from the origin, and what is the sum of its coordinates?",
    ),
    Misconception(
        id="takes_the_root",
        exercise="squared_distances",
        swaps=(("(differences**2).sum(axis=-1)", "np.sqrt((differences**2).sum(axis=-1))"),),
        explanation="The root of the squared distance is returned.",
        question="The exercise asks for squared distances: which step is one too many?",
    ),
    Misconception(
        id="takes_the_farthest",
        exercise="nearest",
        swaps=(("argmin", "argmax"),),
        explanation="Each point gets the farthest center, not the nearest.",
        question="Is the distance from the nearest center the smallest or the largest?",
    ),
    Misconception(
        id="returns_the_distance",
        exercise="nearest",
        swaps=((".argmin(axis=1)", ".min(axis=1)"),),
        explanation="The distance from the nearest center is returned, not the number of the center.",
        question="What is the difference between min and argmin?",
    ),
    Misconception(
        id="moves_an_empty_center",
        exercise="means",
        swaps=(("if len(members) > 0:", "if True:"),),
        explanation="A center without points moves: the mean of no points is not a number.",
        question="What does the docstring say about a center without points?",
    ),
    Misconception(
        id="forgets_the_axis",
        exercise="means",
        swaps=(("members.mean(axis=0)", "members.mean()"),),
        explanation="One mean is taken over all coordinates; each coordinate needs its own.",
        question="Over which axis of (number of members, D) do you average?",
    ),
    Misconception(
        id="writes_into_the_centers",
        exercise="means",
        swaps=(("centers.copy()", "centers"),),
        explanation="The means are written into the array of the caller.",
        question="Which array does `moved` name: a new one, or the one that the caller passed?",
    ),
    Misconception(
        id="turns_once",
        exercise="k_means",
        swaps=(("while turns < most:", "while turns < 1:"),),
        explanation="The search ends after one turn, and the centers would still move.",
        question="After one turn, where would another turn move the centers?",
    ),
)
