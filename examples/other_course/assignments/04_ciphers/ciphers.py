"""Ciphers: texts that are shifted along the alphabet, and how their letters give them away.

The alphabet is a to z. Another letter, such as é, is left as it is, like every other character.

Rules for this stage, which are graded like the results:

- Documented values and properties count only if the results are right for other inputs too.
"""

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters(text: str) -> str:
    """Return the letters a to z of *text* in lower case, without any other character.

    "Tea, please!" gives "teaplease".
    """
    raise NotImplementedError


def neighbours(text: str) -> dict[tuple[str, str], int]:
    """Count the pairs of letters that follow each other in the `letters` of *text*.

    The key of a pair is a tuple, such as ("t", "e"). Pairs that do not occur have no entry.
    """
    raise NotImplementedError


def shifted(text: str, steps: int) -> str:
    """Move each letter a to z, small or capital, by *steps* in the alphabet; after z comes a.

    *steps* may be negative or larger than 26. A capital letter stays a capital one.
    """
    raise NotImplementedError


def likely_steps(text: str) -> int | None:
    """Return by how many steps, 0 to 25, *text* was probably shifted: its commonest letter is e.

    Use `letters`. Of equally common letters, the first one in the alphabet counts. A text without
    letters gives None.
    """
    raise NotImplementedError


def solved(text: str) -> str:
    """Shift *text* back by its `likely_steps`; a text without letters stays as it is."""
    raise NotImplementedError


def sealed(text: str, steps: int) -> bytes:
    """Return the shifted *text* as UTF-8, after one byte with the number of *steps* (0 to 25)."""
    raise NotImplementedError
