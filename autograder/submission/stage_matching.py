"""Matches files to stages, and finds a stage's module and notebook among them."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from autograder.course import LAB, Stage
from autograder.submission.files import MODULE, NOTEBOOK, HandInFile
from autograder.submission.names import comparison_key, original_stem

_LAB = LAB.removesuffix(NOTEBOOK)


class StageResolver(msgspec.Struct, frozen=True, kw_only=True):
    """Decides which stage a file belongs to."""

    stages: tuple[Stage, ...]
    only: Stage | None = None  # grade no other stage
    enclosing: Stage | None = None  # the whole hand-in lies in a folder of this stage

    @property
    def wanted(self) -> tuple[Stage, ...]:
        """The stages to grade."""
        return (self.only,) if self.only else self.stages

    @property
    def default_stage(self) -> Stage | None:
        """The stage of files whose names match none."""
        return self.wanted[0] if len(self.wanted) == 1 else None

    def stage_of(self, path: PurePosixPath) -> Stage | None:
        """Return the stage of the nearest folder named like one, else by the file's own name."""
        for part in reversed(path.parts):  # the last one too: a link may replace the folder
            if stage := self.stage_named(part):
                return stage
        return self.enclosing or self._stage_of_file(path)

    def stage_named(self, name: str) -> Stage | None:
        """Return the stage whose folder would be named *name*."""
        key = comparison_key(name)
        return next((stage for stage in self.stages if comparison_key(stage.name) == key), None)

    def matches(self, name: str) -> bool:
        """Return whether a folder or a file of that name, or a copy of it, is part of a stage."""
        path = PurePosixPath(name)
        is_lab = path.suffix.lower() == NOTEBOOK and _is_copy(path, _LAB)
        return is_lab or (self.stage_named(name) or self._stage_of_file(path)) is not None

    def _stage_of_file(self, path: PurePosixPath) -> Stage | None:
        # All exact names first: a module may be called `mask-2`.
        for is_match in (_is_exact, _is_copy):
            for stage in self.stages:
                if any(is_match(path, stem) for stem in _stems(stage, path)):
                    return stage
        return None


def find_module(stage: Stage, files: Sequence[HandInFile], *, is_bare: bool) -> HandInFile | None:
    """Return the module by its name, else a copy of it, else the one file of a bare hand-in."""
    modules = [file for file in files if file.suffix == MODULE]
    return _find_named(modules, (stage.module,)) or (_only_one(modules) if is_bare else None)


def find_notebook(stage: Stage, files: Sequence[HandInFile]) -> HandInFile | None:
    """Return the notebook by one of its names, else a copy of it, else the only notebook."""
    notebooks = [file for file in files if file.suffix == NOTEBOOK]
    return _find_named(notebooks, (stage.module, stage.name, _LAB)) or _only_one(notebooks)


def _find_named(files: Sequence[HandInFile], stems: Iterable[str]) -> HandInFile | None:
    for is_match in (_is_exact, _is_copy):
        for stem in stems:
            if matching := [file for file in files if is_match(file.path, stem)]:
                return min(matching, key=_by_depth)
    return None


def _stems(stage: Stage, path: PurePosixPath) -> tuple[str, ...]:
    by_suffix = {MODULE: (stage.module,), NOTEBOOK: (stage.module, stage.name)}
    return by_suffix.get(path.suffix.lower(), ())


def _is_exact(path: PurePosixPath, stem: str) -> bool:
    return path.stem == stem


def _is_copy(path: PurePosixPath, stem: str) -> bool:
    return original_stem(path.stem)[0] == comparison_key(stem)


def _by_depth(file: HandInFile) -> tuple[int, int, str]:
    """Sort the nearest to the top first; of several copies the last one, as browsers count."""
    return len(file.path.parts), -original_stem(file.path.stem)[1], str(file.path)


def _only_one(files: Sequence[HandInFile]) -> HandInFile | None:
    return files[0] if len(files) == 1 else None
