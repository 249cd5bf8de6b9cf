"""Draws tiny stories from hand-written skeletons.

A skeleton is a paragraph of ``skeletons.txt``: one line for each sentence, with alternatives
between slashes. ``x=Nell,Pip`` restricts who may be x. ``[a|b]`` is a choice of words, and
``{x.he}`` a place for a name, a thing or a pronoun.
"""

import random
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

SKELETONS: Final = Path(__file__).parent / "skeletons.txt"
LONG: Final = 5  # words; a shorter sentence may occur in both texts
ATTEMPTS: Final = 40  # at a line, before its story is given up
PEOPLE: Final[Mapping[str, tuple[str, str, str, str]]] = {  # he, him, his, and what they are
    "Nell": ("she", "her", "her", "keeper"),
    "Pip": ("he", "him", "his", "fox"),
    "Otto": ("he", "him", "his", "goat"),
    "Mo": ("she", "her", "her", "gull"),
    "Ida": ("she", "her", "her", "snail"),
    "Ben": ("he", "him", "his", "baker"),
    "the crab": ("it", "it", "its", "crab"),
}
NOUNS: Final = [
    "button",
    "key",
    "spoon",
    "hat",
    "rope",
    "bell",
    "sock",
    "kite",
    "shell",
    "blanket",
    "bucket",
    "cup",
    "coat",
    "pillow",
    "drum",
    "box",
]
ADJECTIVES: Final = [
    "red",
    "blue",
    "green",
    "yellow",
    "white",
    "old",
    "small",
    "big",
    "round",
    "long",
]
PLACES: Final = [
    "on the beach",
    "under the stairs",
    "behind the shed",
    "in the garden",
    "on the hill",
    "by the well",
    "near the rocks",
    "under the tree",
    "by the door",
    "on the bench",
    "on the bridge",
    "in the kitchen",
    "in the boat",
]
TIMES: Final = [
    "one morning",
    "one evening",
    "one cold night",
    "one day",
    "on a windy day",
    "on a warm evening",
    "in the spring",
    "last night",
    "after the rain",
    "before breakfast",
    "at noon",
    "in the summer",
    "early in the morning",
    "today",
    "one quiet day",
    "yesterday",
    "on a sunny morning",
    "after the storm",
]
NUMBERS: Final = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"]
COLORS: Final = ["red", "blue", "green", "yellow", "white"]
FOODS: Final = [
    "bread",
    "soup",
    "jam",
    "honey",
    "cheese",
    "cake",
    "apple pie",
    "warm bread",
    "plum jam",
    "onion soup",
    "fish soup",
    "plum pie",
    "apple cake",
]
CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "time": TIMES,
    "n": NUMBERS,
    "m": NUMBERS,
    "good": ("good", "fresh", "warm", "the best"),
    "jam": ("jam", "honey"),
    "cake": ("cake", "bread", "pie"),
    "everyone": ("everyone", "everybody", "the whole island"),
    "anyone": ("anyone", "anybody"),
    "a boat": ("a boat", "a small boat", "a big boat"),
    "a boat2": ("a boat", "the boat of Ben", "a big boat"),
    "seed": ("seed", "plum", "small seed"),
    "the tower": ("the shed", "the tree", "Nell", "Ben"),
    "the sun": ("the sun", "the moon"),
    "a tomato": ("a plum", "an apple", "a lamp"),
    "round": ("round", "flat", "small"),
}


class Skeleton(NamedTuple):
    """The people allowed as x, y and z, and the alternatives of each line."""

    roles: Mapping[str, Sequence[str]]
    lines: Sequence[Sequence[str]]


class Cast:
    """The people, things and places of one story."""

    def __init__(self, draw: random.Random, roles: Mapping[str, Sequence[str]]) -> None:
        self._draw = draw
        self._people: dict[str, str] = {}
        free = list(PEOPLE)
        for role in sorted("xyz", key=lambda role: len(roles.get(role, PEOPLE))):
            allowed = [one for one in roles.get(role, list(PEOPLE)) if one in free]
            self._people[role] = draw.choice(allowed)
            free.remove(self._people[role])
        nouns, adjectives = draw.sample(NOUNS, 2), draw.sample(ADJECTIVES, 2)
        self._things = dict(zip("tu", zip(adjectives, nouns, strict=True), strict=True))
        self._places = dict(zip("pq", draw.sample(PLACES, 2), strict=True))
        colors = draw.sample(COLORS, 2)
        self._fixed = dict(zip(("color", "color2"), colors, strict=True))
        self._fixed |= self._places
        self._fixed |= {
            f"the {key}": f"the {place.split(' the ')[1]}" for key, place in self._places.items()
        }
        self._fixed["f"] = draw.choice(FOODS)

    def sentence(self, line: str) -> str:
        """Return *line* with all its places filled, and with capital letters."""
        line = re.sub(r"\[([^]]*)\]", lambda found: self._draw.choice(found[1].split("|")), line)
        line = re.sub(r"\{([^}]*)\}", lambda found: self._fill(found[1]), line)
        line = re.sub(r"\ba (?=[aeiou])", "an ", line)
        return re.sub(r'(^"?|[.?]"? "?)([a-z])', _with_capital, line)

    def _fill(self, place: str) -> str:
        key, _, form = place.partition(".")
        if key in self._people:
            return self._person(self._people[key], form)
        if key in self._things:
            adjective, noun = self._things[key]
            article = "an" if adjective[0] in "aeiou" else "a"
            words = {"": (adjective, noun), "a": (article, adjective, noun), "n": (noun,)}
            return " ".join(words[form])
        return self._fixed.get(key) or self._draw.choice(CHOICES[key])

    def _person(self, name: str, form: str) -> str:
        forms = dict(zip(("he", "him", "his", "kind"), PEOPLE[name], strict=True)) | {"": name}
        return forms[form] if form in forms else forms[form.lower()].capitalize()


def read_skeletons() -> Iterator[Skeleton]:
    """Yield the skeletons of the file."""
    for paragraph in SKELETONS.read_text("utf-8").strip().split("\n\n"):
        rows = [row for row in paragraph.split("\n") if not row.startswith("#")]
        limits = [row for row in rows if re.match("[xyz]=", row)]
        roles = {row[0]: row[2:].split(",") for row in limits}
        lines = [[one.strip() for one in row.split(" / ")] for row in rows[len(limits) :]]
        yield Skeleton(roles, lines)


def long_sentences(text: str) -> set[str]:
    """Return the sentences of at least ``LONG`` words in one story or several."""
    parts = re.split(r'(?<=[.?]) (?=["A-Z])|(?<=[.?]") (?=["A-Z])|\n', text)
    return {part for part in parts if len(part.split()) >= LONG}


def draw_stories(
    size: int, seed: int, told: set[str] | None = None, held: Container[str] = ()
) -> list[str]:
    """Draw stories of at least *size* characters together, one in each line.

    With *told*, no long sentence is in it, and each new one is added to it. No long sentence is in
    *held*.
    """
    draw, skeletons = random.Random(seed), list(read_skeletons())  # noqa: S311  # no secret
    stories: list[str] = []
    waiting: list[Skeleton] = []
    total = 0
    while total < size:
        waiting = waiting or draw.sample(skeletons, len(skeletons))
        skeleton = waiting.pop()
        story = _tell(skeleton, Cast(draw, skeleton.roles), draw, told, held)
        if story:
            stories.append(story)
            total += len(story)
    return stories


def split(stories: Sequence[str], seed: int) -> tuple[str, str]:
    """Return the text for training, and a tenth of the *stories*, which is held out."""
    draw = random.Random(seed)  # noqa: S311  # no secret
    held = set(draw.sample(range(len(stories)), len(stories) // 10))
    train = "".join(one for number, one in enumerate(stories) if number not in held)
    return train, "".join(one for number, one in enumerate(stories) if number in held)


def _tell(
    skeleton: Skeleton,
    cast: Cast,
    draw: random.Random,
    told: set[str] | None,
    held: Container[str],
) -> str:
    """Return one story; empty if a line has no new sentence."""
    sentences: list[str] = []
    for alternatives in skeleton.lines:
        for _ in range(ATTEMPTS):
            sentence = cast.sentence(draw.choice(alternatives))
            found = long_sentences(sentence)
            if not any(one in held or (told is not None and one in told) for one in found):
                break
        else:
            return ""
        sentences.append(sentence)
        if told is not None:
            told |= found
    return " ".join(sentences) + "\n"


def _with_capital(found: re.Match[str]) -> str:
    """Capitalize the first letter of a sentence, but not after a question within a sentence."""
    begins = not found[1].endswith(('?" ', '." '))
    return found[1] + (found[2].upper() if begins else found[2])
