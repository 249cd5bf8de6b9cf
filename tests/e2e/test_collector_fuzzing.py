"""Tests that no record names a student who did not submit the file.

Each example is a folder with one or several entries that students may make: zips, zips in zips,
folders in folders, links, names of others, names that differ in case only.
``AUTOGRADER_FUZZ_EXAMPLES`` sets how many there are, as in ``test_fuzzing.py``.
"""

import io
import os
import random
import re
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest
from typer.testing import CliRunner

from autograder import course as courses
from autograder.cli import app
from autograder.errors import UsageError
from autograder.gradebook.collection import write_work
from autograder.results import from_json
from autograder.submission.class_division import FindOptions, FoundSubmissions
from autograder.submission.collect import LazySubmissions, find
from autograder.submission.files import is_hidden_or_generated, visible
from autograder.submission.names import LMS, comparison_key, parse_name, student_id
from autograder.submission.roster import Person, Roster

EXAMPLES = os.environ.get("AUTOGRADER_FUZZ_EXAMPLES")
NUMBER = int(EXAMPLES or 200)
SEED = random.SystemRandom().randrange(2**32) if EXAMPLES else 20_261_123
PART = 50  # examples of one test
ROOT = Path(__file__).parents[2]
STAGES = courses.load(ROOT).stages
OUTSIDE = b"known to nobody in this class"
OTHERS = ("ada", "bob", "Ada", "ADA", "zo\u00eb", "zoe\u0308", "ada_101", "Ada Lovelace_7")
MODULE = "self_attention.py"
STAGE = "04_self_attention"
INSIDE = (
    MODULE, "lab.ipynb", f"{STAGE}/{MODULE}", "work.py", "readme.md", "test_public.py", "a/b/c.py",
    "self_attention (1).py", "timestamp.txt", "SELF_ATTENTION.PY", "x" * 200 + ".py",
)  # fmt: skip
ODD = (
    "archive", "extracted", "submitted", "downloaded", STAGE, "..a", "a b", "-r", "--from", "~",
    "$(id)", "a\nb", "\u202efdp.py", "con", "x" * 200, "a.tar.gz", "%s", "{0}", "grades.csv",
    "a.ZIP",
)  # fmt: skip
FORMS: tuple[Callable[[str], str], ...] = (
    lambda name: name,
    lambda name: f"{name}.zip",
    lambda name: f"{name}.ZIP",
    lambda name: f"{name}.py",
    lambda name: f"{name}.ipynb",
    lambda name: f"{name}.txt",
    lambda name: f"{name}_101_9001_{MODULE}",
    lambda name: f"{name}_LATE_102_9002_hw.zip",
    lambda name: f"{name}_7_assignsubmission_file_",
    lambda name: f"{name}_8_assignsubmission_file_hw.zip",
    lambda name: f"x_1_2_{name}_101_assignsubmission_file_",
)


class Maker:
    """Makes random entries of a class."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def name(self) -> str:
        """Return a name that a student may choose: another student's, odd, or in an LMS's form."""
        base = self.chance.choice((*OTHERS, *ODD, "mallory", "mallory"))
        return self.chance.choice(FORMS)(base)

    def data(self, name: str, depth: int) -> bytes:
        """The bytes of a file of that name."""
        if name.lower().endswith(".zip"):
            return self.zip(depth) if self.chance.random() < 0.9 else b"PK\x03\x04 no zip"
        if name.endswith(".ipynb"):
            return b'{"cells": [{"cell_type": "code", "source": "x = 1"}]}'
        return b"x = 1\n"

    def members(self, depth: int) -> Iterator[tuple[str, bytes]]:
        """Members of a zip, or files of a folder: none, one or several."""
        around = "" if self.chance.random() < 0.6 else f"{self.name()}/"
        for _ in range(self.chance.choice((0, 1, 1, 1, 2, 3))):
            own = self.chance.choice(INSIDE) if self.chance.random() < 0.3 else self.name()
            if self.chance.random() < 0.5 and not PurePosixPath(own).suffix:
                own = f"{own}/{self.chance.choice((*INSIDE, self.name()))}"
            name = f"{around}{own}"
            yield name, self.data(name, depth + 1) if depth < 3 else b""

    def zip(self, depth: int) -> bytes:
        """A zip, whose members may be zips; now and then one of them is hostile."""
        page = io.BytesIO()
        with zipfile.ZipFile(page, "w") as archive:
            for name, data in dict(self.members(depth)).items():
                info = zipfile.ZipInfo(name if self.chance.random() < 0.97 else f"../{name}")
                if self.chance.random() < 0.03:
                    info.external_attr = 0o120777 << 16  # a link
                archive.writestr(info, data)
        return page.getvalue()

    def entry(self, folder: Path, secret: Path) -> None:
        """Put one entry into *folder*."""
        place = folder / self.name()
        if os.path.lexists(place):
            return
        kind = self.chance.random()
        if kind < 0.08:
            place.symlink_to(self.chance.choice((secret, secret.parent, folder, Path("gone"))))
        elif kind < 0.12:
            os.mkfifo(place)
        elif kind < 0.45 and "." not in place.name:
            place.mkdir()
            for name, data in self.members(1):
                self.file(place / name, data, secret)
        else:
            place.write_bytes(self.data(place.name, 1))

    def file(self, place: Path, data: bytes, secret: Path) -> None:
        """Put a file, or a link to *secret*, at *place*, if nothing is there yet."""
        if any(path.is_symlink() for path in (place, *place.parents)):
            return
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if self.chance.random() < 0.1:
                place.symlink_to(secret)
            else:
                place.write_bytes(data)
        except OSError:  # a folder of its name, or a name that is too long
            return


@contextmanager
def examples(part: int) -> Iterator[Iterator[tuple[int, random.Random, Path, Path]]]:
    """Yield each example of *part*: its seed, random generator, folder, and a file outside."""
    root = Path(tempfile.mkdtemp(prefix="collector-"))

    def made() -> Iterator[tuple[int, random.Random, Path, Path]]:
        for number in range(part * PART, min(NUMBER, (part + 1) * PART)):
            seed = SEED + number
            chance = random.Random(seed)  # noqa: S311  # no secret depends on it
            place = root / str(seed)
            class_, secret = place / "class", place / "outside" / MODULE
            class_.mkdir(parents=True)
            secret.parent.mkdir()
            secret.write_bytes(OUTSIDE)
            maker = Maker(chance)
            for _ in range(chance.choice((1, 1, 1, 1, 2, 3, 5))):
                maker.entry(class_, secret)
            yield seed, chance, class_, secret
            shutil.rmtree(place)

    try:
        yield made()
    finally:
        shutil.rmtree(root)


def submitters(class_: Path) -> set[str]:
    """Return the ids in the names of the entries, and the id of a class with one entry."""
    return {"class"}.union(*(ids_of(name) for name in shown(class_)))


def ids_of(name: str) -> set[str]:
    """Return the ids that an entry's *name* may give, in the form that a roster compares."""
    parsed = [found.student for lms in LMS if (found := parse_name(name, lms))]
    without = re.sub(r"(?i)\.tar(?:\.\w+)?$", "", name)  # every suffix of an archive
    stems = (student_id(PurePosixPath(one).stem) for one in (name, without))
    logins = [student_id(name[at + 1 :]) for at, letter in enumerate(name) if letter == "-"]
    ids = (*parsed, student_id(name), student_id(without), *stems, *logins)
    return {comparison_key(one) for one in ids}


def shown(class_: Path) -> list[str]:
    """The names of the class's entries, without those that programs leave behind."""
    names = [path.name for path in class_.iterdir()]
    return [name for name in names if not is_hidden_or_generated(PurePosixPath(name))]


def options(chance: random.Random) -> FindOptions:
    """The options of an instructor who names no platform, or a folder."""
    names = {comparison_key(name) for name in (*chance.sample(OTHERS, 3), "mallory")}
    people = [Person(student=f"known {name}", identifiers=frozenset({name})) for name in names]
    roster = Roster(tuple(people)) if chance.random() < 0.3 else None
    return FindOptions(roster=roster, source=chance.choice((None, None, "folder")))


def find_or_refuse(class_: Path, said: FindOptions) -> FoundSubmissions | None:
    """Recognize the class; return ``None`` if it is refused with a sentence."""
    try:
        return find(class_, STAGES, None, said)
    except UsageError as error:
        refused = error

    assert "add --from" in str(refused) or "claim one student" in str(refused)
    assert str(refused).isprintable()
    return None


def tree(root: Path) -> list[tuple[str, int]]:
    """Return every file below *root* with the time of its last change."""
    return sorted((str(path), path.lstat().st_mtime_ns) for path in root.rglob("*"))


@pytest.mark.parametrize("part", range(-(-NUMBER // PART)))
def test_no_record_names_another_student(part: int):
    """Every student of a record has an entry at the top; nothing outside is read or changed."""
    with examples(part) as made:
        for seed, chance, class_, _ in made:
            said, before = options(chance), tree(class_.parent)
            found = find_or_refuse(class_, said)
            if found is None:
                continue
            named = {comparison_key(name.removeprefix("known ")) for name in students(found)}
            text = "".join(map(repr, LazySubmissions.of([found])))

            assert named <= submitters(class_), f"seed {seed}"
            assert OUTSIDE.decode() not in text, f"seed {seed}"
            assert tree(class_.parent) == before, f"seed {seed}"


def students(found: FoundSubmissions) -> list[str]:
    """The students of the records, with and without code."""
    return [outline.student for outline in LazySubmissions.of([found]).outlines()]


@pytest.mark.parametrize("part", range(-(-NUMBER // PART)))
def test_every_entry_has_a_record_or_a_line(part: int):
    """An entry of no student, or of two, is reported, and no student has two records of a stage."""
    with examples(part) as made:
        for seed, chance, class_, _ in made:
            found = find_or_refuse(class_, options(chance))
            if found is None:
                continue
            outlines = list(LazySubmissions.of([found]).outlines())
            twice = Counter((one.student, one.stage) for one in outlines)
            said = " ".join((*found.set_aside, *found.remarks))
            known = {comparison_key(one.student.removeprefix("known ")) for one in outlines}
            lost = [
                name
                for name in shown(class_)
                if visible(name) not in said and not known & ids_of(name)
            ]

            assert lost == [] or not found.is_class, f"seed {seed}"
            assert set(twice.values()) <= {1}, f"seed {seed}"
            assert {one.student for one in outlines} == {one.student for one in found.works}
            said = (*found.set_aside, *found.remarks, found.what)
            assert all(line.isprintable() for line in said), f"seed {seed}"


@pytest.mark.parametrize("part", range(-(-NUMBER // PART)))
def test_nothing_is_collected_outside_of_a_students_folder(part: int):
    """Files keep their bytes, no link is followed, and nothing else is written."""
    with examples(part) as made:
        for seed, chance, class_, secret in made:
            found = find_or_refuse(class_, options(chance))
            target = class_.parent / "submitted"
            target.mkdir()
            before = [item for item in tree(class_.parent) if str(target) not in item[0]]
            for work in found.works if found else ():
                write_work(target / work.student, work)
            after = [item for item in tree(class_.parent) if str(target) not in item[0]]
            written = [path for path in target.rglob("*") if path.is_file()]

            assert after == before, f"seed {seed}"
            assert not any(path.is_symlink() for path in target.rglob("*")), f"seed {seed}"
            assert all(OUTSIDE not in path.read_bytes() for path in written), f"seed {seed}"
            assert secret.read_bytes() == OUTSIDE, f"seed {seed}"


def test_the_command_ends_as_it_says(tmp_path: Path):
    """`collect` ends with code 1, a sentence and no record, or with the student's record alone."""
    chance = random.Random(SEED)  # noqa: S311  # no secret depends on it
    codes = set()
    for number in range(10):
        place = tmp_path / str(number)
        (place / "class").mkdir(parents=True)
        with zipfile.ZipFile(place / "class" / "mallory.zip", "w") as packed:
            form, another = chance.sample(FORMS, 2)
            packed.writestr(form("ada"), b"")
            packed.writestr((form if number % 2 else another)("bob"), b"")
        words = ["grade", str(place / "class"), "--course", str(ROOT), "--json"]
        ended = CliRunner().invoke(app, [*words, str(place / "results.json")])
        codes.add(ended.exit_code)

        if ended.exit_code == 1:
            assert "add --from folder if it is one student's" in ended.output
            assert [path.name for path in place.iterdir()] == ["class"]
        else:
            assert ended.exit_code == 0, ended.output
            results = from_json((place / "results.json").read_bytes()).submissions
            assert {result.student for result in results} == {"mallory"}
    assert codes == {0, 1}
