"""Ciphers: texts that are shifted along the alphabet, and how their letters give them away.

The alphabet is a to z. Another letter, such as é, is left as it is, like every other character.
"""

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters(text: str) -> str:
    """Return the letters a to z of *text* in lower case, without any other character.

    "Tea, please!" gives "teaplease".
    """
    return "".join(sign for sign in text.lower() if sign in ALPHABET)


def neighbours(text: str) -> dict[tuple[str, str], int]:
    """Count the pairs of letters that follow each other in the `letters` of *text*.

    The key of a pair is a tuple, such as ("t", "e"). Pairs that do not occur have no entry.
    """
    kept = letters(text)
    counts: dict[tuple[str, str], int] = {}
    for pair in zip(kept, kept[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def shifted(text: str, steps: int) -> str:
    """Move each letter a to z, small or capital, by *steps* in the alphabet; after z comes a.

    *steps* may be negative or larger than 26. A capital letter stays a capital one.
    """
    found = []
    for sign in text:
        if sign.lower() in ALPHABET:
            place = (ALPHABET.index(sign.lower()) - steps) % len(ALPHABET)
            found.append(ALPHABET[place].upper() if sign.isupper() else ALPHABET[place])
        else:
            found.append(sign)
    return "".join(found)


def likely_steps(text: str) -> int | None:
    """Return by how many steps, 0 to 25, *text* was probably shifted: its commonest letter is e.

    Use `letters`. Of equally common letters, the first one in the alphabet counts. A text without
    letters gives None.
    """
    kept = letters(text)
    if not kept:
        return None
    commonest = max(ALPHABET, key=kept.count)
    return (ALPHABET.index(commonest) - ALPHABET.index("e")) % len(ALPHABET)


def solved(text: str) -> str:
    """Shift *text* back by its `likely_steps`; a text without letters stays as it is."""
    steps = likely_steps(text)
    return text if steps is None else shifted(text, -steps)


def sealed(text: str, steps: int) -> bytes:
    """Return the shifted *text* as UTF-8, after one byte with the number of *steps* (0 to 25)."""
    return bytes([steps]) + shifted(text, steps).encode()
