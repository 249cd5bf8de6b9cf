"""Wrong answers that the suite of stage 16 must detect, with their explanations and questions."""

from typing import Any

from autograder.diagnosis.misconceptions import Misconception

ATTEND, HEADS = "attend_with_cache", "CachedMultiHeadAttention"
TRIL = "return torch.ones(num_queries, num_keys).tril(diagonal=past)"
MASKS = {
    ATTEND: "lower_right_mask(len(queries), len(keys))",
    HEADS: "lower_right_mask(T_new, keys.shape[2])",
}
# The sizes of the mask in each exercise, and the statement that hides the future.
NEW = {ATTEND: "len(queries)", HEADS: "T_new"}
ALL = {ATTEND: "len(keys)", HEADS: "keys.shape[2]"}
FILL = "masked = scores.masked_fill(mask == 0, -torch.inf)"
RESULTS = {
    ATTEND: "return weights @ values, (keys, values)",
    HEADS: "return self.out_proj(context), (keys, values)",
}
AXIS = {ATTEND: "", HEADS: ", dim=2"}
SUFFIX = {ATTEND: "", HEADS: "_of_heads"}


def in_both(name: str, swaps: dict[str, tuple[tuple[str, str], ...]], **texts: Any):
    """Return the same mistake in both exercises that compute attention."""
    return [
        Misconception(id=name + SUFFIX[exercise], exercise=exercise, swaps=swaps[exercise], **texts)
        for exercise in (ATTEND, HEADS)
    ]


def masked_by(template: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the swaps that replace the mask in both exercises."""
    return {
        exercise: ((mask, template.format(new=NEW[exercise], all=ALL[exercise])),)
        for exercise, mask in MASKS.items()
    }


def joined(keys: str, values: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the swaps that replace the concatenations of keys and of values."""
    return {
        exercise: (
            (f"torch.cat((past_keys, keys){axis})", keys.format(axis=axis)),
            (f"torch.cat((past_values, values){axis})", values.format(axis=axis)),
        )
        for exercise, axis in AXIS.items()
    }


MISCONCEPTIONS = (
    # lower_right_mask
    Misconception(
        id="marks_the_hidden_keys",
        exercise="lower_right_mask",
        swaps=((TRIL, TRIL.replace("return ", "return 1 - ")),),
        explanation="The mask marks the hidden keys, but it must mark the visible ones.",
        question="What must the mask contain for a query and the key of its own token?",
    ),
    Misconception(
        id="aligns_to_the_upper_left",
        exercise="lower_right_mask",
        swaps=((TRIL, TRIL.replace("diagonal=past", "")),),
        explanation=(
            "The mask is aligned to the upper left corner: query 0 sees only key 0, but the last "
            "query belongs to the last key."
        ),
        title="The mask is aligned to the upper left corner",
        question=(
            "There are 4 keys and 1 query, which belongs to the newest token. Which keys must it "
            "see?"
        ),
    ),
    Misconception(
        id="moves_the_diagonal_the_wrong_way",
        exercise="lower_right_mask",
        swaps=(("past = num_keys - num_queries", "past = num_queries - num_keys"),),
        explanation=(
            "The diagonal moves the wrong way: with more keys than queries it must move to the "
            "right."
        ),
        question="Which keys must query 0 see if there are 3 queries and 4 keys?",
    ),
    Misconception(
        id="hides_each_token_from_itself",
        exercise="lower_right_mask",
        swaps=((TRIL, TRIL.replace("=past", "=past - 1")),),
        explanation=(
            "Each query sees only the keys before its own token; it must also see the key of its "
            "own token."
        ),
        title="Each query sees only the keys before its own token",
        question="Which key must the first query of a text see?",
    ),
    Misconception(
        id="shows_keys_to_queries_before_the_text",
        exercise="lower_right_mask",
        swaps=(("past = num_keys - num_queries", "past = max(num_keys - num_queries, 0)"),),
        explanation=(
            "With more queries than keys, the mask is aligned to the upper left corner: the first "
            "queries see keys, but only the last queries may see keys."
        ),
        title="With more queries than keys, the mask is aligned to the upper left corner",
        question="There are 5 queries and 2 keys. To which queries do the two keys belong?",
    ),
    Misconception(
        id="returns_numbers_to_add",
        exercise="lower_right_mask",
        swaps=((TRIL, f"{TRIL}.log()"),),
        explanation=(
            "The mask is additive, with 0 and minus infinity; the exercise asks for 1 where a "
            "key is visible, and 0 elsewhere."
        ),
        question="What do 0 and 1 mean in the mask of this exercise?",
    ),
    Misconception(
        id="returns_a_square",
        exercise="lower_right_mask",
        swaps=((TRIL, "return torch.ones(num_keys, num_keys).tril()"),),
        explanation=(
            "The result is the square mask of all tokens; it must have only the rows of the last "
            "queries."
        ),
        question="How many rows does the mask for 2 queries and 5 keys have?",
    ),
    Misconception(
        id="cuts_rows_from_the_square",
        exercise="lower_right_mask",
        swaps=((TRIL, "return torch.ones(num_keys, num_keys).tril()[-num_queries:]"),),
        explanation=(
            "With more queries than keys, rows are missing, as in a part of the square mask of the "
            "keys; a query that sees no key must have a row, too."
        ),
        title="With more queries than keys, rows are missing",
        question="How many rows must the mask for 5 queries and 2 keys have?",
    ),
    Misconception(
        id="shows_the_next_token",
        exercise="lower_right_mask",
        when=("compares",),
        swaps=((TRIL, TRIL.replace("=past", "=past + 1")),),
        explanation="A query also sees the key after its own token, which must be hidden.",
        question="Which keys may the first of two new tokens see?",
    ),
    # Masks in attention
    *in_both(
        "masks_the_new_keys_only",
        masked_by("lower_right_mask({new}, {new})"),
        when=("calls lower_right_mask | compares",),
        explanation=(
            "The mask has a column for each new key only, so it does not fit the scores, which "
            "also have columns for the keys of the cache."
        ),
        question="How many keys does a new token see after 6 old tokens?",
    ),
    *in_both(
        "cuts_the_mask_at_the_top",
        masked_by("lower_right_mask({all}, {all})[: {new}]"),
        explanation=(
            "The mask consists of the first rows of the square mask, so a new token sees only the "
            "first keys; the queries must get the last rows."
        ),
        question="Which row of the square mask belongs to the newest token?",
    ),
    *in_both(
        "hides_the_past",
        masked_by("lower_right_mask({new}, {all}) * (torch.arange({all}) >= {all} - {new})"),
        explanation=(
            "The tokens of the cache are hidden: a new token sees new tokens only, so the cache "
            "has no effect on the context."
        ),
        title="The tokens of the cache are hidden",
        question="How many keys must the first new token see after 6 old tokens?",
    ),
    *in_both(
        "counts_new_tokens_in_place_of_old_ones",
        masked_by("torch.ones({new}, {all}).tril(diagonal={new})"),
        explanation=(
            "The mask is that of as many cached tokens as new ones: new token i sees the keys up "
            "to i + T_new; it must see those up to i plus the number of cached tokens."
        ),
        title="The mask is that of as many cached tokens as new ones",
        question="Six tokens are cached and two are new. Which keys must the first new one see?",
    ),
    *in_both(
        "returns_the_values_first",
        {
            name: ((result, result.replace("keys, values", "values, keys")),)
            for name, result in RESULTS.items()
        },
        explanation="The cache is returned as (values, keys); the keys must come first.",
        question="In which order does the next call take the parts of the cache?",
    ),
    *in_both(
        "masks_without_a_cache_only",
        dict.fromkeys(
            (ATTEND, HEADS), ((FILL, f"masked = scores if cache is not None else {FILL[9:]}"),)
        ),
        explanation=(
            "Nothing is hidden if there is a cache: a single new token may see all keys, but the "
            "first of several new tokens must not see those after it."
        ),
        title="Nothing is hidden if there is a cache",
        question=(
            "Three new tokens arrive after six old ones. Which keys must the first new token not "
            "see?"
        ),
    ),
    *in_both(
        "masks_with_a_cache_only",
        dict.fromkeys(
            (ATTEND, HEADS), ((FILL, f"masked = scores if cache is None else {FILL[9:]}"),)
        ),
        explanation=(
            "Nothing is hidden in a call without a cache, but the tokens of a first call must not "
            "see those after them."
        ),
        title="Nothing is hidden in a call without a cache",
        question="Five tokens arrive in the first call. Which keys must the first of them see?",
    ),
    *in_both(
        "keeps_the_values_of_new_tokens",
        joined("torch.cat((past_keys, keys){axis})", "values"),
        when=("joins",),
        explanation=(
            "The values of the cache are not concatenated with the new ones, so there are weights "
            "for more tokens than there are values."
        ),
        question="Whose values do the weights of the old tokens average?",
    ),
    *in_both(
        "keeps_the_keys_of_new_tokens",
        joined("keys", "torch.cat((past_values, values){axis})"),
        when=("joins",),
        explanation=(
            "The keys of the cache are not concatenated with the new ones, so there are values "
            "for more tokens than there are weights."
        ),
        question="With which keys must the query of a new token be compared?",
    ),
    *in_both(
        "attends_from_the_last_token_only",
        {
            ATTEND: ((RESULTS[ATTEND], RESULTS[ATTEND].replace(" @ values", "[-1:] @ values")),),
            HEADS: ((RESULTS[HEADS], RESULTS[HEADS].replace("(context)", "(context[:, -1:])")),),
        },
        explanation="Only the last token gets a context vector; each new token must get one.",
        question="How many context vectors must a call with 3 new tokens give?",
    ),
    # What is kept
    *in_both(
        "returns_the_new_ones_only",
        {
            ATTEND: (
                (RESULTS[ATTEND], f"{RESULTS[ATTEND][:-14]}(x_new @ W_key, x_new @ W_value)"),
            ),
            HEADS: (
                (
                    RESULTS[HEADS],
                    f"{RESULTS[HEADS][:-14]}(keys[:, :, -T_new:], values[:, :, -T_new:])",
                ),
            ),
        },
        explanation=(
            "The result holds the keys and values of the new tokens only, so the next call forgets "
            "all tokens before them."
        ),
        question="How many keys must the cache have after a call with 2 new tokens and 6 old ones?",
    ),
    *in_both(
        "returns_the_old_cache",
        {
            exercise: ((result, f"{result[:-14]}cache or (keys, values)"),)
            for exercise, result in RESULTS.items()
        },
        explanation="The given cache is returned without the new tokens, so it does not grow.",
        question="Which tokens need the keys of the new tokens in the next call?",
    ),
    *in_both(
        "puts_the_new_tokens_first",
        joined("torch.cat((keys, past_keys){axis})", "torch.cat((values, past_values){axis})"),
        explanation=(
            "The new keys and values come before the cached ones; the cache must hold the tokens "
            "in order, the oldest first."
        ),
        question="Which row of the keys belongs to the newest token?",
    ),
    *in_both(
        "keeps_keys_as_values",
        joined("torch.cat((past_keys, keys){axis})", "torch.cat((past_keys, values){axis})"),
        explanation="The cached keys are used as values, in front of the values of the new tokens.",
        question="Which of the two entries of the cache belongs in front of the new values?",
    ),
    *in_both(
        "keeps_values_as_keys",
        joined("torch.cat((past_values, keys){axis})", "torch.cat((past_values, values){axis})"),
        explanation="The cached values are used as keys, in front of the keys of the new tokens.",
        question="Which of the two entries of the cache belongs in front of the new keys?",
    ),
    *in_both(
        "reads_the_cache_in_the_wrong_order",
        dict.fromkeys(
            (ATTEND, HEADS), (("past_keys, past_values = cache", "past_values, past_keys = cache"),)
        ),
        explanation=(
            "The two entries of the cache are read in the wrong order: it holds the keys first, "
            "then the values."
        ),
        question="In which order does a call return keys and values?",
    ),
    *in_both(
        "keeps_scaled_keys",
        {
            ATTEND: (
                ("scores = queries @ keys.T / keys.shape[-1] ** 0.5", "scores = queries @ keys.T"),
                ("keys = x_new @ W_key", "keys = x_new @ W_key / W_key.shape[-1] ** 0.5"),
            ),
            HEADS: (
                (" / d**0.5", ""),
                ("keys = keys.view(B, T_new, H, d)", "keys = (keys / d**0.5).view(B, T_new, H, d)"),
            ),
        },
        explanation=(
            "The keys are divided by √d before they enter the cache; the cache must hold the keys "
            "themselves, and the scores must be divided."
        ),
        title="The keys are divided by √d before they enter the cache",
        question="Is a key in your cache equal to x @ W_key of its token?",
    ),
    *in_both(
        "returns_float32",
        {
            exercise: (
                (
                    result,
                    result.replace("return ", "return (").replace(", (keys", ").float(), (keys"),
                ),
            )
            for exercise, result in RESULTS.items()
        },
        explanation="The context is float32 even if the tokens are float64.",
        question="Which dtype do the tokens have, and which does your context have?",
    ),
    Misconception(
        id="remembers_in_a_global",
        exercise=ATTEND,
        code="""
            _past = {}


            def attend_with_cache(x_new, W_query, W_key, W_value, cache=None):
                queries, keys, values = x_new @ W_query, x_new @ W_key, x_new @ W_value
                if cache is None:
                    _past.clear()
                else:
                    keys = torch.cat((_past["keys"], keys))
                    values = torch.cat((_past["values"], values))
                _past.update(keys=keys, values=values)
                scores = queries @ keys.T / keys.shape[-1] ** 0.5
                visible = lower_right_mask(len(queries), len(keys)) != 0
                weights = torch.softmax(torch.where(visible, scores, -torch.inf), dim=-1)
                return weights @ values, (keys, values)
        """,
        explanation=(
            "The keys and values come from a variable that outlives the call, not from the "
            "argument cache, so two texts mix."
        ),
        title="The keys and values come from a variable that outlives the call",
        question="Two texts are continued alternately. Which text's keys does your variable hold?",
    ),
    Misconception(
        id="remembers_in_an_attribute",
        exercise=HEADS,
        swaps=(
            ("self.num_heads = num_heads", "self.num_heads, self.past = num_heads, None"),
            ("past_keys, past_values = cache", "past_keys, past_values = self.past or cache"),
            (RESULTS[HEADS], f"self.past = keys, values\n        {RESULTS[HEADS]}"),
        ),
        explanation=(
            "The keys and values come from an attribute of the module, not from the argument "
            "cache, so a second text sees the first one."
        ),
        title="The keys and values come from an attribute of the module",
        question="Two texts are continued alternately. Which text's keys does self hold?",
    ),
    Misconception(
        id="remembers_the_first_text",
        exercise=HEADS,
        swaps=(
            ("self.num_heads = num_heads", "self.num_heads, self.past = num_heads, None"),
            ("if cache is not None:", "if self.past is not None:"),
            ("past_keys, past_values = cache", "past_keys, past_values = self.past"),
            (RESULTS[HEADS], f"self.past = keys, values\n        {RESULTS[HEADS]}"),
        ),
        explanation=(
            "The module stores keys and values itself, so every call continues the last text, "
            "even without a cache."
        ),
        title="The module stores keys and values itself",
        question="Should a call without a cache depend on earlier calls?",
    ),
    *in_both(
        "asks_for_the_old_tokens_again",
        {
            ATTEND: (
                (
                    "keys = torch.cat((past_keys, keys))",
                    (
                        "queries = torch.cat((past_keys, queries))\n"
                        "        keys = torch.cat((past_keys, keys))"
                    ),
                ),
            ),
            HEADS: (
                (
                    "keys = torch.cat((past_keys, keys), dim=2)",
                    (
                        "queries = torch.cat((past_keys, queries), dim=2)\n"
                        "            keys = torch.cat((past_keys, keys), dim=2)"
                    ),
                ),
                (MASKS[HEADS], "lower_right_mask(keys.shape[2], keys.shape[2])"),
                ("reshape(B, T_new, H * d)", "reshape(B, -1, H * d)"),
            ),
        },
        explanation=(
            "The queries are extended like keys and values, so there is also a context vector for "
            "each old token; only the new tokens need queries."
        ),
        title="The queries are extended like keys and values",
        question="After its own context vector is computed, is the query of a token needed again?",
    ),
    Misconception(
        id="joins_features_in_place_of_tokens",
        exercise=ATTEND,
        when=("joins",),
        swaps=(
            ("torch.cat((past_keys, keys))", "torch.cat((past_keys, keys), dim=1)"),
            ("torch.cat((past_values, values))", "torch.cat((past_values, values), dim=1)"),
        ),
        explanation=(
            "The cache is concatenated along the axis of the features; the tokens are on the first "
            "axis of (T, d)."
        ),
        question="Which size of (T, d) must grow by T_new?",
    ),
    # decode
    Misconception(
        id="computes_everything_again",
        exercise="decode",
        swaps=(
            ("x_new = embeddings[ids[-1:]]  # (1, d_in)", "x_new = embeddings[ids]"),
            ("context, cache = attend_with_cache(", "context, _ = attend_with_cache("),
            ("logits = context", "logits = context[-1:]"),
        ),
        explanation=(
            "All tokens are projected again in each step: the ids are right, but the cost of a "
            "token grows with the length of the text."
        ),
        title="All tokens are projected again in each step",
        question="Which tokens does your code project in the tenth step?",
    ),
    Misconception(
        id="gives_old_tokens_again",
        exercise="decode",
        swaps=(
            ("x_new = embeddings[ids[-1:]]  # (1, d_in)", "x_new = embeddings[ids]"),
            ("logits = context", "logits = context[-1:]"),
        ),
        explanation=(
            "All tokens are passed together with the cache, which already holds the old ones, so "
            "each old token is in the keys several times."
        ),
        title="All tokens are passed together with the cache",
        question="How many keys does your cache have after three steps?",
    ),
    Misconception(
        id="does_not_pass_the_cache_on",
        exercise="decode",
        swaps=(("W_value, cache)", "W_value, None)"),),
        explanation=(
            "The cache has no effect in `decode`: each token attends to itself only, not to the "
            "text before it."
        ),
        title="The cache has no effect",
        question="How can the third step attend to the first token?",
    ),
    Misconception(
        id="keeps_the_first_cache",
        exercise="decode",
        swaps=(
            ("context, cache = attend", "context, longer = attend"),
            ("logits = context", "cache = cache or longer\n        logits = context"),
        ),
        explanation=(
            "The cache stays that of the first step: each later token attends only to the first "
            "token and to itself."
        ),
        question="Which tokens must the cache hold after the third step?",
    ),
    Misconception(
        id="caches_the_first_token_twice",
        exercise="decode",
        swaps=(
            (
                "ids, cache = [first], None",
                (
                    "ids = [first]\n"
                    "    _, cache = attend_with_cache(embeddings[ids], W_query, W_key, W_value)"
                ),
            ),
        ),
        explanation=(
            "The first token is in the cache twice, as if it were passed before the loop and again "
            "in its first iteration."
        ),
        title="The first token is in the cache twice",
        question="How many keys does the first step have?",
    ),
    Misconception(
        id="chooses_among_the_logits_of_all_tokens",
        exercise="decode",
        swaps=(("embeddings[ids[-1:]]", "embeddings[ids]"), ("W_value, cache)", "W_value)")),
        explanation=(
            "The next token is chosen among the logits of all tokens so far; only the logits of "
            "the newest token must count."
        ),
        question="How many rows do the logits have in the third step, and which row counts?",
    ),
    Misconception(
        id="always_gives_the_first_token",
        exercise="decode",
        swaps=(("embeddings[ids[-1:]]", "embeddings[ids[:1]]"),),
        explanation=(
            "Each step gets the embedding of the first token; it must get the embedding of the "
            "newest one."
        ),
        question="Which token is new in the second step?",
    ),
    Misconception(
        id="leaves_out_the_first_token",
        exercise="decode",
        swaps=(("return ids", "return ids[1:]"),),
        explanation="The first token is missing from the list, which must start with it.",
        question="How many ids does the list have for new_tokens = 4?",
    ),
    Misconception(
        id="writes_one_token_less",
        exercise="decode",
        swaps=(("range(new_tokens)", "range(new_tokens - 1)"),),
        explanation="One token is missing at the end: new_tokens must not count the first token.",
        title="One token is missing at the end",
        question="How many ids does the list have for new_tokens = 4?",
    ),
    Misconception(
        id="writes_one_token_more",
        exercise="decode",
        swaps=(("range(new_tokens)", "range(new_tokens + 1)"),),
        explanation="There is one token too many: the list must have 1 + new_tokens ids.",
        question="How many ids does the list have for new_tokens = 0?",
    ),
    Misconception(
        id="takes_the_smallest_logit",
        exercise="decode",
        swaps=(("logits.argmax()", "logits.argmin()"),),
        explanation=(
            "The smallest logit is chosen; the next token must be the one with the largest logit."
        ),
        question="Which logit does the most likely token have?",
    ),
    Misconception(
        id="draws_the_next_token",
        exercise="decode",
        swaps=(
            (
                "logits.argmax().item()",
                "torch.multinomial(torch.softmax(logits, dim=-1), 1).item()",
            ),
        ),
        explanation=(
            "The next token is drawn at random, but decoding is greedy here: the largest logit "
            "must be chosen."
        ),
        question="Does your function return the same ids if it is called twice?",
    ),
    Misconception(
        id="compares_with_the_embeddings",
        exercise="decode",
        swaps=(("logits = context @ W_out @ W_vocab", "logits = context @ W_out @ embeddings.T"),),
        explanation=(
            "The logits are products with the embeddings, as in a tied model; here they must come "
            "from W_vocab."
        ),
        question="Which matrix has a column for each token of the vocabulary?",
    ),
    Misconception(
        id="keeps_ids_as_tensors",
        exercise="decode",
        when=("no calls item", "no calls tolist"),
        swaps=((".argmax().item()", ".argmax()"),),
        explanation="The chosen ids are tensors; the list must hold numbers of type int.",
        question="Which type does argmax return, and which type does the list contain at first?",
    ),
    Misconception(
        id="gives_every_token_the_weight_one",
        exercise="decode",
        when=("takes a softmax", "runs along another axis"),
        code="""
            def decode(embeddings, W_query, W_key, W_value, W_out, W_vocab, first, new_tokens):
                ids = [first]
                keys = values = W_key.new_empty(0, W_key.shape[1])
                for _ in range(new_tokens):
                    x_new = embeddings[ids[-1:]]
                    keys = torch.cat((keys, x_new @ W_key))
                    values = torch.cat((values, x_new @ W_value))
                    scores = x_new @ W_query @ keys.T / keys.shape[-1] ** 0.5
                    logits = torch.softmax(scores, dim=0) @ values @ W_out @ W_vocab
                    ids.append(logits.argmax().item())
                return ids
        """,
        explanation=(
            "The softmax runs over the single query, so every token gets the weight 1; it must run "
            "over the keys."
        ),
        question="Which numbers must sum to 1 for one query?",
    ),
    Misconception(
        id="adds_the_newest_token_after_attending",
        exercise="decode",
        swaps=(
            (
                "logits = context",
                (
                    "if len(ids) > 1:\n"
                    "            past_keys, past_values = cache[0][:-1], cache[1][:-1]\n"
                    "            scores = x_new @ W_query @ past_keys.T / W_key.shape[1] ** 0.5\n"
                    "            context = torch.softmax(scores, dim=-1) @ past_values\n"
                    "        logits = context"
                ),
            ),
        ),
        explanation=(
            "From the second step on, the newest token does not see itself; it must attend to all "
            "tokens so far, and it is one of them."
        ),
        question="How many keys does the newest token see in the second step?",
    ),
    # Heads
    Misconception(
        id="takes_the_values_from_the_layer_of_the_keys",
        exercise=HEADS,
        swaps=(("self.W_value(x)", "self.W_key(x)"),),
        explanation=(
            "The values are what W_key returns; they must be what W_value returns for the same "
            "tokens."
        ),
        question="Which layer makes the values?",
    ),
    Misconception(
        id="counts_heads_in_place_of_old_tokens",
        exercise=HEADS,
        when=("reads the axis second",),
        swaps=(
            (
                MASKS[HEADS],
                (
                    "torch.ones(T_new, keys.shape[2]).tril(\n"
                    "            diagonal=0 if cache is None else past_keys.shape[1]\n"
                    "        )"
                ),
            ),
        ),
        explanation=(
            "The number of old tokens is read from the axis of the heads; in (B, H, T, d), the "
            "tokens are on axis 2."
        ),
        question="Which size of the cached keys is the number of old tokens?",
    ),
    Misconception(
        id="joins_heads_in_place_of_tokens",
        exercise=HEADS,
        swaps=(
            ("torch.cat((past_keys, keys), dim=2)", "torch.cat((past_keys, keys), dim=1)"),
            ("torch.cat((past_values, values), dim=2)", "torch.cat((past_values, values), dim=1)"),
        ),
        explanation=(
            "The cache is concatenated along the axis of the heads; the tokens are on axis 2 of "
            "(B, H, T, d)."
        ),
        question="Which size of (B, H, T, d) must grow by T_new?",
    ),
    Misconception(
        id="caches_the_tokens_before_the_heads",
        exercise=HEADS,
        swaps=(
            (
                "keys = keys.view(B, T_new, H, d).transpose(1, 2)",
                "keys = keys.view(B, T_new, H, d)",
            ),
            (
                "values = values.view(B, T_new, H, d).transpose(1, 2)",
                "values = values.view(B, T_new, H, d)",
            ),
            ("torch.cat((past_keys, keys), dim=2)", "torch.cat((past_keys, keys), dim=1)"),
            ("torch.cat((past_values, values), dim=2)", "torch.cat((past_values, values), dim=1)"),
            ("queries @ keys.transpose(-2, -1)", "queries @ keys.permute(0, 2, 3, 1)"),
            ("T_new, keys.shape[2])", "T_new, keys.shape[1])"),
            ("weights @ values", "weights @ values.transpose(1, 2)"),
        ),
        explanation=(
            "The cache has the shape (B, T, H, d), with the tokens before the heads; the exercise "
            "asks for (B, H, T, d)."
        ),
        question="On which axis of the cache must the heads be?",
    ),
    Misconception(
        id="keeps_what_is_not_split",
        exercise=HEADS,
        code="""
            class CachedMultiHeadAttention(nn.Module):
                def __init__(self, d_in, d_out, num_heads, qkv_bias=False):
                    super().__init__()
                    if d_out % num_heads != 0:
                        raise ValueError("uneven")
                    self.num_heads = num_heads
                    self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
                    self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
                    self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
                    self.out_proj = nn.Linear(d_out, d_out)

                def forward(self, x, cache=None):
                    B, T_new, _ = x.shape
                    keys, values = self.W_key(x), self.W_value(x)
                    if cache is not None:
                        split = cache[0].ndim == 4
                        past = [one.mT.flatten(1, 2).mT if split else one for one in cache]
                        keys = torch.cat((past[0], keys), dim=1)
                        values = torch.cat((past[1], values), dim=1)
                    q, k, v = (
                        one.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                        for one in (self.W_query(x), keys, values)
                    )
                    scores = q @ k.mT / k.shape[-1] ** 0.5
                    visible = lower_right_mask(T_new, k.shape[2]) != 0
                    weights = torch.softmax(torch.where(visible, scores, -torch.inf), dim=-1)
                    mixed = (weights @ v).transpose(1, 2).flatten(2)
                    return self.out_proj(mixed), (keys, values)
        """,
        explanation=(
            "The cache holds keys and values before they are split into heads, (B, T, d_out); the "
            "exercise asks for (B, H, T, d)."
        ),
        title="The cache holds keys and values before they are split into heads",
        question="In which line of your code do the keys have the shape (B, H, T, d)?",
    ),
)
