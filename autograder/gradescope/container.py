"""Grades the one submission of a container in Gradescope's layout; ``run_autograder`` starts it.

    python -I -m autograder.gradescope.container ROOT [--try]

What it prints is the instructor's. Exit code 0 when there is a grade, whatever the grade; else
there is no ``results.json``. With ``--try`` it grades the solutions, to prove what was installed.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.course import Course, Stage, load, read_toml
from autograder.errors import AutograderError, GraderError, SandboxError
from autograder.exports.gradescope_results import gradescope
from autograder.gradescope.contents import COURSE_FOLDER
from autograder.gradescope.handed_in import handed_in, student_of
from autograder.gradescope.joined import joined
from autograder.gradescope.terms import TERMS_FILE, Terms
from autograder.grading.grade import grade
from autograder.results import Results, SubmissionResult
from autograder.sandbox.isolation import Isolation, detect_capabilities
from autograder.sandbox.supervisor import choose_isolation
from autograder.submission.collect import collect_one

RESULTS = "results"
SUBMISSION = "submission"
_LOOK = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.listdir(path)
    except PermissionError:
        continue
    sys.exit(f"{path} can be read by the user who runs student code")
"""


class Container:
    """Where everything lies, and what was agreed on when the bundle was made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "source"
        self.course: Course = load(self.source / COURSE_FOLDER)
        self.terms = read_toml(self.source / TERMS_FILE, Terms)
        self.stages: tuple[Stage, ...] = tuple(map(self.course.stage, self.terms.stages))

    def isolation(self) -> Isolation:
        """Return the best isolation there is; raises ``SandboxError`` for less than agreed on.

        Below ``full`` student code runs as the user who owns nothing, or not at all: a process of
        root's could read the solutions and write its own grade.
        """
        if self.terms.isolation == "full" or detect_capabilities().level == "full":
            return choose_isolation("full", self.course.root)
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            reason = detect_capabilities().reason
            msg = f"{reason} With less, the grader must be root, to run code as nobody."
            raise SandboxError(msg)
        nobody = self.source / "as_nobody"
        self._self_test(nobody)
        sys.executable = str(nobody)  # what the fork server, and so every worker, is started as
        return "process"

    def try_solutions(self) -> Results:
        """Grade every stage's solution; raises ``GraderError`` for less than full marks."""
        solutions = [
            collect_one(stage.solution, "solution", stage, self.course.stages)
            for stage in self.stages
        ]
        level = self.isolation()
        results = grade(self.course, solutions, isolation=level, jobs=1, diagnose=False)
        for result in results.submissions:
            if result.score is None or result.score != result.max_score:
                told = f"{result.score} of {result.max_score} points. {result.message}"
                msg = f"The solution of {result.stage} earns {told} Run `autograder verify`."
                raise GraderError(msg)
        return results

    def grade(self) -> Results:
        """Grade the submission, all its stages as one."""
        student = student_of(self.root / "submission_metadata.json")
        found = handed_in(self.root / SUBMISSION, student, self.stages)
        results = grade(self.course, found, isolation=self.isolation(), jobs=1)
        return joined(results, self.stages)

    def write(self, content: bytes) -> None:
        """Write ``results.json`` whole, or not at all."""
        folder = self.root / RESULTS
        folder.mkdir(exist_ok=True)
        unfinished = folder / "results.json.part"
        unfinished.write_bytes(content)
        unfinished.replace(folder / "results.json")

    def _self_test(self, nobody: Path) -> None:
        """Try what must fail: a wall that is not there must not be believed in."""
        places = [self.course.root, self.root / RESULTS, self.root / SUBMISSION]
        look = [str(nobody), "-I", "-c", _LOOK, *(str(place) for place in places if place.exists())]
        done = subprocess.run(look, check=False, capture_output=True, text=True, cwd="/")  # noqa: S603  # our own script, on our own paths
        if done.returncode:
            msg = (
                f"{detect_capabilities().reason} And nobody is no wall here: {done.stderr.strip()}"
            )
            raise SandboxError(msg)


def main(arguments: Sequence[str]) -> int:
    """Grade, tell the instructor, and return the exit code."""
    try:
        container = Container(Path(arguments[0]))
        if "--try" in arguments[1:]:
            results = container.try_solutions()
        else:
            results = container.grade()
            container.write(gradescope(results).content)
    except AutograderError as error:
        print(f"No grade: {error}")  # noqa: T201  # an edge
        return 1
    for line in told(results):
        print(line)  # noqa: T201  # an edge
    return 0


def told(results: Results) -> list[str]:
    """Say what the instructor should know and students need not."""
    lines = [_line(result) for result in results.submissions]
    lines.append(f"Isolation: {results.isolation}. Hidden inputs: {results.hidden_inputs}.")
    if results.isolation != "full":
        lines.append(
            f"{detect_capabilities().reason} Student code ran as a user who owns nothing: "
            "solutions, hidden suites and results were closed to it, the network was not."
        )
    return lines


def _line(result: SubmissionResult) -> str:
    score = "no" if result.score is None else f"{result.score:g}"
    return f"{result.student}, {result.stage or 'all stages'}: {score} points ({result.status})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
