"""Grades one submission in a Gradescope container; ``run_autograder`` starts this module.

    python -I -m autograder.gradescope.container ROOT [--try]

Only instructors see its output. The exit code is 0 if there is a grade, even one of 0 points;
otherwise no ``results.json`` is written. With ``--try``, it grades the solutions instead, to test
the installation.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from autograder.course import Course, Stage, load
from autograder.course_file import Isolation, read_toml
from autograder.errors import AutograderError, GraderError, SandboxError
from autograder.exports.gradescope_results import gradescope
from autograder.gradescope.bundle import BUNDLE_FILE, COURSE_FOLDER, BundleConfig
from autograder.grading.grade import grade
from autograder.results import Results, Status, SubmissionResult, add
from autograder.sandbox.isolation import choose_isolation, detect_capabilities
from autograder.submission import Submission, collect_one
from autograder.submission.assemble import submissions
from autograder.submission.files import is_hidden_or_generated
from autograder.submission.names import StageResolver, student_id
from autograder.submission.place import open_work

_LESS_ISOLATION = "To accept less isolation, make the bundle again without `--isolation full`."
RESULTS = "results"
SUBMISSION = "submission"
_LIST_FOLDERS = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.listdir(path)
    except PermissionError:
        continue
    sys.exit(f"{path} can be read by the user who runs student code")
"""


class Container:
    """Grades in a container whose files are below *root*."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "source"
        self.course: Course = load(self.source / COURSE_FOLDER)
        self.config = read_toml(self.source / BUNDLE_FILE, BundleConfig)
        self.stages: tuple[Stage, ...] = tuple(map(self.course.stage, self.config.stages))

    def choose_sandbox(self) -> tuple[Isolation, str]:
        """Return the best available isolation and the Python that starts the sandbox.

        If the isolation is not ``full``, this Python runs as the user ``nobody``, who owns nothing,
        because a process of root could read the solutions and write its own grade.

        Raises ``SandboxError`` if the isolation is weaker than the bundle requires.
        """
        if self.config.isolation == "full" or detect_capabilities().level == "full":
            return choose_isolation("full", self.course.root, _LESS_ISOLATION), sys.executable
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            reason = detect_capabilities().reason
            raise SandboxError(
                f"{reason} Without full isolation, the grader must run as root, so that it can run "
                "student code as nobody."
            )
        self._self_test()
        return "process", str(self.source / "as_nobody")

    def grade_solutions(self) -> Results:
        """Grade the solution of every stage; raise ``GraderError`` below full marks."""
        solutions = [
            collect_one(stage.solution, "solution", stage, self.course.stages)
            for stage in self.stages
        ]
        results = self._grade(solutions, diagnose=False)
        for result in results.submissions:
            if result.score is None or result.score != result.max_score:
                earned = f"{result.score} of {result.max_score} points. {result.message}"
                msg = f"The solution of {result.stage} earns {earned} Run `autograder verify`."
                raise GraderError(msg)
        return results

    def grade_submission(self) -> Results:
        """Grade the submission, and combine the results of its stages into one."""
        student = read_student(self.root / "submission_metadata.json")
        found = collect_submissions(self.root / SUBMISSION, student, self.stages)
        return combine_stages(self._grade(found), self.stages)

    def write(self, content: bytes) -> None:
        """Write ``results.json`` completely or not at all."""
        folder = self.root / RESULTS
        folder.mkdir(exist_ok=True)
        unfinished = folder / "results.json.part"
        unfinished.write_bytes(content)
        unfinished.replace(folder / "results.json")

    def _grade(self, found: Sequence[Submission], *, diagnose: bool = True) -> Results:
        level, python = self.choose_sandbox()
        return grade(self.course, found, isolation=level, jobs=1, diagnose=diagnose, python=python)

    def _self_test(self) -> None:
        """Raise ``SandboxError`` if the user ``nobody`` can list a folder reserved for root."""
        folders = [self.course.root, self.root / RESULTS, self.root / SUBMISSION]
        existing = [str(folder) for folder in folders if folder.exists()]
        command = [str(self.source / "as_nobody"), "-I", "-c", _LIST_FOLDERS, *existing]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd="/")  # noqa: S603  # our own script, on our own paths
        if done.returncode:
            reason = detect_capabilities().reason
            msg = f"{reason} The user nobody can't be used instead: {done.stderr.strip()}"
            raise SandboxError(msg)


class _User(msgspec.Struct, frozen=True):
    id: int | str


class _SubmissionMetadata(msgspec.Struct, frozen=True):
    users: tuple[_User, ...] = ()


def read_student(metadata: Path) -> str:
    """Return the number of the student or group in Gradescope; it is a label, never a path."""
    try:
        users = msgspec.json.decode(metadata.read_bytes(), type=_SubmissionMetadata).users
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        users = ()  # the container was started by hand
    return student_id("+".join(str(user.id) for user in users) or "student")


def collect_submissions(folder: Path, student: str, stages: Sequence[Stage]) -> list[Submission]:
    """Return a submission for each of *stages* that has files in *folder*.

    A single stage always gets a submission, which may state why there is nothing to grade. Several
    stages are distinguished by the names of the files. Raises ``GraderError`` if *folder* can't be
    read.
    """
    place = _only_file(folder) or folder
    if len(stages) == 1:
        return [collect_one(place, student, stages[0], stages)]
    return list(submissions(open_work(student, place), StageResolver(stages=tuple(stages))))


def _only_file(folder: Path) -> Path | None:
    """Return the only file or folder in *folder*, or None if there are several or none."""
    try:
        paths = list(folder.iterdir())
    except OSError as error:
        raise GraderError(f"{folder} can't be read: {error.strerror}.") from error
    shown = [path for path in paths if not is_hidden_or_generated(PurePosixPath(path.name))]
    return shown[0] if len(shown) == 1 else None


def combine_stages(results: Results, stages: Sequence[Stage]) -> Results:
    """Combine *results* of *stages*: a missing one earns 0, one without a grade leaves none."""
    if len(stages) == 1:
        return results
    found = results.submissions
    submitted = {result.stage for result in found}
    absent = [stage.name for stage in stages if stage.name not in submitted]
    message = [f"{result.stage or 'All'}: {result.message}" for result in found if result.message]
    message += [f"Not submitted: {', '.join(absent)}."] if absent else []
    scores = [result.score for result in found if result.score is not None]
    exercises = (  # with the stage in the name, which another stage may use too
        msgspec.structs.replace(exercise, name=f"{result.stage} {exercise.name}")
        for result in found
        for exercise in result.exercises
    )
    statuses = [result.status for result in found]
    decisive = (Status.GRADER_ERROR, Status.GRADED)  # the first of these that occurs
    whole = SubmissionResult(
        student=found[0].student,
        stage="",
        status=next((one for one in decisive if one in statuses), statuses[0]),
        score=add(scores) if len(scores) == len(found) else None,
        max_score=None,
        message="\n".join(message),
        notices=tuple(notice for result in found for notice in result.notices),
        flags=tuple(flag for result in found for flag in result.flags),
        ignored=tuple(dict.fromkeys(name for result in found for name in result.ignored)),
        exercises=tuple(exercises),
    )
    return msgspec.structs.replace(results, submissions=(whole,))


def report_lines(results: Results) -> list[str]:
    """Return lines for the instructor that students do not need."""
    lines = []
    for result in results.submissions:
        score = "no" if result.score is None else f"{result.score:g}"
        stage = result.stage or "all stages"
        lines.append(f"{result.student}, {stage}: {score} points ({result.status})")
    lines.append(f"Isolation: {results.isolation}. Hidden inputs: {results.hidden_inputs}.")
    if results.isolation != "full":
        lines.append(
            f"{detect_capabilities().reason} Student code ran as a user who owns no files: it "
            "could not read solutions, hidden suites or results, but it could use the "
            "network."
        )
    return lines


def main(arguments: Sequence[str]) -> int:
    """Grade, print a report for the instructor, and return the exit code."""
    try:
        container = Container(Path(arguments[0]))
        if "--try" in arguments[1:]:
            results = container.grade_solutions()
        else:
            results = container.grade_submission()
            container.write(gradescope(results, container.config.visibility).content)
    except AutograderError as error:
        print(f"No grade: {error}")  # noqa: T201  # a program prints its report
        return 1
    for line in report_lines(results):
        print(line)  # noqa: T201  # a program prints its report
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
