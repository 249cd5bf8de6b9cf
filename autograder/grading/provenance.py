"""Hashes everything that can affect a grade: the kit, packages, the course and its secret.

Equal digests mean equal grades, so a journal can reuse results. This module does not import torch.
"""

import hashlib
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from autograder import __version__
from autograder.course import STAGE_FILE, Course, Stage, course_secret
from autograder.results import Audit, Results, Settings, SubmissionResult
from autograder.submission import Submission
from autograder.submission.files import in_sentence

KIT = Path(__file__).parents[1]
_KIT_FILES = frozenset({".py", ".ini", ".toml"})  # templates affect pages but no grades
_INSTALLED = (".dist-info", ".egg-info")  # folders named after a package and its version
_CACHES = frozenset({"__pycache__", ".ipynb_checkpoints"})


class Provenance:
    """Everything that affects the grades of a run of *course*, except the submissions."""

    def __init__(self, course: Course, isolation: str, *, diagnose: bool = True) -> None:
        self._course = course
        self._isolation = isolation
        self._stages: dict[str, str] = {}
        secret = course_secret(course.root)
        self._has_secret = bool(secret)
        digest = hashlib.sha256(secret).hexdigest()
        decides = (self.settings, isolation, diagnose, course.id, digest)
        self._run = _sha256([msgspec.json.encode(decides)])

    @cached_property
    def settings(self) -> Settings:
        """Versions, limits, and digests of the files that all stages share."""
        return Settings(
            kit=__version__,
            kit_sha256=_digest(KIT, (path for path in KIT.rglob("*") if path.suffix in _KIT_FILES)),
            course_sha256=self._shared_files(),
            python=platform.python_version(),
            torch=torch_version(),
            machine=platform.machine(),
            packages_sha256=_sha256(sorted(_installed())),
            limits=msgspec.to_builtins(self._course.limits),
        )

    def suite_sha256(self, name: str) -> str:
        """Return the digest of the files that affect only the stage *name*; "" if there is none."""
        if name not in self._stages:
            self._stages[name] = _suite_digest(self._course, name)
        return self._stages[name]

    def facts(self, stages: Iterable[str]) -> dict[str, Any]:
        """Return what decides the grades of *stages*, by name, so that machines can be compared.

        Only the last fact depends on the secret. If all others are equal, the secret differs.
        """
        facts: dict[str, Any] = msgspec.to_builtins(self.settings)
        facts |= {f"the suite or solution of {name}": self.suite_sha256(name) for name in stages}
        return facts | {"the digest of the course's secret": self.key("", "")}

    def key(self, stage: str, digest: str) -> str:
        """Return the digest of everything that affects the grade of a submission of *stage*.

        *digest* is that of the submission.
        """
        return _sha256([part.encode() for part in (self._run, self.suite_sha256(stage), digest)])

    def begin(self, submission: Submission) -> Callable[[SubmissionResult], SubmissionResult]:
        """Start the time of *submission*; return the function that adds the audit to its result."""
        key = self.key(submission.stage, submission.digest)
        start = time.monotonic()  # unlike the system's time, it can't be set back

        def end(result: SubmissionResult) -> SubmissionResult:
            audit = Audit(
                graded=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
                seconds=round(time.monotonic() - start, 3),
                isolation=self._isolation,
                suite_sha256=self.suite_sha256(submission.stage),
                key=key,
            )
            return replace(result, audit=audit)

        return end

    def record(self, submissions: Iterable[SubmissionResult]) -> Results:
        """Return the record of the run, with the results of its *submissions*."""
        return Results(
            course=self._course.id,
            isolation=self._isolation,
            submissions=tuple(submissions),
            hidden_inputs="secret" if self._has_secret else "public",
            settings=self.settings,
        )

    def _shared_files(self) -> str:
        """Return the digest of the files and rules that the suites of all stages share."""
        course, hidden = self._course, self._course.documented.parent
        others = {stage.hidden for stage in course.stages}
        shared = hidden.iterdir() if hidden.is_dir() else ()
        files = [path for top in shared if top not in others for path in _below(top)]
        rules = msgspec.json.encode((course.limits, course.reveal, course.grading))
        return _sha256([rules, _digest(course.root, files).encode()])


def _suite_digest(course: Course, name: str) -> str:
    stages = {stage.name: stage for stage in course.stages}
    files = _stage_files(stages[name]) if name in stages else None
    return _digest(course.root, files) if files else ""


def outdated_results(course: Course, results: Results) -> Iterator[str]:
    """Yield, for each stage, a sentence on the results that an earlier suite or solution gave."""
    now: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for one in results.submissions:
        if one.audit is None or not one.audit.suite_sha256:
            continue
        if one.stage not in now:
            now[one.stage] = _suite_digest(course, one.stage)
        if now[one.stage] and one.audit.suite_sha256 != now[one.stage]:
            found.setdefault(one.stage, []).append(one.student)
    for stage, students in sorted(found.items()):
        names = in_sentence(students)
        yield (
            f"{stage}: the suite or the solution has changed since these students were graded: "
            f"{names}. Grade them again, so that the scores are those of the present suite."
        )


def _stage_files(stage: Stage) -> list[Path]:
    tops = (stage.solution.parent, stage.hidden, stage.source / STAGE_FILE)
    return [path for top in tops for path in _below(top)]


def _below(top: Path) -> list[Path]:
    """List the files at or below *top*, without caches of Python and Jupyter."""
    found = top.rglob("*") if top.is_dir() else [top]
    return [path for path in found if not _CACHES.intersection(path.parts)]


def _digest(root: Path, files: Iterable[Path]) -> str:
    """Return the SHA-256 of the contents of *files* and their names relative to *root*."""
    parts = []
    for path in sorted(files):
        if path.is_file():
            parts += [str(path.relative_to(root)).encode("utf-8", "surrogateescape")]
            parts += [path.read_bytes()]
    return _sha256(parts)


def _sha256(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of *parts*, each preceded by its size."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def _installed() -> set[bytes]:
    """Return the names and versions of the packages that this Python finds.

    Vendored packages do not count: setuptools adds its folder to ``sys.path`` when it is imported,
    so equal installations would differ.
    """
    entries = [Path(entry) for entry in sys.path if entry]
    folders = [path for path in entries if path.name != "_vendor" and path.is_dir()]
    names = {path.name for folder in folders for path in folder.iterdir()}
    return {name.encode("utf-8", "surrogateescape") for name in names if name.endswith(_INSTALLED)}


def torch_version() -> str:
    """Return torch's version without an import of torch, or "unknown"."""
    try:
        return version("torch") or "unknown"  # None if its metadata is damaged
    except PackageNotFoundError:  # installed without pip
        return "unknown"
    except FileNotFoundError:  # damaged metadata, if dask has imported its own finder
        return "unknown"
