"""Words the sentences about answers, and quotes values that are not tensors.

A student's code decides how long values are, so quotations are short.
"""

import re
from collections.abc import Collection
from itertools import islice
from typing import Final

MAX_SHOWN: Final = 60  # characters of a quoted value
BEFORE: Final = 12  # characters of a text that are quoted before the first wrong one
MAX_ENTRIES: Final = 20  # of a collection that is formatted
MAX_NAMED: Final = 3  # entries that are missing or surplus
UNITS: Final = {str: "character", bytes: "byte"}
PLURALS = {"has": "have", "is": "are", "differs": "differ", "contains": "contain", "lacks": "lack"}
SINGULAR = {"axis", "bias"}  # nouns that end in s
LEADING = ("After ", "At ", "For ", "In ", "With ")  # of phrases before the name of a value


def shown(value: object) -> str:
    """Return *value* as Python writes it, cut off after some characters."""
    if isinstance(value, str | bytes):
        cut = value[:MAX_SHOWN]
        return f"{cut!r}{'…' if len(value) > len(cut) else ''}"
    text = _text_of(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _text_of(value: object) -> str:
    """Return the start of *value* as text, with the entries of a set in a fixed order."""
    first = islice(value, MAX_ENTRIES) if isinstance(value, dict | list | tuple) else ()
    match value:
        case dict():
            return f"{{{', '.join(f'{shown(key)}: {shown(value[key])}' for key in first)}}}"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(shown, value))[:MAX_ENTRIES])}}}" if value else "set()"
        case list():
            return f"[{', '.join(map(shown, first))}]"
        case tuple():
            return f"({', '.join(map(shown, first))}{',' if len(value) == 1 else ''})"
        case int() | float() | None:
            return repr(value)
    return f"<{type(value).__name__}>"


def key_name(key: object) -> str:
    """Return *key* as code; a text without quotation marks."""
    return f"`{key if isinstance(key, str) and not is_long(key) else shown(key)}`"


def text_difference(actual: str | bytes, expected: str | bytes, what: str) -> str:
    """Return a sentence about the first place at which two long texts or bytes differ."""
    unit = UNITS[type(expected)]
    pairs = zip(actual, expected, strict=False)
    place = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    if place is None:
        return (
            f"{says(what, 'has')} {len(actual)} {unit}s; {it(what)} should have {len(expected)}. "
            f"The first {min(len(actual), len(expected))} are right."
        )
    start = max(0, place - BEFORE)
    mine, right = (shown(one[start:]) for one in (actual, expected))
    return (
        f"{says(what, 'differs')} from {unit} {place} on. From {unit} {start} on, {it(what)} "
        f"should be {right}, not {mine}."
    )


def is_long(*values: object) -> bool:
    """Whether one of *values* is a text, or bytes, of more characters than a sentence quotes."""
    return any(isinstance(one, str | bytes) and len(one) > MAX_SHOWN for one in values)


def keys_difference(actual: Collection[object], expected: Collection[object], what: str) -> str:
    """Return a sentence about missing and surplus keys, or entries of a set; at least one is."""
    missing = [key for key in expected if key not in actual]
    surplus = [key for key in actual if key not in expected]
    if isinstance(expected, set | frozenset):  # it has no order
        missing.sort(key=shown)
        surplus.sort(key=shown)
    if not surplus:
        return f"{says(what, 'lacks')} {_named(missing)}."
    lacks = f"{says(what, 'lacks')} {_named(missing)} and" if missing else what
    return f"{lacks} should not have {_named(surplus)}."


def _named(keys: Collection[object]) -> str:
    names = [key_name(key) for key in islice(keys, MAX_NAMED)]
    rest = len(keys) - len(names)
    more = f" and {rest} more" if rest else ""
    return f"the {'entry' if len(keys) == 1 else 'entries'} {', '.join(names)}{more}"


def says(what: str, verb: str) -> str:
    """Return *what* with *verb*, a singular form, in the number of *what*."""
    return f"{what} {PLURALS[verb] if _is_plural(what) else verb}"


def it(what: str) -> str:
    """Return the pronoun for *what*."""
    return "they" if _is_plural(what) else "it"


def _is_plural(what: str) -> bool:
    """Whether *what* names several things: "The weights of a token" does, `scaled_scores` not."""
    if what.startswith(LEADING):  # "After a change of the last tokens, the result of the first"
        what = what.partition(", the " if ", the " in what else " the ")[2]
    modifier = r",| (?:after|before|for|from|in|of|right|that|with|without)\b"
    noun = re.split(modifier, what)[0].split()[-1:]
    return any(re.fullmatch(r"[a-z]+[^s]s", word) and word not in SINGULAR for word in noun)
