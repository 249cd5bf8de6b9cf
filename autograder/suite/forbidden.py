"""Checks that forbid shortcuts: names in the source, and functions and operators that run."""

from collections.abc import Collection, Sequence

from autograder.results import Status
from autograder.sandbox.static_names import COMPUTED, Definition, reached_uses
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
        "TransformerEncoder",
        "TransformerDecoder",
        "flex_attention",
        "_scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_native_multi_head_attention",
        "_transformer_encoder_layer_fwd",
    }
)
LIBRARIES = ("torch", "numpy", "scipy", "jax", "tensorflow")


def avoids(student: Student, exercise: str, names: Collection[str], why: str) -> None:
    """Fail the check if the source of *exercise*, or what it calls, names one of *names*.

    A name counts only if it was imported or is an attribute: the student's own helpers may have
    any name. *why* is the sentence that follows in the message.
    """
    for use in student.uses(exercise):
        owner, dot, last = use.name.rpartition(".")
        if dot and last in names and owner != "self" and not _is_own(student, owner, last):
            shown = use.name.replace("?.", "….")
            sentence = f"Line {use.line} of your file uses {shown}. {why}"
            public = f"Line {use.line} of your file uses {last}. {why}"
            raise WrongAnswer(Status.FORBIDDEN, public, message=sentence)


def _is_own(student: Student, owner: str, name: str) -> bool:
    """Whether *name* may be a method of the student's: then what runs decides."""
    return name in student.methods_in_source and owner.partition(".")[0] not in LIBRARIES


def looks_up_names(definitions: Sequence[Definition], exercise: str) -> bool:
    """Whether the source of *exercise* leaves open which functions it calls."""
    names = (use.name.rpartition(".")[2] for use in reached_uses(definitions, exercise))
    return COMPUTED in names


def avoids_running(ran: Operators, names: Collection[str], why: str) -> None:
    """Fail the check if a torch function or operator named in *names* ran."""
    operators = {operator.split(".")[1] for operator, _ in ran.operators if "." in operator}
    for name in sorted({*ran.functions, *operators} & set(names)):
        raise WrongAnswer(Status.FORBIDDEN, f"Your code runs torch's own {name}. {why}")


def keeps_operators(few: Operators, many: Operators, why: str) -> None:
    """Fail the check if more operators run on the longer input."""
    counts = f"{few.total} tensor operations run on a short input and {many.total} on a longer one"
    public = f"More tensor operations run on a longer input than on a short one. {why}"
    expect(many.total <= few.total, public, Status.FORBIDDEN, message=f"{counts}. {why}")
