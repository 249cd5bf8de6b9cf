"""``nbgrader zip_collect`` on what browsers download from Canvas, Moodle, or anywhere else."""

from pathlib import PurePath

from nbgrader.plugins import FileNameCollectorPlugin
from traitlets import List

from autograder.submission.bundle import is_litter
from autograder.submission.names import handed_in


class Collector(FileNameCollectorPlugin):
    """Tells a file's student as ``autograder grade`` does, so that no regular expression is needed.

    Only modules and notebooks are taken: a ``timestamp.txt`` of the student's own would pass for
    nbgrader's. Of two files of one name the first is kept, where nbgrader gives up on the class.
    """

    valid_ext = List([".ipynb", ".py"]).tag(config=True)

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return student and file of *submitted_file*, an absolute path; None: pass it over."""
        path = self._below_extracted(PurePath(submitted_file))
        if self.named_regexp:  # the instructor knows better
            told: dict[str, str] | None = super().collect(submitted_file)
            return told
        if path.suffix.lower() not in self.valid_ext or is_litter(path):  # type: ignore[arg-type]  # only `parts` are looked at
            return None
        told_by_name = handed_in(path.parts[0])
        file = path.name if len(path.parts) > 1 else told_by_name.file
        student = told_by_name.student if told_by_name.by_lms or len(path.parts) > 1 else ""
        if not student:
            self.log.warning("Whose is %s? Put it into a folder named after the student.", path)
            return None
        if self._is_known(student, file):
            self.log.warning("%s handed in two files named %s; the first is kept.", student, file)
            return None
        return {"student_id": student, "file_id": file}

    def _below_extracted(self, path: PurePath) -> PurePath:
        app = self.parent
        folder = app._format_collect_path(app.extracted_directory)  # noqa: SLF001  # nbgrader tells it nowhere else
        return path.relative_to(folder)

    def _is_known(self, student: str, file: str) -> bool:
        known: set[tuple[str, str]] = self.__dict__.setdefault("_known", set())
        is_known = (student, file) in known
        known.add((student, file))
        return is_known
