"""Tests a companion that has nothing to do with the topic of the course: it counts."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder.companion import (
    CompanionAnswer,
    CompanionFile,
    Slot,
    answer_lines,
    read,
    request_of,
    show,
)
from autograder.course import COMPANION_FILE
from autograder.course_file import Limits
from autograder.errors import CourseError, UsageError
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code

TOML = """
format_version = 1
name = "counter"
module = "counter"

[[slot]]
stage = "01_double"
needs = ["double"]
glue = "twice"
[slot.shown]
start = "3"

[[slot]]
stage = "02_add"
needs = ["add", "01_double/double"]
glue = "plus"
"""
MODULE = """
class Counter:
    def __init__(self):
        self.running, self.filled = "", {}

    def fill(self, stage, glue, module):
        self.filled[stage] = module

    def show(self, start="1", prompt="", says="It counts:", **_others):
        number = prompt or start
        if not number.isdigit():
            raise ValueError(f"{number} is not a number.")
        results = []
        for stage, module in self.filled.items():
            name = "double" if "double" in stage else "add"
            self.running = f"{stage}/{name}"
            results.append(getattr(module, name)(int(number)))
        text = " ".join(map(str, results))
        share = len(results) / 2
        return {"parts": [[says, text]], "notes": [], "share": share, "is_own": True}


def open_companion(folder):
    return Counter()
"""
DOUBLE = "def double(x):\n    return 2 * x\n"
ADD = "def add(x):\n    return x + 1\n"
LOOP = "    while True:\n        pass\n"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The folder of a course with a companion that counts."""
    (tmp_path / COMPANION_FILE).write_text(TOML)
    (tmp_path / "counter.py").write_text(MODULE)
    return tmp_path


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """Workers for a learner's own code."""
    with ForkServer("process", Limits()) as running:
        running.wait_ready()
        yield running


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.companion.CALL_SECONDS", 0.5)


def ask(
    server: ForkServer, shared: Path, sources: Mapping[str, str], **request: str
) -> CompanionAnswer:
    """Ask the companion with the modules of several stages."""
    codes = {
        stage: Code(kind="module", cells=(text.encode(),), label="m.py")
        for stage, text in sources.items()
    }
    return show(server, shared, read(shared).slot, codes, request)


def test_modules_of_several_stages_run_in_one_worker(server: ForkServer, shared: Path):
    """Each module has its own names, and the share comes back."""
    answer = ask(server, shared, {"01_double": DOUBLE, "02_add": ADD}, start="3")

    assert answer.parts == (("It counts:", "6 4"),)
    assert (answer.share, answer.name, answer.is_own) == (1.0, "counter", True)


def test_a_stage_that_never_ends_is_left_out_with_a_note(server: ForkServer, shared: Path):
    """The older stage hangs, and the newer one, which does not need it, still takes part."""
    loop = {"01_double": DOUBLE, "02_add": f"def add(x):\n{LOOP}"}
    answer = ask(server, shared, loop, start="3", says="Your sum is right:")

    assert answer.parts == (("It counts:", "6"),)  # and no praise of what was left out
    assert "In add of 02_add, your code did not finish within 0.5 s" in answer.notes[0]
    assert not answer.is_own


def test_a_file_that_never_ends_takes_the_stages_that_need_it_with_it(
    server: ForkServer, shared: Path
):
    """Stage 02 needs an exercise of stage 01, so both are left out."""
    answer = ask(server, shared, {"01_double": "while True:\n    pass\n", "02_add": ADD})

    assert answer.parts == (("It counts:", ""),)
    assert answer.notes[0].startswith("In 01_double")


def test_a_request_that_the_companion_refuses_is_the_user_s_error(server: ForkServer, shared: Path):
    """Its reason is the whole message."""
    with pytest.raises(UsageError, match=r"^seven is not a number\.$"):
        ask(server, shared, {"01_double": DOUBLE}, prompt="seven")


def test_a_control_sequence_in_a_text_is_removed(server: ForkServer, shared: Path):
    """The learner's code makes the text."""
    double = "def double(x):\n    return '\\x1b[31mred'\n"
    answer = ask(server, shared, {"01_double": double}, start="3")

    assert "\x1b" not in answer.parts[0][1]


def test_a_slot_is_filled_once_all_that_it_needs_has_passed(shared: Path):
    """An exercise of another stage counts, too."""
    file = read(shared)

    assert file.filled({"02_add/add"}) == []
    assert [one.stage for one in file.filled({"01_double/double"})] == ["01_double"]
    assert request_of(file.slot[:1])["start"] == "3"


def test_a_drawn_text_has_no_sentence_about_the_likeliest():
    """The sentences of a stage speak of its own text."""
    slot = Slot(
        stage="02_add", needs=("add",), glue="plus", shown={"start": "3", "says": "Likely:"}
    )

    assert request_of([slot])["says"] == "Likely:"
    assert "says" not in request_of([slot], heat=0.7)


def test_a_course_needs_no_companion(tmp_path: Path):
    """Asking for it is the user's error."""
    with pytest.raises(UsageError, match=r"companion\.toml is missing"):
        read(tmp_path)


def test_an_unknown_key_is_an_error(tmp_path: Path):
    """A misspelled key can't turn off a slot unnoticed."""
    (tmp_path / COMPANION_FILE).write_text(TOML.replace("needs", "need", 1))

    with pytest.raises(CourseError, match=r"`need`.*autograder start"):
        read(tmp_path)


def test_the_last_line_is_the_share_and_never_a_rounded_zero():
    """A small share keeps one digit."""
    rows = list(answer_lines(CompanionAnswer((("Says.", "a text"),), 0.0021, name="counter"), 80))

    assert rows == ["Says.", "  a text", "Your code does 0.2 % of the counter's work."]


def test_few_rows_show_the_last_text_and_the_share():
    """The last text is the one that the learner's code wrote."""
    parts = (("Without it:", "hvv"), ("With it:", "a text"), ("The rest is next.", ""))
    rows = [*answer_lines(CompanionAnswer(parts, 0.5, name="counter"), 80, only_text=True)]

    assert rows == ["  a text", "Your code does 50 % of the counter's work."]


def test_a_note_takes_the_place_of_the_share():
    """The text is then not the learner's."""
    rows = list(
        answer_lines(CompanionAnswer((), 0.5, ("The course wrote it.",), name="counter"), 80)
    )

    assert rows == ["The course wrote it."]


def test_a_short_need_is_of_the_slot_s_own_stage():
    """A need with a slash is of another."""
    slot = Slot(stage="02_add", needs=("add", "01_double/double"), glue="plus")
    file = CompanionFile(format_version=1, name="n", module="m", slot=(slot,))

    assert file.slot[0].keys == {"02_add/add", "01_double/double"}
