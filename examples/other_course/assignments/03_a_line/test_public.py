"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import torch

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, tensor_like

N, D = 7, 3
RATE = 0.5


def draw_examples(probe):
    """Draw examples, and a class for each."""
    return probe.normal(N, D), (probe.uniform(N) < 0.5).float()


def both_classifiers(student, reference, probe):
    """Build the student's classifier and the reference, with the same parameters."""
    parameters = probe.weights(weight=(D,), bias=())
    return [side.new("Classifier", D).load(parameters) for side in (student, reference)]


def same_parameters(yours, ours):
    """Compare the parameters of two classifiers."""
    found = yours.parameters()
    for name, parameter in ours.parameters().items():
        expect(name in found, f"The classifier has no parameter {name}.")
        agrees(found[name].value, parameter.value, f"After the steps, the {name}")


# probabilities


@check("probabilities", points=1.5, layer="probe")
def test_gives_each_example_a_probability(student, reference, probe):
    """Each example has the sigmoid of its weighted sum."""
    given = probe.normal(N, D), probe.normal(D), probe.normal()

    found = student.call("probabilities", *given)
    agrees(found, reference.call("probabilities", *given), "The probabilities")


@check("probabilities", points=0.5, layer="laws")
def test_without_weights_nothing_is_known(student, probe):
    """If weights and bias are 0, each probability is one half."""
    found = student.call("probabilities", probe.normal(N, D), torch.zeros(D), torch.tensor(0.0))

    agrees(found, torch.full((N,), 0.5), "The probabilities")


# log_loss


@check("log_loss", points=2, layer="probe")
def test_averages_the_losses(student, reference, probe):
    """The loss is minus the mean logarithm of the probability of the right class."""
    p, targets = 0.1 + 0.8 * probe.uniform(N), draw_examples(probe)[1]

    agrees(student.call("log_loss", p, targets), reference.call("log_loss", p, targets), "The loss")


@check("log_loss", points=0.5, layer="laws")
def test_a_coin_has_the_logarithm_of_two(student):
    """Probabilities of one half cost log(2), whatever the classes are."""
    loss = student.call("log_loss", torch.full((4,), 0.5), torch.tensor([1.0, 0.0, 0.0, 0.0]))

    agrees(loss, torch.tensor(2.0).log(), "The loss")


# Classifier


@check("Classifier", points=0.5, layer="parameters")
def test_starts_with_zeros(student):
    """A new classifier has the parameters weight and bias, both 0."""
    parameters = student.new("Classifier", D).parameters()

    for name, shape in {"weight": (D,), "bias": ()}.items():
        expect(name in parameters, f"The classifier has no parameter {name}.")
        found = tensor_like(parameters[name].value, shape, f"The {name}")
        agrees(found, torch.zeros(shape), f"The {name}")


@check("Classifier", points=1, layer="probe")
def test_classifies(student, reference, probe):
    """A classifier gives the probabilities that belong to its parameters."""
    yours, ours = both_classifiers(student, reference, probe)
    x, _ = draw_examples(probe)

    agrees(yours(x), ours(x), "The probabilities")


@check("Classifier", points=1, layer="probe")
def test_a_step_returns_the_loss_before_it(student, reference, probe):
    """The loss is the one of the parameters before the step."""
    yours, ours = both_classifiers(student, reference, probe)
    given = *draw_examples(probe), RATE

    agrees(yours.call("step", *given), ours.call("step", *given), "The loss")


@check("Classifier", points=1.5, layer="probe")
def test_a_step_moves_the_parameters(student, reference, probe):
    """After one step, both parameters have moved against their gradients."""
    yours, ours = both_classifiers(student, reference, probe)
    given = *draw_examples(probe), RATE

    yours.call("step", *given)
    ours.call("step", *given)
    same_parameters(yours, ours)


@check("Classifier", points=1.5, layer="laws")
def test_each_step_has_its_own_gradient(student, reference, probe):
    """Three steps in a row use three gradients, and none of them twice."""
    yours, ours = both_classifiers(student, reference, probe)

    for _ in range(3):
        given = *draw_examples(probe), RATE
        yours.call("step", *given)
        ours.call("step", *given)
    same_parameters(yours, ours)
