"""Tests refusing connections and workers, and the messages about them."""

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import ClusterError, CourseError, GraderError
from autograder.grading.cluster_grader import Refused
from autograder.grading.cluster_workers import difference, require_equal, require_private
from autograder.grading.provenance import Facts, Provenance


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:1", "tls://10.0.0.1:8786"],
)
def test_a_private_connection_is_accepted(address: str):
    """TLS to any machine is accepted, and any protocol within this machine."""
    assert require_private(address) is None


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.1:8786",
        "tcp://[2001:db8::1]:8786",
        "tcp://scheduler.example:8786",
        "tcp://localhost.example:8786",
        "ws://10.0.0.1:8786",
        "tcp://0.0.0.0:8786",
    ],
)
def test_an_open_connection_is_refused(address: str):
    """A connection to a different machine without TLS is refused, because others could read it."""
    with pytest.raises(ClusterError, match="is not encrypted"):
        require_private(address)


@pytest.fixture
def facts(tiny: Course) -> Facts:
    """The versions and digests of this machine."""
    return Provenance(tiny, "full").facts(["01_tiny"])


def test_equal_machines_differ_in_nothing(facts: Facts):
    """Between two equal machines no difference is reported."""
    assert difference(facts, facts) == ""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("torch", "torch is 2.13.0 here and 9 there"),
        ("python", "Python is 3.x here and 9 there"),
        ("kit", "the kit's version is 0.1 here and 9 there"),
        ("machine", "the architecture of the processor is x86_64 here and 9 there"),
    ],
)
def test_another_version_is_named_with_both_values(facts: Facts, name: str, sentence: str):
    """A different version is reported with both values."""
    here = replace(facts.settings, torch="2.13.0", python="3.x", kit="0.1", machine="x86_64")
    there = replace(here, **{name: "9"})
    found = difference(replace(facts, settings=here), replace(facts, settings=there, run="other"))

    assert found == sentence


def test_another_suite_is_named(facts: Facts):
    """A different suite is reported by its stage and the first digits of both digests."""
    there = replace(facts, suites={"01_tiny": "b" * 64})

    assert difference(facts, there) == (
        "the suite or the solution of 01_tiny is "
        f"{facts.suites['01_tiny'][:12]} here and bbbbbbbbbbbb there"
    )


def test_packages_are_listed(facts: Facts):
    """Different packages are listed, a few of each side."""
    here = replace(facts, packages=("a-1", "b-1"))
    there = replace(facts, packages=("b-1", *(f"c{number}-1" for number in range(7))))

    assert difference(here, there) == (
        "the installed packages differ: only here a-1; only there c0-1, c1-1, c2-1, c3-1, c4-1 "
        "and 2 more"
    )


def test_another_secret_is_not_shown(facts: Facts):
    """If all else is equal, the message states that the secrets differ and shows neither."""
    found = difference(facts, replace(facts, run="other"))

    assert found == "the course's secret there is different or missing"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("CourseError", CourseError), ("KeyboardInterrupt", GraderError), ("", GraderError)],
)
def test_what_a_worker_refuses_is_raised_here(facts: Facts, kind: str, expected: type[Exception]):
    """An error of the kit on a worker is raised here with the name of the worker."""
    with pytest.raises(expected, match="tcp://w: no suite"):
        require_equal(facts, Refused(kind, "no suite"), "tcp://w")
