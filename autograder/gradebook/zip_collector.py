"""``nbgrader zip_collect`` for downloads from Canvas, Moodle, or anywhere else."""

from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from nbgrader.plugins import FileNameCollectorPlugin
from traitlets import List

from autograder.submission.files import is_hidden_or_generated
from autograder.submission.names import parse_download_name


class ZipCollector(FileNameCollectorPlugin):
    """Finds a file's student as ``autograder grade`` does, without a regular expression.

    Only modules and notebooks are taken: a student's own ``timestamp.txt`` would be taken for
    nbgrader's. Of two files of one name the first is kept, where nbgrader refuses the whole class.
    """

    valid_ext = List([".ipynb", ".py"]).tag(config=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._collected: set[tuple[str, str]] = set()

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return student and file of *submitted_file*, an absolute path; None to skip it."""
        if self.named_regexp:  # the instructor has chosen one
            collected: dict[str, str] | None = super().collect(submitted_file)
            return collected
        path = Path(submitted_file).relative_to(self._root)
        if path.suffix.lower() not in self.valid_ext or is_hidden_or_generated(path):  # type: ignore[arg-type]  # only `parts` are looked at
            return None
        name = parse_download_name(path.parts[0])
        file = path.name if len(path.parts) > 1 else name.file
        student = name.student if name.by_lms or len(path.parts) > 1 else ""
        if not student:
            self.log.warning("Whose is %s? Put it into a folder named after the student.", path)
            return None
        if (student, file) in self._collected:
            self.log.warning("%s handed in two files named %s; the first is kept.", student, file)
            return None
        self._collected.add((student, file))
        return {"student_id": student, "file_id": file}

    @cached_property
    def _root(self) -> Path:
        """The folder whose entries are named after students.

        It is the only entry of the extracted files where an LMS packed the class in one archive.
        """
        app = self.parent
        extracted = Path(app._format_collect_path(app.extracted_directory))  # noqa: SLF001  # nbgrader offers no other way to it
        entries = list(extracted.iterdir())
        if len(entries) != 1 or not entries[0].is_dir():
            return extracted
        names = [
            parse_download_name(path.name)
            for path in entries[0].iterdir()
            if not is_hidden_or_generated(PurePosixPath(path.name))
        ]
        is_class = bool(names) and all(name.by_lms for name in names)
        return (
            entries[0]
            if is_class and not parse_download_name(entries[0].name).by_lms
            else extracted
        )
