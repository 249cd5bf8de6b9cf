"""Sets up all tests: groups tests that must run on the same core, and saves time."""

import gc
from contextlib import suppress

import pytest

# The suites that grade are collected below this file, too, and need no hypothesis.
with suppress(ModuleNotFoundError):
    from hypothesis import settings

    settings.register_profile("kit", deadline=None)  # a busy machine is not a failure
    settings.load_profile("kit")

# These files share a fork server, and most of them a fixture that runs all wrong programs.
GRADE_CLASS = tuple(
    f"tests/e2e/test_{name}.py"
    for name in (
        "carried_errors",
        "course_secret",
        "examples",
        "fresh_mistakes",
        "real_files",
        "rewrites",
        "unknown_mistakes",
    )
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep the tests of a file together, and files that share a fixture."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415  # only where xdist is used

    class OneCoreForEachFixture(LoadFileScheduling):
        """Gives all tests of a group to one core."""

        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "grade_class" if file in GRADE_CLASS else file

    return OneCoreForEachFixture(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep imports out of garbage collections, of which each inner run of pytest makes five."""
    gc.freeze()
