"""Wrong answers that the suite of stage 18 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

TILE = "tile = scores[start : start + tile_size]"
NEW_MAXIMUM = "new_maximum = torch.maximum(maximum, tile.max())"
CORRECTED = (
    "total = total * torch.exp(maximum - new_maximum)  # as if the new maximum had been known"
)
ADDED = "total = total + torch.exp(tile - new_maximum).sum()"
BOTH = f"{CORRECTED}\n        {ADDED}"
SAME_SLICE = "for start in range(0, len(scores), tile_size):"
NOTHING_SEEN = (
    "maximum = maximum.masked_fill(sees_nothing, 0.0)  # -inf - (-inf) would not be a number"
)
CONTEXT = "context = exponentials @ values / total.masked_fill(sees_nothing, 1.0)"
LOGSUMEXP = "logsumexp = (maximum + torch.log(total)).squeeze(-1)"
HIDING = "scores = scores.masked_fill(hidden, -torch.inf)"
EVERY_SUM = "torch.exp(queries @ keys.mT * scale - maximum).sum(dim=-1, keepdim=True)"
SUMS = (
    "sum_a = torch.exp(logsumexp_a - maximum)  # the sums of both sides, with one maximum\n"
    "    sum_b = torch.exp(logsumexp_b - maximum)"
)
SHARES = "share_a, share_b = torch.stack((sum_a, sum_b)) / total.masked_fill(sees_nothing, 1.0)"
MERGED = "logsumexp = maximum + torch.log(total)"
PLAIN = "logsumexp = torch.log(torch.exp(logsumexp_a) + torch.exp(logsumexp_b))"
FROM_THE_LOGSUMEXP = "share_a, share_b = torch.exp(torch.stack((logsumexp_a, logsumexp_b)) - base)"
MIXED = "context = share_a.unsqueeze(-1) * context_a + share_b.unsqueeze(-1) * context_b"
START = "logsumexp = queries.new_full(rows, -torch.inf)"
LAST_SEEN = "last_seen = torch.arange(start, start + rows[-1]) + Tk - Tq  # the token of each query"
KEY_TILES = "for first in range(0, Tk, tile_size):"
TOKENS = "tokens = torch.arange(first, first + some_keys.shape[-2])"
MERGING = "context, logsumexp = merge_tiles(context, logsumexp, *tile)"
STOP = "if causal and first > last_seen[-1]:"
GROWN = "Is exp(score - maximum) larger or smaller after the maximum has grown?"
SCALE = "scale = queries.shape[-1] ** -0.5"
RUNNING = """\
            def tiled_attention(queries, keys, values, tile_size, causal=False):
                Tq, Tk = queries.shape[-2], keys.shape[-2]
                maximum = queries.new_full((*queries.shape[:-1], 1), -torch.inf)
                total, context = 0, 0
                for first in range(0, Tk, tile_size):
                    some_keys = keys[..., first : first + tile_size, :]
                    some_values = values[..., first : first + tile_size, :]
                    scores = queries @ some_keys.mT / queries.shape[-1] ** 0.5
                    if causal:
                        tokens = torch.arange(first, first + some_keys.shape[-2])
                        last_seen = torch.arange(Tq)[:, None] + Tk - Tq
                        scores = scores.masked_fill(tokens > last_seen, -torch.inf)""".lstrip()
# Flash attention often starts with a large negative number, which is never NaN.
FINITE = RUNNING.replace("1), -torch.inf)", "1), -1e30)")
RIGHT_SUMS = """
                    larger = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
                    part = torch.exp(scores - larger)
                    total = total * torch.exp(maximum - larger) + part.sum(dim=-1, keepdim=True)
                    context = context * torch.exp(maximum - larger) + part @ some_values
                    maximum = larger
                return context / total"""

MISCONCEPTIONS = (
    # online_max_and_sum
    Misconception(
        id="starts_with_a_maximum_of_zero",
        exercise="online_max_and_sum",
        swaps=(("scores.new_tensor(-torch.inf)", "scores.new_tensor(0.0)"),),
        explanation=(
            "The running maximum starts at 0, so it is never below 0, even if all scores are."
        ),
        question="Which number is smaller than every score?",
    ),
    Misconception(
        id="keeps_the_old_sum_as_it_is",
        exercise="online_max_and_sum",
        swaps=((CORRECTED, "total = total + 0"),),
        explanation=(
            "The old sum is not corrected when the maximum grows: its exponentials were taken with "
            "the old maximum subtracted."
        ),
        question="By which factor does exp(score - maximum) change when the maximum grows?",
    ),
    Misconception(
        id="starts_the_sum_again",
        exercise="online_max_and_sum",
        swaps=((CORRECTED, "total = torch.where(maximum < new_maximum, 0.0, total)"),),
        explanation=(
            "The old sum is lost when a tile has a new maximum; it must be multiplied by "
            "exp(old - new)."
        ),
        question="How much does a score of 4 count if a later tile has a score of 5?",
    ),
    Misconception(
        id="corrects_the_sum_the_wrong_way",
        exercise="online_max_and_sum",
        swaps=(("torch.exp(maximum - new_maximum)", "torch.exp(new_maximum - maximum)"),),
        explanation=(
            "The old sum is multiplied by exp(new - old), but a larger maximum makes the sum "
            "smaller: the factor must be exp(old - new)."
        ),
        question=GROWN,
    ),
    Misconception(
        id="corrects_the_wrong_way_from_the_first_score",
        exercise="online_max_and_sum",
        swaps=(
            ("scores.new_tensor(-torch.inf)", "scores[0]"),
            ("torch.exp(maximum - new_maximum)", "torch.exp(new_maximum - maximum)"),
        ),
        explanation=(
            "The factor of the old sum is exp(new - old), but a larger maximum makes the sum "
            "smaller: it must be exp(old - new)."
        ),
        question=GROWN,
    ),
    Misconception(
        id="corrects_the_new_scores_too",
        exercise="online_max_and_sum",
        swaps=(
            (
                BOTH,
                (
                    "total = total + torch.exp(tile - new_maximum).sum()\n"
                    "        total = total * torch.exp(maximum - new_maximum)"
                ),
            ),
        ),
        explanation=(
            "The correction is applied to the new tile as well, but its exponentials already use "
            "the new maximum."
        ),
        question="Were the exponentials of this tile taken with the old maximum?",
    ),
    Misconception(
        id="adds_sums_with_different_maxima",
        exercise="online_max_and_sum",
        swaps=((BOTH, "total = total + torch.exp(tile - tile.max()).sum()"),),
        explanation=(
            "The sum of each tile uses the tile's own maximum, but sums with different maxima must "
            "not be added."
        ),
        question="What must be equal before you may add exp(a - m) and exp(b - n)?",
    ),
    Misconception(
        id="corrects_the_old_sum_only",
        exercise="online_max_and_sum",
        swaps=((ADDED, "total = total + torch.exp(tile - tile.max()).sum()"),),
        explanation=(
            "The sum of a new tile uses the tile's own maximum, but an earlier tile may have had a "
            "larger one."
        ),
        question="Which maximum belongs to the sum that you return?",
    ),
    Misconception(
        id="keeps_the_maximum_of_the_last_tile",
        exercise="online_max_and_sum",
        swaps=((NEW_MAXIMUM, "new_maximum = tile.max()"),),
        explanation=(
            "The new maximum is that of the last tile alone; it must include the scores of "
            "earlier tiles."
        ),
        question="Which maximum does your code return if the largest score is in the first tile?",
    ),
    Misconception(
        id="drops_the_last_scores",
        exercise="online_max_and_sum",
        swaps=(
            (
                SAME_SLICE,
                "for start in range(0, len(scores) // tile_size * tile_size, tile_size):",
            ),
        ),
        explanation="The last tile is left out if it is shorter than the others.",
        question="How many tiles of 3 are needed for 7 scores?",
    ),
    Misconception(
        id="returns_the_sum_of_plain_exponentials",
        exercise="online_max_and_sum",
        swaps=(("return maximum, total", "return maximum, total * torch.exp(maximum)"),),
        explanation=(
            "The sum is taken over exp(score), without the maximum subtracted, so it overflows for "
            "large scores."
        ),
        question="What is exp(1000) in float32?",
    ),
    Misconception(
        id="returns_the_log_of_the_sum",
        exercise="online_max_and_sum",
        swaps=(("return maximum, total", "return maximum, torch.log(total)"),),
        explanation="The second result is the log of the sum; here it must be the sum.",
        question="Does the exercise ask for the sum or for its log?",
    ),
    Misconception(
        id="returns_the_logsumexp",
        exercise="online_max_and_sum",
        swaps=(("return maximum, total", "return maximum, maximum + torch.log(total)"),),
        explanation="The second result is the logsumexp; here it must be the sum.",
        question="Does the exercise ask for the sum or for the logsumexp?",
    ),
    Misconception(
        id="goes_through_the_scores_twice",
        exercise="online_max_and_sum",
        code="""
            def online_max_and_sum(scores, tile_size):
                maximum = scores.max()
                total = scores.new_tensor(0.0)
                for start in range(0, len(scores), tile_size):
                    total = total + torch.exp(scores[start : start + tile_size] - maximum).sum()
                return maximum, total
        """,
        explanation=(
            "The maximum of all scores is taken first, so the code goes through the scores "
            "twice; the running maximum must be updated together with the sum."
        ),
        question="Which maximum can your code use after the first tile?",
    ),
    Misconception(
        id="computes_all_exponentials_at_once",
        exercise="online_max_and_sum",
        code="""
            def online_max_and_sum(scores, tile_size):
                maximum = scores.max()
                return maximum, torch.exp(scores - maximum).sum()
        """,
        explanation=(
            "A step works on all scores at the same time; it must work on a tile. The numbers are "
            "right."
        ),
        question="What could you compute if only one tile of scores were in memory?",
    ),
    Misconception(
        id="asks_torch_for_the_logsumexp",
        exercise="online_max_and_sum",
        swaps=(
            (
                "return maximum, total",
                "return maximum, torch.exp(torch.logsumexp(scores, dim=0) - maximum)",
            ),
        ),
        explanation=(
            "Torch's own logsumexp computes the sum, but in this exercise you must compute it "
            "yourself."
        ),
        question="Which two numbers do you carry from one tile to the next?",
    ),
    Misconception(
        id="subtracts_in_place",
        exercise="online_max_and_sum",
        swaps=(
            (
                ADDED,
                "tile -= new_maximum\n        total = total + torch.exp(tile).sum()",
            ),
        ),
        explanation=(
            "The caller's scores are changed in place; a slice of them shares their memory."
        ),
        question=(
            "Which of your lines changes its argument, and which code still needs the old numbers?"
        ),
    ),
    Misconception(
        id="rounds_both_numbers_to_float32",
        exercise="online_max_and_sum",
        swaps=(("return maximum, total", "return maximum.float(), total.float()"),),
        explanation="The results are float32 even if the scores are float64.",
        question="Which dtype do the scores have, and which dtype do your results have?",
    ),
    Misconception(
        id="subtracts_the_maximum_too_late",
        exercise="online_max_and_sum",
        when=("takes exponentials",),
        swaps=(
            (BOTH, "total = total + torch.exp(tile).sum()"),
            ("return maximum, total", "return maximum, total * torch.exp(-maximum)"),
        ),
        explanation=(
            "The exponentials are taken before the maximum is subtracted, so those of large scores "
            "overflow, and those of small scores vanish."
        ),
        question="What is exp(1000) in float32, and what is exp(1000) · exp(-1000)?",
    ),
    # attend_tile
    Misconception(
        id="subtracts_minus_infinity",
        exercise="attend_tile",
        swaps=((NOTHING_SEEN, "maximum = maximum + 0"),),
        explanation=(
            "A query that sees no key gives NaN: its maximum is minus infinity, and -inf - "
            "(-inf) is NaN."
        ),
        question="Which number can you subtract in such a row, so that every exponential is 0?",
    ),
    Misconception(
        id="divides_nothing_by_nothing",
        exercise="attend_tile",
        swaps=((CONTEXT, "context = exponentials @ values / total"),),
        explanation=(
            "A query that sees no key has NaN as its context, as 0 / 0 gives: the sum of its "
            "exponentials is 0."
        ),
        question="Which of your steps gives NaN if the sum of the exponentials is 0?",
    ),
    Misconception(
        id="says_zero_for_nothing",
        exercise="attend_tile",
        swaps=(
            (
                LOGSUMEXP,
                LOGSUMEXP.replace("(total)", "(total.masked_fill(sees_nothing, 1.0))"),
            ),
        ),
        explanation=(
            "A query that sees no key has a logsumexp of 0, which means a sum of 1; without any "
            "exponential the sum is 0 and its log is minus infinity."
        ),
        question="What is the sum of no exponentials, and what is its log?",
    ),
    Misconception(
        id="hides_with_a_large_number",
        exercise="attend_tile",
        swaps=((HIDING, "scores = scores.masked_fill(hidden, -1e9)"),),
        explanation=(
            "Hidden scores are set to a large negative number, so a query that sees no key "
            "averages all values; only minus infinity gives the weight 0 in every row."
        ),
        question="What is the softmax of a row in which all scores are -1e9?",
    ),
    Misconception(
        id="scales_only_on_request",
        exercise="attend_tile",
        swaps=((SCALE, "scale = 1.0"),),
        explanation="If *scale* is None, the scores are not scaled, but None means 1/√d.",
        question="By which number are the scores multiplied if the caller gives no scale?",
    ),
    Misconception(
        id="ignores_the_given_scale",
        exercise="attend_tile",
        swaps=((f"if scale is None:\n        {SCALE}", SCALE),),
        explanation="The scores are always multiplied by 1/√d, even if the caller gives a scale.",
        question="In which case does your code choose the scale itself?",
    ),
    Misconception(
        id="forgets_the_maximum_in_the_logsumexp",
        exercise="attend_tile",
        swaps=((LOGSUMEXP, "logsumexp = torch.log(total).squeeze(-1)"),),
        explanation=(
            "The maximum is missing in the logsumexp: it was subtracted from the scores, so it "
            "must be added after the log."
        ),
        question="log(Σ exp(s - m)) is the logsumexp minus which number?",
    ),
    Misconception(
        id="counts_hidden_keys_in_the_logsumexp",
        exercise="attend_tile",
        swaps=(("torch.log(total)", f"torch.log({EVERY_SUM})"),),
        explanation="Hidden keys count in the logsumexp; it must be that of the visible keys.",
        question="Which keys does Σ exp(score) add up?",
    ),
    Misconception(
        id="counts_hidden_keys_in_the_sum",
        exercise="attend_tile",
        swaps=(("exponentials.sum(dim=-1, keepdim=True)", EVERY_SUM),),
        explanation=(
            "Hidden keys count in the sum of the exponentials, which is the divisor of the context "
            "and part of the logsumexp; only visible keys may count."
        ),
        title="Hidden keys count in the sum of the exponentials",
        question="What do the weights of the visible keys sum to?",
    ),
    Misconception(
        id="subtracts_one_maximum_for_all",
        exercise="attend_tile",
        swaps=(
            (
                "maximum = maximum.masked_fill(sees_nothing, 0.0)",
                "maximum = maximum.amax(dim=-2, keepdim=True).masked_fill(sees_nothing, 0.0)",
            ),
        ),
        explanation=(
            "One maximum is subtracted from the scores of several queries, so the exponentials of "
            "a query with far smaller scores are all 0; each query needs its own maximum."
        ),
        title="One maximum is subtracted from the scores of several queries",
        question="What is exp(score - maximum) if another query has scores larger by 400?",
    ),
    Misconception(
        id="subtracts_the_maximum_of_hidden_keys",
        exercise="attend_tile",
        swaps=(
            (
                "maximum = maximum.masked_fill(sees_nothing, 0.0)",
                (
                    "maximum = (queries @ keys.mT * scale).amax(dim=-1, keepdim=True)\n"
                    "    maximum = maximum.masked_fill(sees_nothing, 0.0)"
                ),
            ),
        ),
        title="The maximum that is subtracted may be the score of a hidden key",
        explanation=(
            "The maximum that is subtracted may be the score of a hidden key, so if this score is "
            "far larger than those of visible keys, all their exponentials are 0."
        ),
        question="What is exp(score - maximum) if a hidden key has a score larger by 400?",
    ),
    Misconception(
        id="subtracts_the_maximum_of_all_scores",
        exercise="attend_tile",
        swaps=(
            (
                "maximum = maximum.masked_fill(sees_nothing, 0.0)",
                (
                    "maximum = maximum.amax().masked_fill(sees_nothing, 0.0)\n"
                    "    sees_nothing = scores.sub(maximum).exp().sum(dim=-1, keepdim=True) == 0"
                ),
            ),
        ),
        explanation=(
            "The maximum of all scores is subtracted, so the exponentials of a query with far "
            "smaller scores are all 0, and so is its context; each query needs its own maximum."
        ),
        title="The maximum of all scores is subtracted",
        question="What is exp(score - maximum) if another query has scores larger by 400?",
    ),
    Misconception(
        id="leaves_the_scale_out_of_the_logsumexp",
        exercise="attend_tile",
        swaps=(
            (
                LOGSUMEXP,
                (
                    "raw, top = scores / scale, maximum / scale\n"
                    "    logsumexp = (top + (raw - top).exp().sum(-1, True).log()).squeeze(-1)"
                ),
            ),
        ),
        explanation="The logsumexp is that of the scores without the scale; the context has it.",
        question="Which scores must the logsumexp and the context have in common?",
    ),
    Misconception(
        id="scales_by_the_size_of_a_value",
        exercise="attend_tile",
        when=("takes roots",),
        swaps=((SCALE, SCALE.replace("queries", "values")),),
        explanation="By default, the scores are divided by √d_v, not by √d.",
        question="How many products does one score add up?",
    ),
    Misconception(
        id="returns_the_sum_for_the_logsumexp",
        exercise="attend_tile",
        swaps=((LOGSUMEXP, "logsumexp = total.squeeze(-1)"),),
        explanation="The second result is the sum of the exponentials; it must be the logsumexp.",
        question="How do you get the logsumexp from the sum and the maximum?",
    ),
    Misconception(
        id="returns_the_maximum_for_the_logsumexp",
        exercise="attend_tile",
        swaps=(
            (LOGSUMEXP, "logsumexp = maximum.masked_fill(sees_nothing, -torch.inf).squeeze(-1)"),
        ),
        explanation="The second result is the maximum of the scores, without the log of the sum.",
        question="Two equal scores count twice as much as one. Does your number show that?",
    ),
    Misconception(
        id="returns_the_context_undivided",
        exercise="attend_tile",
        swaps=((CONTEXT, "context = exponentials @ values"),),
        explanation=(
            "The context is not divided by the sum of the exponentials, so its weights do not sum "
            "to 1."
        ),
        question="What turns exponentials into weights?",
    ),
    Misconception(
        id="keeps_the_last_axis",
        exercise="attend_tile",
        swaps=((LOGSUMEXP, "logsumexp = maximum + torch.log(total)"),),
        title="The logsumexp has an axis of size 1 too many",
        explanation=(
            "The logsumexp has an axis of size 1 too many: its shape is (..., Tq, 1) instead of "
            "(..., Tq)."
        ),
        question="Which argument of the sum keeps the axis?",
    ),
    Misconception(
        id="overflows_for_large_scores",
        exercise="attend_tile",
        code="""
            def attend_tile(queries, keys, values, scale=None, hidden=None):
                scale = queries.shape[-1] ** -0.5 if scale is None else scale
                scores = queries @ keys.mT * scale
                if hidden is not None:
                    scores = scores.masked_fill(hidden, -torch.inf)
                exponentials = scores.exp()
                total = exponentials.sum(dim=-1, keepdim=True)
                context = exponentials @ values / total.masked_fill(total == 0, 1.0)
                return context, total.log().squeeze(-1)
        """,
        explanation=(
            "The exponentials of large scores overflow, because no maximum is subtracted first."
        ),
        question="Which number may you subtract from all scores of a row before you start?",
    ),
    Misconception(
        id="asks_torch_for_softmax",
        exercise="attend_tile",
        code="""
            def attend_tile(queries, keys, values, scale=None, hidden=None):
                scale = queries.shape[-1] ** -0.5 if scale is None else scale
                scores = queries @ keys.mT * scale
                if hidden is not None:
                    scores = scores.masked_fill(hidden, -torch.inf)
                weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
                return weights @ values, torch.logsumexp(scores, dim=-1)
        """,
        explanation=(
            "Torch's own softmax and logsumexp are used, but in this exercise you must write them "
            "yourself."
        ),
        question="Which sum do softmax and logsumexp have in common?",
    ),
    Misconception(
        id="sums_over_the_queries",
        exercise="attend_tile",
        swaps=(
            ("scores.amax(dim=-1, keepdim=True)", "scores.amax(dim=-2, keepdim=True)"),
            ("exponentials.sum(dim=-1, keepdim=True)", "exponentials.sum(dim=-2, keepdim=True)"),
            (
                CONTEXT,
                "context = exponentials / total.masked_fill(sees_nothing, 1.0) @ values",
            ),
            (LOGSUMEXP, "logsumexp = (maximum + torch.log(total)).squeeze(-2)"),
        ),
        explanation=(
            "The maximum and the sum are taken over the queries, but each query needs its own, "
            "over its keys."
        ),
        question="Which axis of (..., Tq, Tk) belongs to the keys?",
    ),
    Misconception(
        id="adds_the_sum_without_its_logarithm",
        exercise="attend_tile",
        swaps=(("maximum + torch.log(total)", "maximum + total"),),
        explanation=(
            "The sum of the exponentials is added to the maximum; its logarithm must be added."
        ),
        question="What is the logarithm of a product of e^m and a sum?",
    ),
    Misconception(
        id="scales_in_place",
        exercise="attend_tile",
        swaps=(
            (
                "scores = queries @ keys.transpose(-2, -1) * scale",
                "queries *= scale\n    scores = queries @ keys.transpose(-2, -1)",
            ),
        ),
        explanation="The caller's queries are multiplied by the scale in place.",
        question=(
            "Which of your lines changes its argument, and which code still needs the old numbers?"
        ),
    ),
    Misconception(
        id="rounds_both_results_to_float32",
        exercise="attend_tile",
        swaps=(("return context, logsumexp", "return context.float(), logsumexp.float()"),),
        explanation="The results are float32 even if queries, keys and values are float64.",
        question="Which dtype do the queries have, and which dtype do your results have?",
    ),
    Misconception(
        id="multiplies_by_the_root",
        exercise="attend_tile",
        when=("takes roots",),
        swaps=((SCALE, "scale = queries.shape[-1] ** 0.5"),),
        explanation="The scores are multiplied by √d; by default they must be divided by it.",
        question="Should vectors with more features give larger scores?",
    ),
    Misconception(
        id="divides_by_the_size",
        exercise="attend_tile",
        when=("no takes roots",),
        swaps=((SCALE, "scale = 1 / queries.shape[-1]"),),
        explanation="The scores are divided by d; by default they must be divided by √d.",
        question="How does the spread of a dot product grow with the number of features?",
    ),
    Misconception(
        id="hides_with_zero",
        exercise="attend_tile",
        when=("fills | multiplies",),
        swaps=((HIDING, "scores = scores.masked_fill(hidden, 0.0)"),),
        explanation=(
            "Hidden scores become 0, whose exponential is 1, so hidden keys still have weight; "
            "they must become minus infinity."
        ),
        question="Which score has the exponential 0?",
    ),
    Misconception(
        id="hides_with_the_smallest_number",
        exercise="attend_tile",
        when=("calls finfo",),
        swaps=((HIDING, "scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)"),),
        explanation=(
            "Hidden scores are set to the smallest finite number, so a query that sees no key "
            "averages all values; only minus infinity gives the weight 0 in every row."
        ),
        question="What is the softmax of a row in which all scores are the same number?",
    ),
    # merge_tiles
    Misconception(
        id="adds_the_sum_to_the_maximum",
        exercise="merge_tiles",
        when=("adds",),
        swaps=((MERGED, "logsumexp = maximum + total"),),
        explanation=(
            "The sum of the exponentials is added to the maximum without its logarithm, so the "
            "merged logsumexp is too large."
        ),
        question="What is the logsumexp of two sides that both have a logsumexp of 0?",
    ),
    Misconception(
        id="keeps_the_first_context_whole",
        exercise="merge_tiles",
        when=("adds",),
        swaps=((MIXED, "context = context_a + share_b.unsqueeze(-1) * context_b"),),
        explanation=(
            "The context of the first side keeps its whole weight, but each of the two must be "
            "multiplied by its share, and the two shares sum to 1."
        ),
        question="How much of the old context must be left if the new tile has nearly all weight?",
    ),
    Misconception(
        id="averages_the_contexts",
        exercise="merge_tiles",
        when=("divides | multiplies | calls lerp",),
        swaps=((MIXED, "context = (context_a + context_b) / 2"),),
        explanation=(
            "The plain mean of the contexts is taken; each context must be weighted by its sum of "
            "exponentials."
        ),
        question=(
            "One tile has a score of 10, and the other has only scores of 0. Which context should "
            "get more weight?"
        ),
    ),
    Misconception(
        id="adds_the_contexts",
        exercise="merge_tiles",
        when=("takes exponentials | calls logaddexp",),
        swaps=((MIXED, "context = context_a + context_b"),),
        explanation=(
            "The contexts are added, but each is already a mean: its weights sum to 1 within its "
            "own tile."
        ),
        question="If you add both contexts, what do all their weights sum to?",
    ),
    Misconception(
        id="weights_with_the_logs",
        exercise="merge_tiles",
        when=("divides",),
        swaps=(
            (
                SHARES,
                (
                    "share_a, share_b = torch.stack((logsumexp_a, logsumexp_b)) "
                    "/ (logsumexp_a + logsumexp_b)"
                ),
            ),
        ),
        explanation=(
            "The contexts are weighted by the logsumexps; the weights must be computed from their "
            "exponentials."
        ),
        question="The logsumexp is the log of which number?",
    ),
    Misconception(
        id="swaps_the_shares",
        exercise="merge_tiles",
        when=("takes exponentials | calls softmax | calls sigmoid",),
        swaps=((SHARES, SHARES.replace("share_a, share_b", "share_b, share_a")),),
        explanation="Each context gets the weight of the wrong side.",
        question="Which context should get more weight if side a has the larger logsumexp?",
    ),
    Misconception(
        id="merges_nothing_to_nan",
        exercise="merge_tiles",
        swaps=((NOTHING_SEEN, "maximum = maximum + 0"),),
        explanation=(
            "If neither side has a visible key, the result is NaN, because -inf - (-inf) is NaN."
        ),
        question="What do you subtract if both logsumexps are minus infinity?",
    ),
    Misconception(
        id="divides_by_a_total_of_zero",
        exercise="merge_tiles",
        when=("divides",),
        swaps=((SHARES, "share_a, share_b = torch.stack((sum_a, sum_b)) / total"),),
        explanation="If neither side has a visible key, the context is NaN; it must be zeros.",
        question="Which of your steps gives NaN if both logsumexps are minus infinity?",
    ),
    Misconception(
        id="overflows_for_large_logsumexps",
        exercise="merge_tiles",
        code="""
            def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
                sum_a, sum_b = torch.exp(logsumexp_a), torch.exp(logsumexp_b)
                total = sum_a + sum_b
                divisor = torch.where(total == 0, 1.0, total)[..., None]
                context = (sum_a[..., None] * context_a + sum_b[..., None] * context_b) / divisor
                return context, torch.log(total)
        """,
        explanation=(
            "The exponentials of large logsumexps overflow: the larger of the two must be "
            "subtracted first."
        ),
        question="Which number may you subtract from both logsumexps without changing the weights?",
    ),
    *(
        Misconception(
            id=name,
            exercise="merge_tiles",
            when=("takes exponentials",),
            swaps=swaps,
            explanation=(
                f"{what} is infinite for large logsumexps, because their exponentials overflow: "
                "the larger of the two must be subtracted first."
            ),
            title=f"{what} is infinite for large logsumexps",
            question="What is the logarithm of exp(1000) in float32?",
        )
        for name, what, swaps in (
            (
                "takes_the_log_of_plain_exponentials",
                "The merged logsumexp",
                ((MERGED, PLAIN),),
            ),
            (
                "computes_the_shares_from_an_infinite_logsumexp",
                "The logsumexp that gives the shares",
                (
                    (MERGED, f"{PLAIN}\n    base = logsumexp.masked_fill(logsumexp.isneginf(), 0)"),
                    (SHARES, FROM_THE_LOGSUMEXP),
                ),
            ),
        )
    ),
    Misconception(
        id="keeps_the_larger_logsumexp",
        exercise="merge_tiles",
        swaps=((MERGED, "logsumexp = torch.maximum(logsumexp_a, logsumexp_b)"),),
        explanation=(
            "The merged logsumexp is the larger of the two; it must contain the exponentials of "
            "both sides."
        ),
        question="What is the merged logsumexp of two sides with equal logsumexps?",
    ),
    Misconception(
        id="adds_the_logsumexps",
        exercise="merge_tiles",
        when=("takes exponentials",),
        swaps=((MERGED, "logsumexp = logsumexp_a + logsumexp_b"),),
        explanation=(
            "The logsumexps are added, which multiplies the two sums; the sums must be added."
        ),
        question="What is log(x) + log(y), and what do you need?",
    ),
    Misconception(
        id="returns_the_log_without_the_maximum",
        exercise="merge_tiles",
        swaps=((MERGED, "logsumexp = torch.log(total)"),),
        explanation=(
            "The maximum is missing in the merged logsumexp: it was subtracted before the "
            "exponentials, so it must be added after the log."
        ),
        question="Both sides have a logsumexp of 5. What must the result be, and what is yours?",
    ),
    Misconception(
        id="merges_in_place",
        exercise="merge_tiles",
        swaps=(
            (
                MIXED,
                (
                    "context_a *= share_a.unsqueeze(-1)\n"
                    "    context = context_a + share_b.unsqueeze(-1) * context_b"
                ),
            ),
        ),
        explanation="The caller's context is changed in place.",
        question=(
            "Which of your lines changes its argument, and which code still needs the old numbers?"
        ),
    ),
    Misconception(
        id="merges_in_float32",
        exercise="merge_tiles",
        swaps=(("return context, logsumexp", "return context.float(), logsumexp.float()"),),
        explanation="The results are float32, even if both sides are float64.",
        question="Which dtype do the two sides have, and which dtype do your results have?",
    ),
    Misconception(
        id="gives_the_shares_no_axis",
        exercise="merge_tiles",
        when=("no calls unsqueeze", "no passes keepdim"),
        swaps=((MIXED, "context = share_a * context_a + share_b * context_b"),),
        explanation=(
            "The shares have the shape (..., Tq) and the contexts (..., Tq, d_v): the shares need "
            "a last axis of size 1, so that each multiplies all features of its query."
        ),
        question="Which axis of the contexts must the queries of the shares be aligned with?",
    ),
    Misconception(
        id="subtracts_infinities_in_the_shares",
        exercise="merge_tiles",
        when=("takes exponentials | calls sigmoid | takes a softmax", "no divides"),
        code="""
            def merge_tiles(context_a, logsumexp_a, context_b, logsumexp_b):
                logsumexp = torch.logaddexp(logsumexp_a, logsumexp_b)
                share_a = torch.exp(logsumexp_a - logsumexp)[..., None]
                share_b = torch.exp(logsumexp_b - logsumexp)[..., None]
                return share_a * context_a + share_b * context_b, logsumexp
        """,
        explanation=(
            "Minus infinity is subtracted from itself if neither side has a visible key, and "
            "-inf - (-inf) is NaN."
        ),
        question="What do you subtract if both logsumexps are minus infinity?",
    ),
    Misconception(
        id="swaps_the_sides_of_the_sigmoid",
        exercise="merge_tiles",
        when=("calls logsigmoid | calls sigmoid | calls softplus",),
        swaps=(
            (
                MERGED,
                (
                    "apart = logsumexp_b - logsumexp_a\n"
                    "    logsumexp = logsumexp_a - torch.nn.functional.logsigmoid(apart)"
                ),
            ),
        ),
        explanation=(
            "The merged logsumexp is a - logsigmoid(b - a); it must be a - logsigmoid(a - b)."
        ),
        question="What must the merged logsumexp be if b is far larger than a?",
    ),
    # tiled_attention
    Misconception(
        id="averages_the_tiles",
        exercise="tiled_attention",
        swaps=(
            (START, f"{START}\n        count = 0"),
            (MERGING, "count += 1\n            context = context + (tile[0] - context) / count"),
        ),
        explanation=(
            "Each tile has its own softmax, and the results are averaged, so the result depends on "
            "the tile size; a tile must be weighted by the sum of its exponentials."
        ),
        question="What happens to the result if one tile has all the large scores?",
    ),
    Misconception(
        id="adds_the_tiles",
        exercise="tiled_attention",
        swaps=((MERGING, "context = context + tile[0]"),),
        explanation=(
            "The contexts of all tiles are added, but the weights of each tile already sum to 1."
        ),
        question="What do all weights of a query sum to, over all tiles?",
    ),
    Misconception(
        id="keeps_the_last_tile",
        exercise="tiled_attention",
        when=(
            "no calls merge_tiles",
            "no calls logaddexp",
        ),
        swaps=((MERGING, "context, logsumexp = tile"),),
        explanation="Each tile replaces the results of the tiles before it.",
        question="What is left of the first tile in the result?",
    ),
    Misconception(
        id="forgets_the_running_logsumexp",
        exercise="tiled_attention",
        swaps=((MERGING, "context, _ = merge_tiles(context, logsumexp, *tile)"),),
        explanation=(
            "The running logsumexp is not updated after merging, so each new tile gets too much "
            "weight."
        ),
        question="Which two numbers does the next merge need?",
    ),
    Misconception(
        id="keeps_the_logsumexp_of_the_first_tile",
        exercise="tiled_attention",
        swaps=(
            (
                MERGING,
                (
                    "if first == 0:\n"
                    "                context, logsumexp = tile\n"
                    "            else:\n"
                    "                context, _ = merge_tiles(context, logsumexp, *tile)"
                ),
            ),
        ),
        explanation=(
            "The running logsumexp stays that of the first tile, so from the third tile on, each "
            "new tile gets too much weight."
        ),
        question="Which keys must the logsumexp include before the third tile is merged?",
    ),
    Misconception(
        id="keeps_earlier_sums_as_they_are",
        exercise="tiled_attention",
        code=f"""
            {RUNNING}
                    maximum = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
                    part = torch.exp(scores - maximum)
                    total = total + part.sum(dim=-1, keepdim=True)
                    context = context + part @ some_values
                return context / total
        """,
        explanation=(
            "The running sums are not corrected when the maximum grows: their exponentials were "
            "taken with the old maximum subtracted."
        ),
        question="By which factor does exp(score - maximum) change when the maximum grows?",
    ),
    Misconception(
        id="corrects_the_divisor_alone",
        exercise="tiled_attention",
        code=f"""
            {RUNNING}
                    larger = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
                    part = torch.exp(scores - larger)
                    total = total * torch.exp(maximum - larger) + part.sum(dim=-1, keepdim=True)
                    context = context + part @ some_values
                    maximum = larger
                return context / total
        """,
        explanation=(
            "When the maximum grows, the sum of the exponentials is corrected, but the sum of the "
            "weighted values is not."
        ),
        question="Which two running sums contain exponentials with the old maximum?",
    ),
    Misconception(
        id="starts_with_a_logsumexp_of_zero",
        exercise="tiled_attention",
        swaps=((START, "logsumexp = queries.new_zeros(rows)"),),
        explanation=(
            "The running logsumexp starts at 0, which means a sum of 1: the initial zeros count "
            "as a key with a score of 0."
        ),
        question="What is the sum of no exponentials, and what is its log?",
    ),
    Misconception(
        id="drops_the_last_keys",
        exercise="tiled_attention",
        swaps=(
            (KEY_TILES, "for first in range(0, max(Tk // tile_size, 1) * tile_size, tile_size):"),
        ),
        explanation="The last tile of keys is left out if it is shorter than the others.",
        question="How many tiles of 4 are needed for 6 keys?",
    ),
    Misconception(
        id="attends_to_padding",
        exercise="tiled_attention",
        swaps=(
            (
                "Tq, Tk = queries.shape[-2], keys.shape[-2]",
                (
                    "Tq, Tk = queries.shape[-2], keys.shape[-2]\n"
                    "    extra = (0, 0, 0, -Tk % tile_size)\n"
                    "    keys = torch.nn.functional.pad(keys, extra)\n"
                    "    values = torch.nn.functional.pad(values, extra)"
                ),
            ),
        ),
        explanation=(
            "The last tile is padded with keys of zeros, and these keys get weight: a score of 0 "
            "has the exponential 1."
        ),
        question="Which score must a hidden key have?",
    ),
    Misconception(
        id="aligns_to_the_first_key",
        exercise="tiled_attention",
        swaps=((LAST_SEEN, "last_seen = torch.arange(start, start + rows[-1])"),),
        explanation=(
            "The first query is aligned with the first key, but the last query belongs to the last "
            "key: with fewer queries than keys, every query must see more keys."
        ),
        question="With two queries and five keys, how many keys must the last query see?",
    ),
    Misconception(
        id="counts_keys_from_the_start_of_the_tile",
        exercise="tiled_attention",
        swaps=((TOKENS, "tokens = torch.arange(some_keys.shape[-2])"),),
        explanation=(
            "The keys are counted from the start of their tile, so later tiles are not hidden; "
            "the mask needs the position of a key in the whole text."
        ),
        question="At which position in the text is key 0 of the second tile?",
    ),
    Misconception(
        id="counts_keys_of_all_tiles_from_the_start_of_the_tile",
        exercise="tiled_attention",
        swaps=(
            (STOP, "if causal and first >= Tk:"),
            (TOKENS, "tokens = torch.arange(some_keys.shape[-2])"),
        ),
        title="Keys are numbered within their tile, so queries see keys of later tiles",
        explanation=(
            "Keys are numbered within their tile, so queries see keys of later tiles; the mask "
            "needs the position of a key in the whole text."
        ),
        question="At which position in the text is key 0 of the second tile?",
    ),
    Misconception(
        id="counts_queries_from_the_start_of_the_tile",
        exercise="tiled_attention",
        swaps=((LAST_SEEN, "last_seen = torch.arange(rows[-1]) + Tk - Tq"),),
        explanation=(
            "The queries are counted from the start of their tile, so those of later tiles see "
            "too few keys; the mask needs the position of a query in the whole text."
        ),
        question="At which position in the text is query 0 of the second tile?",
    ),
    Misconception(
        id="hides_within_each_tile",
        exercise="tiled_attention",
        swaps=(
            (LAST_SEEN, "last_seen = torch.arange(rows[-1]) + Tk - Tq"),
            (STOP, "if causal and first > start + rows[-1] - 1 + Tk - Tq:"),
            (TOKENS, "tokens = torch.arange(some_keys.shape[-2])"),
        ),
        explanation=(
            "The mask is the same for all tiles: queries and keys are counted from the start of "
            "their tile, so a tile of earlier keys is hidden in part."
        ),
        question="Which keys of the first tile are in the future of a query of the second one?",
    ),
    Misconception(
        id="stops_after_the_first_query",
        exercise="tiled_attention",
        swaps=((STOP, "if causal and first > last_seen[0]:"),),
        explanation=(
            "A tile of keys that the first query of a tile does not see is left out, but later "
            "queries of the same tile see its keys."
        ),
        question="Which query of a tile sees the most keys?",
        when=("compares",),
    ),
    Misconception(
        id="stops_at_a_tile_that_is_seen_in_part",
        exercise="tiled_attention",
        swaps=((STOP, "if causal and first + tile_size - 1 > last_seen[-1]:"),),
        explanation=(
            "A tile of keys that reaches beyond the last query of a tile is left out, although "
            "queries see its first keys."
        ),
        title="A tile of keys that reaches beyond the last query of a tile is left out",
        question="With tiles of 4 keys, which keys does the query at position 5 see?",
    ),
    Misconception(
        id="stops_at_the_tile_of_the_queries",
        exercise="tiled_attention",
        swaps=((STOP, "if causal and first > start:"),),
        explanation=(
            "Tile n of causal queries reads no tile of keys after tile n, which is too early if "
            "there are more keys than queries."
        ),
        question="With 2 queries, 6 keys and tiles of 2, which tiles of keys must be read?",
    ),
    *(
        Misconception(
            id=name,
            exercise="tiled_attention",
            swaps=(("values, hidden=hidden)", f"values, {number} ** -0.5, hidden=hidden)"),),
            title=f"The scores are divided by the root of {what}",
            explanation=f"The scores are divided by the root of {what}; it must be the root of d.",
            question="Should the score of a query and a key change if there are more keys?",
        )
        for name, number, what in (
            (
                "scales_by_the_number_of_keys_in_the_tile",
                "some_keys.shape[-2]",
                "the number of keys in the tile",
            ),
            ("scales_by_the_tile_size", "tile_size", "the tile size"),
        )
    ),
    Misconception(
        id="counts_hidden_keys_in_the_divisor",
        exercise="tiled_attention",
        swaps=(
            (STOP, "if causal and first >= Tk:"),
            (
                MERGING,
                (
                    "every = attend_tile(some_queries, some_keys, some_values)[1]\n"
                    "            seen = tile[0] * torch.exp(tile[1] - every).unsqueeze(-1)\n"
                    "            context, logsumexp = merge_tiles(context, logsumexp, seen, every)"
                ),
            ),
        ),
        title="With causal=True, hidden keys count in the sum that divides the context",
        explanation=(
            "With causal=True, hidden keys count in the sum that divides the context, so the "
            "weights of a query that does not see all keys sum to less than 1."
        ),
        question="Which exponentials must the sum for the first query contain?",
    ),
    Misconception(
        id="scales_twice",
        exercise="tiled_attention",
        when=("calls attend_tile",),
        swaps=(("some_queries = queries[", "some_queries = queries.shape[-1] ** -0.5 * queries["),),
        explanation=(
            "In total, the scores are divided by d; by default, `attend_tile` already divides them "
            "by √d."
        ),
        question="Which of your steps scale the scores, and by how much in total?",
    ),
    Misconception(
        id="merges_with_unscaled_scores",
        exercise="tiled_attention",
        swaps=(
            (
                MERGING,
                (
                    "raw = attend_tile(some_queries, some_keys, some_values, 1.0, hidden)\n"
                    "            tile = tile[0], raw[1]\n"
                    "            context, logsumexp = merge_tiles(context, logsumexp, *tile)"
                ),
            ),
        ),
        explanation=(
            "The logsumexp of a tile is that of the scores without the scale, so the tiles are "
            "merged with the wrong weights."
        ),
        question="Which scores must the logsumexp and the context have in common?",
    ),
    Misconception(
        id="swaps_the_sides_of_the_running_sigmoid",
        exercise="tiled_attention",
        when=("calls logsigmoid | calls sigmoid | calls softplus",),
        swaps=(
            (
                MERGING,
                (
                    "apart = torch.nn.functional.logsigmoid(tile[1] - logsumexp)\n"
                    "            longer = tile[1] if first == 0 else logsumexp - apart\n"
                    "            context, _ = merge_tiles(context, logsumexp, *tile)\n"
                    "            logsumexp = longer"
                ),
            ),
        ),
        explanation=(
            "The running logsumexp becomes old - logsigmoid(new - old); it must become "
            "old - logsigmoid(old - new)."
        ),
        question="What must the running logsumexp be if that of the new tile is far larger?",
    ),
    Misconception(
        id="divides_in_every_tile",
        exercise="tiled_attention",
        when=("divides", "takes exponentials"),
        code=f"""
            {RUNNING}
                    larger = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
                    part = torch.exp(scores - larger)
                    total = total * torch.exp(maximum - larger) + part.sum(dim=-1, keepdim=True)
                    context = (context * torch.exp(maximum - larger) + part @ some_values) / total
                    maximum = larger
                return context
        """,
        explanation=(
            "The context is divided by the sum in every tile, but the old context is not "
            "multiplied by the old sum first."
        ),
        question="By how many sums has the first tile been divided after three tiles?",
    ),
    Misconception(
        id="stops_one_tile_too_early",
        exercise="tiled_attention",
        swaps=((STOP, "if causal and first >= last_seen[-1]:"),),
        explanation=(
            "A tile of keys that begins with the last query's own token is left out, but a query "
            "must see its own token."
        ),
        question="Which key is the last one that the last query of a tile sees?",
    ),
    Misconception(
        id="stops_at_the_last_visible_key_of_a_later_tile",
        exercise="tiled_attention",
        swaps=((STOP, "if causal and 0 < first >= last_seen[-1]:"),),
        explanation=(
            "A later tile that begins with the last query's own token is left out, but a query "
            "must see its own token."
        ),
        question="Which key is the last one that the last query of a tile sees?",
    ),
    Misconception(
        id="computes_all_scores_first",
        exercise="tiled_attention",
        code="""
            def tiled_attention(queries, keys, values, tile_size, causal=False):
                Tq, Tk = queries.shape[-2], keys.shape[-2]
                scores = queries @ keys.mT / queries.shape[-1] ** 0.5
                if causal:
                    future = torch.arange(Tk) > torch.arange(Tq)[:, None] + Tk - Tq
                    scores = scores.masked_fill(future, -torch.inf)
                maximum = scores.amax(dim=-1, keepdim=True)
                total, context = 0, 0
                for first in range(0, Tk, tile_size):
                    part = torch.exp(scores[..., first : first + tile_size] - maximum)
                    total = total + part.sum(dim=-1, keepdim=True)
                    context = context + part @ values[..., first : first + tile_size, :]
                return context / total
        """,
        explanation=(
            "All scores of all queries are in memory at once: the numbers are right, but no memory "
            "is saved."
        ),
        question="Which scores does one step need, and which ones does your code hold in memory?",
    ),
    Misconception(
        id="builds_the_whole_mask",
        exercise="tiled_attention",
        swaps=(
            (
                "contexts = []",
                (
                    "contexts = []\n"
                    "    future = torch.arange(Tk) > torch.arange(Tq)[:, None] + Tk - Tq"
                ),
            ),
            (
                "hidden = tokens > last_seen.unsqueeze(-1) if causal else None",
                "hidden = future[start : start + rows[-1], tokens] if causal else None",
            ),
        ),
        explanation=(
            "The mask of all queries and all keys is in memory at once: it is as large as the "
            "matrix of scores would be."
        ),
        question="Which numbers of a tile do you need to build only its part of the mask?",
    ),
    Misconception(
        id="cuts_the_graph",
        exercise="tiled_attention",
        swaps=((MERGING, f"{MERGING}\n            context = context.detach()"),),
        explanation="The running context is detached, so no gradient flows back through it.",
        question="Which call cuts the result off from the inputs?",
    ),
    Misconception(
        id="averages_all_tiles",
        exercise="tiled_attention",
        when=("divides",),
        swaps=(
            (STOP, "if False:"),
            (MERGING, "context = context + tile[0] / -(-Tk // tile_size)"),
        ),
        explanation=(
            "The contexts of all tiles are averaged, each after its own softmax; a tile must be "
            "weighted by the sum of its exponentials."
        ),
        question="What happens to the context if one tile has all the large scores?",
    ),
    Misconception(
        id="corrects_the_context_alone",
        exercise="tiled_attention",
        when=("takes exponentials",),
        code=f"""
            {RUNNING}
                    larger = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
                    part = torch.exp(scores - larger)
                    total = total + part.sum(dim=-1, keepdim=True)
                    context = context * torch.exp(maximum - larger) + part @ some_values
                    maximum = larger
                return context / total
        """,
        explanation=(
            "When the maximum grows, the sum of the weighted values is corrected, but the sum of "
            "the exponentials is not."
        ),
        question="Which two running sums contain exponentials with the old maximum?",
    ),
    Misconception(
        id="keeps_the_exponentials_of_a_tile_as_they_are",
        exercise="tiled_attention",
        when=("takes exponentials", "takes a maximum"),
        code=f"""
            {FINITE}
                    largest = scores.amax(dim=-1, keepdim=True).clamp(min=-1e30)
                    larger = torch.maximum(maximum, largest)
                    part = torch.exp(scores - largest)
                    total = total * torch.exp(maximum - larger) + part.sum(dim=-1, keepdim=True)
                    context = context * torch.exp(maximum - larger) + part @ some_values
                    maximum = larger
                return context / total
        """,
        explanation=(
            "A new tile lacks the factor exp(tile maximum - new maximum), so it gets too much "
            "weight if an earlier score is larger than those of the tile."
        ),
        title="A new tile lacks the factor exp(tile maximum - new maximum)",
        question=(
            "Which number must be subtracted from the scores of all tiles before their "
            "exponentials are added?"
        ),
    ),
    Misconception(
        id="forgets_the_maximum_of_earlier_tiles",
        exercise="tiled_attention",
        when=("takes exponentials", "takes a maximum"),
        code=f"""
            {FINITE.replace("-torch.inf", "-1e30")}
                    larger = scores.amax(dim=-1, keepdim=True)
                    part = torch.exp(scores - larger)
                    total = total * torch.exp(maximum - larger) + part.sum(dim=-1, keepdim=True)
                    context = context * torch.exp(maximum - larger) + part @ some_values
                    maximum = larger
                return context / total
        """,
        explanation=(
            "The running maximum is that of the last tile alone, so the factor of the earlier sums "
            "overflows if an earlier tile has far larger scores."
        ),
        question="What is exp(old - new) if the new tile has far smaller scores?",
    ),
    Misconception(
        id="hides_the_past_in_running_sums",
        exercise="tiled_attention",
        when=("takes exponentials",),
        code=f"""
            {FINITE.replace("tokens > last_seen", "tokens <= last_seen")}{RIGHT_SUMS}
        """,
        explanation=(
            "With causal, the mask is inverted: a query sees only the keys after its own token, "
            "and the last query sees none."
        ),
        question="Which keys must the last query see?",
    ),
    Misconception(
        id="never_subtracts_a_maximum",
        exercise="tiled_attention",
        when=("takes exponentials", "no calls amax", "no calls max"),
        code=f"""
            {RUNNING}
                    part = torch.exp(scores)
                    total = total + part.sum(dim=-1, keepdim=True)
                    context = context + part @ some_values
                return context / total
        """,
        explanation=(
            "No maximum is subtracted before the exponentials, so large scores overflow, and "
            "infinity divided by infinity is NaN."
        ),
        question="Which number may you subtract from all scores of a query?",
    ),
    Misconception(
        id="weights_the_tiles_with_the_logs",
        exercise="tiled_attention",
        when=("divides",),
        swaps=(
            (STOP, "if False:"),
            (
                MERGING,
                (
                    "if first == 0:\n"
                    "                context, logsumexp = tile\n"
                    "                continue\n"
                    "            share = (tile[1] / (logsumexp + tile[1])).unsqueeze(-1)\n"
                    "            context = (1 - share) * context + share * tile[0]\n"
                    "            logsumexp = torch.logaddexp(logsumexp, tile[1])"
                ),
            ),
        ),
        explanation=(
            "The tiles are weighted by their logsumexps; the weights must be computed from the "
            "exponentials of these."
        ),
        question="The logsumexp is the log of which number?",
    ),
    Misconception(
        id="swaps_the_shares_of_the_tiles",
        exercise="tiled_attention",
        when=("takes exponentials | calls softmax | calls sigmoid",),
        swaps=(
            (STOP, "if False:"),
            (
                MERGING,
                (
                    "both = torch.logaddexp(logsumexp, tile[1])\n"
                    "            old = torch.exp(tile[1] - both)[..., None]\n"
                    "            new = torch.exp(logsumexp - both)[..., None]\n"
                    "            context, logsumexp = old * context + new * tile[0], both"
                ),
            ),
        ),
        explanation=(
            "The running context gets the weight of the new tile, and the new tile gets that of "
            "the context."
        ),
        question=(
            "Which of the two should get more weight if the new tile has the larger logsumexp?"
        ),
    ),
    Misconception(
        id="hides_with_zero_in_running_sums",
        exercise="tiled_attention",
        when=("takes exponentials", "fills | multiplies"),
        code=f"""
            {FINITE.replace("> last_seen, -torch.inf", "> last_seen, 0.0")}{RIGHT_SUMS}
        """,
        explanation=(
            "Hidden scores become 0, whose exponential is 1, so hidden keys still have weight; "
            "they must become minus infinity."
        ),
        question="Which score has the exponential 0?",
    ),
)
