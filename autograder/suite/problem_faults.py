"""Converts a problem in a module's code into the fault that its checks report."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from autograder.results import Status
from autograder.sandbox.faults import Fault, NoGradients, Raised
from autograder.sandbox.protocol import Problem, ProblemKind

YOUR_MODULE = "Your module"  # the subject of sentences without a name
# How the worker's texts begin if a result has no gradients.
NO_GRADIENTS = ("expected a tensor, not ", "the result has shape ")
LIMITS: Final[Mapping[ProblemKind, tuple[Status, str]]] = MappingProxyType(
    {
        "out-of-memory": (Status.OUT_OF_MEMORY, "asked for more memory than it may use"),
        "out-of-disk": (Status.OUT_OF_DISK, "wrote more than its folder may hold"),
        "out-of-time": (Status.TIMEOUT, "did not finish in time"),
    }
)
FORMS: Final[Mapping[ProblemKind, tuple[Status, str]]] = MappingProxyType(
    {
        "bad-output": (Status.BAD_OUTPUT, "returns too much data"),
    }
)


def fault_of(problem: Problem, name: str) -> Fault:
    """Return the fault for a problem; the student's code can't choose its public sentence.

    The public sentence does not even contain the line, because code that knows a hidden input could
    choose the line in which it raises an exception.
    """
    where = f" in line {problem.line}" if problem.line else ""
    if re.fullmatch(r"cell \d{1,4}", problem.place):  # any other place may be forged
        where = f" in {problem.place}, line {problem.line}"
    if problem.kind == "missing":
        public = (
            f"{name} lacks a function, class or parameter that this check needs, or the shape of a "
            "parameter is wrong."
        )
        return Fault(Status.MISSING, f"{problem.text.rstrip('.')}.", public=public)
    if problem.kind == "not-implemented":
        public = f"{name} still raises NotImplementedError"
        return Fault(Status.NOT_IMPLEMENTED, f"{public}{where}.", public=f"{public}.")
    if problem.kind in LIMITS:
        status, what = LIMITS[problem.kind]
        return Fault(status, f"{name} {what}{where}.", public=f"{name} {what}.")
    if problem.kind in FORMS:
        status, what = FORMS[problem.kind]
        return Fault(status, f"{name}: {problem.text}.", public=f"{name} {what}.")
    code = f": {problem.code}" if problem.code else ""
    if not problem.line and problem.text.startswith(NO_GRADIENTS):
        public = f"{name} returned a result of the wrong type or shape."
        return NoGradients(problem.type, problem.text, f"{public}\n{problem.text}", public=public)
    return Raised(
        problem.type,
        problem.text,
        f"{name} raised {problem.type}{where}{code}\n{problem.text}".rstrip(),
        public=f"{name} raised an exception.",
        refusal=problem.refusal,
    )
