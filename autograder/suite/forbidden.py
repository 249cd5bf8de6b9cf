"""Checks that forbid shortcuts: names in the source, and functions and operators that run."""

from collections.abc import Collection

from autograder.results import Status
from autograder.suite.checks import WrongAnswer, expect
from autograder.suite.student_proxy import Operators, Student

READY_SOFTMAX = frozenset(
    {
        "softmax",
        "log_softmax",
        "softmin",
        "gumbel_softmax",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "LogSoftmax",
        "AdaptiveLogSoftmaxWithLoss",
        "_softmax",
        "_log_softmax",
        "_safe_softmax",
        "logsumexp",
    }
)
READY_ATTENTION = frozenset(
    {
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "multi_head_attention_forward",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "Transformer",
        "flex_attention",
    }
)


def avoids(student: Student, exercise: str, names: Collection[str], why: str) -> None:
    """Fail the check if the source of *exercise*, or what it calls, names one of *names*.

    A name counts only if it was imported or is an attribute: the student's own helpers may have
    any name. *why* is the sentence that follows in the message.
    """
    for use in student.uses(exercise):
        owner, dot, last = use.name.rpartition(".")
        if dot and last in names and owner != "self":
            shown = use.name.replace("?.", "….")
            sentence = f"Line {use.line} of your file uses {shown}. {why}"
            raise WrongAnswer(Status.FORBIDDEN, sentence)


def avoids_running(ran: Operators, names: Collection[str], why: str) -> None:
    """Fail the check if a torch function or operator named in *names* ran."""
    operators = {operator.split(".")[1] for operator, _ in ran.operators if "." in operator}
    for name in sorted({*ran.functions, *operators} & set(names)):
        raise WrongAnswer(Status.FORBIDDEN, f"Your code runs torch's own {name}. {why}")


def keeps_operators(few: Operators, many: Operators, why: str) -> None:
    """Fail the check if more operators run on the longer input."""
    counts = f"{few.total} tensor operations run on a short input and {many.total} on a longer one"
    expect(many.total <= few.total, f"{counts}. {why}", Status.FORBIDDEN)
