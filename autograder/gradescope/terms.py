"""What a bundle was made for: written here, read again where it grades."""

from typing import Literal

import msgspec

from autograder.course import Name
from autograder.sandbox.isolation import Isolation

TERMS_FILE = "bundle.toml"


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``bundle.toml`` as written; *isolation* is the least that the container must give."""

    format_version: Literal[1]
    stages: tuple[Name, ...]
    isolation: Isolation


def to_toml(terms: Terms) -> bytes:
    """Write *terms*; a ``Name`` holds nothing that TOML would have to escape."""
    stages = ", ".join(f'"{stage}"' for stage in terms.stages)
    return (
        f"format_version = {terms.format_version}\n"
        f"stages = [{stages}]\n"
        f'isolation = "{terms.isolation}"\n'
    ).encode()
