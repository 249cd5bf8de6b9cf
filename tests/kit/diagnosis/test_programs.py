"""Tests that programs are compiled once and run only as far as needed."""

import pytest

from autograder.diagnosis.answers import sought
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.programs import Programs, SolvedCheck, channel_of
from autograder.diagnosis.stage_mistakes import StageMistakes
from autograder.errors import CourseError
from autograder.suite.checks import expect
from autograder.suite.in_process import RecordingChannel
from autograder.suite.student_proxy import Student
from tests.kit.diagnosis.conftest import KEYS, QUERIES, VALUES, Grader, attends, item_of

ITEM = item_of("attend", attends)


@pytest.fixture
def programs(grader: Grader) -> Programs:
    """The programs of `attend`."""
    return Programs(StageMistakes(grader.stage, {}), "attend", grader.solution)


@pytest.fixture
def solved(grader: Grader) -> SolvedCheck:
    """The requests of the check to the solution."""
    channel = RecordingChannel(grader.solution)
    student = Student(channel)
    attends(student)
    return SolvedCheck(ITEM.nodeid, channel.exchanges, Observation(student.observed, None))


def attends_to_its_answer(student: Student) -> None:
    """Attend, pass the answer as the keys, then pass the second answer by position and by name."""
    answer = student.call("attend", QUERIES, KEYS, VALUES)
    again = student.call("attend", QUERIES, answer.detach(), VALUES[:3])
    expect(not student.refuses("attend", again, KEYS, values=again), "Nothing fits.")


def number_of(programs: Programs, kind: str) -> int:
    """Return the number of the first mistake of *kind*."""
    return next(index for index, one in enumerate(programs.rewrites) if one.kind == kind)


def test_a_program_shows_its_mistake(grader: Grader, programs: Programs, solved: SolvedCheck):
    """The answers of a program are those of its own run, and no other program's."""
    key = (number_of(programs, "scale_missing"),)
    seen = programs.run(key, ITEM, grader.run)

    assert seen.error is not None
    assert programs.shows(key, solved, sought(seen))
    assert not programs.shows((number_of(programs, "softmax_twice"),), solved, sought(seen))


@pytest.mark.parametrize("kind", ["scale_missing", "softmax_axis", "softmax_twice"])
def test_a_check_that_gives_an_answer_back_gives_each_program_its_own(
    grader: Grader, programs: Programs, kind: str
):
    """A check passes each program its own cache, not that of the solution."""
    item = item_of("attend", attends_to_its_answer)
    channel = RecordingChannel(grader.solution)
    observation = grader.run(item, channel)
    solved = SolvedCheck(item.nodeid, channel.exchanges, observation)
    seen = programs.run((number_of(programs, kind),), item, grader.run)

    assert observation.given_back[1] == {(1,): (0,)}
    assert not programs.shows((number_of(programs, kind),), solved, sought(observation))
    assert programs.shows((number_of(programs, kind),), solved, sought(seen))


def test_a_program_without_the_answer_to_give_back_is_asked_no_further(
    grader: Grader, programs: Programs
):
    """A program gets no more requests if the check needs an answer that the program lacks."""
    item = item_of("attend", attends_to_its_answer)
    channel = RecordingChannel(grader.solution)
    observation = grader.run(item, channel)
    back = {1: {(1,): (0, "cache")}}
    solved = SolvedCheck(item.nodeid, channel.exchanges, observation._replace(given_back=back))

    answer = programs.answer((number_of(programs, "scale_missing"),), solved, 1)

    assert answer is not None
    assert answer.fault is not None


def test_a_check_runs_once_on_a_program(grader: Grader, programs: Programs):
    """The result of a program is kept for the whole class."""
    key = (number_of(programs, "scale_missing"),)
    first = programs.run(key, ITEM, grader.run)

    assert programs.run(key, ITEM, grader.run) is first
    assert grader.runs == ["attends"]


def test_the_answers_of_a_forgotten_pair_are_kept(programs: Programs, solved: SolvedCheck):
    """A pair of mistakes is compiled again only if it gets more requests."""
    pair = number_of(programs, "scale_missing"), number_of(programs, "softmax_axis")
    seen = sought(solved.observation)

    assert not programs.shows(pair, solved, seen)
    programs.forget(pair)
    assert programs.answer(pair, solved, 0) is not None
    assert pair not in programs._channels


def builds_heads(student: Student) -> None:
    """Build a module and let it attend."""
    expect(student.new("Causal", d_in=4, d_out=4, dropout=0.0)(QUERIES).shape, (3, 4))


def test_programs_that_wait_for_the_next_check_hold_no_modules(grader: Grader):
    """A class needs the memory of one program's modules, however many programs are asked."""
    of_heads = Programs(StageMistakes(grader.stage, {}), "Causal", grader.solution)
    item = item_of("Causal", builds_heads)
    channel = RecordingChannel(grader.solution)
    observation = grader.run(item, channel)
    solved = SolvedCheck(item.nodeid, channel.exchanges, observation)
    shown, ran = ((number_of(of_heads, kind),) for kind in ("scale_missing", "softmax_axis"))

    of_heads.shows(shown, solved, sought(observation))
    of_heads.run(ran, item, grader.run)

    held = [of_heads._channels[key]._executor._objects for key in (shown, ran)]
    assert held == [[], []]
    assert of_heads.answer(shown, solved, 1) is not None


def test_the_solution_stays_as_it_is(grader: Grader, programs: Programs):
    """A program has its own definitions, so the solution stays as it is."""
    programs.run((number_of(programs, "softmax_axis"),), ITEM, grader.run)

    assert grader.run(ITEM, grader.solution).error is None


def test_two_mistakes_in_one_place_are_not_pair(programs: Programs):
    """Only mistakes in different places can be made together."""
    missing = number_of(programs, "scale_missing")
    power = number_of(programs, "scale_wrong_power")
    axis = number_of(programs, "softmax_axis")

    assert not programs.compatible((missing, power))
    assert programs.compatible((missing, axis))


def test_a_silenced_kind_makes_no_program(grader: Grader):
    """A kind that the stage turns off makes no program."""
    words = {"scale_missing": None, "softmax_twice": ("Twice.", "Why?")}
    rewrites = Programs(StageMistakes(grader.stage, words), "attend", grader.solution).rewrites

    assert "scale_missing" not in {one.kind for one in rewrites}
    assert {one.explanation for one in rewrites if one.kind == "softmax_twice"} == {"Twice."}


def written(code: str) -> Misconception:
    """Return a misconception in which *code* replaces `attend`."""
    return Misconception(id="wrong", exercise="attend", explanation="E.", question="?", code=code)


def test_an_exception_of_a_misconception_quotes_its_own_line(grader: Grader):
    """The line is that of the wrong module, and the solution keeps its definition."""
    text = grader.stage.solution.read_text("utf-8")
    item = written("def attend(queries, keys, values):\n    return queries.missing\n")
    seen = grader.run(ITEM, channel_of(item, text, grader.solution))

    assert "return queries.missing" in str(seen.error)
    assert grader.run(ITEM, grader.solution).error is None


def test_a_misconception_that_can_not_be_imported_is_refused(grader: Grader):
    """An author reads which misconception raised which exception."""
    text = grader.stage.solution.read_text("utf-8")
    item = written("def attend(queries, keys, values=missing):\n    return queries\n")

    with pytest.raises(CourseError, match="mistake wrong can't be imported: name 'missing'"):
        channel_of(item, text, grader.solution)
