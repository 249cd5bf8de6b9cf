"""Tests which mistakes a student's source admits, and in which words they are named."""

import pytest

from autograder.diagnosis.consent import Consent
from autograder.diagnosis.contract import Contract
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.student_code import StudentCode

CONTRACTS = {
    "loss": Contract({"": "logits"}, ()),
    "step": Contract({"": "model"}, ("head",)),
    "Head": Contract({"forward": "self, x"}, ("head", "key")),
}
MEAN = Mistake(
    "no_mean", "Nothing is divided.", "Why?", "No mean", "no_mean", exercise="loss",
    when=("no divides",),
)  # fmt: skip


def consent(code: str, exercise: str = "step", right: tuple[str, ...] = ()) -> Consent:
    """Return the consent of a source."""
    return Consent(StudentCode((code.encode(),), CONTRACTS), exercise, CONTRACTS.__getitem__, right)


def test_a_mistake_needs_the_source():
    """A sentence is said only if its conditions hold."""
    assert consent("def loss(logits): return logits.sum()", "loss").refusal(MEAN) == ""
    assert consent("def loss(logits): return logits / 2", "loss").refusal(MEAN)


def test_a_mistake_of_a_used_exercise_may_be_written_out():
    """The steps of an exercise that is not called may be in the code, as the sentence states."""
    source = consent("def step(model): return model.sum()")

    assert source.refusal(MEAN) == ""
    assert source.worded(MEAN).explanation == (
        "Nothing is divided. (The steps of `loss` are written out in `step`.)"
    )
    assert source.worded(MEAN).id == MEAN.id


def test_a_called_function_has_its_own_page():
    """Code that calls a right function may take some of its steps besides."""
    assert consent("def step(model): return loss(model)").refusal(MEAN)
    assert consent("def step(model): return loss(model)", right=("loss",)).refusal(MEAN)
    twice = MEAN._replace(when=("multiplies",))
    source = consent("def step(model): return 2 * loss(model)", right=("loss",))
    assert source.refusal(twice) == ""
    assert source.worded(twice).explanation == "In the checks, nothing is divided."


@pytest.mark.parametrize("right", [True, False])
def test_the_layers_of_a_right_class_may_be_used_alone(*, right: bool):
    """Code that creates a right class may repeat its steps with its layers."""
    known = MEAN._replace(exercise="Head")
    source = consent("def step(model): return Head().layer(model)", right=("Head",) * right)

    assert (source.refusal(known) == "") is right


def test_a_sentence_has_only_words_of_its_exercise():
    """Without the quantity of a sentence, its plain form is said, or nothing."""
    said = "The softmax runs over the queries."
    plain = "The softmax runs over the wrong axis."
    axis = Mistake("softmax_axis", said, "Which?", "T", "g", exercise="step", plain=plain)
    source = consent("def step(model): return model.softmax(0)")

    assert source.worded(axis).explanation == plain
    assert source.refusal(axis._replace(plain=""))
    assert source.refusal(axis._replace(explanation="The heads are added up.")) == ""


@pytest.mark.parametrize(
    "said",
    [
        "The result is transposed.",
        "`dim` has no effect on the result.",
        "The weights are returned.",
        "A softmax is applied, but this exercise does not ask for it.",
    ],
)
def test_sentences_about_the_other_exercise_itself_are_not_said(said: str):
    """A copy of the steps has other results and arguments."""
    assert consent("def step(model): return 1").refusal(MEAN._replace(explanation=said))


def test_a_layer_of_a_sentence_is_not_the_result_of_the_exercise():
    """A copy of the steps may have the result of a layer, and two swapped names."""
    swapped = MEAN._replace(explanation="`norm` gets the result of `model`.", when=(), steps=())

    assert consent("def step(norm, model): return norm @ model").refusal(swapped) == ""
    assert consent("def step(norm, model): return norm + model").refusal(swapped)
