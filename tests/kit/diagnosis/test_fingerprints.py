"""Tests the numbers that fingerprints store of wrong programs in the public suite."""

import pytest
import torch
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring import release, stubs, verify
from autograder.authoring.recording import open_recorder
from autograder.course import Course
from autograder.diagnosis import fingerprints, mistake_texts
from autograder.diagnosis.mistake_texts import MistakeText, MistakeTexts
from autograder.diagnosis.observation import Match, Observation
from autograder.errors import CourseError
from autograder.sandbox.faults import Fault, Raised
from autograder.suite.packed_numbers import unpack
from tests.kit.factories import rewrite_records

DOUBLED = "test_doubles_the_documented_numbers"
MOST_BYTES = 1_500_000  # of the records of all stages, which each learner downloads


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
    return fingerprints.read(built.stages[0].records)


def test_release_keeps_what_the_public_suite_detects(known):
    """Each check that fails a misconception has a fingerprint, with the wrong answers."""
    prints = [
        (check, known.shown(one).answers)
        for check, found in known.prints.items()
        for one in found
        if 0 in one.of  # the first misconception
    ]

    assert known.mistakes == ("squares", "scales_by_nothing")
    assert [check for check, _ in prints] == [
        "test_doubles_the_documented_numbers",
        "test_doubles_unseen_numbers",
    ]
    assert prints[0][1] == [{"3": [0.25, 2.25, 6.25]}]


def test_release_keeps_what_kinds_of_mistake_show(built: Course, known):
    """Programs with one kind of mistake follow the misconceptions, in the same fingerprints."""
    count = len(known.mistakes)
    failing = {
        number
        for prints in known.prints.values()
        for one in prints
        for number in one.of
        if number >= count
    }
    texts = mistake_texts.read(built.stages[0].mistakes)
    mistakes = [known.mistake(number, texts) for number in failing]

    assert known.programs.count(fingerprints.PASSES) == len(known.programs) - len(failing)
    assert {one.id for one in mistakes} >= {"wrong_operation", "wrong_return"}
    assert not any(one.written for one in mistakes)


def test_a_kind_is_worded_by_the_kit_or_by_the_stage(known):
    """A kind of mistake has the sentences of the kit, unless the stage gives others."""
    number = len(known.mistakes)
    key = fingerprints.KindKey("scale_missing", {}, 0, ())
    known = replace(known, programs=(0,), kinds=(key,))
    own = MistakeTexts(kinds={"scale_missing": MistakeText("Too large.", "Why?")})

    mistake = known.mistake(number, MistakeTexts())
    reworded = known.mistake(number, own)

    assert mistake.explanation.startswith("The scores are not divided by")
    assert mistake.group == f"scale_missing {mistake.explanation}"
    assert (reworded.explanation, reworded.group) == ("Too large.", "scale_missing")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        pytest.param("scale_forgotten", {}, id="kind"),
        pytest.param("scale_missing.often", {}, id="variant"),
        pytest.param("scale_wrong_size.argument", {"what": "The scores"}, id="word"),
    ],
)
def test_a_kind_that_the_kit_does_not_have_is_reported(known, key, words):
    """Records of a different version of the kit may name a kind that this one does not have."""
    known = replace(known, programs=(0,), kinds=(fingerprints.KindKey(key, words, 0, ()),))

    with pytest.raises(CourseError, match=key):
        known.mistake(len(known.mistakes), MistakeTexts())


def test_answers_share_their_parts(known):
    """An answer with several names is stored as numbers of names and parts."""
    part, names = {"1": [0.5]}, ["weight", "bias"]
    both = {fingerprints.PARTS: [1, 0, 0]}
    one = fingerprints.Print(0, (2, 0), (0,))
    known = replace(known, answers=(part, names, both), prints={"check": (one,)})

    assert known.shown(one).answers == [{"weight": part, "bias": part}, part]


def test_lists_share_their_entries(known):
    """A list of tensors, and of lists of them, is stored as the numbers of the tensors."""
    part, nested = {"1": [0.5]}, {fingerprints.ENTRIES: [0, [0, 0]]}
    one = fingerprints.Print(0, (1,), (0,))
    known = replace(known, answers=(part, nested), prints={"check": (one,)})

    assert known.shown(one).answers == [[part, [part, part]]]


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
        pytest.param(stopped("context = weights @ values"), Match.TEXT_ONLY, id="other-line"),
        pytest.param(stopped("a = q @ k", "sizes 2 and 4"), Match.NO, id="other-sizes"),
    ],
)
def test_exceptions_of_kinds_are_compared_by_text_and_line(known, seen, match):
    """Recorded exceptions match certainly if type, text and line agree."""
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


def test_messages_count_if_nothing_was_answered():
    """Without an answer the messages must agree, except for the line numbers in them."""
    here, there = (Fault("missing", f"Line {line} has no f.") for line in (3, 14))
    other = Fault("missing", "Line 3 has no g.")

    assert end_of(here) == end_of(there) != end_of(other)
    assert end_of(here, 1.0) == end_of(other, 1.0)


def test_changes_are_described(known):
    """A number that differs by more than noise is a change, and so is a missing fingerprint."""
    first, *others = unpack(known.answers, known.column)
    moved, noisy = (
        replace(known, answers=({"3": [first["3"][0] + by, *first["3"][1:]]}, *others), column=b"")
        for by in (0.5, 1e-6)
    )
    silent = replace(known, prints={**known.prints, DOUBLED: ()})
    bank = {*known.mistakes}

    assert list(fingerprints.changes(noisy, known, bank)) == []
    assert list(fingerprints.changes(moved, known, bank)) == [
        f"{DOUBLED} has a different result for squares"
    ]
    assert list(fingerprints.changes(silent, known, bank)) == [f"{DOUBLED} fails squares"]
    assert list(fingerprints.changes(silent, known, {"scales_by_nothing"})) == []


def test_a_different_kind_of_mistake_is_a_change(known):
    """A program whose kind is named differently is a change."""
    label = next(iter(known.keys()))
    keys = (known.kinds[0]._replace(words={"name": "y"}), *known.kinds[1:])

    changed = fingerprints.changes(replace(known, kinds=keys), known, {label})

    assert list(changed) == [f"{label} is a different mistake"]


def test_verify_notices_other_numbers(built: Course, known):
    """`verify` runs some wrong programs again, and reports a different number."""
    stage = built.stages[0]
    first, *others = unpack(known.answers, known.column)
    moved = ({"3": [first["3"][0] + 0.5, *first["3"][1:]]}, *others)
    rewrite_records(stage, evidence=replace(known, answers=moved, column=b""))
    with open_recorder(built, [stage]) as recorder:
        found = list(verify.wrong_records(stage, recorder, full=True))

    assert "does not match the wrong programs" in " ".join(found)


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        pytest.param("return x ** 2", "squares", id="code"),
        pytest.param("return 2 + x", "a mistake in double", id="code-of-a-kind"),
    ],
)
def test_verify_notices_code_in_the_built_files(built: Course, text, excerpt):
    """`verify` reports lines of wrong programs in the sentences about mistakes."""
    stage = built.stages[0]
    sentences = stage.mistakes.read_text().replace("The numbers were squared.", text)
    stage.mistakes.write_text(sentences)
    with open_recorder(built, [stage]) as recorder:
        found = list(verify.wrong_records(stage, recorder, full=True))

    assert f"mistakes.toml contains a line of {excerpt}" in " ".join(found)
    assert release.stale(built) == (stage.mistakes,)


@pytest.mark.slow
def test_the_courses_records_hold_no_code_and_no_sentence(pytestconfig):
    """Records of every stage hold no line of the solution and no sentence."""
    total = 0
    for stage in courses.load(pytestconfig.rootpath).stages:
        secrets = stubs.secret_lines(stage.solution.read_text("utf-8"), stage.solution.name)
        lines = release.built_lines(stage.records)
        total += stage.records.stat().st_size

        assert fingerprints.read(stage.records).prints
        assert not [line for line in lines if any(secret in line for secret in secrets)]
        sentences = [line for line in lines if " " in line and line.endswith((".", "?"))]
        assert sentences == []
    assert total < MOST_BYTES


@pytest.mark.parametrize("step", ["mm: ", "addmm: "])
def test_a_text_of_a_newer_torch_is_the_one_that_was_recorded(step: str):
    """From 2.15 on, torch names the step before the sizes of a product."""
    sizes = "mat1 and mat2 shapes cannot be multiplied (3x2 and 3x2)"

    def seen(text: str) -> fingerprints.Shown:
        error = Raised("RuntimeError", text, f"f raised RuntimeError in line 3\n{text}", public="")
        return fingerprints.shown_by(Observation((), error))

    assert seen(step + sizes) == seen(sizes)
    assert seen(f"other: {sizes}") != seen(sizes)
