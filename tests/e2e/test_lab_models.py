"""Tests the models and measurements that labs take from the course instead of long cells."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograder.student.course_modules import course_module
from autograder.student.pictures import Panels

LAB = Path(__file__).parents[2] / "source" / "18_tiled_attention"
readers = course_module(LAB, "story_readers")
tiles = course_module(LAB, "running_tiles")
head = course_module(LAB, "plain_head")


class Attention(nn.Module):
    """Causal attention of one kind of layers, with or without a cache."""

    def __init__(self, d_model, _d_model, heads):
        super().__init__()
        self.heads = heads
        for name in ("W_query", "W_key", "W_value", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, x, cache=None):
        """Return the context, and a cache that counts the tokens."""
        layers = (self.W_query, self.W_key, self.W_value)
        split = [layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in layers]
        context = functional.scaled_dot_product_attention(*split, is_causal=True)
        mixed = self.out_proj(context.transpose(1, 2).flatten(2))
        return mixed if cache is None else (mixed, cache + x.shape[1])


def code_of_stage_18():
    """Return three functions as a learner could write them."""

    def attend_tile(queries, keys, values, scale):
        scores = queries @ keys.T * scale
        return scores.softmax(-1) @ values, scores.logsumexp(-1)

    def merge_tiles(context, logsumexp, other, more):
        both = torch.stack((logsumexp, more))
        shares = both.softmax(0)[..., None]
        return shares[0] * context + shares[1] * other, both.logsumexp(0)

    def online_max_and_sum(row, _size):
        return row.max(), (row - row.max()).exp().sum()

    return SimpleNamespace(
        attend_tile=attend_tile, merge_tiles=merge_tiles, online_max_and_sum=online_max_and_sum
    )


def test_the_weights_of_each_head_are_read_from_its_results():
    """Each row sums to 1, no token sees a later one, and heads differ."""
    torch.manual_seed(1)
    weights = readers.weights_per_head(Attention(6, 6, 3), torch.randn(2, 5, 6), 3)

    assert weights.shape == (2, 3, 5, 5)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 3, 5), atol=1e-6)
    assert not weights.triu(1).any()
    assert not torch.allclose(weights[:, 0], weights[:, 1])


def test_a_block_passes_the_cache_of_its_attention():
    """The block adds to its input, and returns what the attention made of the cache."""
    block = readers.CachedBlock(SimpleNamespace(CachedMultiHeadAttention=Attention), 8, 2)
    x = torch.randn(1, 3, 8)
    result, cache = block(x, 4)

    assert result.shape == x.shape
    assert cache == 7
    assert not torch.allclose(result, x)


def test_a_gpt_takes_its_attention_as_a_function():
    """The function gets queries, keys and values of all heads, once for each layer."""
    given = []

    def attention(queries, keys, values):
        given.append((queries.shape, keys.shape, values.shape))
        return values

    logits = readers.FunctionGPT(vocab=5, d_model=8, heads=2)(torch.tensor([[1, 2, 3]]), attention)

    assert logits.shape == (1, 3, 5)
    assert given == [((1, 2, 3, 4),) * 3] * 2


def test_the_gradients_by_autograd_are_those_of_the_loss():
    """A step against each gradient lowers the loss."""
    words = torch.randint(10, (32, 8), generator=torch.Generator().manual_seed(3))
    p = head.new_parameters()
    loss, gradients = head.by_autograd(p, words)
    moved = {name: parameter - 0.1 * gradients[name] for name, parameter in p.items()}

    assert tuple(gradients) == head.NAMES
    assert head.by_autograd(moved, words)[0] < loss


def test_held_out_words_are_never_drawn_for_the_training():
    """The letters of a held-out word add up to a multiple of ten, and no others do."""
    generator = torch.Generator().manual_seed(3)

    assert not (head.draw_words(500, generator, held=True).sum(dim=1) % 10).any()
    assert (head.draw_words(500, generator).sum(dim=1) % 10).all()


def test_a_head_learns_from_right_gradients_and_is_measured():
    """Both losses fall; the seconds and the parameters after the training come with them."""
    run = head.train(head.by_autograd, 40)
    same = head.train(head.friend(9, head.by_autograd, None), 40)  # a friend without a mistake

    assert (run.steps[0], run.steps[-1]) == (0, 40)
    assert max(run.train[-1], run.held[-1]) < 0.3
    assert min(run.train[0], run.held[0]) > 2
    assert run.seconds > 0
    assert same.held == run.held
    assert torch.allclose(head.map_of(run.parameters).sum(dim=-1), torch.ones(8), atol=1e-5)


@pytest.mark.parametrize(
    ("number", "changed"),
    [
        pytest.param(1, {"W_query", "W_key"}, id="no scale"),
        pytest.param(2, {"W_query"}, id="no gradient of the queries"),
        pytest.param(3, {"tok_emb", "pos_emb"}, id="one path of three"),
        pytest.param(4, {"W_key"}, id="a wrong sign"),
        pytest.param(5, {"tok_emb", "pos_emb"}, id="no embeddings"),
    ],
)
def test_each_friend_makes_one_mistake(number: int, changed: set[str]):
    """A friend's gradients differ from the right ones in these parameters alone."""
    code = SimpleNamespace(
        cross_entropy_backward=lambda logits, _targets: torch.ones_like(logits),
        attention_backward=lambda queries, keys, _values, back: (queries, keys, back),
    )
    words = head.draw_words(4, torch.Generator().manual_seed(3))
    right = head.by_autograd(head.new_parameters(), words)[1]
    wrong = head.friend(number, head.by_autograd, code)(head.new_parameters(), words)[1]

    assert {name for name in head.NAMES if not torch.equal(right[name], wrong[name])} == changed


def test_the_last_tile_gives_the_context_of_the_whole_row():
    """The bars of the running context end at the final lines, in any order and size."""
    for size, order in ((2, "growing scores"), (5, "as they are"), (4, "falling scores")):
        panels = tiles.one_query(code_of_stage_18(), 6, size, order)
        context = panels.figures[2].axes[0]
        heights = [bar.get_height() for bar in context.patches]
        lines = [line.get_ydata()[0] for line in context.lines[:3]]
        final = torch.softmax(tiles.SCORES, dim=0) @ tiles.VALUES

        assert isinstance(panels, Panels)
        assert heights == pytest.approx(final.tolist(), abs=1e-5)
        assert lines == pytest.approx(final.tolist(), abs=1e-5)


def test_the_largest_tensor_and_what_autograd_keeps_are_counted():
    """Attention from all weights makes and keeps T · T numbers; a mean of the values does not."""
    given = [torch.randn(50, 4) for _ in range(3)]
    result, largest, seconds = tiles.measured(tiles.all_at_once, given)
    expected = functional.scaled_dot_product_attention(*given, is_causal=True)

    assert torch.allclose(result, expected, atol=1e-5)
    assert largest == 50 * 50
    assert seconds > 0
    assert tiles.kept_for_backward(tiles.all_at_once, given) > 50 * 50
    assert tiles.measured(lambda _queries, _keys, values: values.cumsum(0), given)[1] == 50 * 4
