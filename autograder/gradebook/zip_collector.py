"""``nbgrader zip_collect`` on what browsers download from Canvas, Moodle, or anywhere else."""

from pathlib import Path, PurePosixPath

from nbgrader.plugins import FileNameCollectorPlugin
from traitlets import List

from autograder.submission.files import is_hidden_or_generated
from autograder.submission.names import parse_download_name


class Collector(FileNameCollectorPlugin):
    """Tells a file's student as ``autograder grade`` does, so that no regular expression is needed.

    Only modules and notebooks are taken: a ``timestamp.txt`` of the student's own would pass for
    nbgrader's. Of two files of one name the first is kept, where nbgrader gives up on the class.
    """

    valid_ext = List([".ipynb", ".py"]).tag(config=True)

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return student and file of *submitted_file*, an absolute path; None: pass it over."""
        path = self._below_download(Path(submitted_file))
        if self.named_regexp:  # the instructor knows better
            told: dict[str, str] | None = super().collect(submitted_file)
            return told
        if path.suffix.lower() not in self.valid_ext or is_hidden_or_generated(path):  # type: ignore[arg-type]  # only `parts` are looked at
            return None
        parse_name = parse_download_name(path.parts[0])
        file = path.name if len(path.parts) > 1 else parse_name.file
        student = parse_name.student if parse_name.by_lms or len(path.parts) > 1 else ""
        if not student:
            self.log.warning("Whose is %s? Put it into a folder named after the student.", path)
            return None
        if self._is_known(student, file):
            self.log.warning("%s handed in two files named %s; the first is kept.", student, file)
            return None
        return {"student_id": student, "file_id": file}

    def _below_download(self, file: Path) -> Path:
        """Return the part of *file* that begins with a student's name."""
        app = self.parent
        folder = Path(app._format_collect_path(app.extracted_directory))  # noqa: SLF001  # nbgrader tells it nowhere else
        path = file.relative_to(folder)
        return path.relative_to(path.parts[0]) if self._is_one_download(folder) else path

    def _is_one_download(self, folder: Path) -> bool:
        """Whether an LMS packed the whole class into one archive: inside, each name is its own."""
        if "_one" not in self.__dict__:
            tops = list(folder.iterdir())
            inside = list(tops[0].iterdir()) if len(tops) == 1 and tops[0].is_dir() else []
            names = [
                path.name for path in inside if not is_hidden_or_generated(PurePosixPath(path.name))
            ]
            told = [parse_download_name(name).by_lms for name in names]
            self.__dict__["_one"] = (
                bool(told) and all(told) and not parse_download_name(tops[0].name).by_lms
            )
        one: bool = self.__dict__["_one"]
        return one

    def _is_known(self, student: str, file: str) -> bool:
        known: set[tuple[str, str]] = self.__dict__.setdefault("_known", set())
        is_known = (student, file) in known
        known.add((student, file))
        return is_known
