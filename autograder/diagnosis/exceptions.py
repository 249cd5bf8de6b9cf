"""Explains exceptions of Python and torch by what their texts say, mostly by the shapes in play.

Beside checks with hidden inputs stands a sentence of the table alone; elsewhere it may repeat sizes
and names of the text. The tests provoke every text, so that no new version of torch silently loses
an explanation.
"""

from autograder.diagnosis.code_errors import CODE_ERRORS
from autograder.diagnosis.description import WrongAnswerPattern
from autograder.diagnosis.operators.answers import refuses
from autograder.diagnosis.patterns import Pattern
from autograder.diagnosis.shape_errors import SHAPE_ERRORS
from autograder.sandbox.faults import Raised

REFUSED = WrongAnswerPattern.of("refuses_right_arguments")
ERROR_TEXTS = (*SHAPE_ERRORS, *CODE_ERRORS)  # the first that fits is meant


def explain_exception(error: BaseException | None) -> Pattern:
    """Explain the exception of the student's code, if its text is one of Python's or torch's."""
    if not isinstance(error, Raised) or _has_own_text(error):
        return None
    if refuses(error):
        return REFUSED
    for row in ERROR_TEXTS:
        if found := row.pattern.match(error.text):
            shown = row.shown.format(**found.groupdict())
            return WrongAnswerPattern(
                row.name, shown or row.sentence, row.question, public=row.sentence
            )
    return None


def _has_own_text(error: Raised) -> bool:
    """Whether a ``raise`` or ``assert`` of the student's own wrote the text.

    Every ValueError counts as a refusal, also those of Python and torch.
    """
    return error.refusal and error.kind != "ValueError"
