"""Tests the companion of this course: a small language model that runs the learner's code."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from autograder.student.course_modules import modules_in
from tools.storyteller.__main__ import LAB_SEED, LAB_SIZE, LOSS, NEAR
from tools.storyteller.stories import draw_stories, long_sentences, split

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "source" / "course"
text_of = modules_in(SHARED, "story_texts").text_of
FILE = tomllib.loads((SHARED / "companion.toml").read_text("utf-8"))
SLOTS = FILE["slot"]
LENGTH = 24  # characters, enough for a wrong slot to show


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def companion() -> Any:
    """The companion without any of the learner's code."""
    opened = modules_in(SHARED, "storyteller_companion").open_companion(SHARED)
    opened.story.length = LENGTH
    return opened


def solution(stage: str) -> ModuleType:
    """Import the solution of *stage*."""
    (path,) = (ROOT / "solutions" / stage).glob("*.py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fill(companion: Any, last: str, **changed: object) -> Any:
    """Fill the slots up to stage *last* with the solutions, *changed* in that stage."""
    for slot in SLOTS:
        if slot["stage"] <= last:
            module = solution(slot["stage"])
            if slot["stage"] == last:
                vars(module).update(changed)
            companion.fill(slot["stage"], slot["glue"], module)
    return companion


def wrote(companion: Any, start: str = "Otto had a ") -> str:
    """Return what follows *start*."""
    text: str = companion.story.write(f"\n{start}", LENGTH)
    return text


@pytest.mark.parametrize("stage", [slot["stage"] for slot in SLOTS])
def test_the_solutions_write_what_the_course_s_code_writes(stage: str, companion: Any):
    """Reading has the same loss, too, and nothing is replaced."""
    own, loss = wrote(companion), companion.story.loss(companion.held)
    filled = fill(companion, stage)

    assert wrote(filled) == own
    assert filled.story.loss(companion.held) == pytest.approx(loss, abs=1e-5)
    assert not filled.story.replaced
    assert not filled.problems


@pytest.mark.parametrize(
    ("stage", "share"),
    [("00", 0.2), ("01", 18), ("03", 38), ("10", 45), ("14", 98), ("15", 100)],
)
def test_the_share_grows_with_the_stages(stage: str, share: float, companion: Any):
    """It is counted in multiplications."""
    name = next(slot["stage"] for slot in SLOTS if slot["stage"].startswith(stage))
    shown = 100 * fill(companion, name).story.share()

    assert round(shown, 1 if share < 1 else None) == share


@pytest.mark.parametrize(
    ("result", "why"),
    [
        pytest.param(lambda s, _d: s / 0, "returned numbers that are not finite", id="nan"),
        pytest.param(lambda s, _d: s[0], "returned the shape", id="shape"),
        pytest.param(lambda _s, _d: None, "returned NoneType, not a tensor", id="none"),
        pytest.param(lambda s, _d: s.double(), "not torch.float32", id="dtype"),
        pytest.param(lambda s, _d: s.sotfmax(), "raised AttributeError", id="raises"),
    ],
)
def test_the_course_stands_in_for_unusable_results(result: Any, why: str, companion: Any):
    """The text goes on with the course's code, and a note names exercise and reason."""
    own = wrote(companion)
    filled = fill(companion, "01_dot_product_attention", softmax_stable=result)
    shown = filled.show(start="Otto had a ")

    assert shown["parts"][0][1].startswith(f"Otto had a {own[:10]}")
    assert "`softmax_stable`" in shown["notes"][0]
    assert why in shown["notes"][0]
    assert not shown["is_own"]


def test_no_sentence_speaks_of_code_that_was_replaced(companion: Any):
    """A lab before its stage is solved shows the course's text without praise."""

    def unwritten(*_args: object) -> None:
        raise NotImplementedError

    shown = SLOTS[0]["shown"]
    text = {"start": shown["start"], "says": shown["says"], "then": "It is yours."}
    right = fill(companion, "00_start_here").show(**text)
    companion.story.replaced.clear()
    wrong = fill(companion, "00_start_here", mix=unwritten).show(**text)

    assert [says for says, _ in right["parts"]] == [shown["says"], "It is yours."]
    assert [says for says, _ in wrong["parts"]] == [""]
    assert "`mix` is not written yet" in wrong["notes"][0]


def test_no_training_is_the_learner_s_if_it_was_replaced(companion: Any):
    """The sentence about teaching says whose code did it."""

    def broken(*_args: object) -> None:
        raise KeyError("oops")

    filled = fill(companion, "11_learning_to_attend", train=broken)
    shown = filled.show(start="My ", teach="My cat sleeps on the book.")

    assert shown["parts"][0][0].startswith("The course's code has taught it")
    assert "`train` raised KeyError" in shown["notes"][0]


def test_a_mask_that_hides_everything_is_blamed_and_not_the_softmax(companion: Any):
    """The softmax of a row without a character is not finite, though its code is right."""
    filled = fill(
        companion,
        "02_causal_averaging",
        masked_softmax_weights=lambda T: torch.zeros(T, T),
    )
    wrote(filled)

    assert filled.story.replaced == {"visible": "let a character see nothing"}


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        ("02_causal_averaging", "masked_softmax_weights"),
        ("05_masked_self_attention", "causal_mask"),
        ("08_cross_attention", "padding_mask"),
    ],
)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda mask: mask.tolist(), "returned list, not a tensor"),
        (lambda mask: mask / 0.0, "returned numbers that are not finite"),
    ],
    ids=["list", "nan"],
)
def test_a_mask_that_is_unusable_is_described(
    stage: str, name: str, change: Any, why: str, companion: Any
):
    """The reason is what the exercise returned, and no exception in the glue."""
    own = getattr(solution(stage), name)
    [note] = fill(companion, stage, **{name: lambda *args: change(own(*args))}).show(start="Ben ")[
        "notes"
    ]

    assert note.startswith(f"Your `{name}` {why}")


def test_a_different_text_comes_without_the_sentences_about_right_code(companion: Any):
    """Those sentences say what right code does."""
    text = {"start": "Otto had a ", "says": "Twice the mix is the sum.", "then": "It is yours."}
    filled = fill(companion, "00_start_here", mix=lambda a, b: a + b).show(**text)
    says = " ".join(sentence for sentence, _ in filled["parts"])

    assert "sum" not in says
    assert "yours" not in says
    assert "With the course's code the text differs from character 1 on" in says


def test_a_choice_that_is_nearly_a_tie_blames_nobody(
    companion: Any, monkeypatch: pytest.MonkeyPatch
):
    """Right code rounds differently, and then the likelier of two symbols may be the other."""
    monkeypatch.setattr(modules_in(SHARED, "storyteller_companion"), "CLOSE", 100.0)
    step = 1e-3

    def rounded(logits: torch.Tensor, heat: float, *_: object) -> torch.Tensor:
        if heat:
            return logits.softmax(-1).multinomial(1)
        return (logits + step * torch.arange(len(logits[0])) ** 2).argmax(-1, keepdim=True)

    own = wrote(companion)
    filled = fill(companion, "15_tiny_gpt", sample_next=rounded)
    shown = filled.show(start="Otto had a ", says="Yours:")
    drawn = filled.show(start="Otto had a ", heat=1.0)

    assert wrote(filled) != own
    assert [says for says, _ in shown["parts"]] == ["Yours:"]
    assert shown["is_own"]
    assert drawn["is_own"]


def test_a_small_difference_is_not_printed_as_two_equal_numbers():
    """A wrong divisor of the variance changes the third digit only, and no character."""
    module = modules_in(SHARED, "storyteller_companion")
    small, none = (module.difference(0.0, None, 0.2843, other) for other in (0.2836, 0.28430001))

    assert small.startswith("The text is also the course's, but")
    assert "0.2843, and with the course's code 0.2836" in small
    assert "that of the course's code, 0.28" in none


def test_the_exercise_that_runs_is_named(companion: Any):
    """The kit asks for it if the code does not end."""
    running = []

    def watched(scores: torch.Tensor, dim: int) -> torch.Tensor:
        running.append(companion.running)
        return scores.softmax(dim)

    wrote(fill(companion, "01_dot_product_attention", softmax_stable=watched))

    assert {*running} == {"01_dot_product_attention/softmax_stable"}
    assert companion.running == ""


def test_a_training_that_teaches_nothing_is_not_said_to_teach(companion: Any):
    """The loss of the stories does not rise, either."""
    filled = fill(companion, "11_learning_to_attend", train=lambda *_: [])
    shown = filled.show(start="My ", teach="My cat sleeps on the book.")["parts"]
    one, two, three = (says for says, _ in shown)

    assert one.startswith("Your `train` was given your sentence for 10 steps")
    assert two.startswith("Its loss of reading stories went from")
    assert three == "The course's code, with the same steps, leads to other texts."


def test_a_training_that_changes_shapes_is_replaced(companion: Any):
    """The weights would not fit into the storyteller."""

    def cut(model: torch.nn.Module, *_: object) -> list[float]:
        for one in model.parameters():
            one.data = one.data[..., :-1]
        return []

    filled = fill(companion, "11_learning_to_attend", train=cut)
    shown = filled.show(start="My ", teach="My cat sleeps on the book.")

    assert shown["parts"][0][0].startswith("The course's code has taught it")
    assert "`train` led to weights with the shape (48, 55), not (48, 56)" in shown["notes"][0]


def test_wrong_numbers_of_the_right_form_are_never_replaced(companion: Any):
    """The garbage is the message."""
    own = wrote(companion)
    wrong = fill(
        companion,
        "01_dot_product_attention",
        softmax_stable=lambda scores, _dim: scores.softmax(0),
    )

    assert wrote(wrong) != own
    assert not wrong.story.replaced


def test_slow_code_hands_over_and_is_named(companion: Any, monkeypatch: pytest.MonkeyPatch):
    """The text is finished by the course."""
    own = wrote(companion)
    monkeypatch.setattr(modules_in(SHARED, "storyteller"), "SECONDS", 0.05)

    def slow(scores: torch.Tensor, dim: int) -> torch.Tensor:
        torch.ones(300, 300) @ torch.ones(300, 300)
        return scores.softmax(dim)

    filled = fill(companion, "01_dot_product_attention", softmax_stable=slow)

    assert wrote(filled) == own
    assert filled.story.replaced["softmax"].startswith("took more than")


def test_unwritten_code_is_named_as_such(companion: Any):
    """A lab before its stage is solved shows this."""

    def unwritten(*_args: object) -> None:
        raise NotImplementedError

    filled = fill(companion, "07_causal_attention", CausalAttention=unwritten)
    note = filled.show(start="Ben ")["notes"][0]

    assert note.startswith("Your `CausalAttention` is not written yet")


def test_teaching_alone_forgets_and_teaching_with_stories_does_not(companion: Any):
    """The loss of reading stories says so."""
    (one, _), (two, _) = fill(companion, "11_learning_to_attend").show(
        start="My ", teach="My cat sleeps on the book."
    )["parts"]
    numbers = [float(one) for one in re.findall(r"\d\.\d\d", two)]

    assert "10 steps" in one
    assert numbers[1] > 1 > numbers[2]


def test_a_wrong_gradient_is_seen_while_teaching(companion: Any):
    """One of the wrong shape is replaced, with a note."""
    filled = fill(companion, "12_attention_backward", attention_backward=lambda q, *_, **__: (q, q))
    shown = filled.show(start="My ", teach="My cat sleeps on the book.")

    assert "`attention_backward`" in shown["notes"][0]


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        ("00_start_here", "mix"),
        ("01_dot_product_attention", "scores_for_query"),
        ("01_dot_product_attention", "context_vector"),
        ("04_self_attention", "SelfAttention_v1"),
        ("04_self_attention", "SelfAttention_v2"),
        ("05_masked_self_attention", "causal_mask"),
        ("05_masked_self_attention", "MaskedSelfAttention"),
        ("08_cross_attention", "padding_mask"),
        ("08_cross_attention", "CrossAttention"),
        ("16_kv_cache", "CachedMultiHeadAttention"),
        ("17_fewer_keys", "GroupedQueryAttention"),
        ("18_tiled_attention", "tiled_attention"),
    ],
)
def test_the_exercise_that_fails_is_named(stage: str, name: str, companion: Any):
    """Several exercises may fill one slot, and a wrong result is not called an exception."""
    own = getattr(solution(stage), name)

    def cut(result: Any) -> Any:
        return (cut(result[0]), *result[1:]) if isinstance(result, tuple) else result[..., :-1]

    def short(*args: Any) -> Any:
        return cut(own(*args))

    class Short(own if isinstance(own, type) else object):  # type: ignore[misc]
        def forward(self, *args: Any) -> Any:
            return cut(super().forward(*args))

    filled = fill(companion, stage, **{name: Short if isinstance(own, type) else short})
    [note] = filled.show(start="Ben ")["notes"]

    assert note.startswith(f"Your `{name}` returned the shape (")


@pytest.mark.parametrize(
    ("stage", "name"),
    [("05_masked_self_attention", "causal_mask"), ("08_cross_attention", "padding_mask")],
)
def test_a_mask_that_hides_a_row_is_blamed_and_not_its_class(stage: str, name: str, companion: Any):
    """The class divides zero by zero only because the mask leaves it nothing."""
    own = getattr(solution(stage), name)
    filled = fill(companion, stage, **{name: lambda *args: own(*args) * 0 == 1})
    wrote(filled)

    assert filled.story.replaced == {"head": "let a character see nothing"}
    assert filled.story.filled["head"][0] == name


def test_a_mask_of_numbers_is_blamed_and_not_its_class(companion: Any):
    """The class may negate the mask, which only works for True and False."""
    own = solution("08_cross_attention").padding_mask
    filled = fill(companion, "08_cross_attention", padding_mask=lambda *args: own(*args).float())
    [note] = filled.show(start="Ben ")["notes"]

    assert note.startswith("Your `padding_mask` returned numbers, not torch.bool")


def test_an_unknown_character_is_refused_by_name(companion: Any):
    """The stories have no digits."""
    with pytest.raises(ValueError, match="no character '7'"):
        companion.show(prompt="7 boats", start="")


def test_the_command_draws_the_shipped_stories():
    """The text is drawn from the skeletons, and no long sentence of it is held out."""
    train, held = split(draw_stories(LAB_SIZE, LAB_SEED, set()), LAB_SEED)
    more = draw_stories(20_000, 3, held=long_sentences(held))

    assert (train, held) == (text_of("train"), text_of("held"))
    assert not long_sentences("".join(more)) & long_sentences(held)


def test_the_shipped_weights_have_the_documented_loss(companion: Any):
    """The loss of characters with at least 32 others before is within 0.02 of 0.300."""
    assert companion.story.loss(text_of("held")) == pytest.approx(LOSS, abs=NEAR)


def test_every_slot_names_exercises_of_its_stage():
    """A misspelled exercise would never fill a slot."""
    for slot in SLOTS:
        text = (ROOT / "source" / slot["stage"] / "stage.toml").read_text("utf-8")
        for need in slot["needs"]:
            assert "/" in need or f'name = "{need}"' in text
