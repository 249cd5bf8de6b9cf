"""The pages of a run: what they contain, how they are named, and that nothing in them runs."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.reports.html import class_page, feedback_page, page_names, write_pages
from autograder.results import CheckResult, Results
from tests.factories import MakeCheck, MakeSubmission

OURS = frozenset(
    (
        *("html", "head", "meta", "title", "style", "body"),
        *("header", "main", "footer", "nav", "section", "article", "div"),
        *("h1", "h2", "h3", "h4", "p", "span", "strong", "bdi", "wbr", "a"),
        *("ul", "li", "dl", "dt", "dd", "details", "summary"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
        *("svg", "rect", "line", "text"),
    )
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LARGEST = 400_000  # bytes of a page about one exercise, whatever a student wrote


class Tags(HTMLParser):
    """Collects each opening tag with its attributes."""

    def __init__(self, page: str) -> None:
        """Parse *page*."""
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.seen.append((tag, dict(attrs)))


def names(page: str) -> list[str]:
    """The tags of *page* in order."""
    return [tag for tag, _ in Tags(page).seen]


@pytest.fixture
def page(
    tiny: Course, submission: MakeSubmission, check: MakeCheck, failed_check: CheckResult
) -> str:
    """The page about a submission in which one check passed and one failed."""
    return feedback_page(
        tiny, submission(check(), failed_check, failed_check, message="One thing.", ignored=("a",))
    )


@pytest.fixture
def pages(tiny: Course, graded_class: Results, page: str) -> list[str]:
    """A page of each kind."""
    others = [feedback_page(tiny, result) for result in graded_class.submissions]
    return [page, *others, class_page(tiny, graded_class)]


@pytest.fixture
def hostile_pages(tiny: Course, hostile: Results) -> list[str]:
    """The pages about hostile texts."""
    return [class_page(tiny, hostile), *(feedback_page(tiny, item) for item in hostile.submissions)]


def test_a_page_has_all_that_a_student_needs(page: str):
    """Who, which stage, how many points, what is wrong, why, a question, and hints."""
    for words in (
        "Feedback for <bdi>alice</bdi>", "Tiny things", "<strong>2</strong> of 6 points",
        "The weights are the documented ones.", "differs in 6 of 36 entries",
        "this: <strong>The scores are not scaled</strong>.", "How long are the vectors?",
        "Add it to itself.", "One thing.", "1 check passed already",
        "1 check to look at afterwards",
    ):  # fmt: skip
        assert words in page


def test_the_first_failure_stands_before_all_that_is_folded(page: str):
    """The first problem comes before hints, later checks and passed ones."""
    assert page.index("The weights are the documented ones.") < page.index("<details>")


def test_wrong_entries_are_marked_without_colour(page: str):
    """Underlined for readers, and named for screen readers."""
    assert '<span class="unseen">wrong: </span><span class="wrong">0.9000</span>' in page
    assert re.search(r"\.wrong \{[^}]*text-decoration: underline", page)


def test_weights_are_shaded_with_tokens_on_both_axes(page: str):
    """Both tables, expected and yours."""
    assert page.count('<table class="grid shaded">') == 2 * 2  # in the first and the later finding
    assert '<th scope="col">journey</th>' in page
    assert '<th scope="row">journey</th>' in page
    assert 'style="--shade: 0.5"' in page


def test_a_page_brings_all_it_needs_and_runs_nothing(pages: list[str]):
    """Its policy allows only its own style, and the page holds nothing that the policy forbids."""
    for page in pages:
        tags = Tags(page).seen
        policy = [item["content"] for tag, item in tags if "http-equiv" in item]

        assert policy == [POLICY]
        assert "url(" not in page
        assert "http" not in page.replace("http-equiv", "")
        assert not [item for _, item in tags if "src" in item]


def test_no_text_of_a_student_becomes_a_tag(hostile_pages: list[str]):
    """No script, no handler, and only our own links."""
    for page in hostile_pages:
        for tag, attributes in Tags(page).seen:
            addresses = attributes.get("href") or "#"

            assert tag in OURS
            assert not [name for name in attributes if name.startswith("on")]
            assert re.fullmatch(r"#[a-z0-9-]+|[A-Za-z0-9-]+\.html|#", addresses)


def test_no_control_character_reaches_a_page(hostile_pages: list[str]):
    """No terminal escape, no NUL, and nothing that reverses the reading direction."""
    for page in hostile_pages:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
        page.encode("utf-8")


def test_a_page_stays_small_whatever_was_written(hostile_pages: list[str]):
    """Megabytes of text become a few lines."""
    assert max(len(page.encode()) for page in hostile_pages) < LARGEST


def test_templates_in_a_students_text_stay_text(hostile_pages: list[str]):
    """Template syntax in a text is not evaluated."""
    assert any("{{ 7 * 7 }}" in page for page in hostile_pages)


def test_a_page_says_its_language_and_its_title(pages: list[str]):
    """It has one headline, one main part and a link that skips the head."""
    for page in pages:
        assert '<html lang="en">' in page
        assert re.search(r"<title>[^<]{5,}</title>", page)
        assert names(page).count("h1") == 1
        assert names(page).count("main") == 1
        assert 'href="#main"' in page


def test_headings_never_skip_a_level(pages: list[str]):
    """Each heading is at most one level below the one before."""
    for page in pages:
        levels = [int(tag[1]) for tag in names(page) if re.fullmatch(r"h[1-6]", tag)]

        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_table_has_a_caption_and_heads_with_a_scope(pages: list[str]):
    """A screen reader reads the row and the column of a number."""
    for page in pages:
        tags = Tags(page).seen

        assert names(page).count("caption") == names(page).count("table")
        assert all("scope" in attributes for tag, attributes in tags if tag == "th")


def test_every_fold_has_a_summary(pages: list[str]):
    """A reader sees what each fold contains."""
    for page in pages:
        assert names(page).count("details") == len(re.findall(r"<details[^>]*><summary>", page))


def test_every_reference_has_its_target(pages: list[str]):
    """Links within the page and `aria-labelledby`; no id is used twice."""
    for page in pages:
        tags = [attributes for _, attributes in Tags(page).seen]
        known = [item["id"] for item in tags if "id" in item]
        named = [item["aria-labelledby"] for item in tags if "aria-labelledby" in item]
        named += [item["href"][1:] for item in tags if item.get("href", "").startswith("#")]

        assert len(known) == len(set(known))
        assert set(named) <= set(known)


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Contrast as WCAG 2 defines it, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture
def palette(page: str) -> Callable[[int], dict[str, tuple[float, ...]]]:
    """The colours of the light (0) or dark (1) scheme; `heat` at its strongest on a card."""

    def read(scheme: int) -> dict[str, tuple[float, ...]]:
        block = re.findall(r":root \{([^}]*)\}", page)[scheme]
        colours = {
            name: tuple(int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
            for name, digits in re.findall(r"--([a-z-]+): #([0-9a-f]{6})", block)
        }
        heat = [int(part) / 255 for part in re.search(r"--heat: ([\d ]+);", block)[1].split()]
        most = float(re.search(r"--heat-most: ([\d.]+)", block)[1])
        mixed = (most * h + (1 - most) * c for h, c in zip(heat, colours["card"], strict=True))
        return colours | {"heat": tuple(mixed)}

    return read


@pytest.mark.parametrize("scheme", [pytest.param(0, id="light"), pytest.param(1, id="dark")])
@pytest.mark.parametrize(
    ("ink", "grounds"),
    [
        ("ink", ("paper", "card", "wash", "bad-wash", "heat")),
        ("soft", ("paper", "card")),
        ("accent", ("paper", "card")),
        ("good", ("good-wash",)),
        ("bad", ("card", "bad-wash")),
    ],
)
def test_text_stands_out_from_its_background(
    palette: Callable[[int], dict[str, tuple[float, ...]]],
    scheme: int,
    ink: str,
    grounds: tuple[str, ...],
):
    """At least 4.5 to 1, as WCAG 2 AA requires, in the light and in the dark scheme."""
    colours = palette(scheme)

    for ground in grounds:
        assert contrast(colours[ink], colours[ground]) >= 4.5


def test_a_page_follows_the_readers_scheme(page: str):
    """Light and dark."""
    assert "@media (prefers-color-scheme: dark)" in page
    assert '<meta name="color-scheme" content="light dark">' in page


def test_a_run_becomes_an_index_and_a_page_per_submission(
    tiny: Course, graded_class: Results, tmp_path: Path
):
    """Every link of the index leads to one of the pages."""
    index = write_pages(tiny, graded_class, tmp_path / "new" / "reports")
    links = set(re.findall(r'href="([^"#]+)"', index.read_text("utf-8")))

    assert index == tmp_path / "new" / "reports" / "index.html"
    assert {path.name for path in index.parent.iterdir()} == links | {"index.html"}
    assert len(links) == len(graded_class.submissions)


def test_hostile_names_stay_inside_the_folder(tiny: Course, hostile: Results, tmp_path: Path):
    """No student name leads to a file outside."""
    before = set(tmp_path.rglob("*"))
    index = write_pages(tiny, hostile, tmp_path / "reports")
    names = [path.name for path in index.parent.iterdir()]

    assert len(names) == len(hostile.submissions) + 1
    assert {path.parent for path in set(tmp_path.rglob("*")) - before} == {tmp_path, index.parent}
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,140}\.html", name) for name in names)


@pytest.mark.parametrize(
    ("students", "names"),
    [
        pytest.param(("ada", "ada"), ("ada--01-tiny", "ada--01-tiny-2"), id="twice"),
        pytest.param(("ada", "Ada"), ("ada--01-tiny", "Ada--01-tiny-2"), id="apart-by-case-only"),
        pytest.param(("Zoë Ångström",), ("Zoe-Angstrom--01-tiny",), id="accents"),
        pytest.param(("李雷", "韩梅"), ("student--01-tiny", "student--01-tiny-2"), id="no-latin"),
        pytest.param(("../con", ".."), ("con--01-tiny", "student--01-tiny"), id="paths"),
    ],
)
def test_page_names_are_valid_and_never_alike(
    submission: MakeSubmission, students: tuple[str, ...], names: tuple[str, ...]
):
    """On Linux, macOS and Windows."""
    found = page_names(submission(student=student) for student in students)

    assert found == tuple(f"{name}.html" for name in names)


def test_writing_twice_replaces_the_pages(tiny: Course, graded_class: Results, tmp_path: Path):
    """A second run writes the same files."""
    first = {path.name for path in write_pages(tiny, graded_class, tmp_path).parent.glob("*.html")}
    second = {path.name for path in write_pages(tiny, graded_class, tmp_path).parent.glob("*.html")}

    assert first == second


def test_points_that_are_carried_forward_are_counted_apart(
    tiny: Course, submission: MakeSubmission, carried_check: CheckResult
):
    """Beside the sum, beside the exercise, and with a sentence at the check."""
    page = feedback_page(tiny, submission(carried_check))

    assert page.count("of which 2 by error carried forward") == 1
    assert "2 points, 1 check passed: right, given your half" in page
    assert "carried forward</span>" in page
    assert "Right, given your half: mend that first." in page
