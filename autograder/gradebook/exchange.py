"""Releases feedback through nbgrader's exchange, even if some students did not use it."""

import glob
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback

from autograder.submission.assemble import STAMP

# nbgrader reads both files to release a page. Only the exchange creates the secret.
_OF_THE_EXCHANGE = ("submission_secret.txt", STAMP)


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Releases feedback to those who used the exchange, and skips students who did not.

    nbgrader's own class releases nothing if one student did not use it.
    """

    src_path: str  # a glob pattern, which nbgrader sets before it calls ``copy_files``

    def copy_files(self) -> None:
        """Release the pages of students who used the exchange, and list the others."""
        outside = []
        for folder in sorted(map(Path, glob.glob(self.src_path))):  # noqa: PTH207  # an absolute pattern
            if all((folder / name).is_file() for name in _OF_THE_EXCHANGE):
                self.src_path = glob.escape(str(folder))
                super().copy_files()
            else:
                outside.append(str(folder.relative_to(self.coursedir.root)))
        if outside:
            self.log.warning(
                "Not submitted through the exchange, which cannot return a page without its "
                "secret; return these pages in a different way: %s",
                ", ".join(outside),
            )
