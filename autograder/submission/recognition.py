"""Decides which platform made a download, and to whom its entries belong.

Unless the instructor names the platform, it is the first of Canvas, Moodle, nbgrader and GitHub
Classroom that every entry fits. An entry that can't be read abstains. nbgrader and GitHub Classroom
have a folder for each student, so a file that can't be a submission abstains, too; for nbgrader,
also a folder without the folder of a stage. If only some entries fit, nothing is assumed. If none
fits, all entries are one submission (``entries.holds_submission``), or each is one student's.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import msgspec

from autograder.errors import UnclearDownloadError
from autograder.submission.download_names import (
    TITLES,
    ParsedName,
    Source,
    parse_name,
    parse_repository,
    shared_prefix,
)
from autograder.submission.entries import holds_stages, holds_submission
from autograder.submission.files import visible
from autograder.submission.gradescope_export import METADATA, read_submitters
from autograder.submission.names import StageResolver
from autograder.submission.place import Entry
from autograder.submission.roster import Roster

_ORDER: Final[tuple[Source, ...]] = ("canvas", "moodle", "nbgrader", "github")
_FOLDERS: Final = {"nbgrader", "github"}  # platforms with a folder for each student


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a class; *owners* returns the students of an entry, by its name."""

    entries: Sequence[Entry]
    platform: str  # a key of ``TITLES``; "" for a folder with one entry for each student
    owners: Callable[[Entry], list[ParsedName]]
    prefix: str = ""  # before the logins of GitHub Classroom


class Recognizer:
    """Recognizes the download at a path called *label*, which has *entries*."""

    def __init__(
        self, label: str, entries: Sequence[Entry], resolver: StageResolver, roster: Roster | None
    ) -> None:
        self._label = visible(label)
        self._entries = entries
        self._resolver = resolver
        self._roster = roster

    def recognize(self, source: Source | None) -> Download | None:
        """Return the download, from *source* if it is given; None if it is one submission.

        Raises ``UnclearDownloadError`` if only some entries fit a platform, or none fits *source*.
        """
        if source is None:
            is_export = any(entry.name == METADATA for entry in self._entries)
            source = "folder" if is_export else self._decide()
        if source == "folder":
            return self._folder()
        if True not in self._votes(source):
            if source == "nbgrader" and holds_submission(self._entries, self._resolver):
                return None
            raise UnclearDownloadError(self._nothing_fits(source))
        return Download(
            entries=self._entries,
            platform=source,
            owners=lambda entry: self._owners(source, entry),
            prefix=(self._prefix or "") if source == "github" else "",
        )

    def _decide(self) -> Source:
        """Return the platform that every entry fits, else ``folder``."""
        # Repositories may contain folders of stages, as in nbgrader: then logins decide.
        order: tuple[Source, ...] = ("github", *_ORDER) if self._login_prefix else _ORDER
        votes = {platform: self._votes(platform) for platform in order}
        for platform, fits in votes.items():
            if True in fits and False not in fits:
                return platform
        for platform, fits in votes.items():
            # A student's own folders may share a prefix, or contain folders of stages.
            if fits.count(True) > (fits.count(False) if platform in _FOLDERS else 0):
                raise UnclearDownloadError(self._unclear(platform, fits))
        return "folder"

    def _votes(self, platform: Source) -> list[bool | None]:
        return [self._vote(platform, entry) for entry in self._entries]

    def _vote(self, platform: Source, entry: Entry) -> bool | None:
        """Return whether *entry* fits *platform*; None if it abstains."""
        if self._parse(platform, entry):
            return platform != "nbgrader" or holds_stages(entry, self._resolver) or None
        may_be_note = platform in _FOLDERS and entry.kind == "other"
        return None if may_be_note or not entry.is_readable else False

    def _parse(self, platform: Source, entry: Entry) -> ParsedName | None:
        if platform not in _FOLDERS:
            return parse_name(entry.name, platform)
        if entry.kind != "folder" or self._resolver.stage_named(entry.name):
            return None
        if platform == "nbgrader":
            return entry.plain_name()
        return None if self._prefix is None else parse_repository(entry.name, self._prefix)

    @cached_property
    def _prefix(self) -> str | None:
        """The prefix of GitHub Classroom's repositories; None if it is unknown."""
        if self._login_prefix is not None:
            return self._login_prefix
        return shared_prefix(self._folders) or None

    @cached_property
    def _login_prefix(self) -> str | None:
        """The prefix before the logins of the roster; None if no folder is named after one."""
        return self._roster.prefix_of(self._folders) if self._roster else None

    @property
    def _folders(self) -> list[str]:
        return [entry.name for entry in self._entries if entry.kind == "folder"]

    def _owners(self, platform: Source, entry: Entry) -> list[ParsedName]:
        """Return the owner of *entry*; an entry that can't be read keeps its own name."""
        if parsed := self._parse(platform, entry):
            return [parsed]
        return [] if entry.is_readable else [entry.plain_name()]

    def _folder(self) -> Download | None:
        """Return an export of Gradescope, or one entry for each student; None: one submission."""
        submitters = read_submitters(self._entries)
        if submitters is None:
            if holds_submission(self._entries, self._resolver):
                return None
            return Download(entries=self._entries, platform="", owners=_plain_owner)
        return Download(
            entries=[entry for entry in self._entries if entry.name != METADATA],
            platform="gradescope",
            owners=lambda entry: submitters.get(entry.name) or _plain_owner(entry),
        )

    def _unclear(self, platform: Source, votes: Sequence[bool | None]) -> str:
        odd = [
            entry.name for entry, vote in zip(self._entries, votes, strict=True) if vote is False
        ]
        title = TITLES[platform]
        number = votes.count(True)
        some = "1 name is" if number == 1 else f"{number} names are"
        return (
            f"{self._label}: {some} as {title} makes them, but not {_shown(odd)}. Nothing was "
            f"graded or collected. If it is a download from {title}, add --from {platform}; if "
            "each entry is one student's, add --from folder."
        )

    def _nothing_fits(self, source: Source) -> str:
        names = [entry.name for entry in self._entries]
        hint = f"Pass what you downloaded from {TITLES[source]}, or leave out --from."
        if source == "github":
            hint = (
                "The folders have to share a prefix that ends in a hyphen; for a single folder, "
                "pass Classroom's roster with --roster."
            )
        is_as = f"no name is as {TITLES[source]} makes them"
        return f"{self._label}: {is_as}, such as {_shown(names) or 'none at all'}. {hint}"


def _plain_owner(entry: Entry) -> list[ParsedName]:
    return [entry.plain_name()] if entry.is_work else []


def _shown(names: Sequence[str]) -> str:
    """Return two of *names*, safe to print."""
    return " and ".join(map(visible, names[:2]))
