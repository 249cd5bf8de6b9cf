"""Tests pages and cards: their contents, the names of pages, and that nothing in them runs."""

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from msgspec.structs import replace

from autograder.course import Course
from autograder.reports import html
from autograder.reports.feedback import ExerciseFeedback
from autograder.reports.feedback_builder import build_exercise_feedback, exercise_text
from autograder.reports.html import (
    breakable,
    exercise_card,
    feedback_page,
    render,
    write_pages,
)
from autograder.results import Audit, CheckResult, Outcome, Results, Status, SubmissionResult
from tests.kit.factories import HOSTILE_TEXTS, MakeCheck, MakeSubmission, class_page_of

OURS = frozenset(
    (
        *("html", "head", "meta", "title", "style", "body"),
        *("header", "main", "footer", "nav", "section", "article", "div"),
        *("h1", "h2", "h3", "h4", "p", "span", "strong", "bdi", "wbr", "a"),
        *("ul", "li", "dl", "dt", "dd", "em", "details", "summary"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
        *("svg", "rect", "line", "text"),
    )
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LARGEST = 400_000  # bytes of a page about one exercise, with any text

CARD_TAGS = frozenset(
    (
        *("div", "p", "blockquote", "strong", "em", "code", "u"),
        *("details", "summary", "ul", "li"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    )
)
CARD_ATTRIBUTES = frozenset(("class", "style", "scope"))
LARGEST_CARD = 100_000  # characters, with any text: a lab holds many cards


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


def script_source(page: str) -> str:
    """The source that the policy of *page* allows: the hash of its script, or nothing."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts)
    return "".join(f"; script-src 'sha256-{digest.decode()}'" for digest in digests)


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
    return [page, *others, class_page_of(tiny, graded_class)]


@pytest.fixture
def hostile_pages(tiny: Course, hostile: Results) -> list[str]:
    """The pages of a class in which every text is hostile."""
    return [
        class_page_of(tiny, hostile),
        *(feedback_page(tiny, item) for item in hostile.submissions),
    ]


def test_a_page_has_all_that_a_student_needs(page: str):
    """A page has the student, stage, points, fault, reason, a question and hints."""
    for words in (
        "Feedback for <bdi>alice</bdi>", "Tiny things", "<strong>2</strong> of 6 points",
        "The weights are the documented ones.", "differs in 6 of 36 entries",
        "this: <strong>The scores are not scaled</strong>.", "How long are the vectors?",
        "Add it to itself.", "One thing.", "1 check passed already",
        "1 check to look at afterwards",
    ):  # fmt: skip
        assert words in page


def test_the_first_failure_is_before_all_that_is_folded(page: str):
    """The first problem comes before hints, later checks and passed ones."""
    assert page.index("The weights are the documented ones.") < page.index("<details>")


def test_wrong_entries_are_marked_without_colour(page: str):
    """Wrong entries are underlined, and named for screen readers."""
    assert '<span class="unseen">wrong: </span><span class="wrong">0.9000</span>' in page
    assert re.search(r"\.wrong \{[^}]*text-decoration: underline", page)


def test_weights_are_shaded_with_tokens_on_both_axes(page: str):
    """Both tables, expected and yours, are shaded and have tokens on both axes."""
    assert page.count('<table class="grid shaded">') == 2 * 2  # in the first and the later finding
    assert '<th scope="col">journey</th>' in page
    assert '<th scope="row">journey</th>' in page
    assert 'style="--shade: 0.5"' in page


def test_a_page_brings_all_it_needs_and_runs_nothing(pages: list[str]):
    """A page allows only its own style, and holds nothing that its policy forbids."""
    for page in pages:
        tags = Tags(page).seen
        policy = [item["content"] for tag, item in tags if "http-equiv" in item]

        assert policy == [POLICY + script_source(page)]
        assert "url(" not in page
        assert "http" not in page.replace("http-equiv", "")
        assert not [item for _, item in tags if "src" in item]


def test_no_text_of_a_student_becomes_a_tag(hostile_pages: list[str]):
    """A student's text becomes no script, no handler and no link."""
    for page in hostile_pages:
        for tag, attributes in Tags(page).seen:
            addresses = attributes.get("href") or "#"

            assert tag in OURS or (tag == "script" and page is hostile_pages[0])
            assert not [name for name in attributes if name.startswith("on")]
            assert re.fullmatch(r"#[a-z0-9-]+|[A-Za-z0-9-]+\.html(#exercise-[0-9]+)?|#", addresses)


def test_only_the_class_report_has_a_script_and_it_is_ours(
    pages: list[str], hostile_pages: list[str]
):
    """The script of the class report is always the same; it makes no markup and asks no network."""
    ours = (Path(html.__file__).parent / "templates" / "class_report.js").read_text("utf-8")
    reports, others = [pages[-1], hostile_pages[0]], [*pages[:-1], *hostile_pages[1:]]

    assert [re.findall(r"<script>(.*?)</script>", page, re.DOTALL) for page in reports] == [
        [ours],
        [ours],
    ]
    assert not [page for page in others if "script-src" in page or "script" in names(page)]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|fetch|</", ours)


def test_no_control_character_reaches_a_page(hostile_pages: list[str]):
    """A page has no terminal escape, no NUL and no reversed reading direction."""
    for page in hostile_pages:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
        page.encode("utf-8")


def test_a_page_stays_small_for_any_text(hostile_pages: list[str]):
    """A page shortens megabytes of text to a few lines."""
    assert max(len(page.encode()) for page in hostile_pages) < LARGEST


def test_templates_in_a_students_text_stay_text(hostile_pages: list[str]):
    """Template syntax in a student's text is not evaluated."""
    assert any("{{ 7 * 7 }}" in page for page in hostile_pages)


def test_a_page_says_its_language_and_its_title(pages: list[str]):
    """A page has one headline, one main part and a link that skips the head."""
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
    """Links within the page and `aria-labelledby` have targets, and no id occurs twice."""
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
    """The colors of the light (0) or dark (1) scheme; `heat` at its strongest on a card."""

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
    """Contrast is at least 4.5 to 1 (WCAG 2 AA), in the light and in the dark scheme."""
    colours = palette(scheme)

    for ground in grounds:
        assert contrast(colours[ink], colours[ground]) >= 4.5


def test_a_page_follows_the_readers_scheme(page: str):
    """A page has a light and a dark scheme."""
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
    assert len(links) == len(graded_class.submissions) + 1
    assert "term.html" in links


def test_hostile_names_stay_inside_the_folder(tiny: Course, hostile: Results, tmp_path: Path):
    """No student name leads to a file outside."""
    before = set(tmp_path.rglob("*"))
    index = write_pages(tiny, hostile, tmp_path / "reports")
    names = [path.name for path in index.parent.iterdir()]

    assert len(names) == len(hostile.submissions) + 2
    assert {path.parent for path in set(tmp_path.rglob("*")) - before} == {tmp_path, index.parent}
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,140}\.html", name) for name in names)


def test_writing_twice_replaces_the_pages(tiny: Course, graded_class: Results, tmp_path: Path):
    """A second run replaces the pages with the same files."""
    first = {path.name for path in write_pages(tiny, graded_class, tmp_path).parent.glob("*.html")}
    second = {path.name for path in write_pages(tiny, graded_class, tmp_path).parent.glob("*.html")}

    assert first == second


def test_an_exercise_that_is_right_with_our_code_is_not_done(
    tiny: Course, submission: MakeSubmission, given_check: CheckResult
):
    """Points with our code are shown at the sum and the exercise, and no bar is full."""
    page = feedback_page(tiny, submission(given_check))

    assert page.count("of which 2 with our code in place of other exercises") == 2
    assert "Right with our half in place of yours." in page
    assert "Right, with our half in place of yours. Fix half first." in page
    assert 'class="bar full"' not in page
    assert 'id="done"' not in page


class Read(HTMLParser):
    """Parses a card: its tags, their attributes, and the text between."""

    def __init__(self, page: str) -> None:
        """Parse *page*."""
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Count the last open tag as closed."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note words."""
        self.text += f" {data}"


def words(text: str) -> set[str]:
    """The words and numbers of *text*."""
    return set(re.findall(r"[\w.]*\w", text))


@pytest.fixture
def exercise_feedback(tiny: Course):
    """Build the feedback about the exercise of a submission."""

    def choose(result: SubmissionResult) -> ExerciseFeedback:
        found = build_exercise_feedback(tiny.stages[0], result, "double")
        assert found is not None
        return found

    return choose


@pytest.fixture
def incorrect(
    exercise_feedback, submission: MakeSubmission, check: MakeCheck, failed_check: CheckResult
):
    """An exercise of three checks: one passed, and two failed for one reason."""
    return exercise_feedback(submission(check(), failed_check, failed_check))


@pytest.fixture
def complete(exercise_feedback, submission: MakeSubmission, check: MakeCheck):
    """An exercise that is done."""
    return exercise_feedback(submission(check(), check(title="Nothing is nothing.")))


@pytest.fixture
def unwritten(exercise_feedback, submission: MakeSubmission, check: MakeCheck):
    """An exercise that is still the stub."""
    missing = check(
        Outcome.FAILED, status=Status.NOT_IMPLEMENTED, message="double is not written yet."
    )
    return exercise_feedback(submission(missing, missing))


def test_a_card_shows_the_first_problem(incorrect: ExerciseFeedback):
    """A card shows the sentence, the message, the mistake, a question and the numbers."""
    text = Read(exercise_card(incorrect, points=False)).text

    for part in (
        "✗  double  2 checks left", "The weights are the documented ones.",
        "differs in 6 of 36 entries", "It looks like this:", "The scores are not scaled",
        "How long are the vectors?", "Expected", "Yours", "0.9000",
        "Underlined numbers are wrong.", "1 more to look at afterwards", "1 check passes",
    ):  # fmt: skip
        assert part in text, part


def test_wrong_numbers_are_marked_without_colour(incorrect: ExerciseFeedback):
    """Wrong numbers are underlined and bold; a row of six is wrong in each of two findings."""
    page = exercise_card(incorrect, points=False)

    assert page.count("<u><strong>0.9000</strong></u>") == page.count("<u>") == 12


def test_hints_are_folded_one_by_one(incorrect: ExerciseFeedback, complete: ExerciseFeedback):
    """Each hint is folded separately, and an exercise that passes has none."""
    page = exercise_card(incorrect, points=False)

    for number, hint in enumerate(("How much is twice?", "Add it to itself.", "x + x"), start=1):
        assert re.search(rf"<summary[^>]*>[^<]*\(hint {number} of 3\)</summary><p[^>]*>", page)
        assert hint in page
    assert "hint" not in exercise_card(complete, points=False)


def test_a_complete_card_lists_what_passed(complete: ExerciseFeedback):
    """The card of a complete exercise has a short, folded list of checks."""
    text = Read(exercise_card(complete, points=False)).text

    assert "✓  double  complete" in text
    assert "2 checks pass" in text
    assert "Nothing is nothing." in text
    assert exercise_text(complete, points=False) == "✓ double: complete."


def test_an_unwritten_exercise_shows_no_problems(unwritten: ExerciseFeedback):
    """An exercise that is not written yet lists no problems."""
    text = Read(exercise_card(unwritten, points=False)).text

    assert "·  double  not written yet" in text
    assert "to look at afterwards" not in text
    assert "Twice one is two." not in text
    assert exercise_text(unwritten, points=False) == "· double: not written yet."


@pytest.mark.parametrize("form", [exercise_card, exercise_text], ids=["html", "text"])
def test_points_are_shown_only_where_they_count(form, incorrect: ExerciseFeedback):
    """A card of the public suite shows no points."""
    assert "2 of 6 points" in form(incorrect, points=True)
    assert "points" not in form(incorrect, points=False)


@pytest.mark.parametrize("form", [exercise_card, exercise_text], ids=["html", "text"])
def test_a_note_comes_last(form, complete: ExerciseFeedback):
    """A note about the card as a whole comes last; without one the card ends before."""
    noted = form(complete, points=False, note="Ask me.")

    assert Read(noted).text.strip().endswith("Ask me.")
    assert len(noted) > len(form(complete, points=False))


@pytest.mark.parametrize("kind", ["incorrect", "complete", "unwritten"])
def test_both_forms_say_the_same(kind: str, request: pytest.FixtureRequest):
    """The card contains every word of the plain lines."""
    exercise = request.getfixturevalue(kind)
    plain = exercise_text(exercise, points=True, note="Ask me.")
    page = Read(exercise_card(exercise, points=True, note="Ask me."))

    assert words(plain) <= words(page.text)


def test_a_card_reads_well_without_its_styles(incorrect: ExerciseFeedback):
    """Without style attributes a card has the same words, folds, tables and marks."""
    page = exercise_card(incorrect, points=True, note="Ask me.")
    bare = re.sub(r' style="[^"]*"', "", page)

    assert "style" not in bare
    assert Read(bare).text == Read(page).text
    assert Read(bare).tags == Read(page).tags


def test_a_card_does_not_change_the_page_around_it(incorrect: ExerciseFeedback):
    """A card has no style rule, id or text color, so it does not change the page around it."""
    page = exercise_card(incorrect, points=True)

    assert not re.search(r"<style|\bid=|position\s*:|[\";]color\s*:", page)
    assert "url(" not in page


@pytest.mark.parametrize("number", range(len(HOSTILE_TEXTS)))
def test_a_card_holds_no_active_content(exercise_feedback, hostile: Results, number: int):
    """Text of a student stays text: a card has only the kit's tags and attributes."""
    exercise = exercise_feedback(hostile.submissions[number])
    page = exercise_card(exercise, points=True, note=exercise.name)
    read = Read(page)

    assert set(read.tags) <= CARD_TAGS
    assert {name for name, _ in read.attributes} <= CARD_ATTRIBUTES
    assert read.open == []
    assert len(page) < LARGEST_CARD


@pytest.mark.parametrize("number", range(len(HOSTILE_TEXTS)))
def test_hostile_words_look_the_same_in_every_card(
    exercise_feedback, hostile: Results, check: MakeCheck, submission: MakeSubmission, number: int
):
    """Styles and tags do not depend on the text: an ordinary card has the same."""
    read = Read(exercise_card(exercise_feedback(hostile.submissions[number]), points=True))
    item = hostile.submissions[number].exercises[0].checks[0]
    plain = check(Outcome.FAILED, title="a", message="b", diagnosis=item.diagnosis, grid=item.grid)
    other = Read(exercise_card(exercise_feedback(submission(plain)), points=True))

    assert read.tags == other.tags
    assert {value for name, value in read.attributes if name == "scope"} == {"col", "row"}
    assert all(
        re.fullmatch(r"[a-z0-9_.:;,#%/() -]*", value or "", re.ASCII)
        for _, value in read.attributes
    )


@pytest.mark.parametrize("number", range(len(HOSTILE_TEXTS)))
def test_plain_lines_do_nothing_to_a_terminal(exercise_feedback, hostile: Results, number: int):
    """A card has no escapes, controls or lone surrogates, and a limited number of lines."""
    plain = exercise_text(exercise_feedback(hostile.submissions[number]), points=True)

    assert all(character == "\n" or character.isprintable() for character in plain)
    assert len(plain) < LARGEST_CARD
    assert plain.encode()


@pytest.mark.parametrize("form", [exercise_card, exercise_text])
def test_a_card_says_what_its_points_are_given(
    form, exercise_feedback, submission: MakeSubmission, given_check: CheckResult
):
    """A card with points for our code states which exercise to fix."""
    card = form(exercise_feedback(submission(given_check)), points=True)
    text = " ".join(re.sub("<[^>]*>", "", card).split())

    assert "Fix half first." in text
    assert "right with our half in place of yours" in text
    assert "2 of 2 points, of which 2 with our code in place of other exercises" in text


def test_values_are_escaped():
    """A tag in a value is shown as text."""
    assert "&lt;b&gt;" in render("plain.html", lines=["<b>"])


def test_an_undefined_name_is_an_error():
    """An undefined name in a template is an error, not an empty string."""
    with pytest.raises(UndefinedError, match="lines"):
        render("plain.html")


def test_a_long_name_breaks_after_its_underscores():
    """A long name can break after an underscore, and its text is escaped."""
    assert breakable("a_<b>") == "a_<wbr>&lt;b&gt;"


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("mailto:ta@example.org?subject=Key%20{key}", "mailto:ta@example.org?subject=Key%20"),
        ("https://example.org/?key={key}&course=1", "https://example.org/?key="),
    ],
)
def test_a_page_asks_for_a_second_look_with_the_key(tiny, submission, address: str, link: str):
    """The address of the course contains the key of the submission; old records have no key."""
    audit = Audit(
        graded="2026-11-22T22:44:12Z",
        seconds=0.25,
        isolation="full",
        suite_sha256="5f0c",
        key="ab" * 32,
    )
    course = replace(tiny, file=replace(tiny.file, second_looks=address))
    page = feedback_page(course, submission(audit=audit))

    assert f'href="{link}{"ab" * 6}' in page
    assert "second look" not in feedback_page(course, submission())
    assert "second look" not in feedback_page(tiny, submission(audit=audit))
