"""Defines the decorator, layers, assertion and rules that authors of suites use."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import pytest

from autograder.course import duplicates
from autograder.course_file import read_toml
from autograder.errors import CourseError
from autograder.results import Grid, Status

NOT_GRADED = ("skip", "skipif", "xfail")  # marks that a suite must not use


class Layer(StrEnum):
    """The property that a check examines.

    The checks of an exercise run in this order, so that its first failure shows the problem. The
    engine itself checks whether the exercise is defined, which gives no points.
    """

    SIGNATURE = "signature"
    SHAPES = "shapes"
    PARAMETERS = "parameters"
    DOCUMENTED = "documented"
    PROBE = "probe"
    LAWS = "laws"
    GRADIENTS = "gradients"
    FORBIDDEN = "forbidden"

    @property
    def hidden(self) -> bool:
        """Whether the inputs of this layer are secret, so that messages must not contain values."""
        return self in {Layer.PROBE, Layer.LAWS, Layer.GRADIENTS, Layer.FORBIDDEN}


class CheckSpec(NamedTuple):
    """The arguments of ``@check``."""

    exercise: str
    points: float
    layer: Layer
    needs: tuple[str, ...]
    rules: tuple[str, ...] = ()
    hidden: str = ""


class CollectedCheck(NamedTuple):
    """A check as pytest collected it."""

    item: pytest.Item
    spec: CheckSpec

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.item.name

    @property
    def title(self) -> str:
        """The first paragraph of its docstring as one line."""
        text = getattr(getattr(self.item, "function", None), "__doc__", None) or self.item.name
        return " ".join(text.strip().split("\n\n")[0].split())


def check(
    exercise: str,
    *,
    points: float,
    layer: Layer | str = Layer.DOCUMENTED,
    needs: tuple[str, ...] = (),
    rules: tuple[str, ...] = (),
    hidden: str = "",
) -> pytest.MarkDecorator:
    """Mark a pytest function as a check of *exercise*; students read its docstring.

    *needs* names other exercises that the check uses; it is skipped if one of them is missing.
    *rules* names the rules of ``rules.toml`` that it grades; the stub states them. *hidden* is the
    reason why students must not have this check; without one it is in the public suite too.
    """
    return pytest.mark.check(CheckSpec(exercise, points, Layer(layer), needs, rules, hidden))


def spec_of(item: pytest.Item) -> CheckSpec | None:
    """Return the spec of the check *item*; ``None`` for an ordinary test."""
    mark = item.get_closest_marker("check")
    return mark.args[0] if mark else None


def collected_check(item: pytest.Item) -> CollectedCheck:
    """Return *item* as a check; raise ``CourseError`` if it can't be graded on every machine."""
    spec = spec_of(item)
    if spec is None:
        msg = f"{item.nodeid} has no @check(...) decorator, which sets the points of a check."
        raise CourseError(msg)
    if marks := [name for name in NOT_GRADED if item.get_closest_marker(name)]:
        msg = f"{item.nodeid} is marked {marks[0]}, but every check is graded on every machine."
        raise CourseError(msg)
    return CollectedCheck(item, spec)


def layer_of(item: pytest.Item) -> Layer | None:
    """Return the layer of the check *item*; ``None`` for an ordinary test."""
    spec = spec_of(item)
    return spec.layer if spec else None


class WrongAnswer(AssertionError):  # noqa: N818  # an outcome of a check, not an error of the kit
    """Raised when the student's code has given a wrong answer.

    *public* is the sentence for a check with hidden inputs: it contains neither inputs, nor
    expected values, nor anything that the student's code answered. Other checks show *message*.
    *public_suite_grid* makes tables of wrong values for the public suite, and *grid* also for other
    checks whose inputs are not hidden. *compares_own* is true if two results of the code differ.
    *place* is the end of *message* that says which rows or columns are wrong.
    """

    compares_own = False
    place = ""
    public_suite_grid: Callable[[], Grid | None] | None = None
    grid: Callable[[], Grid | None] | None = None

    def __init__(self, status: Status, public: str, *, message: str = "") -> None:
        super().__init__(message or public)
        self.status = status
        self.message = message or public
        self.public = public


class Notice(NamedTuple):
    """A sentence that students read next to a check that passed.

    A hidden check shows *public*, which contains neither inputs nor anything that the student's
    code answered. Other checks show *message*.
    """

    message: str
    public: str


def expect(
    condition: object, public: str, status: Status = Status.WRONG_VALUE, *, message: str = ""
) -> None:
    """Fail the check unless *condition* holds.

    *public* is the message of a hidden check. It must not contain inputs, expected values, or
    anything that the student's code answered. Other checks show *message*.
    """
    if not condition:
        raise WrongAnswer(status, public, message=message)


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule: the *sentence* that students read, and the *methods* by which a check grades it.

    A rule for the *whole_stage* is written once at the top of the stub, even if not every exercise
    is graded by it. A docstring that contains the words *stated_by* already states the rule.
    *breaks* is code that breaks it but gives right results: statements around ``exercise(*args,
    **kwargs)`` that use ``torch`` and the *tensors* among the arguments. *point_of* lists the
    stages that teach the rule: there, code that breaks it keeps few points (``grading/prices.py``).
    *needs* is a list of ``ready_made.toml``. If the values are right and none of these functions
    ran where a check of the rule counts them, the rule is broken, too (``suite/forbidden.py``).
    """

    name: str
    sentence: str
    methods: tuple[str, ...]
    breaks: str = ""
    whole_stage: bool = False
    stated_by: str = ""
    point_of: tuple[str, ...] = ()
    needs: str = ""


class RulesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the content of ``rules.toml``."""

    format_version: Literal[1]
    rule: tuple[Rule, ...] = ()


def read_rules(path: Path) -> dict[str, Rule]:
    """Read ``rules.toml`` at *path*, if it exists; raise ``CourseError`` if it is not valid."""
    if not path.is_file():
        return {}
    file = read_toml(path, RulesFile)
    for duplicate in duplicates([rule.name for rule in file.rule]):
        raise CourseError(f"{path}: two rules are named {duplicate!r}.")
    return {rule.name: rule for rule in file.rule}
