"""Releases feedback by nbgrader to a class in which not everybody used the exchange."""

import glob
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback

from autograder.submission.assemble import STAMP

# Only the exchange gives out the first, by which a student finds the page; nbgrader reads both.
_OF_THE_EXCHANGE = ("submission_secret.txt", STAMP)


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Leaves out students who submitted another way; nbgrader's class would refuse everybody."""

    src_path: str  # a pattern; nbgrader sets it before it copies

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
                "Not submitted through the exchange, where no page can be found without its "
                "secret; give these pages back another way: %s",
                ", ".join(outside),
            )
