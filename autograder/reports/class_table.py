"""The class as a table in the terminal."""

from rich.table import Table
from rich.text import Text

from autograder.reports.feedback import counted
from autograder.results import Outcome, Results, Status, SubmissionResult


def class_table(results: Results) -> Table:
    """Lay out one row per submission: student, stage, points and first problem."""
    title = f"{counted(len(results.submissions), 'submission')}, isolation {results.isolation}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("student", overflow="fold")
    table.add_column("stage", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("first problem", overflow="fold", ratio=1)
    for result in results.submissions:
        stage, problem = Text(result.stage or "?"), Text(first_problem(result))
        table.add_row(Text(result.student), stage, _points(result), problem)
    return table


def first_problem(result: SubmissionResult) -> str:
    """Describe the first problem in one line; empty where there is none."""
    if result.status is not Status.GRADED:
        return f"{result.status}: {_first_line(result.message)}"
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                text = check.diagnosis.explanation if check.diagnosis else check.message
                return f"{exercise.name}: {_first_line(text)}"
    return ""


def _points(result: SubmissionResult) -> Text:
    if result.score is None or result.max_score is None:
        return Text("none", style="red" if result.status is Status.GRADER_ERROR else "yellow")
    full = result.score == result.max_score
    carried = f"\n{result.carried:g} carried" if result.carried else ""
    return Text(f"{result.score:g} / {result.max_score:g}{carried}", "green" if full else "")


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]
