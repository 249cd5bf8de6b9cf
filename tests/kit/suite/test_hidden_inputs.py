"""Tests that hidden inputs depend on the course secret."""

import torch

from autograder.suite.hidden_inputs import PUBLIC_SEED, HiddenInputs


def drawn(secret: bytes, check: str = "test_a") -> torch.Tensor:
    """The inputs that a check of the tiny stage draws."""
    return HiddenInputs(secret, "01_tiny", check).normal(3, 2)


def test_without_a_secret_inputs_are_the_same_everywhere():
    """Every copy of the course without a secret has the same inputs."""
    assert torch.equal(drawn(b""), drawn(b""))


def test_two_secrets_draw_two_inputs():
    """The inputs of a course with a secret can't be drawn from a public copy."""
    assert not torch.equal(drawn(b"one"), drawn(b"two"))
    assert not torch.equal(drawn(b"one"), drawn(b""))


def test_two_checks_draw_two_inputs():
    """The inputs of one check don't reveal those of another."""
    assert not torch.equal(drawn(b"one", "test_a"), drawn(b"one", "test_b"))


def test_drawing_does_not_change_the_global_generator():
    """Hidden inputs have their own generator, so that documented draws stay reproducible."""
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    drawn(b"")

    assert torch.equal(torch.rand(2), expected)


def test_the_seed_of_a_worker_does_not_give_the_inputs():
    """The seed of the student's code does not give the inputs that the check draws."""
    inputs = HiddenInputs(b"one", "01_tiny", "test_a")
    guessed = torch.randn(3, 2, generator=torch.Generator().manual_seed(inputs.seed))

    assert not torch.equal(inputs.normal(3, 2), guessed)


def test_the_seed_of_a_worker_does_not_depend_on_the_secret():
    """A worker could try all short secrets if its seed were derived from the secret."""
    seeds = {HiddenInputs(secret, "01_tiny", "test_a").seed for secret in (b"one", b"two", b"")}

    assert len(seeds) == 1


def test_weights_are_named_as_parameters_are():
    """Two underscores in the name of a weight represent a dot."""
    weights = HiddenInputs(b"", "01_tiny", "test_a").weights(W_q=(3, 2), W_key__weight=(2, 3))

    assert {name: tuple(value.shape) for name, value in weights.items()} == {
        "W_q": (3, 2),
        "W_key.weight": (2, 3),
    }


def test_uniform_numbers_lie_between_zero_and_one():
    """`uniform` draws from [0, 1)."""
    numbers = HiddenInputs(b"", "01_tiny", "test_a").uniform(100)

    assert 0 <= float(numbers.min()) < float(numbers.max()) < 1


def test_without_sizes_one_number_is_drawn():
    """A parameter of shape (), such as a bias, is drawn like any other."""
    probe = HiddenInputs(b"one", "01_tiny", "test_a")

    assert probe.normal().shape == probe.uniform().shape == ()
    assert probe.weights(bias=())["bias"].shape == ()


def test_a_hidden_size_is_never_a_public_one():
    """No remainder of the hidden number is that of the public one, so a table answers nothing."""
    known = HiddenInputs(PUBLIC_SEED, "tiny", "test_a").number
    for secret in (b"", b"one", b"two"):
        number = HiddenInputs(secret, "01_tiny", "test_a", public="tiny").number

        assert all(number % most != known % most for most in range(2, 37))


def test_sizes_depend_on_the_secret():
    """Sizes can't be computed without the secret, although the seed of a worker can."""
    numbers = {HiddenInputs(secret, "01_tiny", "test_a").number for secret in (b"one", b"two")}

    assert len(numbers) == 2
