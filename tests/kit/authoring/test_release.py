"""Tests building stubs and assignments from the solutions, and finding secrets in them."""

import hashlib
import json
import re
import shutil
import sys

import pytest

from autograder import course as courses
from autograder.authoring import release
from autograder.authoring.guide import guide
from autograder.errors import CourseError

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
    records = {stage.public_record, stage.fingerprints}
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
    """START_HERE.md has the install command, a warning, and the path of the first module."""
    release.build(course)
    text = (course.root / "assignments" / "START_HERE.md").read_text()

    assert text.startswith("# Start here: Small\n")
    assert 'pip install "./KIT.whl" --extra-index-url' in text
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


def test_fingerprints_are_built_once_and_released(tiny):
    """Fingerprints are in both folders, and a second build has nothing to do."""
    stage = tiny.stages[0]
    copy = stage.assignment / stage.fingerprints.name

    assert {stage.fingerprints, copy} <= set(release.build(tiny))
    assert copy.read_bytes() == stage.fingerprints.read_bytes()
    assert release.stale(tiny) == ()
    assert release.build(tiny) == ()


def test_fingerprints_come_from_every_module_that_makes_programs():
    """A changed sentence or rule makes fingerprints stale, and a changed search does not."""
    made_by = {path.name for path in release._rules_of_kinds()}

    assert {"kinds.toml", "masks.py", "programs.py", "rewriting.py", "vocabulary.py"} <= made_by
    assert all(path.is_file() for path in release._rules_of_kinds())
    assert not {"ranking.py", "naming.py", "live.py"} & made_by


def test_fingerprints_are_stale_when_a_sentence_changes(built, tmp_path, monkeypatch):
    """Fingerprints hold the sentences of kinds, so a changed sentence makes them stale."""
    (kinds,) = (path for path in release._rules_of_kinds() if path.name == "kinds.toml")
    reworded = tmp_path / kinds.name
    reworded.write_text(kinds.read_text().replace("the wrong dtype", "an unexpected dtype"))
    files = [reworded if path == kinds else path for path in release._rules_of_kinds()]
    monkeypatch.setattr(release, "_rules_of_kinds", lambda: files)

    assert built.stages[0].fingerprints in release.stale(built)


@pytest.mark.parametrize("changed", ["solution", "misconceptions", "hidden_suite"])
def test_fingerprints_are_stale_when_a_source_changes(built, changed):
    """A stale record is found by the digest of its sources, without running anything."""
    stage = built.stages[0]
    source = getattr(stage, changed)
    source.write_text(source.read_text() + "\n")

    assert stage.fingerprints in release.stale(built)
    assert stage.fingerprints in release.build(built)
    assert release.stale(built) == ()


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

    assert (stage.fingerprints in release.stale(built)) is stale


def test_numbers_that_differ_by_rounding_keep_their_digits(built):
    """Releases on two processors write the same bytes."""
    stage = built.stages[0]
    paths = stage.public_record, stage.fingerprints
    for path in paths:  # as a different processor writes them
        other = re.sub(r"\d\.\d{5}", noisy, path.read_text())
        path.write_text(other)
    known = {path: path.read_text() for path in paths}
    for path in paths:
        path.write_text(known[path].replace('"made_from": "', '"made_from": "0'))

    release.build(built)

    assert all("0001" in text for text in known.values())
    for path, text in known.items():
        assert without_digests(path.read_text()) == without_digests(text)


def noisy(number: re.Match[str]) -> str:
    """Return a number that a different processor could give."""
    return f"{float(number[0]) + 1e-5:.5f}0001"


def without_digests(text: str) -> str:
    """Return a built file without the digests in it."""
    return re.sub(r'"(digest|made_from)": "\w*"', "", text)


def test_what_is_undecided_is_counted(built):
    """`release` prints the number of results that rounding could decide."""
    path = built.stages[0].fingerprints
    known = json.loads(path.read_text())
    shown = sum(len(of) for prints in known["prints"].values() for *_, of in prints)

    path.write_text(json.dumps(known | {"undecided": {}}))
    assert list(release.left_out([path])) == []
    path.write_text(json.dumps(known | {"undecided": {"test_doubles_unseen_numbers": [0, 2]}}))
    assert list(release.left_out([path, path.with_name("public.json")])) == [
        (
            f"01_tiny: 2 of {shown + 2} failures of wrong programs are left out of "
            "fingerprints.json: rounding could decide their answers."
        )
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"made_from": 1}', "\0"])
def test_broken_fingerprints_are_stale(built, text):
    """A file that cannot be read as fingerprints is stale and is replaced."""
    built.stages[0].fingerprints.write_text(text)

    assert built.stages[0].fingerprints in release.stale(built)


def test_a_leak_in_fingerprints_is_reported(course, stage):
    """A line of the solution within a JSON string is a leak, too."""
    path = stage.assignment / "fingerprints.json"
    write(path, json.dumps({"mistakes": [f"Try this:\n  {SOLVED}"]}))

    assert list(release.leaks(course)) == [f"{path}:a string: a line of the solution, {SOLVED!r}."]


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
