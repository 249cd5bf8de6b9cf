"""Tests a class that uses nbgrader's exchange, from the release to the fetched feedback."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from autograder import course as courses
from autograder.authoring import release
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.namespaces import NOBODY
from tests.kit.commands import forget_suites, run
from tests.kit.factories import (
    SOLUTION,
    STAGE,
    ask_alembic_once,
    needs_open_python,
    write_template,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # torch keeps idle threads
]

HALF = "def double(x):\n    return x + x\n"
STUDENTS = {"ada": SOLUTION, "bob": HALF}


class ExchangeRun(NamedTuple):
    """The output of each command, by its first words, and the students' folders."""

    root: Path
    output: dict[str, str]
    homes: dict[str, Path]

    def feedback(self, student: str) -> list[str]:
        """The pages that *student* has fetched."""
        pages = (self.homes[student] / STAGE / "feedback").glob("*/*.html")
        return [page.read_text("utf-8") for page in pages]


@pytest.fixture(scope="module")
def exchange_run(tmp_path_factory: pytest.TempPathFactory) -> ExchangeRun:
    """Play one round of nbgrader's exchange with two students, each with a separate home folder."""
    home = tmp_path_factory.mktemp("exchange")
    exchange = home / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    homes = {student: home / student for student in STUDENTS}
    with pytest.MonkeyPatch.context() as patch:
        ask_alembic_once(patch)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(home / "jupyter"))
        root = write_template(home / "course")
        with forget_suites():
            release.build(courses.load(root))
        shared = f"--Exchange.root={exchange}"
        output = {"release": run(root, "nbgrader", "release_assignment", STAGE, shared)}
        for student, code in STUDENTS.items():
            work(homes[student], student, code, shared, output)
        output["collect"] = run(root, "nbgrader", "collect", STAGE, shared)
        mailed = root / "submitted" / "Eve, by mail" / STAGE / "tiny.py"
        mailed.parent.mkdir(parents=True)
        mailed.write_text(SOLUTION, "utf-8")
        for command in ("autograde", "generate_feedback"):
            output[command] = run(root, "nbgrader", command, STAGE)
        output["give back"] = run(root, "nbgrader", "release_feedback", STAGE, shared)
        for student, folder in homes.items():
            words = as_student(folder, student, shared)
            output[f"feedback {student}"] = run(folder, "nbgrader", "fetch_feedback", STAGE, *words)
    return ExchangeRun(root, output, homes)


def as_student(folder: Path, student: str, shared: str) -> tuple[str, ...]:
    """The options of a student, whose folder has no configuration of the course."""
    return (
        "--course",
        "tiny",
        f"--student={student}",
        shared,
        f"--Exchange.cache={folder / 'cache'}",
    )


def work(folder: Path, student: str, code: str, shared: str, output: dict[str, str]) -> None:
    """List and fetch the released assignment, write *code* into the module, and submit it."""
    folder.mkdir()
    words = as_student(folder, student, shared)
    output[f"list {student}"] = run(folder, "nbgrader", "list", *words)
    run(folder, "nbgrader", "fetch_assignment", STAGE, *words)
    (folder / STAGE / "tiny.py").write_text(code, "utf-8")
    output[f"submit {student}"] = run(folder, "nbgrader", "submit", STAGE, *words)


def test_each_student_fetches_the_own_feedback(exchange_run: ExchangeRun):
    """Each student fetches one page, with their own points and nobody else's."""
    ada, bob = (exchange_run.feedback(student) for student in STUDENTS)

    assert (len(ada), len(bob)) == (1, 1), exchange_run.output
    assert "10.0 / 15.0" in ada[0]
    assert "5.0 / 15.0" in bob[0]
    assert "10.0 / 15.0" not in bob[0]


def test_who_submitted_another_way_is_named(exchange_run: ExchangeRun):
    """A student who did not use the exchange is reported, and the others get their pages."""
    page = f"feedback/Eve, by mail/{STAGE}"

    assert (exchange_run.root / page / "lab.html").is_file()
    assert f"return these pages in a different way: {page}" in exchange_run.output["give back"]


def test_the_secret_of_a_submission_reaches_the_feedback(exchange_run: ExchangeRun):
    """The secret of a submission stays unchanged, so its student can fetch the page."""
    for student in STUDENTS:
        steps = ("submitted", "autograded", "feedback")
        secrets = {
            (exchange_run.root / step / student / STAGE / "submission_secret.txt").read_bytes()
            for step in steps
        }

        assert len(secrets) == 1
        assert len(secrets.pop()) == 128


def test_students_are_told_what_there_is(exchange_run: ExchangeRun):
    """The exchange lists the released stage, and submissions arrive under students' names."""
    assert f"tiny {STAGE}" in exchange_run.output["list ada"]
    assert f"Collecting submission: bob {STAGE}" in exchange_run.output["collect"]


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A folder that another user can reach, unlike pytest's own folders."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def by_another_user(home: Path, work: Callable[[], object]) -> int | None:
    """Run *work* in a process of the user nobody with the home *home*; return the exit code."""

    def change_user_and_work() -> None:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os.environ |= {"HOME": str(home), "JUPYTER_DATA_DIR": str(home / "jupyter")}
        os.environ |= {"JUPYTER_CONFIG_DIR": str(home / "jupyter")}
        work()

    process = multiprocessing.get_context("fork").Process(target=change_user_and_work)
    process.start()
    process.join()
    return process.exitcode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@needs_open_python
def test_another_user_of_the_system_gets_the_feedback(
    open_home: Path, monkeypatch: pytest.MonkeyPatch
):
    """A student without access to the course's folder submits, and fetches the feedback."""
    ask_alembic_once(monkeypatch)
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(open_home / "jupyter"))
    student, exchange = open_home / "nobody", open_home / "exchange"
    for folder, mode in ((exchange, 0o777), (student, 0o755)):
        folder.mkdir()
        folder.chmod(mode)
    os.chown(student, NOBODY, NOBODY)
    root = write_template(open_home / "course")
    root.chmod(0o700)
    with forget_suites():
        release.build(courses.load(root))
    shared, course = f"--Exchange.root={exchange}", ("--course", "tiny")

    def fetch_and_submit() -> None:
        run(student, "nbgrader", "fetch_assignment", STAGE, *course, shared)
        (student / STAGE / "tiny.py").write_text(SOLUTION, "utf-8")
        run(student, "nbgrader", "submit", STAGE, *course, shared)

    def fetch_feedback() -> None:
        run(student, "nbgrader", "fetch_feedback", STAGE, *course, shared)

    run(root, "nbgrader", "release_assignment", STAGE, shared)
    submitted = by_another_user(student, fetch_and_submit)
    run(root, "nbgrader", "collect", STAGE, shared)
    for command in ("autograde", "generate_feedback", "release_feedback"):
        run(root, "nbgrader", command, STAGE, *([shared] * (command == "release_feedback")))
    fetched = by_another_user(student, fetch_feedback)
    [page] = (student / STAGE / "feedback").glob("*/lab.html")

    assert (submitted, fetched) == (0, 0)
    assert page.stat().st_uid == NOBODY
    assert "10.0 / 15.0" in page.read_text("utf-8")
