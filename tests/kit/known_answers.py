"""A checker for tests of `watch`, which answers at once."""

from autograder.course import Stage
from autograder.reports.feedback import CheckFeedback, ExerciseFeedback, Message
from autograder.student.progress import Task
from autograder.student.stage_picture import PictureRows
from autograder.student.warm_checker import CheckAnswer


class KnownAnswers:
    """A checker with fixed answers: only the exercises in *right* pass."""

    def __init__(self, *right: str) -> None:
        self.right = set(right)

    def check(self, task: Task) -> CheckAnswer:
        """Answer at once."""
        name = task.exercise.name
        wrong = CheckFeedback("A sentence.", "✗", "not right yet", 0.0, 1.0, (Message("No."),))
        first = None if task.key in self.right else wrong
        return CheckAnswer(ExerciseFeedback(1, name, 0.0, 1.0, "in progress", first, (), (), ()))

    def picture(self, stage: Stage) -> PictureRows:
        """Return weights for the tokens of stage 04."""
        return tuple((1.0,) + (0.0,) * 5 for _ in stage.file.picture.tokens)

    def prepare(self, task: Task) -> None:
        """Remember which exercise was prepared."""
        self.prepared = task.key

    def check_hidden(self, task: Task) -> CheckAnswer:
        """Print the exercise that was asked for."""
        return CheckAnswer(message=f"hidden: {task.exercise.name}")
