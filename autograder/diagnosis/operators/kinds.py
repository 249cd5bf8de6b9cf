"""The kinds of mistake: what a student reads about each.

A sentence names the quantities of attention and the names of public signatures, never the text of a
solution. A kind's own sentence is said where several mistakes of that kind fit equally well.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from autograder.errors import CourseError


class Wording(NamedTuple):
    """What a student reads about a mistake."""

    explanation: str
    question: str


KINDS: Final = {
    "scale_missing": Wording(
        "The scores are not divided by the square root of the key size.",
        "How does the spread of a dot product grow with the size of its vectors, and what does "
        "softmax do with large scores?",
    ),
    "scale_wrong_size": Wording(
        "The scores are divided by the square root of another size than that of a key.",
        "How many products does one score add up?",
    ),
    "scale_wrong_power": Wording(
        "The scores are scaled by another power of the key size than its square root.",
        "By which factor does the spread of a score grow when the keys get four times as long?",
    ),
    "scale_extra": Wording(
        "The scores are scaled, which this exercise does not ask for.",
        "Which steps does the docstring name, and is a scale one of them?",
    ),
    "scale_misplaced": Wording(
        "The scale comes after the softmax, so the weights of a query no longer sum to one.",
        "What do the rows of your weights sum to?",
    ),
    "softmax_axis": Wording(
        "The softmax runs over another axis than that of the keys.",
        "Which axis holds the scores of one query with all keys?",
    ),
    "softmax_missing": Wording(
        "Something else takes the place of the softmax, or nothing does.",
        "Which function turns any scores into positive weights that sum to one?",
    ),
    "softmax_twice": Wording(
        "The softmax is taken twice, which makes the weights more alike.",
        "What goes into the softmax: scores, or what already sums to one?",
    ),
    "softmax_unstable": Wording(
        "The exponentials of large scores overflow, or those of a slice all vanish.",
        "Which shift of the scores leaves the softmax as it is?",
    ),
    "wrong_divisor": Wording(
        "What is normalised is divided by something else than its own sum, or not at all.",
        "What must each slice sum to, and along which axis?",
    ),
    "wrong_reduction": Wording(
        "A sum, a mean, a maximum or a product stands in for another of them.",
        "Which operation turns many numbers into one here?",
    ),
    "wrong_axis": Wording(
        "A step runs along another axis than it should.",
        "What does each axis count, and which one must disappear?",
    ),
    "mask_missing": Wording(
        "Nothing is hidden: the result is the one without a mask.",
        "What must not count, and do you use the tensor in which it is hidden?",
    ),
    "mask_after_softmax": Wording(
        "Weights are hidden after the softmax, so those that remain no longer sum to one.",
        "What do the rows of your weights sum to?",
    ),
    "mask_inverted": Wording(
        "What must be hidden is visible, and what must be visible is hidden.",
        "Which tokens may the first one see, and does a 1 in the mask mean visible or hidden?",
    ),
    "mask_shifted": Wording(
        "The mask is shifted by one or more diagonals.",
        "May a token attend to itself, and to the next one?",
    ),
    "mask_fill": Wording(
        "Hidden scores get a value with which they still count, or which breaks the softmax.",
        "What must a score be so that its exponential is zero?",
    ),
    "mask_extra": Wording(
        "Something is hidden that must be visible.",
        "Which tokens may each query attend to?",
    ),
    "mask_axis": Wording(
        "The mask hides queries where it must hide keys.",
        "Which axis of the scores belongs to the keys?",
    ),
    "transposed": Wording(
        "Two axes are exchanged that must not be, or are not exchanged although they must be.",
        "What does one row stand for, and what one column?",
    ),
    "reshaped": Wording(
        "Numbers are only cut anew where axes must be exchanged, so they end up in wrong places.",
        "Which number follows the first one when axes are exchanged, and which in a new shape?",
    ),
    "projection_exchanged": Wording(
        "The queries, keys or values of one projection stand in for those of another.",
        "Which of the three asks, which is compared, and which is mixed?",
    ),
    "operand_repeated": Wording(
        "A step gets the same tensor twice, or another one than it must have.",
        "Which two tensors meet in this step?",
    ),
    "projection_missing": Wording(
        "The inputs themselves are used where their queries, keys or values must be.",
        "What becomes of an input before it is compared or mixed?",
    ),
    "concat_axis": Wording(
        "The results of the heads are put together along another axis.",
        "Which axis of the result grows with the number of heads?",
    ),
    "heads_repeated": Wording(
        "One head stands for several: their results are equal.",
        "What must differ between two heads?",
    ),
    "heads_mixed": Wording(
        "The results of the heads are not side by side, one head after the other.",
        "How many features must the result have, and which of them belong to head 0?",
    ),
    "batch_mixed": Wording(
        "The items of a batch are not independent of each other.",
        "Which axis counts the items, and which step touches it?",
    ),
    "argument_ignored": Wording(
        "An argument has no effect.", "Where does each argument of the signature have an effect?"
    ),
    "default_changed": Wording(
        "A default value differs from the documented one.",
        "Which default does the signature give, and where does the argument have an effect?",
    ),
    "creation_order": Wording(
        "The parameters are created in another order, so each gets other random numbers.",
        "In which order does the docstring list them, and why does the order matter with a seed?",
    ),
    "distribution": Wording(
        "The parameters are drawn from another distribution.",
        "Which distribution does the docstring name, and which numbers can it give?",
    ),
    "seeded_inside": Wording(
        "The seed that the caller sets has no effect: torch's generator is seeded again inside.",
        "Who decides about the seed, this code or its caller?",
    ),
    "parameter_kind": Wording(
        "A parameter, a frozen parameter, a buffer and a plain tensor stand in for one another.",
        "What must torch train, and how does a module register what it only keeps?",
    ),
    "wrong_size": Wording(
        "A layer or parameter has other sizes than documented.",
        "How many features go in, and how many come out?",
    ),
    "bias_wrong": Wording(
        "A layer has a bias that it must not have, or lacks one.",
        "What does nn.Linear add by default, and when does the docstring ask for it?",
    ),
    "layer_unused": Wording(
        "A layer has no effect on the result.", "Through which layers must the tokens pass?"
    ),
    "detached": Wording(
        "Gradients do not reach what they must reach: a part of the result is cut from the graph.",
        "Which step takes numbers out of torch's graph?",
    ),
    "in_place": Wording(
        "The caller's tensor is changed.",
        "Which operation writes into its tensor instead of making a new one?",
    ),
    "dropout_missing": Wording(
        "Nothing is dropped in training.", "Where do the weights pass through dropout?"
    ),
    "dropout_misplaced": Wording(
        "Dropout applies to something else than the attention weights.",
        "Dropout removes connections between tokens: which tensor holds these, after which step?",
    ),
    "dropout_always": Wording(
        "Weights are also dropped in eval mode.", "How does dropout know the mode of its module?"
    ),
    "dropout_not_rescaled": Wording(
        "The weights that dropout leaves are not divided by the probability of being kept.",
        "What must the mean of the weights be after dropout?",
    ),
    "boundary": Wording(
        "A comparison, a range or a slice is off by one.",
        "What happens exactly at the limit?",
    ),
    "check_missing": Wording(
        "A case that must be refused is not refused.",
        "For which arguments does the docstring ask for a ValueError?",
    ),
    "check_wrong": Wording(
        "Arguments that are allowed are refused.",
        "For which arguments does the docstring ask for a ValueError, and for which not?",
    ),
    "wrong_return": Wording(
        "Something else is returned than the result of the last step.",
        "What does the docstring say is returned?",
    ),
    "dtype": Wording(
        "The result has another dtype.",
        "Which dtype do the inputs have, and which must the result have?",
    ),
    "wrong_operation": Wording(
        "Two numbers are combined by another operation than the right one.",
        "What does the docstring do with the two?",
    ),
    "step_missing": Wording(
        "A step has no effect on the result.", "Which steps does the docstring ask for?"
    ),
    "softmax_extra": Wording(
        "A softmax turns the result into weights, which this exercise does not ask for.",
        "Which step of attention takes a softmax, and is it this one?",
    ),
    "length_extra": Wording(
        "Vectors are divided by their lengths, which this exercise does not ask for.",
        "Does the length of a vector count in a dot product?",
    ),
    "rounded": Wording(
        "The result is rounded: the digits of a printed example are no precision to compute with, "
        "and no gradient flows through a rounding.",
        "Where do the digits get lost?",
    ),
    "sum_extra": Wording(
        "Something is added to the result that this exercise does not ask for.",
        "Which step is the last one, and what does it give?",
    ),
    "weights_equal": Wording(
        "All weights of a query are equal, whatever its scores are.",
        "What decides how much a token counts?",
    ),
    "sign_reversed": Wording(
        "The scores have the opposite sign: the least similar token gets the largest weight.",
        "Which token must get the largest weight?",
    ),
    "size_fixed": Wording(
        "A size is always the same number, whatever the size of the input is.",
        "Which sizes may differ from call to call?",
    ),
    "size_of_another_axis": Wording(
        "A size is taken from another axis of the input than it must be.",
        "What does each axis of the input count?",
    ),
    "parameter_missing": Wording(
        "A parameter, a layer or a buffer is not created.",
        "Which ones does the docstring list?",
    ),
    "draw_transposed": Wording(
        "Parameters are drawn in the transposed shape, so that their numbers are elsewhere.",
        "Which shape does the docstring give?",
    ),
    "draw_at_once": Wording(
        "All parameters come from one draw, so that they get other numbers.",
        "How many draws does the docstring ask for?",
    ),
    "stored_weight": Wording(
        "The weight of a layer is multiplied as it is stored; the layer itself transposes it.",
        "Which shape has the weight of nn.Linear, and which one does the product need?",
    ),
    "sizes_exchanged": Wording(
        "The sizes of a new shape are in another order.",
        "What does each axis of the new shape count?",
    ),
    "arguments_exchanged": Wording(
        "Two arguments are exchanged where they are handed on.",
        "In which order does the called function take them?",
    ),
    "nothing_returned": Wording(
        "Nothing is returned: the result is computed, at most, and then lost.",
        "With which statement does the function end?",
    ),
    "part_returned": Wording(
        "Only one entry of the first axis is returned.",
        "What does the first axis of the result count?",
    ),
    "axis_too_many": Wording(
        "The result has one axis too many, of size one.",
        "What does the docstring say about the shape of the result?",
    ),
    "axes_joined": Wording(
        "Two axes of the result are one.",
        "What does the docstring say about the shape of the result?",
    ),
    "factors_exchanged": Wording(
        "The two factors of a matrix product are in the other order.",
        "What does each axis of the two factors stand for, and which one must be summed over?",
    ),
    "optional_argument": Wording(
        "An argument is used also where the caller leaves it out.",
        "What does the argument hold if the caller passes none?",
    ),
    "value_missing": Wording(
        "Something does not exist where it is used: the step that makes it is missing, comes "
        "later, or stores its result under another name.",
        "Which step gives it a value, and does that step run before this one?",
    ),
    "axis_missing": Wording(
        "A step does not get the axis along which it runs.",
        "Which axis must sum to one, or disappear?",
    ),
    "not_stored": Wording(
        "The module does not keep an argument under the name by which it is read later.",
        "What must a module remember from its constructor?",
    ),
    "mask_form": Wording(
        "The mask is in another form: with minus infinity, for adding it to scores.",
        "Which values does the docstring give to hidden and visible tokens?",
    ),
}

SIZES: Final = frozenset({"scale_wrong_size", "scale_wrong_power"})  # which may equal one another
WITHOUT_EFFECT: Final = frozenset({"argument_ignored"})  # a check with another value refutes it
UNLIKELY: Final = frozenset(  # beside another mistake: such pairs are tried last
    {
        "softmax_extra",
        "length_extra",
        "rounded",
        "sum_extra",
        "weights_equal",
        "sign_reversed",
        "size_fixed",
        "size_of_another_axis",
        "parameter_missing",
        "draw_transposed",
        "draw_at_once",
        "stored_weight",
        "sizes_exchanged",
        "arguments_exchanged",
        "nothing_returned",
        "part_returned",
        "axis_too_many",
        "axes_joined",
        "factors_exchanged",
        "optional_argument",
        "mask_form",
        "dtype",
    }
)


def require_known(stage_words: Iterable[str]) -> None:
    """Raise ``CourseError`` if a stage words a kind that there is not."""
    if unknown := set(stage_words) - KINDS.keys():
        msg = f"OPERATORS names unknown kinds of mistake: {', '.join(sorted(unknown))}."
        raise CourseError(msg)


def wording(kind: str, stage_words: Mapping[str, tuple[str, str] | None]) -> Wording | None:
    """Return how a stage words *kind*; ``None`` if it silences it."""
    words = stage_words.get(kind, KINDS[kind])
    return Wording(*words) if words else None
