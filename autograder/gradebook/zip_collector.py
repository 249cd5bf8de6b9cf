"""Collects downloads from Canvas, Moodle and elsewhere, for ``nbgrader zip_collect``.

The plugins collect the same files as ``autograder collect``. nbgrader's own plugins would unpack
archives of any size, stop at the first damaged archive, and keep only notebooks.
"""

from pathlib import Path, PurePosixPath
from typing import Any

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin
from traitlets import Bool, List, Unicode

from autograder.course import load
from autograder.errors import AutograderError, UnclearOwnerError
from autograder.gradebook.collection import Collection, roster_of_gradebook, write_work
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.score_rows import parse_timestamp
from autograder.submission.assemble import STAMP
from autograder.submission.class_division import FindOptions, FoundSubmissions
from autograder.submission.collect import find
from autograder.submission.files import UnusableFile, is_hidden_or_generated, reason
from autograder.submission.place import entry_at, open_entries
from autograder.submission.roster import Roster
from autograder.submission.worksheet import Worksheet

MAX_UNPACKED = 16 * 2**20  # bytes of one file; as many as a graded notebook may have


class BoundedExtractor(ExtractorPlugin):
    """Copies the submissions of a download into one folder per student, without unpacking them."""

    roster = Unicode(
        "", help="Canvas's gradebook export or students.csv; see `autograder collect --roster`."
    ).tag(config=True)
    id_column = Unicode(
        "", help="The roster's column of ids; see `autograder collect --id-column`."
    ).tag(config=True)
    worksheet = Unicode(
        "", help="Moodle's grading worksheet; see `autograder collect --worksheet`."
    ).tag(config=True)
    unwrap = Bool(
        None,
        allow_none=True,
        help=(
            "Whether the only entry of archive/ is the download of a class (True) or one "
            "student's submission (False); None refuses an entry that could be either."
        ),
    ).tag(config=True)

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Write ``extracted/<student>/`` for each submission at *archive_path*."""
        archive, extracted = Path(archive_path), Path(extracted_path)
        try:
            if self.parent.collector_plugin_inst.named_regexp:
                self._unpack(archive, extracted)
                return
            self._lay_out(archive, extracted)
        except UnclearOwnerError as error:
            here = "--BoundedExtractor.unwrap=True, --BoundedExtractor.unwrap=False"
            self.parent.fail(f"{error} In nbgrader these options are {here}.")
        except AutograderError as error:
            self.parent.fail(str(error))

    def _lay_out(self, archive: Path, extracted: Path) -> None:
        setup = NbgraderSetup(self.parent.config, self.parent.coursedir)
        course = load(Path(setup.coursedir.root))
        stage = course.stage(setup.coursedir.assignment_id)
        found = find(archive, course.stages, stage, self._options(setup))
        self._report(found)
        collection = Collection(setup, stage)
        for work in found.works:
            try:
                write_work(extracted / work.student, work, collection.stamp(work))
            except OSError as error:
                self.log.warning("%s could not be stored (%s)", work.student, reason(error))
        for remark in collection.remarks(found):
            self.log.warning("%s", remark)

    def _options(self, setup: NbgraderSetup) -> FindOptions:
        place = Path(setup.coursedir.root) / self.worksheet
        worksheet = Worksheet.read(place) if self.worksheet else None
        return FindOptions(roster=self._roster(setup), worksheet=worksheet, unwrap=self.unwrap)

    def _roster(self, setup: NbgraderSetup) -> Roster:
        if self.roster:
            return Roster.read(Path(setup.coursedir.root) / self.roster, id_column=self.id_column)
        if not setup.has_gradebook:
            return Roster(())
        with setup.gradebook() as book:
            return roster_of_gradebook(book)

    def _report(self, found: FoundSubmissions) -> None:
        self.log.info("%s", found.what)
        for remark in found.set_aside:
            self.log.warning("%s", remark)

    def _unpack(self, archive: Path, extracted: Path) -> None:
        """Unpack each archive within bounds, so that ``named_regexp`` can match the files in it."""
        for place in sorted(archive.iterdir()):
            if is_hidden_or_generated(PurePosixPath(place.name)):
                continue
            entry = entry_at(place)
            work = open_entries(place.stem, [entry], lms="")
            folder = extracted / place.stem if entry.kind in {"archive", "folder"} else extracted
            for fault in work.faults:
                self.log.warning("%s: %s", place.name, fault)
            for file in work.files:
                try:
                    data = file.read(MAX_UNPACKED)
                except UnusableFile as error:
                    self.log.warning("%s: %s", place.name, error)
                    continue
                (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
                (folder / file.path).write_bytes(data)


class ZipCollector(FileNameCollectorPlugin):
    """Reads the student's id from the path that ``BoundedExtractor`` created.

    If the instructor sets the regular expression ``named_regexp``, the id is taken from it instead.
    """

    valid_ext = List([".ipynb", ".py"]).tag(config=True)  # only with named_regexp

    def collect(self, submitted_file: str) -> dict[str, Any] | None:
        """Return the student and file of *submitted_file*, an absolute path, or None to skip it."""
        if self.named_regexp:
            collected: dict[str, Any] | None = super().collect(submitted_file)
            return collected
        app = self.parent
        extracted = Path(app._format_collect_path(app.extracted_directory))  # noqa: SLF001  # nbgrader has no public method for it
        path = PurePosixPath(Path(submitted_file).relative_to(extracted))
        if len(path.parts) < 2 or path.name == STAMP:  # noqa: PLR2004  # <student>/<file>
            return None
        found = {"student_id": path.parts[0], "file_id": str(PurePosixPath(*path.parts[1:]))}
        stamp = extracted / path.parts[0] / STAMP
        time = parse_timestamp(stamp.read_text("utf-8").strip()) if stamp.is_file() else None
        return found | ({"timestamp": f"{time} UTC"} if time else {})
