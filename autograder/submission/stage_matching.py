"""Which stage a file belongs to, and which of a stage's files is the submission."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from autograder.course import LAB, Stage
from autograder.submission.files import HandInFile, HandInFiles
from autograder.submission.names import original, same

MODULE = ".py"
NOTEBOOK = ".ipynb"
_LAB = LAB.removesuffix(NOTEBOOK)


class StageResolver(msgspec.Struct, frozen=True, kw_only=True):
    """What tells a file's stage."""

    stages: tuple[Stage, ...]
    only: Stage | None = None  # grade no other stage
    home: Stage | None = None  # PATH lies in a folder of this stage

    @property
    def wanted(self) -> tuple[Stage, ...]:
        """The stages to grade."""
        return (self.only,) if self.only else self.stages

    @property
    def default_stage(self) -> Stage | None:
        """The stage of files whose names tell none."""
        return self.wanted[0] if len(self.wanted) == 1 else None

    def stage_of(self, path: PurePosixPath) -> Stage | None:
        """Tell by the nearest folder named like a stage, else by the file's own name."""
        for part in reversed(path.parts):  # the last one too: a link may replace the folder
            stage = self.named(part)
            if stage:
                return stage
        return self.home or self._declaring(path)

    def named(self, name: str) -> Stage | None:
        """Find the stage of that name, as a folder would be named."""
        return next((stage for stage in self.stages if same(stage.name) == same(name)), None)

    def knows(self, name: str) -> bool:
        """Tell whether a folder or a file of that name, or a copy of such, is part of a stage."""
        path = PurePosixPath(name)
        is_lab = path.suffix.lower() == NOTEBOOK and _is_copy(path, _LAB)
        return is_lab or (self.named(name) or self._declaring(path)) is not None

    def _declaring(self, path: PurePosixPath) -> Stage | None:
        for fits in (_is_exact, _is_copy):  # all exact names first: a module may be called `mask-2`
            for stage in self.stages:
                if any(fits(path, stem) for stem in _stems(stage, path)):
                    return stage
        return None


def module_of(stage: Stage, bundle: HandInFiles) -> HandInFile | None:
    """Return the module by its name, else a copy of it, else the one file of a bare hand-in."""
    modules = [found for found in bundle.files if found.suffix == MODULE]
    named = _nearest_named(modules, (stage.module,))
    return named or (_sole(modules) if bundle.bare else None)


def notebook_of(stage: Stage, bundle: HandInFiles) -> HandInFile | None:
    """Return the notebook by one of its names, else a copy of it, else the only notebook."""
    notebooks = [found for found in bundle.files if found.suffix == NOTEBOOK]
    return _nearest_named(notebooks, (stage.module, stage.name, _LAB)) or _sole(notebooks)


def _nearest_named(files: Sequence[HandInFile], stems: Iterable[str]) -> HandInFile | None:
    tests: tuple[Callable[[PurePosixPath, str], bool], ...] = (_is_exact, _is_copy)
    for fits in tests:
        for stem in stems:
            fitting = [found for found in files if fits(found.path, stem)]
            if fitting:
                return min(fitting, key=_by_depth)
    return None


def _stems(stage: Stage, path: PurePosixPath) -> tuple[str, ...]:
    by_suffix = {MODULE: (stage.module,), NOTEBOOK: (stage.module, stage.name)}
    return by_suffix.get(path.suffix.lower(), ())


def _is_exact(path: PurePosixPath, stem: str) -> bool:
    return path.stem == stem


def _is_copy(path: PurePosixPath, stem: str) -> bool:
    return original(path.stem)[0] == same(stem)


def _by_depth(found: HandInFile) -> tuple[int, int, str]:
    """Nearest to the top; of several copies the last one, as browsers count."""
    return len(found.path.parts), -original(found.path.stem)[1], str(found.path)


def _sole(files: Sequence[HandInFile]) -> HandInFile | None:
    return files[0] if len(files) == 1 else None
