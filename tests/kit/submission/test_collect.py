"""Tests recognizing every form in which instructors may have submissions."""

import pytest

from autograder.errors import UnclearDownloadError, UsageError
from autograder.submission import collect, collect_one
from autograder.submission.class_division import FindOptions
from autograder.submission.collect import find, find_all
from autograder.submission.roster import Person, Roster

MODULE = "self_attention.py"


def _who(submissions):
    return [(one.student, one.stage) for one in submissions]


def test_takes_an_nbgrader_tree(collected, write, class_):
    """Students' folders hold stages; files that tools leave behind are ignored silently."""
    write("bob/02_self_attention/self_attention.py")
    write("alice/02_self_attention/self_attention.py")
    write("alice/02_self_attention/timestamp.txt")
    write("alice/02_self_attention/.ipynb_checkpoints/self_attention-checkpoint.py")
    write("alice/02_self_attention/__pycache__/self_attention.cpython-311.pyc")
    write("alice/01_averaging/averaging.py")

    submissions = collected(class_)

    assert _who(submissions) == [
        ("alice", "01_averaging"),
        ("alice", "02_self_attention"),
        ("bob", "02_self_attention"),
    ]
    assert not any(one.ignored or one.notices or one.problem for one in submissions)


def test_takes_a_folder_of_one_submission(collected, write, class_):
    """Modules may lie directly in the folder or in folders named like stages."""
    write("alice/averaging.py")
    write("alice/02_self_attention/self_attention.py")

    submissions = collected(class_ / "alice")

    assert _who(submissions) == [("alice", "01_averaging"), ("alice", "02_self_attention")]


def test_takes_one_stage_folder(collected, write, class_):
    """A single stage folder belongs to the student named by the folder above it."""
    write("alice/02_self_attention/lab.ipynb", b'{"cells": [{"cell_type": "code", "source": "1"}]}')

    [submission] = collected(class_ / "alice" / "02_self_attention")

    assert (submission.student, submission.stage) == ("alice", "02_self_attention")
    assert submission.code.label == "lab.ipynb"


def test_takes_a_zip_of_one_submission(collected, write_zip):
    """The zip's stem is the student; a folder around the files makes no difference."""
    path = write_zip(
        "alice.zip", {"homework/self_attention.py": b"x", "homework/averaging.py": b""}
    )

    assert _who(collected(path)) == [("alice", "01_averaging"), ("alice", "02_self_attention")]


def test_is_deterministic(collected, write, class_):
    """The same class gives the same records in the same order."""
    for student in "zebra", "anna", "Bob":
        write(f"{student}/self_attention.py", student.encode())

    first, second = collected(class_), collected(class_)

    assert first == second
    assert [one.student for one in first] == ["Bob", "anna", "zebra"]
    assert len({one.sha256 for one in first}) == len(first)


def test_collects_one_student_and_stage_under_any_names(stages, attention, write):
    """A single module of any name is the submission."""
    submission = collect_one(write("work.py"), "alice", attention, stages)

    assert (submission.student, submission.stage) == ("alice", "02_self_attention")
    assert submission.code is not None


def test_reports_files_of_another_stage_where_one_is_collected(stages, attention, write, class_):
    """Files in the folder of a different stage give a submission that reports them."""
    write("alice/01_averaging/averaging.py")

    submission = collect_one(class_ / "alice", "alice", attention, stages)

    assert submission.stage == "02_self_attention"
    assert submission.problem.startswith("No self_attention.py was submitted: there is only")
    assert submission.ignored == ("01_averaging/averaging.py",)


def test_refuses_a_student_that_is_not_an_id(stages, attention, class_):
    """The message about an invalid student id suggests a valid one."""
    with pytest.raises(UsageError, match=r"Rename it, for example to 'a_b~"):
        collect_one(class_, "a/b", attention, stages)


def test_takes_a_folder_of_downloads(collected, write, write_zip, class_, attention):
    """Zips and loose files of one folder are one submission each."""
    write_zip("bob.zip", {MODULE: b"bob"})
    write("alice.py", b"alice")
    write("carol.ipynb", b'{"cells": [{"cell_type": "code", "source": "carol"}]}')
    write("grades.csv")

    submissions = collected(class_, attention)

    assert [one.student for one in submissions] == ["alice", "bob", "carol"]
    assert [one.code.cells for one in submissions] == [(b"alice",), (b"bob",), (b"carol",)]


def test_reads_canvas_names(collected, write, write_zip, class_):
    """In Canvas's names, name and user number give the student, and the rest is the file."""
    write("doejane_101_9001_self_attention-1.py")
    write("roejohn_LATE_102_9002_self_attention.py")
    write_zip("poepat_103_9003_homework.zip", {MODULE: b""})

    submissions = collected(class_)

    assert [one.student for one in submissions] == ["doejane_101", "poepat_103", "roejohn_102"]
    assert {one.stage for one in submissions} == {"02_self_attention"}
    assert submissions[2].notices == ("Canvas marks this submission as late.",)


def test_reads_moodle_folders(collected, write, write_zip, class_):
    """In Moodle's names, name and participant number give the student."""
    write("Jane Doe_101_assignsubmission_file_/self_attention.py")
    write_zip("John Roe_102_assignsubmission_file_/work.zip", {MODULE: b""})
    write("John Roe_102_assignsubmission_onlinetext_/onlinetext.html")

    submissions = collected(class_)

    assert _who(submissions) == [
        ("Jane Doe_101", "02_self_attention"),
        ("John Roe_102", "02_self_attention"),
    ]


def test_joins_what_one_student_submitted_piecemeal(collected, write, class_):
    """Two files of one Canvas user are one submission with both stages."""
    write("doejane_101_9001_self_attention.py")
    write("doejane_101_9002_averaging.py")
    write("doejane_101_9003_essay.pdf")

    submissions = collected(class_)

    assert _who(submissions) == [
        ("doejane_101", "01_averaging"),
        ("doejane_101", "02_self_attention"),
    ]
    assert submissions[0].ignored == ("essay.pdf",)


def test_reports_an_lms_submission_of_another_kind(collected, write, class_):
    """A student who submitted a PDF gets a message about the problem."""
    write("doejane_101_9001_essay.pdf")

    [submission] = collected(class_)

    assert submission.student == "doejane_101"
    assert submission.problem.startswith("Nothing to grade: there is only doejane_101_9001_essay")


def test_reports_another_archive_in_a_class(collected, write, class_):
    """An archive in a different format is reported as the student's problem."""
    write("alice.tar.gz")
    write("bob.zip")

    alice, bob = collected(class_)

    assert (alice.student, bob.student) == ("alice", "bob")
    assert alice.problem.startswith(
        "alice.tar.gz is an archive in a format that the kit does not read."
    )


def test_joins_a_folder_and_its_zip(collected, write, write_zip, class_):
    """A zip and the folder unpacked from it are one submission; the zip's module is listed."""
    write("alice/self_attention.py", b"unpacked")
    write_zip("alice.zip", {"self_attention.py": b"packed"})
    write_zip("bob.zip", {"self_attention.py": b""})

    alice, _ = collected(class_)

    assert alice.code.cells == (b"unpacked",)
    assert alice.ignored == ("self_attention.py",)


@pytest.mark.parametrize(
    ("name", "student"),
    [
        pytest.param("alice/self_attention.py", "alice", id="from-the-folder"),
        pytest.param("alice/02_self_attention/self_attention.py", "alice", id="folder-above-stage"),
        pytest.param("alice/self_attention (1).py", "alice", id="browser-copy"),
        pytest.param("downloads/bob.py", "bob", id="from-the-stem"),
        pytest.param("downloads/doejane_1_2_self_attention.py", "doejane_1", id="from-the-lms"),
    ],
)
def test_takes_a_single_file(collected, write, attention, name, student):
    """A file named like the stage belongs to its folder's student, others to their stem's."""
    [submission] = collected(write(name), attention)

    assert (submission.student, submission.stage) == (student, "02_self_attention")
    assert submission.code.cells == (b"def attend(x):\n    return x\n",)


@pytest.mark.parametrize(
    ("names", "students"),
    [
        pytest.param(["homework.py"], ["class"], id="one-file"),
        pytest.param(["README.md"], ["class"], id="no-code"),
        pytest.param(["self_attention.py", "backup.zip"], ["class"], id="module-and-one-zip"),
        pytest.param(["lab-Copy1.ipynb", "a/b.txt"], ["class"], id="copy-of-lab"),
        pytest.param(["a.py", "b.py"], ["a", "b"], id="two-files"),
        pytest.param(["a.zip"], ["a"], id="one-zip"),
        pytest.param(["a/x.txt", "b/x.txt"], ["a", "b"], id="folders"),
        pytest.param(["a.zip", "b.zip", "averaging.py"], ["a", "averaging", "b"], id="two-zips"),
    ],
)
def test_tells_a_class_from_a_submission(collected, write, class_, names, students):
    """Paths are recognized by the rule in the docstring of ``collect``."""
    for name in names:
        write(name)

    assert sorted({one.student for one in collected(class_)}) == students


def test_refuses_a_missing_path_at_once(stages, tmp_path):
    """A missing path is refused at once, before the first submission is read."""
    with pytest.raises(UsageError, match=r"nowhere can't be read \(No such file"):
        collect(tmp_path / "nowhere", stages)


@pytest.mark.parametrize(
    "name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.zst", "a.rar", "a.7z", "A.TAR.XZ"]
)
def test_refuses_other_archives(stages, write, name):
    """Archives other than zip are refused with what to do instead."""
    with pytest.raises(UsageError, match=r"Unpack it, and pack its files into a \.zip"):
        collect(write(name), stages)


def test_refuses_a_file_of_another_kind(stages, write):
    """A path that can't be a submission is a usage error."""
    with pytest.raises(UsageError, match=r"essay.pdf is not a submission. Pass a folder, a .zip"):
        collect(write("essay.pdf"), stages)


@pytest.mark.parametrize("name", ["solution", "solution/self_attention.py"])
def test_refuses_a_link_as_path(stages, class_, tmp_path, secret, name):
    """A link is refused as a path, because a student may have made it."""
    assert secret.exists()
    (class_ / "link.py").symlink_to(tmp_path / name)

    with pytest.raises(UsageError, match=r"links are not followed\. Pass the folder or the file"):
        collect(class_ / "link.py", stages)


def test_the_lms_is_decided_for_the_whole_download(collected, write, class_, attention):
    """A file with a name in Moodle's form does not take another student's row in Canvas."""
    write("doejane_111_9001_self_attention.py", b"jane")
    write("evil_222_9002_x_111_assignsubmission_file_self_attention.py", b"eve")

    eve, jane = sorted(collected(class_, attention), key=lambda one: one.student == "doejane_111")

    assert (jane.student, jane.code.cells) == ("doejane_111", (b"jane",))
    assert (eve.student, eve.code.cells) == ("evil_222", (b"eve",))


def test_the_first_marker_of_an_lms_counts(collected, write, class_, attention):
    """The text after the first marker of an LMS is the name that the student chose."""
    write("Eve_222_assignsubmission_file_x_111_assignsubmission_file_self_attention.py")
    write("Jane_111_assignsubmission_file_self_attention.py")

    assert [one.student for one in collected(class_, attention)] == ["Eve_222", "Jane_111"]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["doe_1_7_a.py", "eve_1_8_a.py"], id="one-number-two-names"),
        pytest.param(["alice.py", "alice.zip", "bob.zip"], id="a-file-and-an-archive"),
    ],
)
def test_sets_aside_what_two_may_have_submitted(stages, write, class_, names):
    """Submissions that claim the same student are not graded, and both are listed."""
    for name in [*names, names[0].replace("1", "3").replace("alice", "carol")]:
        write(name)

    found = find(class_, stages)

    assert len(found.set_aside) >= 1
    assert all("Set aside and not graded" in sentence for sentence in found.set_aside)
    assert not {"doe_1", "eve_1", "alice", "A_1"} & {item.student for item in found.works}


def test_a_roster_joins_a_download_with_the_course(stages, write, class_):
    """A student who is not in the roster keeps the id of the download, with a remark."""
    write("doejane_101_9001_self_attention.py")
    write("roejohn_102_9002_self_attention.py")

    found = find(
        class_, stages, options=FindOptions(roster=Roster((Person(student="s101", number="101"),)))
    )

    assert [item.student for item in found.works] == ["roejohn_102", "s101"]
    assert found.remarks == ("roejohn_102: not in the roster, so this id is used",)


def test_a_zip_next_to_those_of_others_is_not_a_class(stages, write_zip):
    """If a shell listed students' zips, one of them that imitates a download is refused."""
    ada = write_zip("ada.zip", {MODULE: b""})
    mallory = write_zip("mallory.zip", {"ada.zip": b"", "bob.zip": b""})

    with pytest.raises(
        UnclearDownloadError, match=r"mallory\.zip: a class, 2 students, but another"
    ):
        find_all([ada, mallory], stages)
    assert [len(place.works) for place in find_all([mallory, mallory], stages)] == [2, 2]


@pytest.mark.parametrize("below", ["", "02_self_attention"])
@pytest.mark.parametrize("names", [["ada.zip", "bob.zip"], ["ada_1_7_x.py"], ["ada.py", "b.py"]])
def test_all_in_a_folder_of_submitted_is_one_students(stages, write_zip, names, below):
    """All files in a student's folder below `submitted` belong to that student."""
    folder = stages[0].root / "submitted" / "mallory" / below
    for name in names:
        write_zip(str(folder / name), {MODULE: b""})

    assert [one.student for one in find(folder, stages).works] == ["mallory"]


def test_a_folder_or_zip_of_a_known_student_is_one_students(stages, write, write_zip, class_):
    """A folder or zip with the name of a student in the roster is that student's submission."""
    known = Roster((Person(student="s7", identifiers=frozenset({"mallory"})),))
    write("mallory/ada.zip")
    write("mallory/bob.zip")
    write_zip("zips/mallory.zip", {"ada.zip": b"", "bob.zip": b""})
    options = FindOptions(roster=known)

    for path in (class_ / "mallory", class_ / "zips" / "mallory.zip", class_ / "zips"):
        assert [one.student for one in find(path, stages, options=options).works] == ["s7"]


def test_what_is_not_a_submission_is_named(stages, write, class_):
    """Files that are not submissions are listed in a remark."""
    for name in ("ada.zip", "bob.zip", "marks.csv", "eve.txt"):
        write(name)

    assert find(class_, stages).remarks == ("Not submissions, so not read: eve.txt, marks.csv",)


def test_a_fault_in_a_packed_class_costs_one_student(stages, write_zip, attention):
    """A damaged zip in a packed class affects one student only."""
    inner = write_zip("inner.zip", {MODULE: b"zipped"}).read_bytes()
    members = {"a_1_7_hw.zip": inner, "b_2_8_x.bin": b"0" * 2**22, f"c_3_9_{MODULE}": b"c"}

    first, second, third = find(write_zip("all.zip", members), stages, attention).submissions()

    assert (first.code.cells, third.code.cells) == ((b"zipped",), (b"c",))
    assert second.problem.startswith("b_2_8_x.bin was not opened: its member b_2_8_x.bin is comp")


def test_refuses_the_course_itself(stages):
    """The course's folders are not students, and neither are the folders around it."""
    root = stages[0].root
    (root / "tests" / "hidden").mkdir(parents=True)

    with pytest.raises(UsageError, match="the course itself"):
        find(root, stages)
    with pytest.raises(UsageError, match="contains the course itself"):
        find(root.parent, stages)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param("ada/self_attention.py", "ada: one submission, of ada", id="one"),
        pytest.param(
            "class/a_LATE_1_7_x.py", "a download from Canvas, 1 student, 1 late", id="lms"
        ),
        pytest.param("class/ada/02_self_attention/x.py", "class: a class, 1 student", id="tree"),
    ],
)
def test_says_what_it_recognized(stages, write, class_, name, what):
    """The recognized form is printed in one line, so a wrong path is noticed."""
    write(name)

    assert find(class_ / name.split("/")[0], stages).what.endswith(what)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"SelfAttention_final_FINAL.py": "module"}, id="another-name"),
        pytest.param({"hw.zip": "zip", "lab.ipynb": "lab"}, id="zip-next-to-the-lab"),
        pytest.param({"a.zip": "zip", "b.zip": "zip"}, id="two-zips"),
        pytest.param({"helpers.py": "other", "lab.ipynb": "lab"}, id="lab-and-helper"),
        pytest.param({"averaging.py": "module"}, id="of-another-stage"),
        pytest.param({"test_public.py": "module"}, id="the-public-suite"),
        pytest.param({"work.rar": "module"}, id="unreadable"),
        pytest.param({"essay.pdf": "module"}, id="no-code"),
    ],
)
def test_grades_equal_files_equally_by_each_route(
    stages, attention, write, write_zip, class_, notebook, files
):
    """Equal files give equal code, whether loose, packed, or collected into a folder."""
    data = {
        "module": b"def attend(x):\n    return x\n",
        "zip": write_zip("../z.zip", {MODULE: b"def attend(x): ...\n"}).read_bytes(),
        "lab": notebook("def attend(x): ..."),
        "other": b"x = 1",
    }
    for number, (name, kind) in enumerate(files.items()):
        write(f"submitted/a_1/02_self_attention/{name}", data[kind])
        write(f"loose/a_1_{number}_{name}", data[kind])
    write_zip("all.zip", {f"a_1_{n}_{name}": data[kind] for n, (name, kind) in
                          enumerate(files.items())})  # fmt: skip

    routes = [
        collect_one(class_ / "submitted/a_1/02_self_attention", "a_1", attention, stages),
        *collect(class_ / "submitted", stages, attention),
        *collect(class_ / "loose", stages, attention),
        *collect(class_ / "all.zip", stages, attention),
    ]

    assert len(routes) == 4
    assert len({(one.code and one.code.cells) for one in routes}) == 1


@pytest.mark.parametrize("name", ["a_1_7_..", "a_1_7_.", "a_1_7_..."])
def test_no_name_of_a_download_is_a_path(stages, write, class_, attention, name):
    """No name of a download leads out of the folder into which files are collected."""
    write(name)

    [work] = find(class_, stages, attention).works

    assert [str(file.path) for file in work.originals] == [name]


def test_follows_no_link_to_another_class(stages, class_, tmp_path):
    """A link to the folder of a different class is not followed."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a_1_7_self_attention.py").write_bytes(b"x")
    (class_ / "eve").symlink_to(tmp_path / "other")

    [work] = find(class_, stages).works

    assert (work.student, work.files) == ("eve", ())


def test_a_name_that_is_file_and_folder_breaks_nothing(stages, write_zip, attention):
    """An archive in which a file and a folder share a name is read."""
    folder = "A_1_assignsubmission_file_"
    path = write_zip("all.zip", {folder: b"x", f"{folder}/{MODULE}": b"y"})

    [submission] = find(path, stages, attention).submissions()

    assert submission.code.cells == (b"y",)


@pytest.mark.parametrize("name", ["submission.zip", "homework.rar"])
def test_a_message_about_one_stage_does_not_appear_in_another(collected, write, class_, name: str):
    """An archive that can't be opened belongs to the stage in whose folder it lies."""
    write(f"alice/02_self_attention/{name}", b"not an archive")
    write("alice/01_averaging/averaging.py")

    averaging, attention = collected(class_)

    assert (averaging.problem, averaging.notices, averaging.ignored) == ("", (), ())
    assert name in attention.problem


def test_a_message_about_a_file_of_no_stage_appears_in_all(collected, write, class_):
    """An archive at the top may hold any stage, so each result mentions it."""
    write("alice/submission.zip", b"not an archive")
    write("alice/01_averaging/averaging.py")
    write("alice/02_self_attention/self_attention.py")

    assert all("submission.zip" in " ".join(one.notices) for one in collected(class_))


def test_several_stages_can_be_chosen(write, class_, stages):
    """Each chosen stage is graded, and files of other stages are not mentioned."""
    write("alice/02_self_attention/self_attention.py")
    write("alice/01_averaging/averaging.py")

    both = find(class_, stages, None, FindOptions(stages=tuple(stages[:2])))
    one = find(class_, stages, None, FindOptions(stages=tuple(stages[1:2])))

    assert len(list(both.submissions())) == 2
    assert _who(one.submissions()) == [("alice", "02_self_attention")]
    assert not any(item.ignored for item in one.submissions())
