"""Tests that each kind of download is recognized, and that one broken entry costs one student."""

import stat
import zipfile
from pathlib import Path

import pytest

from autograder.errors import UnclearDownloadError, UsageError
from autograder.submission.class_division import FindOptions
from autograder.submission.collect import find
from autograder.submission.roster import Person, Roster
from tests.kit.submission.conftest import SOLVED

STAGE, MODULE = "02_self_attention", "self_attention.py"
NAMES = ("ada", "ben", "cy", "dan")
FORMS = {
    "canvas": f"{{0}}_{{1}}_90{{1}}_{MODULE}",
    "moodle": f"{{0}} Doe_{{1}}_assignsubmission_file_/{MODULE}",
    "nbgrader": f"{{0}}/{STAGE}/{MODULE}",
    "github": f"attention-{{0}}/{MODULE}",
    "folder": f"{{0}}/{MODULE}",
}
IDS = {"canvas": "{0}_{1}", "moodle": "{0} Doe_{1}"}
FAULTS = ("none", "link", "bomb", "backslash", "no-stage")


def members(source: str, fault: str) -> dict[str | zipfile.ZipInfo, bytes]:
    """Return the files of a class from *source*, of which the last student's has a *fault*."""
    names = [FORMS[source].format(name, number) for number, name in enumerate(NAMES, 1)]
    found: dict[str | zipfile.ZipInfo, bytes] = dict.fromkeys(names[:-1], SOLVED)
    last = zipfile.ZipInfo(names[-1])
    last.compress_type = zipfile.ZIP_DEFLATED
    data = SOLVED
    if fault == "link":
        last.external_attr = (stat.S_IFLNK | 0o777) << 16
    elif fault == "bomb":
        data = bytes(2**22)
    elif fault == "backslash":
        last.filename = last.filename.replace("/", "\\")
    elif fault == "no-stage":
        last.filename = last.filename.replace(STAGE, "work").replace(MODULE, "notes.txt")
    return {**found, last: data}


def write_unpacked(folder: Path, files: dict[str | zipfile.ZipInfo, bytes]) -> None:
    """Write *files* below *folder*, and a link for a member that is one."""
    for name, data in files.items():
        place = folder / (name if isinstance(name, str) else name.filename)
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(name, zipfile.ZipInfo) and stat.S_ISLNK(name.external_attr >> 16):
            place.symlink_to("/etc/passwd")
        else:
            place.write_bytes(data)


@pytest.mark.parametrize(
    ("form", "fault"),
    [
        (form, fault)
        for form in ("packed", "wrapped", "unpacked")
        for fault in FAULTS
        if (form, fault) != ("unpacked", "backslash")  # only a zip has such names
    ],
)
@pytest.mark.parametrize("is_said", [False, True], ids=["by-names", "from"])
@pytest.mark.parametrize("source", FORMS)
def test_a_class_is_recognized(stages, write_zip, class_, source, form, is_said, fault):
    """From every platform, all students have a row, and a broken entry costs one student."""
    path = class_ / "all"
    if form == "unpacked":
        write_unpacked(path, members(source, fault))
    else:
        path = write_zip("all.zip", members(source, fault))
        path = rewrapped(path, "submissions/") if form == "wrapped" else path
    found = find(path, stages, stages[1], FindOptions(source=source if is_said else None))
    students = [IDS.get(source, "{0}").format(name, at) for at, name in enumerate(NAMES, 1)]
    whole = students if fault in {"none", "backslash"} else students[:-1]

    assert [work.student for work in found.works] == students
    assert [one.student for one in found.submissions() if one.code] == whole
    assert found.set_aside == ()


def rewrapped(path: Path, folder: str) -> Path:
    """Return a copy of the zip at *path* whose members are all in *folder*."""
    target = path.with_name("wrapped.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = old.read(info)
            info.filename = folder + info.filename
            new.writestr(info, data)
    return target


@pytest.mark.parametrize(
    ("names", "platform", "odd"),
    [
        pytest.param(["a_1_7_x.py", "b_2_8_x.py", "README.txt"], "canvas", "README.txt", id="note"),
        pytest.param(["a_1_7_x.py", "bob.zip", "eve.zip"], "canvas", "bob.zip and", id="by-mail"),
        pytest.param(["A_1_assignsubmission_file_/x.py", "b.py"], "moodle", "b.py", id="moodle"),
        pytest.param(
            [f"{name}/{STAGE}/x.py" for name in NAMES] + [MODULE], "nbgrader", MODULE, id="nbgrader"
        ),
        pytest.param(["hw-a/x.py", "hw-b/x.py", "cy/x.py"], "github", "cy", id="github"),
        pytest.param(["hw-a/x.py", "hw-b/x.py", MODULE], "github", MODULE, id="solution"),
    ],
)
def test_a_foreign_name_in_a_download_is_refused(stages, write, class_, names, platform, odd):
    """If only some names are a platform's, the message has the option and names that are not."""
    for name in names:
        write(name)

    with pytest.raises(UnclearDownloadError) as raised:
        find(class_, stages)
    assert f"but not {odd}" in str(raised.value)
    assert f"add --from {platform};" in str(raised.value)


def test_what_the_platform_did_not_name_is_left_out(stages, write, class_):
    """With the platform said, a note is remarked on, and a submission of nobody is set aside."""
    for name in ("a_1_7_x.py", "README.txt", "bob.zip"):
        write(name)
    found = find(class_, stages, options=FindOptions(source="canvas"))

    assert [work.student for work in found.works] == ["a_1"]
    assert found.remarks == ("Not submissions, so not read: README.txt",)
    assert found.set_aside[0].startswith("bob.zip: Canvas does not make such names.")


@pytest.mark.parametrize("source", ["canvas", "moodle", "github"])
def test_a_wrong_platform_is_refused(stages, write, class_, source):
    """If no name is the said platform's, the message shows two of the names."""
    write("ada/x.py")
    write("ben/x.py")

    with pytest.raises(UnclearDownloadError, match=r"no name is as .* such as ada and ben"):
        find(class_, stages, options=FindOptions(source=source))


def test_a_damaged_download_is_refused_if_its_platform_is_said(stages, write):
    """A damaged zip is an error if it is said to be a download, and else one submission."""
    path = write("all.zip", b"PK damaged")

    with pytest.raises(UsageError, match="could not be read"):
        find(path, stages, options=FindOptions(source="canvas"))
    assert [work.student for work in find(path, stages).works] == ["all"]


@pytest.mark.parametrize(
    ("names", "students"),
    [
        pytest.param([f"hw/{MODULE}", "hw/averaging.py"], ["all"], id="folder-of-one"),
        pytest.param([f"hw/{STAGE}/{MODULE}", "README.md"], ["all"], id="stage-in-a-folder"),
        pytest.param(["hw/work.py"], ["all"], id="one-module"),
        pytest.param(["x/y/ada/x.py", "x/y/ben/x.py"], ["ada", "ben"], id="two-folders-around"),
        pytest.param(["x/ada.zip", "x/ben.zip"], ["ada", "ben"], id="zips"),
        pytest.param(["ada.py", "ben.py"], ["ada", "ben"], id="modules"),
        pytest.param([], ["all"], id="empty"),
    ],
)
def test_a_zip_belongs_to_a_class_or_to_a_student(stages, write_zip, names, students):
    """A folder around everything in a zip makes no difference."""
    path = write_zip("all.zip", dict.fromkeys(names, SOLVED))

    assert [work.student for work in find(path, stages).works] == students


def person(student: str, **facts: str) -> Person:
    """Return a student of the roster who is known by the id."""
    return Person(student=student, identifiers=frozenset({student}), **facts)


def test_the_roster_shows_the_login_of_a_single_repository(stages, write, class_):
    """A single repository needs the roster; without it, the whole name is the student's."""
    write(f"hw-ann-lee/{MODULE}")
    known = FindOptions(roster=Roster((person("ann-lee"),)))

    assert [work.student for work in find(class_, stages).works] == ["hw-ann-lee"]
    assert [work.student for work in find(class_, stages, options=known).works] == ["ann-lee"]


def test_logins_of_a_roster_show_repositories_that_contain_folders_of_stages(stages, write, class_):
    """Such repositories could be nbgrader's folders; without a roster, they are."""
    write(f"hw-ann-lee/{STAGE}/{MODULE}")
    write(f"hw-cy/{STAGE}/{MODULE}")
    known = FindOptions(roster=Roster((person("ann-lee"), person("cy"))))

    assert [work.student for work in find(class_, stages).works] == ["hw-ann-lee", "hw-cy"]
    assert [work.student for work in find(class_, stages, options=known).works] == ["ann-lee", "cy"]


def test_a_prefix_that_is_cut_off_is_remarked_on(stages, write, class_):
    """The remark names the prefix, and the option that keeps it."""
    write(f"team-1/{MODULE}")
    write(f"team-2/{MODULE}")
    whole = find(class_, stages, options=FindOptions(source="folder"))
    [remark] = find(class_, stages).remarks

    assert remark.startswith("The ids are the logins after team-, as GitHub Classroom names")
    assert [work.student for work in whole.works] == ["team-1", "team-2"]


def test_folders_named_after_students_are_a_class(stages, write, class_):
    """Folders that are named after students of the gradebook are not repositories."""
    write(f"ann-lee/{MODULE}")
    write(f"ann-mai/{MODULE}")
    known = FindOptions(roster=Roster((person("ann-lee"), person("ann-mai"))))
    found = find(class_, stages, options=known)

    assert found.what.endswith(": a class, 2 students")
    assert [work.student for work in found.works] == ["ann-lee", "ann-mai"]


def test_a_roster_of_another_class_is_refused(stages, write, class_):
    """If no entry matches the file of the roster, nothing is found."""
    write(f"hw-ada/{MODULE}")
    write(f"hw-ben/{MODULE}")
    roster = Roster((person("zoe"),), file="classroom_roster.csv")

    with pytest.raises(
        UnclearDownloadError, match=r"classroom_roster\.csv has no student of class"
    ):
        find(class_, stages, options=FindOptions(roster=roster))


METADATA = """---
submission_1001:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0012'
    :email: ada@example.org
  :created_at: 2026-11-20 10:00:00.000000000 Z
  :results:
    :output: "line: 1\\n- :sid: x"
submission_1002:
  :submitters:
  - :name: Ben Doe
    :sid:
    :email: ben@example.org
  - :name: Cy Doe
    :sid: '0014'
"""


@pytest.mark.parametrize("form", ["packed", "unpacked"])
def test_an_export_of_gradescope_has_its_students(stages, write_zip, class_, form):
    """The ids are the institution's, or addresses, and each member of a group has a row."""
    pytest.importorskip("yaml")
    files = {"submission_metadata.yml": METADATA.encode(), "submission_9/notes.txt": b""}
    files |= {f"submission_{number}/{STAGE}/{MODULE}": SOLVED for number in (1001, 1002)}
    path = write_zip("e.zip", {f"assignment_7_export/{name}": files[name] for name in files})
    if form == "unpacked":
        write_unpacked(path := class_ / "export", {**files})
    found = find(path, stages, stages[1])

    assert found.what.endswith("a download from Gradescope, 4 students")
    assert [(one.student, one.code is not None) for one in found.submissions()] == [
        ("0012", True), ("0014", True), ("ben@example.org", True), ("submission_9", False),
    ]  # fmt: skip


def test_damaged_metadata_is_refused(stages, write, class_):
    """Metadata that can't be read is an error with what to do."""
    write("submission_1001/x.py")
    write("submission_metadata.yml", b"a: [")

    with pytest.raises(UsageError, match="Download the export from Gradescope again"):
        find(class_, stages)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["a_1_7_x.py", "LATE_anon_xY3_8_x.py", "c_3_text.html"], id="canvas"),
        pytest.param(["anon_aB_7_x.py", "anon_cD_link.html"], id="anonymous"),
        pytest.param(
            ["A_1_assignsubmission_file_/x.py", "B_2_assignsubmission_onlinetext_/o.html"],
            id="moodle",
        ),
    ],
)
def test_a_typed_answer_has_a_row(stages, write, class_, names):
    """A student who typed an answer has a row without code, and a notice with the reason."""
    for name in names:
        write(name)
    found = find(class_, stages, stages[1])
    typed = [one for one in found.submissions() if one.code is None]

    assert len(found.works) == len(names)
    assert typed[0].notices == (
        "A text or a link was entered in the LMS. Only files are graded: upload the module.",
    )
    assert found.remarks[0].startswith("A text or a link instead of a file, which is not graded:")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["a_1_7_x.py", "b_2_8_x.py"], id="canvas"),
        pytest.param([f"ada/{STAGE}/x.py", f"ben/{STAGE}/x.py"], id="nbgrader"),
        pytest.param([f"hw-ada/{MODULE}", f"hw-ben/{MODULE}"], id="repositories"),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True], ids=["folder", "zip"])
def test_a_class_inside_a_folder_is_not_one_students(
    stages, write, write_zip, class_, names, is_packed
):
    """If the only entry of a folder holds a class, the message asks to pass the entry alone."""
    if is_packed:
        write_zip("inner.zip", dict.fromkeys(names, SOLVED))
    for name in names if not is_packed else ():
        write(f"inner/{name}")

    with pytest.raises(UnclearDownloadError, match="Pass it alone if it is your download"):
        find(class_, stages)
    [work] = find(class_, stages, options=FindOptions(source="folder")).works
    assert work.student == "inner"
