"""Tests the numbers that fingerprints store of wrong programs in the public suite."""

import pytest
import torch
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring import release, stubs, verify
from autograder.authoring.recording import open_recorder
from autograder.course import Course
from autograder.diagnosis import fingerprints
from autograder.diagnosis.observation import Match, Observation
from autograder.sandbox.faults import Fault, NoGradients, Raised

DOUBLED = "test_doubles_the_documented_numbers"


def end_of(error: BaseException, *answers: object) -> fingerprints.End:
    """Return a fingerprint's data about the end of a check."""
    seen = Observation(tuple(("call", answer) for answer in answers), error)
    return fingerprints.shown_by(seen).end


def raised(text: str) -> Raised:
    """An exception of the student's code."""
    message = f"f raised ValueError in line 3: x + y\n{text}"
    return Raised("ValueError", text, message, public="f raised an exception.")


@pytest.fixture
def known(built: Course) -> fingerprints.Fingerprints:
    """The fingerprints of the tiny course."""
    return fingerprints.from_json(built.stages[0].fingerprints.read_bytes())


def test_release_keeps_what_the_public_suite_detects(known):
    """Each check that fails a misconception has a fingerprint, with the wrong answers."""
    prints = [
        (check, known.shown(one).answers)
        for check, found in known.prints.items()
        for one in found
        if 0 in one.of  # the first misconception
    ]

    assert [(mistake.id, mistake.title) for mistake in known.mistakes] == [
        ("squares", "The numbers were squared"),
        ("scales_by_nothing", "The factor is not used"),
    ]
    assert [check for check, _ in prints] == [
        "test_doubles_the_documented_numbers",
        "test_doubles_unseen_numbers",
    ]
    assert prints[0][1] == [{"3": [0.25, 2.25, 6.25]}]


def test_release_keeps_what_kinds_of_mistake_show(known):
    """Programs with one kind of mistake follow the misconceptions, in the same fingerprints."""
    count = len(known.mistakes)
    failing = {
        number
        for prints in known.prints.values()
        for one in prints
        for number in one.of
        if number >= count
    }
    mistakes = [known.mistake(number) for number in failing]

    assert known.programs.count(fingerprints.PASSES) == len(known.programs) - len(failing)
    assert {one.id for one in mistakes} >= {"wrong_operation", "wrong_return"}
    assert not any(one.written for one in mistakes)


def test_a_file_is_read_as_it_was_written(known):
    """A file that is read and written again has the same bytes."""
    text = fingerprints.to_json(known)

    assert fingerprints.from_json(text) == known
    assert fingerprints.to_json(fingerprints.from_json(text)) == text
    assert max(map(len, text.splitlines())) < 1000


def test_answers_share_their_parts(known):
    """An answer with several names is stored as numbers of names and parts."""
    part, names = {"1": [0.5]}, ["weight", "bias"]
    both = {fingerprints.PARTS: [1, 0, 0]}
    one = fingerprints.Print(0, (2, 0), (0,))
    known = replace(known, answers=(part, names, both), prints={"check": (one,)})

    assert known.shown(one).answers == [{"weight": part, "bias": part}, part]
    with pytest.raises(IndexError):  # somebody edited the file
        fingerprints.from_json(fingerprints.to_json(replace(known, answers=(both, part, names))))


def test_lists_share_their_entries(known):
    """A list of tensors, and of lists of them, is stored as the numbers of the tensors."""
    part, nested = {"1": [0.5]}, {fingerprints.ENTRIES: [0, [0, 0]]}
    one = fingerprints.Print(0, (1,), (0,))
    known = replace(known, answers=(part, nested), prints={"check": (one,)})

    assert known.shown(one).answers == [[part, [part, part]]]
    with pytest.raises(IndexError):  # somebody edited the file
        fingerprints.from_json(fingerprints.to_json(replace(known, answers=(nested, part))))


def test_strings_are_hashed():
    """No part of a message, which may quote code, is kept."""
    status, kind, said, *_ = end_of(raised("keys are missing"), torch.ones(1))

    assert (status, kind) == ("raised", "ValueError")
    assert set(said) <= set("0123456789abcdef")
    assert said != end_of(raised("values are missing"), torch.ones(1)).said


def stopped(line: str, text: str = "sizes 2 and 3") -> Raised:
    """An exception that quotes *line*."""
    return Raised(
        "RuntimeError", text, f"f raised RuntimeError in line 3: {line}\n{text}", public=""
    )


def refused(text: str) -> Raised:
    """An exception with which the code refuses its arguments."""
    message = f'f raised ValueError in line 3: raise ValueError("{text}")\n{text}'
    return Raised("ValueError", text, message, public="", refusal=True)


@pytest.mark.parametrize(
    ("seen", "match"),
    [
        pytest.param(stopped("scores = queries @ keys.T"), Match.YES, id="same-line"),
        pytest.param(stopped("a = q @ k"), Match.TEXT_ONLY, id="same-quantities"),
        pytest.param(stopped("a = b @ c"), Match.TEXT_ONLY, id="no-quantities"),
        pytest.param(stopped("context = weights @ values"), Match.NO, id="other-quantities"),
        pytest.param(stopped("a = q @ k", "sizes 2 and 4"), Match.NO, id="other-sizes"),
    ],
)
def test_exceptions_of_kinds_are_compared_by_the_quantities_of_the_line(known, seen, match):
    """Recorded exceptions match if type, text and quantities agree, as for programs that run."""
    kept = fingerprints.shown_by(Observation((), stopped("scores = queries @ keys.T"))).end
    first = len(known.mistakes)
    one = fingerprints.Print(0, (), (first,))
    known = replace(known, ends=(kept,), prints={"check": (one,)})

    found = known.matching("check", fingerprints.shown_by(Observation((), seen)))

    assert found.get(first, Match.NO) is match


def test_programs_refuse_in_their_own_words(known):
    """Two refusals of arguments are equal even if their texts differ."""
    kept = fingerprints.shown_by(Observation((), refused("lengths differ"))).end
    first = len(known.mistakes)
    one = fingerprints.Print(0, (), (first,))
    known = replace(known, ends=(kept,), prints={"check": (one,)})

    found = known.matching("check", fingerprints.shown_by(Observation((), refused("other words"))))

    assert found == {first: Match.TEXT_ONLY}


def test_what_ends_without_gradients_is_not_an_exception_to_compare():
    """A check that ends without gradients is not compared as an exception."""
    error = NoGradients("RuntimeError", "no gradients: shape 2 3", "f returned ...", public="")

    assert not end_of(error).raised
    assert end_of(raised("x")).raised


def test_messages_count_if_nothing_was_answered():
    """Without an answer the messages must agree, except for the line numbers in them."""
    here, there = (Fault("missing", f"Line {line} has no f.") for line in (3, 14))
    other = Fault("missing", "Line 3 has no g.")

    assert end_of(here) == end_of(there) != end_of(other)
    assert end_of(here, 1.0) == end_of(other, 1.0)


def test_changes_are_described(known):
    """A number that differs by more than noise is a change, and so is a missing fingerprint."""
    first = known.answers[0]
    others, values = known.answers[1:], first["3"]
    moved, noisy = (
        fingerprints.sealed(replace(known, answers=({"3": [values[0] + by, *values[1:]]}, *others)))
        for by in (0.5, 1e-6)
    )
    silent = fingerprints.sealed(replace(known, prints={**known.prints, DOUBLED: ()}))
    bank = {item.id for item in known.mistakes}

    assert list(fingerprints.changes(noisy, known, bank)) == []
    assert list(fingerprints.changes(moved, known, bank)) == [
        f"{DOUBLED} has a different result for squares"
    ]
    assert list(fingerprints.changes(silent, known, bank)) == [f"{DOUBLED} fails squares"]
    assert list(fingerprints.changes(silent, known, {"scales_by_nothing"})) == []


def test_every_edit_is_noticed(known):
    """A digest of the content shows an edit by hand, without a new run of all programs."""
    edited = replace(known, questions=("Why?", *known.questions[1:]))

    assert list(fingerprints.changes(edited, known, set())) == ["it was edited after it was built"]


@pytest.mark.parametrize(
    ("old", "new", "excerpt"),
    [
        pytest.param("[0.25,2.25,6.25]", "[0.25,2.25,6.5]", "does not match", id="other-numbers"),
        pytest.param("[0,[0],[0", "[0,[999],[0", "can't be read", id="unreadable"),
        pytest.param("The numbers were squared.", "return x ** 2", "a line of squares", id="code"),
        pytest.param(
            "The numbers were squared.", "return 2 + x", "a mistake in double", id="code-of-a-kind"
        ),
    ],
)
def test_verify_notices_edited_fingerprints(built: Course, known, old, new, excerpt):
    """`verify` reports edited numbers and code in fingerprints with a valid digest."""
    stage = built.stages[0]
    stage.fingerprints.write_bytes(fingerprints.to_json(known).replace(old.encode(), new.encode()))
    with open_recorder(built, [stage]) as recorder:
        found = list(verify.wrong_records(stage, recorder, full=True))

    assert excerpt in " ".join(found)
    assert release.stale(built) == (stage.assignment / stage.fingerprints.name,)


@pytest.mark.slow
def test_the_courses_fingerprints_hold_no_code(pytestconfig):
    """Fingerprints of every stage are small and hold no line of the solution."""
    for stage in courses.load(pytestconfig.rootpath).stages:
        text = stage.fingerprints.read_bytes()
        secrets = stubs.secret_lines(stage.solution.read_text("utf-8"), stage.solution.name)
        lines = release.json_lines(stage.fingerprints)

        assert fingerprints.from_json(text).prints
        assert len(text) < fingerprints.MAX_BYTES
        assert not [line for line in lines if any(secret in line for secret in secrets)]
