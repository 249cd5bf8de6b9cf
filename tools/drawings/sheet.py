"""Writes a drawing as SVG: boxes, cells, arrows and words on a white ground.

Every shape has a dark edge, and grounds differ in their lightness, so that a drawing can be read
without colours.
"""

from html import escape

INK, PALE, BLUE, DEEP = "#222", "#eef1f8", "#b9c8ee", "#4a66b8"
SIZE = 14  # of letters, in pixels
HEAD = 6  # pixels from the tip of an arrow to its ends


class Sheet:
    """A drawing with a *title*, which is also its text for readers without pictures."""

    def __init__(self, title: str, width: int, height: int) -> None:
        self.title, self.width, self.height = title, width, height
        self._parts: list[str] = []

    def box(  # a place, a size and three choices
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str = "",
        *,
        fill: str = PALE,
        round_by: float = 6,
        dashed: bool = False,
    ) -> None:
        """Draw a box with *words* in its middle."""
        style = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by:g}" '
            f'fill="{fill}" stroke="{INK}"{style}/>'
        )
        if words:
            colour = "white" if fill == DEEP else INK
            self.words(x + width / 2, y + height / 2 + SIZE * 0.35, words, colour=colour)

    def words(
        self, x: float, y: float, words: str, *, at: str = "middle", colour: str = INK
    ) -> None:
        """Write *words*; *at* says whether x is their ``start``, ``middle`` or ``end``."""
        style = f' text-anchor="{at}"' if at != "middle" else ""
        style += f' fill="{colour}"' if colour != INK else ""
        self._parts.append(f'<text x="{x:g}" y="{y:g}"{style}>{escape(words)}</text>')

    def line(self, *points: tuple[float, float], wide: float = 1.5, dashed: bool = False) -> None:
        """Draw a line through *points*."""
        path = "L".join(f"{x:g} {y:g}" for x, y in points)
        style = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<path d="M{path}" fill="none" stroke="{INK}" stroke-width="{wide:g}"{style}/>'
        )

    def arrow(self, *points: tuple[float, float], wide: float = 1.5, dashed: bool = False) -> None:
        """Draw a line through *points* with a head at its end."""
        self.line(*points, wide=wide, dashed=dashed)
        (x0, y0), (x1, y1) = points[-2:]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        along, across = ((x1 - x0) / length, (y1 - y0) / length), HEAD * 0.6
        back = x1 - HEAD * along[0], y1 - HEAD * along[1]
        left = back[0] - across * along[1], back[1] + across * along[0]
        right = back[0] + across * along[1], back[1] - across * along[0]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in ((x1, y1), left, right))
        self._parts.append(f'<polygon points="{corners}" fill="{INK}"/>')

    def circle(self, x: float, y: float, radius: float, fill: str = "none") -> None:
        """Draw a circle around (x, y)."""
        self._parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" stroke="{INK}"/>'
        )

    def svg(self) -> str:
        """Return the drawing as the text of a file."""
        size = f'width="{self.width}" height="{self.height}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {self.width} {self.height}" font-family="sans-serif" '
            f'font-size="{SIZE}" text-anchor="middle" fill="{INK}">\n'
            f"<title>{escape(self.title)}</title>\n"
            '<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )
