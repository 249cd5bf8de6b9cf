"""One exercise as a card in a notebook: its HTML and its plain text."""

import re
from html.parser import HTMLParser

import pytest

from autograder.course import Course
from autograder.reports import exercise_card
from autograder.reports.feedback import ExerciseFeedback
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.results import CheckResult, Outcome, Results, Status, SubmissionResult
from tests.factories import HOSTILE_TEXTS, MakeCheck, MakeSubmission

OURS = frozenset(
    (
        *("div", "p", "blockquote", "strong", "em", "code", "u"),
        *("details", "summary", "ul", "li"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    )
)
ATTRIBUTES = frozenset(("class", "style", "scope"))
LARGEST = 100_000  # characters, whatever a student wrote: a lab holds many cards


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
        """Take a tag for closed that is the last one open."""
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
    """Sentence, message, the mistake by its name, why, a question, and the numbers."""
    text = Read(exercise_card.html(incorrect, points=False)).text

    for part in (
        "✗  double  2 checks left", "The weights are the documented ones.",
        "differs in 6 of 36 entries", "It looks like this:", "The scores are not scaled",
        "How long are the vectors?", "Expected", "Yours", "0.9000",
        "Underlined numbers are wrong.", "1 more to look at afterwards", "1 check passes",
    ):  # fmt: skip
        assert part in text, part


def test_wrong_numbers_are_marked_without_colour(incorrect: ExerciseFeedback):
    """They are underlined and bold; a row of six is wrong in each of two findings."""
    page = exercise_card.html(incorrect, points=False)

    assert page.count("<u><strong>0.9000</strong></u>") == page.count("<u>") == 12


def test_hints_are_folded_one_by_one(incorrect: ExerciseFeedback, complete: ExerciseFeedback):
    """Each is opened on purpose; who is done needs none."""
    page = exercise_card.html(incorrect, points=False)

    for number, hint in enumerate(("How much is twice?", "Add it to itself.", "x + x"), start=1):
        assert re.search(rf"<summary[^>]*>[^<]*\(hint {number} of 3\)</summary><p[^>]*>", page)
        assert hint in page
    assert "hint" not in exercise_card.html(complete, points=False)


def test_a_complete_card_lists_what_passed(complete: ExerciseFeedback):
    """The list is short, and folded."""
    text = Read(exercise_card.html(complete, points=False)).text

    assert "✓  double  complete" in text
    assert "2 checks pass" in text
    assert "Nothing is nothing." in text
    assert exercise_card.text(complete, points=False) == "✓ double: complete."


def test_an_unwritten_exercise_shows_no_problems(unwritten: ExerciseFeedback):
    """What follows from an empty function is not listed."""
    text = Read(exercise_card.html(unwritten, points=False)).text

    assert "·  double  not written yet" in text
    assert "to look at afterwards" not in text
    assert "Twice one is two." not in text
    assert exercise_card.text(unwritten, points=False) == "· double: not written yet."


@pytest.mark.parametrize("form", [exercise_card.html, exercise_card.text], ids=["html", "text"])
def test_points_are_shown_only_where_they_count(form, incorrect: ExerciseFeedback):
    """A public suite gives none."""
    assert "2 of 6 points" in form(incorrect, points=True)
    assert "points" not in form(incorrect, points=False)


@pytest.mark.parametrize("form", [exercise_card.html, exercise_card.text], ids=["html", "text"])
def test_a_note_comes_last(form, complete: ExerciseFeedback):
    """It is about the card as a whole; without one the card ends before."""
    noted = form(complete, points=False, note="Ask me.")

    assert Read(noted).text.strip().endswith("Ask me.")
    assert len(noted) > len(form(complete, points=False))


@pytest.mark.parametrize("kind", ["incorrect", "complete", "unwritten"])
def test_both_forms_say_the_same(kind: str, request: pytest.FixtureRequest):
    """Every word of the plain lines is in the card."""
    exercise = request.getfixturevalue(kind)
    plain = exercise_card.text(exercise, points=True, note="Ask me.")
    page = Read(exercise_card.html(exercise, points=True, note="Ask me."))

    assert words(plain) <= words(page.text)


def test_a_card_reads_well_without_its_styles(incorrect: ExerciseFeedback):
    """Viewers strip style attributes: no word, fold, table or mark depends on them."""
    page = exercise_card.html(incorrect, points=True, note="Ask me.")
    bare = re.sub(r' style="[^"]*"', "", page)

    assert "style" not in bare
    assert Read(bare).text == Read(page).text
    assert Read(bare).tags == Read(page).tags


def test_a_card_does_not_change_the_page_around_it(incorrect: ExerciseFeedback):
    """It brings no rule, name or colour of text that would touch the page around it."""
    page = exercise_card.html(incorrect, points=True)

    assert not re.search(r"<style|\bid=|position\s*:|[\";]color\s*:", page)
    assert "url(" not in page


@pytest.mark.parametrize("number", range(len(HOSTILE_TEXTS)))
def test_a_card_holds_no_active_content(exercise_feedback, hostile: Results, number: int):
    """Whatever a student wrote is text: the card has our tags and attributes, closed in order."""
    exercise = exercise_feedback(hostile.submissions[number])
    page = exercise_card.html(exercise, points=True, note=exercise.name)
    read = Read(page)

    assert set(read.tags) <= OURS
    assert {name for name, _ in read.attributes} <= ATTRIBUTES
    assert read.open == []
    assert len(page) < LARGEST


@pytest.mark.parametrize("number", range(len(HOSTILE_TEXTS)))
def test_hostile_words_look_the_same_in_every_card(
    exercise_feedback, hostile: Results, check: MakeCheck, submission: MakeSubmission, number: int
):
    """Styles and tags do not depend on the text: an ordinary card has the same."""
    read = Read(exercise_card.html(exercise_feedback(hostile.submissions[number]), points=True))
    item = hostile.submissions[number].exercises[0].checks[0]
    plain = check(Outcome.FAILED, title="a", message="b", diagnosis=item.diagnosis, grid=item.grid)
    other = Read(exercise_card.html(exercise_feedback(submission(plain)), points=True))

    assert read.tags == other.tags
    assert {value for name, value in read.attributes if name == "scope"} == {"col", "row"}
    assert all(
        re.fullmatch(r"[a-z0-9_.:;,#%/() -]*", value or "", re.ASCII)
        for _, value in read.attributes
    )


@pytest.mark.parametrize("number", range(len(HOSTILE_TEXTS)))
def test_plain_lines_do_nothing_to_a_terminal(exercise_feedback, hostile: Results, number: int):
    """No escape, no control, no half character, and not many lines."""
    plain = exercise_card.text(exercise_feedback(hostile.submissions[number]), points=True)

    assert all(character == "\n" or character.isprintable() for character in plain)
    assert len(plain) < LARGEST
    assert plain.encode()


@pytest.mark.parametrize("form", [exercise_card.html, exercise_card.text])
def test_a_card_says_what_its_points_are_given(
    form, exercise_feedback, submission: MakeSubmission, carried_check: CheckResult
):
    """The exercise is right, and another one is to be mended."""
    card = form(exercise_feedback(submission(carried_check)), points=True)
    text = " ".join(re.sub("<[^>]*>", "", card).split())

    assert "Right, given your half: mend that first." in text
    assert "right, given your half" in text
    assert "2 of 2 points, of which 2 by error carried forward" in text
