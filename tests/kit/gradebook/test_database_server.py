"""Tests a gradebook on a PostgreSQL server: scores, messages without passwords, and an outage."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from socket import create_server
from tempfile import mkdtemp

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.course_gradebook import CourseGradebook
from tests.kit.factories import STAGE, Made, WriteBook, add_settings

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
PASSWORD = "pass/word 1"  # noqa: S105  # of a server that lives as long as the test
ENCODED = "pass%2Fword%201"
MISSING = "needs PostgreSQL (Debian's package postgresql) and psycopg (the extra server)"


class Server:
    """A temporary cluster of PostgreSQL on a port of the loopback interface."""

    def __init__(self, folder: Path, tools: Path, user: str | None) -> None:
        self._folder, self._tools, self._user = folder, tools, user
        with create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        secret = folder / "secret"
        secret.write_text(PASSWORD)
        if user:
            shutil.chown(folder, user)
            shutil.chown(secret, user)
        self._run("initdb", "-A", "scram-sha-256", "-U", "grader", "--pwfile", str(secret))

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self._folder}"
        self._run("pg_ctl", "start", "-w", "-l", str(self._folder / "log"), "-o", options)

    def stop(self) -> None:
        """Stop the server at once."""
        self._run("pg_ctl", "stop", "-m", "immediate")

    def _run(self, tool: str, *words: str) -> None:
        command = [str(self._tools / tool), *words, "-D", str(self._folder / "data")]
        subprocess.run(  # noqa: S603  # PostgreSQL's own tools
            command, user=self._user, check=True, capture_output=True, cwd=self._folder
        )


@pytest.fixture
def server() -> Iterator[Server]:
    """A running server; without PostgreSQL or its driver, the test is skipped."""
    if not FOLDERS or find_spec("psycopg") is None:
        pytest.skip(MISSING)
    folder = Path(mkdtemp(prefix="postgres-"))
    try:
        made = Server(folder, FOLDERS[-1], "postgres" if os.getuid() == 0 else None)
        made.start()
        yield made
        made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def address(port: int) -> str:
    """Return the setting for a database on this machine."""
    url = f"postgresql+psycopg://grader:{ENCODED}@127.0.0.1:{port}/postgres"
    return f"c.CourseDirectory.db_url = {url!r}\n"


@pytest.mark.slow
def test_a_gradebook_on_a_server_holds_the_same_grades(
    server: Server, course: Course, graded: Made, write: WriteBook
):
    """Scores are written and read; an outage is a message without the password, and no loss."""
    add_settings(course, address(server.port))
    first = write(graded("ada"), graded("bob", double=2.5))
    table = CourseGradebook(course).grade_table()
    good, sentence = CourseGradebook(course).finding()
    server.stop()
    with pytest.raises(UsageError) as outage:
        write(graded("ada", double=1.0))
    bad, reason = CourseGradebook(course).finding()
    server.start()
    again = write(graded("ada", double=1.0))

    assert first.submissions == 2
    assert {row.student: row.scores[STAGE].score for row in table.rows} == {"ada": 10, "bob": 7.5}
    assert (good, bad) == (True, False)
    assert f"postgres on 127.0.0.1:{server.port} (postgresql, user grader): 2 students" in sentence
    assert "ada, 01_tiny: 10 → 6" in str(again.remarks)
    for text in (sentence, reason, str(outage.value)):
        assert not any(secret in text for secret in (PASSWORD, ENCODED))
    assert "Check that the server is running" in reason


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        pytest.param(
            f"postgresql://grader:{ENCODED}@127.0.0.1:1/grades",
            "grades on 127.0.0.1:1 (postgresql, user grader) can't be",
            id="nobody-listens",
        ),
        pytest.param(
            f"nosuchbase://grader:{ENCODED}@host/grades", "(nosuchbase, user grader)", id="unknown"
        ),
        pytest.param(f"{ENCODED} garbled", "is not the address of a database", id="garbled"),
        pytest.param(f"postgresql://a:{ENCODED}@host:port/x", "is not the address", id="bad-port"),
    ],
)
def test_an_unusable_address_is_reported_without_its_password(
    course: Course, setting: str, sentence: str
):
    """A message names user, host and database, says what to do, and never has the password."""
    add_settings(course, f"c.CourseDirectory.db_url = {setting!r}\n")

    with pytest.raises(UsageError) as raised, NbgraderSetup.of_course(course).gradebook():
        pass
    assert sentence in str(raised.value)
    assert not any(secret in str(raised.value) for secret in (PASSWORD, ENCODED))
    assert raised.value.__cause__ is None
