"""Hidden inputs: secret with a secret, fixed without one."""

from pathlib import Path

import pytest
import torch

from autograder.suite.hidden_inputs import HiddenInputs, course_secret


def drawn(secret: bytes, check: str = "test_a") -> torch.Tensor:
    """What a check of the tiny stage draws."""
    return HiddenInputs(secret, "01_tiny", check).normal(3, 2)


def test_without_a_secret_inputs_are_the_same_everywhere():
    """A self-learner's inputs are those of every public copy."""
    assert torch.equal(drawn(b""), drawn(b""))


def test_two_secrets_draw_two_inputs():
    """A public copy of the kit does not give away another course's inputs."""
    assert not torch.equal(drawn(b"one"), drawn(b"two"))
    assert not torch.equal(drawn(b"one"), drawn(b""))


def test_two_checks_draw_two_inputs():
    """One check's inputs say nothing about another's."""
    assert not torch.equal(drawn(b"one", "test_a"), drawn(b"one", "test_b"))


def test_drawing_leaves_the_common_generator_alone():
    """A probe has a generator of its own, so that documented draws stay documented."""
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    drawn(b"")

    assert torch.equal(torch.rand(2), expected)


def test_weights_are_named_as_parameters_are():
    """Two underscores stand for a dot, in one draw after the other."""
    weights = HiddenInputs(b"", "01_tiny", "test_a").weights(W_q=(3, 2), W_key__weight=(2, 3))

    assert {name: tuple(value.shape) for name, value in weights.items()} == {
        "W_q": (3, 2),
        "W_key.weight": (2, 3),
    }


def test_uniform_numbers_lie_between_zero_and_one():
    """`uniform` draws from [0, 1)."""
    numbers = HiddenInputs(b"", "01_tiny", "test_a").uniform(100)

    assert 0 <= float(numbers.min()) < float(numbers.max()) < 1


def test_the_secret_is_read_from_environment_then_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An ignored file holds it, an environment variable comes first, neither is no secret."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)
    nothing = course_secret(tmp_path)
    (tmp_path / ".course-secret").write_text("from the file\n")
    file = course_secret(tmp_path)
    monkeypatch.setenv("AUTOGRADER_COURSE_SECRET", "from outside")

    assert (nothing, file, course_secret(tmp_path)) == (b"", b"from the file", b"from outside")
