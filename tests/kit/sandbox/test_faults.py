"""Tests faults: the sentence for students, and the sentence for checks with hidden inputs."""

import pytest

from autograder.results import Status
from autograder.sandbox.faults import Fault, Raised


@pytest.mark.parametrize(
    ("public", "shown"),
    [
        pytest.param("", "It took too long.", id="same-sentence"),
        pytest.param("It failed.", "It failed.", id="own-sentence"),
    ],
)
def test_a_fault_has_a_public_sentence(public: str, shown: str):
    """A fault without its own public sentence shows its message."""
    fault = Fault(Status.TIMEOUT, "It took too long.", public=public)

    assert (fault.status, fault.message, fault.public) == (
        Status.TIMEOUT,
        "It took too long.",
        shown,
    )
    assert str(fault) == "It took too long."


def test_a_raised_exception_keeps_type_and_text():
    """A raised exception keeps type and text for diagnosis; its public sentence has neither."""
    fault = Raised("ValueError", "42", "f raised ValueError\n42", public="f raised an exception.")

    assert (fault.status, fault.kind, fault.text) == (Status.RAISED, "ValueError", "42")
    assert fault.public == "f raised an exception."
