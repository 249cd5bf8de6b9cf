"""Writes the drawings of the labs: ``python -m tools.drawings``.

Each function draws the one idea of a stage, and its docstring is the drawing's title.
"""

import math
from pathlib import Path

from tools.drawings.sheet import BLUE, DEEP, PALE, Sheet

FOLDER = Path(__file__).parents[2] / "assignments" / "course" / "made"
WORDS = ("Your", "journey", "starts", "with", "one", "step")
WEIGHTS = (0.14, 0.24, 0.23, 0.12, 0.11, 0.16)  # of "journey", in stage 01


def stage_01(sheet: Sheet) -> None:
    """One word is compared with six words, the scores become weights, the weights mix the words."""
    steps = ("1. compare", "2. turn into weights", "3. mix")
    for row, step in enumerate(steps):
        sheet.words(8, 34 + 70 * row, step, at="start")
    for column, (word, weight) in enumerate(zip(WORDS, WEIGHTS, strict=True)):
        x = 170 + 74 * column
        sheet.box(x, 10, 66, 36, word, fill=BLUE if word == "journey" else PALE)
        sheet.line((x + 33, 46), (x + 33, 64))
        sheet.box(x + 12, 110 - 160 * weight, 42, 160 * weight, fill=DEEP, round_by=0)
        sheet.words(x + 33, 128, f"{weight:.2f}")
        sheet.arrow((x + 33, 134), (387, 166))
    sheet.box(317, 166, 140, 34, "new “journey”", fill=BLUE)


def _triangle(sheet: Sheet, corner: tuple[int, int], side: int, count: int, closed: str) -> None:
    """Draw a square of cells, its upper half white with *closed* or a stroke in each cell."""
    left, top = corner
    for row in range(count):
        for column in range(count):
            seen = column <= row
            where = (left + side * column, top + side * row, side, side)
            sheet.box(*where, fill=BLUE if seen else "white", round_by=0)
            x, y = where[:2]
            if not seen and closed:
                sheet.words(x + side / 2, y + side / 2 + 5, closed)
            elif not seen:
                sheet.line((x + 4, y + side - 4), (x + side - 4, y + 4), wide=1)


def stage_02(sheet: Sheet) -> None:
    """A triangle: each token takes equal parts of itself and of the tokens before it."""
    _triangle(sheet, (130, 34), 40, 4, "")
    for number, share in enumerate(("1", "1/2", "1/3", "1/4")):
        sheet.words(122, 60 + 40 * number, f"token {number}", at="end")
        sheet.words(150 + 40 * number, 26, str(number))
        for column in range(number + 1):
            sheet.words(150 + 40 * column, 59 + 40 * number, share)
    sheet.words(310, 80, "crossed out: the future", at="start")
    sheet.words(310, 104, "each row adds up to 1", at="start")


def stage_03(sheet: Sheet) -> None:
    """One word has three roles: its query asks, its key is compared, its value is passed on."""
    sheet.box(10, 74, 90, 40, "journey", fill=BLUE)
    roles = (("query", "asks: which words matter for me?"), ("key", "is compared with queries"))
    for row, (role, meaning) in enumerate((*roles, ("value", "is mixed into the results"))):
        y = 14 + 64 * row
        sheet.arrow((100, 94), (178, y + 20))
        sheet.box(180, y, 80, 40, role, fill=(DEEP, BLUE, PALE)[row])
        sheet.words(272, y + 25, meaning, at="start")


def stage_05(sheet: Sheet) -> None:
    """The closed half: later tokens get scores of minus infinity, and weights of exactly 0."""
    _triangle(sheet, (20, 30), 32, 5, "-∞")
    _triangle(sheet, (300, 30), 32, 5, "0")
    sheet.words(100, 20, "scores")
    sheet.words(380, 20, "weights")
    sheet.arrow((196, 110), (286, 110))
    sheet.words(241, 100, "softmax")


def stage_08(sheet: Sheet) -> None:
    """Two sentences: each word of the translation attends to words of the original."""
    below, above = ("la", "maison", "bleue"), ("the", "blue", "house")
    for column, (lower, upper) in enumerate(zip(below, above, strict=True)):
        sheet.box(150 + 120 * column, 14, 90, 36, upper)
        sheet.box(150 + 120 * column, 124, 90, 36, lower, fill=BLUE)
    for start, end in ((0, 0), (1, 2), (2, 1)):
        sheet.arrow((195 + 120 * start, 124), (195 + 120 * end, 52), wide=2.5)
    sheet.words(140, 37, "keys, values", at="end")
    sheet.words(140, 147, "queries", at="end")


def stage_10(sheet: Sheet) -> None:
    """The features of all tokens are cut into heads: each head gets a block of every token."""
    for row in range(4):
        for column in range(6):
            fill = BLUE if column < 3 else PALE  # noqa: PLR2004  # half of the features
            sheet.box(20 + 26 * column, 30 + 26 * row, 26, 26, fill=fill, round_by=0)
            part, place = divmod(column, 3)
            x, y = 300 + 130 * part + 26 * place, 30 + 26 * row
            sheet.box(x, y, 26, 26, fill=fill, round_by=0)
    sheet.line((98, 22), (98, 142), wide=3)
    sheet.arrow((192, 82), (284, 82))
    sheet.words(98, 16, "4 tokens, 6 features")
    sheet.words(339, 16, "head 0")
    sheet.words(469, 16, "head 1")
    sheet.words(238, 72, "split")


def stage_11(sheet: Sheet) -> None:
    """A valley of the loss: a step against the slope goes down, one that is too long goes up."""

    def height(x: float) -> float:
        return 190 - (x - 250) ** 2 / 250

    sheet.line(*((x, height(x)) for x in range(70, 431, 9)))
    start, good, far = 110.0, 180.0, 410.0
    for x in (start, good, far):
        sheet.circle(x, height(x), 5, fill=DEEP)
    sheet.arrow((start + 8, height(start)), (good, height(good) - 12))
    sheet.arrow((start + 8, height(start) - 8), (far - 10, height(far)), dashed=True)
    sheet.words(150, 200, "a good step", at="end")
    sheet.words(270, 86, "a step that is too long")
    sheet.words(250, 222, "parameter")
    sheet.words(16, 70, "loss", at="start")


def stage_12(sheet: Sheet) -> None:
    """The way back: the gradient of the loss reaches x on three paths, and the three are added."""
    sheet.box(10, 70, 60, 40, "x", fill=BLUE)
    for row, name in enumerate(("queries", "keys", "values")):
        y = 10 + 60 * row
        sheet.box(130, y, 90, 40, name)
        sheet.line((70, 90), (130, y + 20))
        sheet.arrow((130, y + 28), (74, 96), dashed=True)
    sheet.box(270, 30, 90, 40, "weights")
    sheet.box(400, 70, 90, 40, "context")
    sheet.box(530, 70, 60, 40, "loss", fill=DEEP)
    for points in (((220, 30), (270, 46)), ((220, 90), (270, 56)), ((360, 50), (400, 84))):
        sheet.line(*points)
        (x0, y0), (x1, y1) = points
        sheet.arrow((x1, y1 + 9), (x0 + 4, y0 + 9), dashed=True)
    for points in (((220, 150), (400, 100)), ((490, 90), (530, 90))):
        sheet.line(*points)
        (x0, y0), (x1, y1) = points
        sheet.arrow((x1, y1 + 9), (x0 + 4, y0 + 9), dashed=True)
    sheet.words(450, 170, "dashed: gradients")


def stage_13(sheet: Sheet) -> None:
    """Three clock hands: with each position they turn by the same angle, each clock more slowly."""
    for clock, speed in enumerate((1.0, 0.3, 0.1)):
        x = 90 + 160 * clock
        sheet.circle(x, 90, 62)
        for position in range(4):
            angle = speed * position
            end = x + 56 * math.cos(angle), 90 - 56 * math.sin(angle)
            sheet.arrow((x, 90), end, wide=1 + position)
        sheet.words(x, 176, f"pair {clock}")
    sheet.words(250, 200, "positions 0 to 3; the thickest hand is that of position 3")


def stage_14(sheet: Sheet) -> None:
    """A stream with side branches: each part reads a copy of the stream and adds its result."""
    sheet.arrow((20, 130), (580, 130), wide=6)
    sheet.words(20, 160, "stream: the features of each token", at="start")
    for start, name in ((80, "attention"), (330, "network")):
        sheet.line((start, 130), (start, 60), (start + 14, 60))
        sheet.box(start + 14, 42, 54, 36, "norm")
        sheet.arrow((start + 68, 60), (start + 84, 60))
        sheet.box(start + 84, 42, 86, 36, name, fill=BLUE)
        sheet.arrow((start + 170, 60), (start + 190, 60), (start + 190, 118))
        sheet.circle(start + 190, 130, 11, fill="white")
        sheet.words(start + 190, 135, "+")


def stage_15(sheet: Sheet) -> None:
    """A loop: the text goes in, one character comes out, and is put at the end of the text."""
    sheet.box(20, 30, 150, 44, "One evening P", fill=BLUE)
    sheet.arrow((170, 52), (216, 52))
    sheet.box(218, 30, 80, 44, "GPT", fill=DEEP)
    sheet.arrow((298, 52), (336, 52))
    sheet.box(338, 30, 90, 44, "logits")
    sheet.arrow((428, 52), (466, 52))
    sheet.box(468, 30, 90, 44, "choose: i")
    sheet.arrow((513, 74), (513, 120), (95, 120), (95, 78))
    sheet.words(304, 112, "append, and begin again")


def stage_16(sheet: Sheet) -> None:
    """A growing block: each new token adds one row of keys and values, and the old ones stay."""
    for step in range(4):
        left = 20 + 130 * step
        for row in range(step + 1):
            fill = DEEP if row == step else PALE
            sheet.box(left, 34 + 28 * row, 84, 26, f"token {row}", fill=fill, round_by=0)
        sheet.words(left + 42, 24, f"step {step}")
        if step:
            sheet.arrow((left - 40, 47), (left - 6, 47))
    sheet.words(280, 168, "dark: computed in this step; pale: from the cache")


def stage_17(sheet: Sheet) -> None:
    """Shared keys and a window: four queries share two keys, and see only the newest tokens."""
    for query in range(4):
        sheet.box(16 + 56 * query, 30, 48, 32, f"q{query}", fill=BLUE)
        sheet.arrow((40 + 56 * query, 62), (68 + 112 * (query // 2), 108))
    for key in range(2):
        sheet.box(34 + 112 * key, 110, 68, 32, f"key {key}", fill=DEEP)
    sheet.words(124, 20, "query heads")
    sheet.words(124, 164, "fewer key heads")
    for row in range(6):
        for column in range(6):
            seen = 0 <= row - column < 3  # noqa: PLR2004  # the window
            where = (330 + 22 * column, 26 + 22 * row, 22, 22)
            sheet.box(*where, fill=BLUE if seen else "white", round_by=0)
    sheet.words(396, 178, "a window of 3")


def stage_18(sheet: Sheet) -> None:
    """Tiles: one small square of the scores is computed, used and forgotten at a time."""
    for row in range(4):
        for column in range(4):
            done = (row, column) < (1, 1)
            where = (20 + 38 * column, 16 + 38 * row, 38, 38)
            now = (row, column) == (1, 1)
            sheet.box(*where, fill=DEEP if now else "white", round_by=0, dashed=not now)
            if done:
                sheet.words(where[0] + 19, where[1] + 24, "✓")
    sheet.arrow((180, 92), (238, 92))
    sheet.box(240, 56, 170, 72, fill=BLUE)
    sheet.words(325, 84, "running context")
    sheet.words(325, 108, "and logsumexp")
    sheet.words(440, 84, "dark: the tile in memory", at="start")
    sheet.words(440, 108, "✓: merged, forgotten", at="start")


def stage_19(sheet: Sheet) -> None:
    """The encoder reads the source once, and the decoder reads its own past and the memory."""
    for place, letter in enumerate("5 march"):
        sheet.box(20 + 34 * place, 150, 30, 30, letter.strip(), fill="white", round_by=0)
    sheet.box(20, 84, 234, 40, "encoder", fill=PALE)
    sheet.arrow((137, 150), (137, 126))
    sheet.box(20, 22, 234, 34, "memory", fill=BLUE)
    sheet.arrow((137, 84), (137, 58))
    sheet.box(340, 60, 234, 40, "decoder", fill=DEEP)
    sheet.arrow((254, 39), (300, 39), (300, 80), (338, 80))
    for place, letter in enumerate(("start", "0", "3", "-")):
        sheet.box(340 + 60 * place, 150, 50, 30, letter, fill="white", round_by=0)
        sheet.arrow((365 + 60 * place, 150), (365 + 60 * place, 102))
    for place, letter in enumerate("03-0"):
        sheet.box(340 + 60 * place, 10, 50, 30, letter, fill=BLUE, round_by=0)
        sheet.arrow((365 + 60 * place, 60), (365 + 60 * place, 42))


def stage_20(sheet: Sheet) -> None:
    """Head 0 tells each token what came before it; head 1 finds the token after an earlier c."""
    for column, letter in enumerate("cjaoc"):
        x = 20 + 92 * column
        sheet.box(x, 160, 66, 32, letter, fill=DEEP if letter == "c" else PALE)
        mark = f"after {'cjao'[column - 1]}" if column else ""
        sheet.box(x, 82, 66, 32, mark, fill=BLUE if column in {1, 4} else PALE)
        sheet.arrow((x + 33, 160), (x + 33, 116))
        if column:
            sheet.arrow((x - 59, 160), (x + 20, 116), dashed=True)
    sheet.arrow((421, 82), (421, 44), (145, 44), (145, 80))
    sheet.arrow((454, 98), (524, 98))
    sheet.box(526, 82, 50, 32, "j", fill="white")
    sheet.words(283, 34, "head 1: which token comes after c?")
    sheet.words(464, 144, "head 0: dashed", at="start")
    sheet.words(551, 74, "answer")


def stage_21(sheet: Sheet) -> None:
    """The most frequent pair becomes one token, again and again: the text gets shorter."""
    fills = {"lo": BLUE, "low": DEEP}
    rows = (
        (("l", "o", "w", "space", "l", "o", "w", "e", "r"), "9 bytes"),
        (("lo", "w", "space", "lo", "w", "e", "r"), "l + o: 7 tokens"),
        (("low", "space", "low", "e", "r"), "lo + w: 5 tokens"),
    )
    for row, (tokens, meaning) in enumerate(rows):
        x, y = 10, 12 + 62 * row
        for piece in tokens:
            width = 46 * (1 if piece == "space" else len(piece))
            sheet.box(x, y, width, 34, piece, fill=fills.get(piece, PALE))
            x += width
        sheet.words(440, y + 22, meaning, at="start")
        if row:
            sheet.arrow((217, y - 26), (217, y - 2))


DRAWINGS = {
    stage_01: (640, 210),
    stage_02: (500, 204),
    stage_03: (520, 196),
    stage_05: (480, 204),
    stage_08: (520, 176),
    stage_10: (560, 150),
    stage_11: (480, 232),
    stage_12: (610, 190),
    stage_13: (500, 210),
    stage_14: (600, 174),
    stage_15: (580, 136),
    stage_16: (560, 180),
    stage_17: (500, 190),
    stage_18: (640, 184),
    stage_19: (594, 194),
    stage_20: (590, 204),
    stage_21: (560, 182),
}


def drawn() -> dict[str, str]:
    """Return the text of each file by its name."""
    files = {}
    for draw, size in DRAWINGS.items():
        title = str(draw.__doc__).strip().split("\n", maxsplit=1)[0]
        sheet = Sheet(title, *size)
        draw(sheet)
        files[f"drawing_{draw.__name__[-2:]}.svg"] = sheet.svg()
    return files


if __name__ == "__main__":
    for name, text in drawn().items():
        (FOLDER / name).write_text(text, "utf-8")
