"""Compares the picture of each stage, computed with the solution, with its sentence."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.course import Stage, load
from tests.kit.factories import ROOT

COURSE = load(ROOT)
SAID = "sharper than "
WORDS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)


def hides_the_future(weights: Tensor) -> bool:
    """Return whether the upper triangle is exactly 0, and no visible weight is."""
    visible = torch.ones_like(weights).tril().bool()
    return bool((weights[~visible] == 0).all() and (weights[visible] > 0).all())


def long_vectors_win(weights: Tensor) -> bool:
    """Return whether most words look most at journey and starts, in any order."""
    pairs = [set(row) for row in weights.topk(2).indices.tolist()]
    return pairs.count({1, 2}) > len(pairs) / 2


def shares_equally(weights: Tensor) -> bool:
    """Return whether each token has the same weight for all tokens up to its own."""
    equal = torch.ones_like(weights).tril()
    return hides_the_future(weights) and torch.allclose(
        weights, equal / equal.sum(-1, keepdim=True)
    )


def can_look_at_a_stranger(weights: Tensor) -> bool:
    """Return whether some word looks most at a word that resembles it less than most words do."""
    alike = torch.nn.functional.cosine_similarity(WORDS[:, None], WORDS[None], dim=-1)
    chosen = alike.gather(1, weights.argmax(dim=-1, keepdim=True))
    return bool((chosen[:, 0] < alike.median(dim=-1).values).any())


def hides_nothing(weights: Tensor) -> bool:
    """Return whether every word looks at every word."""
    return bool((weights > 0).all())


def prefers_some_words(weights: Tensor) -> bool:
    """Return whether the future is hidden, and each row with a choice has a clear favorite."""
    rows = [row[: number + 1] for number, row in enumerate(weights)][1:]
    return hides_the_future(weights) and all(row.max() > 2 * row.min() for row in rows)


def finds_the_translation(weights: Tensor) -> bool:
    """Return whether each word finds its own source word, and the padding gets exactly 0."""
    return weights.argmax(dim=-1).tolist() == [0, 2, 1] and bool((weights[:, 3:] == 0).all())


def looks_one_word_back(weights: Tensor) -> bool:
    """Return whether each word but the first looks most at the word before it."""
    return weights[1:].argmax(dim=-1).tolist() == [0, 1, 2, 3, 4]


def attends_to_the_mirror_image(weights: Tensor) -> bool:
    """Return whether each letter looks most at the letter with its place counted from the end."""
    return weights.argmax(dim=-1).tolist() == [*range(len(weights))][::-1]


def needs_shortcuts(weights: Tensor) -> bool:
    """Return whether five layers get a hundredth without shortcuts, and two fifths with them."""
    without, with_shortcuts = weights[:, :5].sum(dim=-1)
    return bool(without < 0.01 and with_shortcuts > 0.4)


def expects_the_next_letter(weights: Tensor) -> bool:
    """Return whether the letter that comes next in the word gets most of each row."""
    following = torch.arange(1, len(weights) + 1) % weights.shape[1]
    return bool((weights.gather(1, following[:, None]) > 0.5).all())


def forgets_and_prefers_equal_words(weights: Tensor) -> bool:
    """Return whether a token sees five tokens, and equal ones get larger weights than others."""
    back = torch.arange(8)[:, None] - torch.arange(8)
    seen = (back >= 0) & (back < 5)
    equal, different = seen & (back % 2 == 0), seen & (back % 2 == 1)
    least = weights.masked_fill(~equal, 1).amin(dim=-1)
    return bool(
        (weights[~seen] == 0).all() and (least > weights.masked_fill(~different, 0).amax(-1)).all()
    )


def finds_equal_words(weights: Tensor) -> bool:
    """Return whether the future is hidden, and each word prefers equal words before it."""
    words = torch.tensor([0, 1, 0, 1, 2, 3, 2])
    equal = (words[:, None] == words).tril()
    others = (words[:, None] != words).tril()
    least, most = torch.where(equal, weights, 1).amin(-1), torch.where(others, weights, 0).amax(-1)
    return hides_the_future(weights) and bool((least > 2 * most).all())


def looks_for_its_own_letter(weights: Tensor) -> bool:
    """Return whether the future is hidden, and each letter looks most at equal letters."""
    word = "headache"
    return hides_the_future(weights) and all(
        {place for place in range(row + 1) if weights[row, place] > 0.8 * weights[row].max()}
        == {place for place in range(row + 1) if word[place] == word[row]}
        for row in range(len(word))
    )


def attends_after_the_earlier_copy(weights: Tensor) -> bool:
    """Return whether each letter that comes again gets the one after its earlier copy."""
    text = "cjaofmaocj"
    rows = zip(text[6:], weights.argmax(dim=-1).tolist(), strict=True)
    return all(text[column - 1] == letter and column <= 6 for letter, column in rows)


CLAIMS: dict[str, Callable[[Tensor], bool]] = {
    "01_dot_product_attention": long_vectors_win,
    "02_causal_averaging": shares_equally,
    "03_query_key_value": can_look_at_a_stranger,
    "04_self_attention": hides_nothing,
    "05_masked_self_attention": hides_the_future,
    "06_attention_head": prefers_some_words,
    "07_causal_attention": hides_the_future,
    "08_cross_attention": finds_the_translation,
    "09_multi_head_attention": looks_one_word_back,
    "10_split_heads": hides_the_future,
    "11_learning_to_attend": attends_to_the_mirror_image,
    "12_attention_backward": attends_to_the_mirror_image,
    "14_transformer_block": needs_shortcuts,
    "15_tiny_gpt": expects_the_next_letter,
    "16_kv_cache": finds_equal_words,
    "17_fewer_keys": forgets_and_prefers_equal_words,
    "18_tiled_attention": looks_for_its_own_letter,
    "19_translation": attends_to_the_mirror_image,
    "20_look_inside": attends_after_the_earlier_copy,
}


@pytest.mark.parametrize(("name", "claim"), CLAIMS.items())
def test_a_picture_shows_what_its_sentence_says(name: str, claim: Callable[[Tensor], bool]):
    """The claim of the sentence holds for the weights, and each row sums to one."""
    weights = picture_of(COURSE.stage(name))

    assert torch.allclose(weights.sum(dim=-1), torch.ones(len(weights)))
    assert claim(weights)


def test_a_picture_with_changed_weights_says_so():
    """If the code enlarges weights of the lab, the sentence states that they are sharper."""
    pictures = {name: COURSE.stage(name).file.picture for name in CLAIMS}
    enlarged = {name for name, one in pictures.items() if one and ".mul_(" in one.code}

    assert len(enlarged) == 4
    assert [name for name in enlarged if SAID not in getattr(pictures[name], "meaning", "")] == []


def picture_of(stage: Stage) -> Tensor:
    """Return the weights that the picture of *stage* shows with the solution."""
    names: dict[str, object] = {"__name__": stage.module}
    assert stage.file.picture
    code = f"import torch\n{stage.file.picture.code}"
    exec(stage.solution.read_text("utf-8"), names)  # noqa: S102  # the course's own code
    exec(code, names)  # noqa: S102  # the course's own code
    return names["stage_picture"]().detach()  # type: ignore[operator]
