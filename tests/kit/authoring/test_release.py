"""Tests building stubs and assignments from the solutions, and finding secrets in them."""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring import release
from autograder.authoring.release import guide
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.mistakes import kinds
from autograder.errors import CourseError
from autograder.suite.packed_numbers import pack, unpack
from tests.kit.factories import rewrite_records

COURSE = 'format_version = 1\nid = "small"\ntitle = "Small"\nstages = ["01_scores"]\n'
STAGE = """\
format_version = 1
title = "Scores"
goal = "Compare."
module = "scores"

[[exercise]]
name = "scores"
hints = ["Look.", "Compare.", "Multiply."]
"""
SOLUTION = '''\
def scores(queries, keys):
    """Compare each query with each key."""
    ### BEGIN SOLUTION
    return queries @ keys.T  # (T, T)
    ### END SOLUTION
'''
STUB = '''\
def scores(queries, keys):
    """Compare each query with each key."""
    raise NotImplementedError
'''
SOLVED = "return queries @ keys.T"
SUITE = '''
from autograder.suite.checks import check
from autograder.suite.compare import agrees


@check("scores", points=10, layer="probe")
def test_scores(student, reference, probe):
    """The scores are right."""
    queries, keys = probe.normal(3, 2), probe.normal(4, 2)

    agrees(student.call("scores", queries, keys), reference.call("scores", queries, keys))
'''


@pytest.fixture
def course(tmp_path):
    """A course of one stage, with nothing built yet."""
    files = {
        "course.toml": COURSE,
        "solutions/01_scores/scores.py": SOLUTION,
        "source/01_scores/stage.toml": STAGE,
        "tests/hidden/01_scores/test_scores.py": SUITE,
        "source/01_scores/figures/mask.svg": "<svg/>\n",
    }
    for name, text in files.items():
        write(tmp_path / name, text)
    return courses.load(tmp_path)


@pytest.fixture
def stage(course):
    """The course's only stage."""
    return course.stages[0]


def write(path, text):
    """Write *text* to *path*, making its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def notebook(*sources):
    """Return a notebook of code cells."""
    return json.dumps({"cells": [{"cell_type": "code", "source": source} for source in sources]})


def test_the_plan_holds_every_built_file(course, stage):
    """Stub and public suite are built; authored files in source are copied."""
    digest = hashlib.sha256(STUB.encode()).hexdigest()
    digests = f'{{\n  "01_scores": "{digest}"\n}}\n'.encode()

    assert release.plan(course) == {
        stage.stub: STUB.encode(),
        stage.assignment / "stage.toml": STAGE.encode(),
        stage.public_suite: release.public_suite_of(stage).encode(),
        stage.assignment / "figures" / "mask.svg": b"<svg/>\n",
        course.root / "assignments" / "START_HERE.md": guide(course, course.every_stage),
        course.root / "assignments" / "stubs.json": digests,
    }


@pytest.mark.parametrize(
    "name", ["__pycache__/scores.pyc", ".ipynb_checkpoints/lab.ipynb", ".DS_Store"]
)
def test_caches_and_dotfiles_are_not_released(course, stage, name):
    """Files that tools write are neither released nor surplus."""
    release.build(course)
    write(stage.source / name, "left behind")
    write(stage.assignment / name, "left behind")

    assert release.stale(course) == ()


def test_everything_is_stale_before_the_first_build(course):
    """Every missing file is stale, and building writes exactly the stale files."""
    stage = course.stages[0]
    records = {stage.records, stage.mistakes}
    expected = {*release.plan(course), *records}

    assert {*release.stale(course)} == expected
    assert {*release.build(course)} == expected
    assert release.stale(course) == ()


def test_a_second_build_changes_nothing(course, stage):
    """No file is written when nothing is stale."""
    release.build(course)
    before = stage.stub.stat().st_mtime_ns

    assert release.build(course) == ()
    assert stage.stub.stat().st_mtime_ns == before


def test_what_students_receive_says_how_to_begin(course):
    """START_HERE.md has the commands of a clone, a warning, and the path of the first module."""
    release.build(course)
    text = (course.root / "assignments" / "START_HERE.md").read_text()

    assert text.startswith("# Start here: Small\n")
    assert "make setup" in text
    assert "https://download.pytorch.org/whl/cpu" in text
    assert not re.search(r"KIT|WHEEL|\.whl", text)
    assert "Do not run `pip install autograder`" in text
    assert "wsl --install" in text
    assert "my-work/01_scores/scores.py" in text


def test_an_edited_built_file_is_restored(course, stage):
    """The next build replaces an edit of a built file."""
    release.build(course)
    stage.public_suite.write_text(SUITE)

    assert release.stale(course) == (stage.public_suite,)
    assert release.build(course) == (stage.public_suite,)
    assert stage.public_suite.read_text() == release.public_suite_of(stage)


@pytest.mark.parametrize("built", [True, False], ids=["built-before", "never-built"])
def test_an_edited_module_is_kept(course, stage, built):
    """A learner's code is neither overwritten nor called a leak; a message has the next step."""
    if built:
        release.build(course)
    module = stage.stub
    write(module, f"def scores(queries, keys):\n    {SOLVED}\n")
    stage.solution.write_text(SOLUTION.replace("each key", "every key"))
    release.build(course)

    assert SOLVED in module.read_text()
    assert release.edited_modules(course) == [module]
    assert [*release.stale(course), *release.leaks(course)] == []
    assert "`autograder start`" in "".join(release.kept(course))


def test_a_module_of_an_older_release_is_replaced(course, stage):
    """A stub of an older release is replaced, because nobody has edited it."""
    release.build(course)
    stage.solution.write_text(SOLUTION.replace("each key", "every key"))
    release.build(course)

    assert "every key" in stage.stub.read_text()
    assert release.edited_modules(course) == []


def test_the_other_stages_stay_as_they_were_built(course, stage):
    """Building one stage keeps the digests of the other stubs, so that none looks edited."""
    release.build(course)
    text = (course.root / "course.toml").read_text()
    (course.root / "course.toml").write_text(text.replace('"]', '", "02_copy"]'))
    for folder in ("solutions", "source", "tests/hidden"):
        shutil.copytree(course.root / folder / stage.name, course.root / folder / "02_copy")
    changed = courses.load(course.root)

    release.build(changed, [changed.stage("02")])

    assert release.edited_modules(changed) == []
    assert release.stale(changed) == ()


def test_a_link_is_not_a_built_file(course, stage, tmp_path):
    """A link at the path of a built file is replaced, and its target is unchanged."""
    release.build(course)
    target = tmp_path / "elsewhere.py"
    target.write_text(STUB)
    stage.stub.unlink()
    stage.stub.symlink_to(target)

    assert release.build(course) == (stage.stub,)
    assert not stage.stub.is_symlink()
    assert target.read_text() == STUB


def test_surplus_is_removed_from_the_assignment(course, stage):
    """A file that is no longer built from source is removed."""
    release.build(course)
    surplus = stage.assignment / "figures" / "old.svg"
    surplus.write_text("<svg/>")

    assert release.build(course) == (surplus,)
    assert not surplus.exists()


def test_nothing_else_is_written(course, tmp_path):
    """Building writes the stub and the assignment, and no other file of the course."""
    other = tmp_path / "assignments" / "99_exam" / "exam.py"
    write(other, "a = 1\n")
    before = {path for path in tmp_path.rglob("*") if path.is_file()}

    changed = release.build(course)

    after = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before | set(changed)
    assert other.read_text() == "a = 1\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("helpers.py", "### BEGIN SOLUTION\na = 1\n", id="solution-marker"),
        pytest.param("lab.ipynb", notebook("### BEGIN HIDDEN TESTS"), id="hidden-tests-in-a-lab"),
        pytest.param("README.md", "#begin solution", id="careless-marker"),
        pytest.param("misconceptions.py", "", id="misconceptions"),
        pytest.param("documented.toml", "", id="documented-tensors"),
        pytest.param("test_scores.py", "", id="hidden-suite"),
        pytest.param("test_public.py", "", id="built-suite"),
        pytest.param("scores.py", "", id="built-stub"),
        pytest.param("more/test_public.py", "", id="suite-in-a-folder"),
    ],
)
def test_secrets_in_source_stop_the_release(course, stage, name, text):
    """A secret or built file in source/ is refused by name."""
    write(stage.source / name, text)

    with pytest.raises(CourseError, match=name):
        release.build(course)
    assert not stage.assignment.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("helpers.py", "### BEGIN SOLUTION\na = 1\n", id="solution-marker"),
        pytest.param("documented.toml", "", id="documented-tensors"),
        pytest.param("test_public.py", "", id="suite"),
    ],
)
def test_secrets_in_the_shared_folder_stop_the_release(course, name, text):
    """The folder that all stages share must not contain solutions and suites either."""
    write(course.shared_source / name, text)

    with pytest.raises(CourseError, match=name):
        release.build(course)


def test_the_shared_folder_is_released(course):
    """Modules and data of the course are copied, and removed with their originals."""
    write(course.shared_source / "data" / "words.txt", "one\n")
    release.build(course)
    copied = course.shared / "data" / "words.txt"
    text = copied.read_text()
    (course.shared_source / "data" / "words.txt").unlink()
    release.build(course)

    assert text == "one\n"
    assert not copied.exists()


def test_what_tools_made_for_the_course_stays(course):
    """Data that tools wrote into the built folder has no original, and is not removed."""
    made = course.shared / courses.MADE / "weights.bin"
    write(made, "trained\n")
    release.build(course)

    assert made.read_text() == "trained\n"
    assert release.stale(course) == ()


def test_a_leak_in_the_shared_folder_is_reported(course):
    """A line of a solution in a module of the course is reported."""
    write(course.shared_source / "helpers.py", f"def f(queries, keys):\n    {SOLVED}\n")
    release.build(course)

    assert [*release.leaks(course)] == [
        f"{folder / 'helpers.py'}:2: a line of the solution, '{SOLVED}'."
        for folder in (course.shared_source, course.shared)
    ]


def test_a_link_in_source_stops_the_release(course, stage):
    """A link in source/ is refused, because it may lead to the solution."""
    (stage.source / "notes.py").symlink_to(stage.solution)

    with pytest.raises(CourseError, match=r"notes\.py is a link"):
        release.plan(course)


def test_a_missing_solution_stops_the_release(course, stage):
    """A stage without a solution has no stub to build."""
    stage.solution.unlink()

    with pytest.raises(CourseError, match=r"scores\.py is missing"):
        release.plan(course)


def test_a_release_leaks_nothing(course):
    """No built file holds a line of the solution."""
    release.build(course)

    assert list(release.leaks(course)) == []


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        pytest.param("notes.md", f"Try:\n\n    {SOLVED}\n", "3", id="text"),
        pytest.param("lab.ipynb", notebook("x", ["a\n", SOLVED]), "cell 2", id="lab-by-lines"),
        pytest.param("lab.ipynb", notebook(f"a\n{SOLVED}  # yes"), "cell 1", id="lab-as-one-text"),
        pytest.param("broken.ipynb", SOLVED, "1", id="not-a-notebook"),
        pytest.param(".notes.py", SOLVED, "1", id="dotfile"),
    ],
)
@pytest.mark.parametrize("folder", ["source", "assignment"])
def test_a_leak_is_reported_with_its_place(course, stage, folder, name, text, place):
    """A line of the solution in a file for students is reported with its file and line."""
    path = getattr(stage, folder) / name
    write(path, text)

    assert list(release.leaks(course)) == [f"{path}:{place}: a line of the solution, {SOLVED!r}."]


def test_a_line_of_the_solution_in_the_hidden_suite_is_a_leak(course, stage):
    """A line of the solution in the hidden suite is a leak: the public suite would contain it."""
    helper = f"def oracle(queries, keys):\n    {SOLVED}\n\n\n@check"
    stage.hidden_suite.write_text(
        SUITE.replace("@check", helper, 1).replace('reference.call("scores", ', "oracle(")
    )
    release.build(course)

    assert len(list(release.leaks(course))) == 1


def test_records_are_built_once(tiny):
    """A second build has nothing to do."""
    stage = tiny.stages[0]

    assert {stage.records, stage.mistakes} <= set(release.build(tiny))
    assert release.stale(tiny) == ()
    assert release.build(tiny) == ()


def test_records_come_from_every_module_that_makes_programs(built):
    """A changed rule makes records stale, and a changed search does not."""
    rules = release._rules_of_kinds(built.stages[0])
    made_by = {path.name for path in rules}

    assert {"masks.py", "programs.py", "rewriting.py", "vocabulary.py"} <= made_by
    assert all(path.is_file() for path in rules)
    assert not {"kinds.toml", "ranking.py", "naming.py", "live.py"} & made_by


def test_a_module_that_moves_makes_no_record_stale():
    """Imports and docstrings of the modules that make programs change no program."""
    code = b"def f(x: int) -> int:"
    before = (
        b'"""One."""\nfrom a import (\n    b,\n)\n\n' + code + b'\n    """Two."""\n    return x\n'
    )
    moved = before.replace(b"One", b"A").replace(b"from a", b"from c").replace(b"Two", b"B")

    assert release._without_imports(moved) == release._without_imports(before)
    assert release._without_imports(before) == code + b"\n    return x"


def test_another_wording_of_a_kind_changes_no_built_file(built, monkeypatch):
    """Built files refer to kinds of mistake, whose sentences the kit has."""
    for name, kind in kinds.KINDS.items():
        monkeypatch.setitem(kinds.KINDS, name, replace(kind, explanation="It is wrong."))

    assert release.stale(built) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("The numbers were squared.", "Each number is squared.", id="misconception"),
        pytest.param("OPERATORS", "# A comment\nOPERATORS", id="nothing"),
    ],
)
def test_another_wording_of_a_misconception_changes_only_its_file(built, old, new):
    """The sentences of misconceptions are in one built file, and comments are in none."""
    stage = built.stages[0]
    text = stage.misconceptions.read_text()
    stage.misconceptions.write_text(text.replace(old, new))
    changed = (stage.mistakes,) if old in text and old.endswith(".") else ()

    assert release.build(built) == changed


def test_a_kind_that_is_worded_or_turned_off_is_recorded(built):
    """A kind that a stage words itself changes its sentences, and one that is off the records."""
    stage = built.stages[0]
    text = stage.misconceptions.read_text()
    stage.misconceptions.write_text(f"{text}\nOPERATORS = {{'dtype': ('Wrong.', 'Why?')}}\n")
    worded = release.build(built)
    stage.misconceptions.write_text(f"{text}\nOPERATORS = {{'wrong_return': None}}\n")

    assert worded == (stage.mistakes,)
    assert stage.records in release.stale(built)


def test_misconceptions_that_cannot_be_read_stop_the_release(built):
    """An error in misconceptions.py is one sentence with the path."""
    built.stages[0].misconceptions.write_text("MISCONCEPTIONS = [")

    with pytest.raises(CourseError, match=r"misconceptions\.py can't be imported: SyntaxError"):
        release.build(built)


@pytest.mark.parametrize("changed", ["solution", "hidden_suite"])
def test_records_are_stale_when_a_source_changes(built, changed):
    """Stale records are found by the digest of their sources, without running anything."""
    stage = built.stages[0]
    source = getattr(stage, changed)
    source.write_text(source.read_text() + "\n")

    assert stage.records in release.stale(built)
    assert stage.records in release.build(built)
    assert release.stale(built) == ()


def test_misconceptions_of_a_copied_exercise_are_a_source(monkeypatch):
    """A stage that copies an exercise also has the misconceptions of the stage it copies from."""
    stage = courses.load(Path(__file__).parents[3]).stage("09")
    before, read = release.sources_digest(stage), misconceptions.read
    copied = {exercise.copied_from for exercise in stage.exercises if exercise.copied_from}
    monkeypatch.setattr(
        misconceptions, "read", lambda path: () if path.parent.name in copied else read(path)
    )

    assert len(copied) > 0
    assert release.sources_digest(stage) != before


@pytest.mark.parametrize(
    ("other_stage", "stale"),
    [pytest.param(False, True, id="its-own"), pytest.param(True, False, id="another-stage's")],
)
def test_a_documented_tensor_makes_only_its_stages_stale(built, other_stage, stale):
    """A tensor that a later stage adds leaves the built files of the others as they are."""
    stage = built.stages[0]
    text = built.documented.read_text()
    entry = text[text.index("[[tensor]]") : text.rindex("[[tensor]]")]
    entry = entry.replace("tiny.numbers", "tiny.more")
    if other_stage:
        entry = entry.replace("01_tiny", "02_later")

    built.documented.write_text(text + entry)

    assert (stage.records in release.stale(built)) is stale


def test_numbers_that_differ_by_rounding_keep_their_digits(built):
    """Releases on two processors write the same bytes."""
    stage = built.stages[0]
    evidence = fingerprints.read(stage.records)
    answers = [noisy(one) for one in unpack(evidence.answers, evidence.column)]
    packed, column = pack(answers)  # as a different processor writes them
    rewrite_records(stage, evidence=replace(evidence, answers=packed, column=column))
    known = stage.records.read_bytes()
    rewrite_records(stage, made_from="00" * 32)
    release.build(built)

    assert answers != unpack(evidence.answers, evidence.column)
    assert stage.records.read_bytes() == known


def noisy(answer: object) -> object:
    """Return an answer that a different processor could give."""
    if isinstance(answer, dict):
        return {name: noisy(part) for name, part in answer.items()}
    if isinstance(answer, list):
        return [one + 1e-5 if isinstance(one, float) else one for one in answer]
    return answer


def test_what_is_undecided_is_counted(built):
    """`release` prints the number of results that rounding could decide."""
    stage = built.stages[0]
    known = fingerprints.read(stage.records)
    shown = sum(len(one.of) for prints in known.prints.values() for one in prints)

    rewrite_records(stage, evidence=replace(known, undecided={}))
    assert list(release.left_out([stage.records])) == []
    doubts = {"test_doubles_unseen_numbers": (0, 2)}
    rewrite_records(stage, evidence=replace(known, undecided=doubts))
    assert list(release.left_out([stage.records, stage.stub])) == [
        (
            f"01_tiny: 2 of {shown + 2} failures of wrong programs are left out of records.bin: "
            "rounding could decide their answers."
        )
    ]


@pytest.mark.parametrize("content", [b"", b"AGRECORD", b"\0" * 200])
def test_broken_records_are_stale(built, content):
    """Records that cannot be read are stale and are replaced."""
    stage = built.stages[0]
    known = stage.records.read_bytes()
    stage.records.write_bytes(content)

    assert stage.records in release.stale(built)
    assert stage.records in release.build(built)
    assert stage.records.read_bytes() == known


def test_a_leak_in_the_sentences_of_mistakes_is_reported(course, stage):
    """A line of the solution within a sentence is a leak, too."""
    write(stage.mistakes, f"[kinds.x]\nquestion = {json.dumps(f'Try this:{chr(10)}  {SOLVED}')}\n")

    assert list(release.leaks(course)) == [
        f"{stage.mistakes}:a string: a line of the solution, {SOLVED!r}."
    ]


LAB = "source/01_tiny/lab.ipynb"
SCHEME = "### BEGIN MARK SCHEME\nTwo points.\n### END MARK SCHEME"


def lab(*exercises, text="import tiny"):
    """Return a lab as an editor saves it, with a grade cell of each exercise."""
    grading = {"grade": True, "solution": False, "locked": True, "points": 0}
    cells = [
        code(text, {}, outputs=[{"output_type": "stream", "name": "stdout", "text": "ran"}]),
        *(code(f'lab.check("{name}")', grading | {"grade_id": name}) for name in exercises),
        {
            "cell_type": "markdown",
            "source": f"Why?\n{SCHEME}",
            "metadata": {"nbgrader": {"grade_id": "why", "locked": True}},
        },
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def code(source, nbgrader, outputs=()):
    """Return a code cell that was run."""
    return {
        "cell_type": "code",
        "source": source,
        "metadata": {"nbgrader": nbgrader, "scrolled": True},
        "outputs": list(outputs),
        "execution_count": 1,
    }


@pytest.fixture
def with_lab(write_course):
    """The tiny course with a lab, built."""
    course = write_course({LAB: lab("double", "Scale")})
    release.build(course)
    return course


def test_the_students_lab_is_built_from_the_authored_one(with_lab):
    """The built lab has no outputs and no mark schemes; the authored lab is left as it is."""
    stage = with_lab.stages[0]
    student = (stage.assignment / "lab.ipynb").read_text()

    assert "ran" not in student
    assert "Two points." not in student
    assert stage.lab.read_text() == lab("double", "Scale")
    assert release.stale(with_lab) == ()


def test_points_in_a_lab_come_from_the_hidden_suite(with_lab):
    """When a check is worth more, the lab is stale, and the next build updates it."""
    stage = with_lab.stages[0]
    hidden = stage.hidden_suite.read_text()
    stage.hidden_suite.write_text(hidden.replace("points=5", "points=7.5"))
    sys.modules.pop("tests.hidden.01_tiny.test_tiny", None)  # imported by the first build

    built = stage.assignment / "lab.ipynb"

    assert '"points": 5.0' in built.read_text()
    assert built in release.build(with_lab)
    assert '"points": 7.5' in built.read_text()


def test_a_built_lab_that_was_run_is_stale(with_lab):
    """A built lab that was run or edited is stale, and the next build removes the changes."""
    path = with_lab.stages[0].assignment / "lab.ipynb"
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"execution_count": null', b'"execution_count": 7'))

    assert release.stale(with_lab) == (path,)
    assert release.build(with_lab) == (path,)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(lab("double"), "no grade cell for Scale", id="check-forgotten"),
        pytest.param(lab("double", "Scale", text="### BEGIN SOLUTION"), "marker", id="solution"),
        pytest.param("{}", "not a notebook", id="not-a-notebook"),
    ],
)
def test_a_bad_lab_stops_the_release(write_course, text, words):
    """The error about a bad lab names the mistake, and nothing is written."""
    course = write_course({LAB: text})

    with pytest.raises(CourseError, match=words):
        release.build(course)
    assert not course.stages[0].assignment.exists()
