"""Wrong answers that the suite of stage 17 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

VISIBLE = "visible = (i - j < window) | (j < sinks)"
CAUSAL = "return visible & (j <= i)"
TOKENS = "tokens = context_length if window is None else min(context_length, window)"
NUMBERS = "numbers = 2 * num_kv_heads * head_size"
SHARED_KEYS = "keys = repeat_heads(keys, H)"
SHARED_VALUES = "values = repeat_heads(values, H)"
BAND = "visible = window_mask(T, T if self.window is None else self.window)"
SPLIT_QUERIES = "queries = queries.view(B, T, H, d).transpose(1, 2)"
SEEN = "seen = 0 if cache is None else cache[2]"
POSITIONS = "positions = torch.arange(seen, seen + T)"
ANGLES = "cos, sin = rotary_angles(positions, d, self.base)"
TURN_QUERIES = "queries = apply_rotary(queries, cos, sin)"
TURN_KEYS = "keys = apply_rotary(keys, cos, sin)"
EXTEND = "(keys, values), cache = extend_cache(cache, keys, values, self.window)"
SCORES = "scores = queries @ keys.transpose(-2, -1)"
MARKS = "visible = cached_mask(T, keys.shape[2] - T, self.window)"
CONTEXT = "context = weights @ values"
RETURN = "return self.out_proj(context), cache"
OLD = "if cache is not None:\n        seen = cache[2]"
SEEN_BEFORE = "seen = cache[2]"
WITH_OLD_KEYS = "keys = torch.cat((cache[0], keys), dim=2)"
WITH_OLD_VALUES = "values = torch.cat((cache[1], values), dim=2)"
FORGOTTEN = "forgotten = 0 if window is None else max(0, K - (window - 1))"
KEPT = "kept = keys[:, :, forgotten:], values[:, :, forgotten:], seen + T"
BOTH = "return (keys, values), kept"
ROWS = "i = torch.arange(num_cached, num_cached + num_new)[:, None]"
UP_TO_ITSELF = "visible = j <= i"
NEAR = "visible = visible & (i - j < window)"

# A mask may have any dtype; in other exercises the check reports a wrong dtype.
OPERATORS = {"dtype": None}

MISCONCEPTIONS = (
    # repeat_heads
    Misconception(
        id="gives_all_heads_the_first",
        exercise="repeat_heads",
        swaps=(("x.repeat_interleave(H // G, dim=1)", "x[:, :1].expand(-1, H, -1, -1)"),),
        explanation=(
            "All query heads get the first key-value head, but each group of H/G query heads must "
            "get its own key-value head."
        ),
        question=(
            "With 6 query heads and 2 key-value heads, which key-value head belongs to query head "
            "5?"
        ),
    ),
    Misconception(
        id="repeats_the_tokens",
        exercise="repeat_heads",
        swaps=(("x.repeat_interleave(H // G, dim=1)", "x.repeat_interleave(H // G, dim=2)"),),
        explanation="The tokens are repeated, but the heads must be: they are on the second axis.",
        question="Which axis of (B, G, T, d) must have the size H in the result?",
    ),
    Misconception(
        id="repeats_each_head_for_all_query_heads",
        exercise="repeat_heads",
        when=("repeats",),
        swaps=(("x.repeat_interleave(H // G, dim=1)", "x.repeat_interleave(H, dim=1)"),),
        explanation="Each key-value head is repeated H times; it must be repeated H/G times.",
        question=(
            "With 6 query heads and 2 key-value heads, how many query heads share one of them?"
        ),
    ),
    Misconception(
        id="repeats_each_head_as_often_as_there_are_heads",
        exercise="repeat_heads",
        when=("repeats",),
        swaps=(("x.repeat_interleave(H // G, dim=1)", "x.repeat_interleave(G, dim=1)"),),
        explanation="Each key-value head is repeated G times; it must be repeated H/G times.",
        question=(
            "With 6 query heads and 2 key-value heads, how many query heads share one of them?"
        ),
    ),
    Misconception(
        id="divides_by_the_number_of_shared_heads",
        exercise="repeat_heads",
        when=("rounds",),
        swaps=(("x.repeat_interleave(H // G, dim=1)", "x[:, [h // G for h in range(H)]]"),),
        explanation=(
            "Query head h gets key-value head h // G; it must be h // (H/G), because H/G query "
            "heads share one."
        ),
        question=(
            "With 6 query heads and 2 key-value heads, how many query heads share one of them?"
        ),
    ),
    # window_mask
    Misconception(
        id="shows_the_future",
        exercise="window_mask",
        swaps=((CAUSAL, "return visible"),),
        explanation=(
            "Later keys are visible, as they are if only i - j < window is tested; they must be "
            "hidden as well."
        ),
        question="If key j is after query i, is i - j < window true?",
    ),
    Misconception(
        id="marks_what_is_hidden",
        exercise="window_mask",
        swaps=((CAUSAL, "return ~(visible & (j <= i))"),),
        explanation="The mask marks the hidden keys, but it must mark the visible ones.",
        question="What should the mask contain for a token and its own key?",
    ),
    Misconception(
        id="shows_sinks_to_earlier_tokens",
        exercise="window_mask",
        swaps=((CAUSAL, f"{CAUSAL} | (j < sinks)"),),
        explanation=(
            "The sinks are also visible to the tokens before them, but no query may see a later "
            "key."
        ),
        question="With three sinks, which of them does the first token of a text see?",
    ),
    Misconception(
        id="opens_the_window_to_both_sides",
        exercise="window_mask",
        swaps=(
            (VISIBLE, VISIBLE.replace("i - j", "(i - j).abs()")),
            (CAUSAL, "return visible"),
        ),
        explanation=(
            "The window reaches into the future: it contains the tokens on both sides of the "
            "query, but only earlier ones and the token itself may be visible."
        ),
        question="Does token 2 see token 3 in a window of 4?",
    ),
    Misconception(
        id="counts_sinks_within_the_window",
        exercise="window_mask",
        swaps=(
            (
                VISIBLE,
                "visible = (i - j < max(1, window - sinks)) | (j < sinks)",
            ),
        ),
        explanation=(
            "The sinks count towards the window, but they must be visible in addition to it."
        ),
        question="How many keys must a late token see with a window of 4 and 2 sinks?",
    ),
    Misconception(
        id="cuts_the_text_into_blocks",
        exercise="window_mask",
        swaps=((VISIBLE, "visible = (i // window == j // window) | (j < sinks)"),),
        explanation=(
            "The text is cut into blocks of *window* tokens, and each token sees its own block, "
            "but the window must move along with the token."
        ),
        question="With a window of 3, does token 3 see token 2?",
    ),
    Misconception(
        id="shows_one_sink_too_many",
        exercise="window_mask",
        when=("compares",),
        swaps=((VISIBLE, VISIBLE.replace("j < sinks", "j <= sinks")),),
        explanation=(
            "One sink too many is visible: the first one is key 0, so the last is sinks - 1."
        ),
        question="Which keys are the sinks if there are two of them, and if there are none?",
    ),
    Misconception(
        id="makes_the_window_one_token_too_large",
        exercise="window_mask",
        swaps=((VISIBLE, VISIBLE.replace("< window", "<= window")),),
        explanation=(
            "The window is one token too large: the query's own token counts, so only window - 1 "
            "earlier tokens may be in it."
        ),
        question="Which tokens does a query see in a window of 1?",
    ),
    Misconception(
        id="makes_the_window_one_token_too_small",
        exercise="window_mask",
        when=("compares | calls tril | calls triu",),
        swaps=((VISIBLE, VISIBLE.replace("< window", "< window - 1")),),
        explanation=(
            "The window is one token too small: with the query's own token, it must have *window* "
            "tokens."
        ),
        question="Which tokens does a query see in a window of 1?",
    ),
    # cache_bytes
    Misconception(
        id="returns_a_float",
        exercise="cache_bytes",
        swaps=(("* bytes_per_number", "* float(bytes_per_number)"),),
        explanation="The number of bytes is a float, but it must be an int.",
        question=(
            "Which part of your expression gives a float: a division with /, or a number with a "
            "decimal point?"
        ),
    ),
    Misconception(
        id="always_fills_the_window",
        exercise="cache_bytes",
        swaps=((TOKENS, "tokens = context_length if window is None else window"),),
        explanation=(
            "The full window is counted even if the text is shorter, but a cache never holds more "
            "tokens than the text."
        ),
        question="How many tokens are cached for a text of 30 tokens and a window of 64?",
    ),
    Misconception(
        id="shortens_the_cache_by_the_window",
        exercise="cache_bytes",
        swaps=((TOKENS, "tokens = context_length - (window or 0)"),),
        explanation=(
            "The window is subtracted from the length of the text, but the window is the largest "
            "number of tokens in the cache."
        ),
        question="Which tokens does a cache with a window keep, those in the window or the others?",
    ),
    Misconception(
        id="caches_the_larger_number_of_tokens",
        exercise="cache_bytes",
        when=("takes a maximum | compares",),
        swaps=((TOKENS, TOKENS.replace("min(", "max(")),),
        explanation=(
            "With a window, the larger of window and text length is counted; a cache holds no more "
            "than either of them."
        ),
        question="How many tokens of a text of 30 tokens can be in a window of 64?",
    ),
    Misconception(
        id="fills_one_window_with_all_texts",
        exercise="cache_bytes",
        swaps=(
            (
                TOKENS,
                (
                    "everything = batch_size * context_length\n"
                    "    tokens = everything if window is None else min(everything, window)"
                ),
            ),
            ("return batch_size * tokens", "return tokens"),
        ),
        explanation=(
            "The tokens of all texts together are limited to one window; those of each text must "
            "be."
        ),
        question="How many tokens are cached for 3 texts of 90 tokens with a window of 20?",
    ),
    Misconception(
        id="counts_only_the_tokens_before_the_newest",
        exercise="cache_bytes",
        swaps=((TOKENS, TOKENS.replace("window)", "window - 1)")),),
        explanation=(
            "At most window - 1 tokens of a text are counted; in this exercise a layer caches up "
            "to *window* tokens."
        ),
        question="How many tokens of a long text does the docstring count for a window of 4?",
    ),
    Misconception(
        id="counts_one_text",
        exercise="cache_bytes",
        when=("no reads batch_size",),
        swaps=(("return batch_size * tokens", "return tokens"),),
        explanation="The bytes of one text are counted; every text of the batch needs a cache.",
        question="Which argument says how many texts there are, and does your formula contain it?",
    ),
    Misconception(
        id="counts_one_layer",
        exercise="cache_bytes",
        when=("no reads num_layers",),
        swaps=((" * num_layers", ""),),
        explanation="The bytes of one layer are counted; every layer has a cache.",
        question="Which argument says how many layers there are, and does your formula contain it?",
    ),
    # GroupedQueryAttention
    Misconception(
        id="shares_keys_and_not_values",
        exercise="GroupedQueryAttention",
        swaps=((SHARED_VALUES, "values = values.repeat(1, H // G, 1, 1)"),),
        explanation=(
            "The values are not repeated in the order of the keys: query head h gets the values of "
            "head h % G, but its keys are those of head h // (H/G)."
        ),
        question="Which value head belongs to query head 1?",
    ),
    Misconception(
        id="averages_the_queries_of_a_group",
        exercise="GroupedQueryAttention",
        swaps=(
            (
                SHARED_KEYS,
                (
                    "queries = queries.view(B, G, H // G, T, d).mean(dim=2)\n"
                    "        queries, keys = repeat_heads(queries, H), repeat_heads(keys, H)"
                ),
            ),
        ),
        explanation=(
            "The queries of a group are averaged, but every head must keep its own queries; only "
            "keys and values are shared."
        ),
        question=(
            "With 6 query heads and 2 key-value heads, how many different rows of weights does a "
            "token have?"
        ),
    ),
    Misconception(
        id="masks_with_a_window_only",
        exercise="GroupedQueryAttention",
        swaps=(
            ("masked = scores.masked_fill(visible == 0,", "masked = scores.masked_fill(hidden,"),
            (
                "visible = window_mask(T, T if self.window is None else self.window)",
                "hidden = (window_mask(T, self.window or T) == 0) & (self.window is not None)",
            ),
        ),
        explanation="Without a window, nothing is hidden; attention must be causal then as well.",
        question="Which keys may a token see if window is None?",
    ),
    Misconception(
        id="ignores_the_window",
        exercise="GroupedQueryAttention",
        swaps=((BAND, "visible = window_mask(T, T)"),),
        explanation=(
            "The window has no effect: a token sees all earlier tokens, but with a window it "
            "must see only the nearest ones."
        ),
        question="Where does your forward use the window that was passed to the constructor?",
    ),
    Misconception(
        id="windows_without_causality",
        exercise="GroupedQueryAttention",
        swaps=(
            (
                BAND,
                (
                    "back = torch.arange(T)[:, None] - torch.arange(T)\n"
                    "        visible = back < (T if self.window is None else self.window)"
                ),
            ),
        ),
        explanation=(
            "The window hides tokens that are too far back but leaves the future visible; later "
            "keys must be hidden as well."
        ),
        question="Which comparison of i and j hides the future?",
    ),
    Misconception(
        id="returns_float32",
        exercise="GroupedQueryAttention",
        swaps=(("return self.out_proj(context)", "return self.out_proj(context).float()"),),
        explanation=(
            "The result is always float32, but it must have the dtype of the input, such as "
            "float64."
        ),
        question="Which line of your code sets a dtype?",
    ),
    Misconception(
        id="makes_keys_for_every_query_head",
        exercise="GroupedQueryAttention",
        when=("calls Linear",),
        swaps=(
            (
                "self.W_key = nn.Linear(d_in, num_kv_heads * d, bias=False)",
                "self.W_key = nn.Linear(d_in, d_out, bias=False)",
            ),
        ),
        explanation=(
            "W_key gives d_out features; keys have G heads, so it must give G · d features."
        ),
        question="How many features do the keys of G heads have together?",
    ),
    Misconception(
        id="makes_keys_and_values_for_every_query_head",
        exercise="GroupedQueryAttention",
        when=("calls Linear",),
        swaps=(
            (
                "self.W_key = nn.Linear(d_in, num_kv_heads * d, bias=False)",
                "self.W_key = nn.Linear(d_in, d_out, bias=False)",
            ),
            (
                "self.W_value = nn.Linear(d_in, num_kv_heads * d, bias=False)",
                "self.W_value = nn.Linear(d_in, d_out, bias=False)",
            ),
        ),
        explanation=(
            "W_key and W_value give d_out features; keys and values have G heads, so they must "
            "give G · d features."
        ),
        question="How many features do the keys of G heads have together?",
    ),
    Misconception(
        id="multiplies_different_numbers_of_heads",
        exercise="GroupedQueryAttention",
        when=("multiplies matrices",),
        swaps=((f"        {SHARED_VALUES}\n", ""),),
        explanation=(
            "Keys or values with G heads are multiplied by queries or weights with H heads; both "
            "keys and values must be repeated first."
        ),
        question="How many heads do the weights have, and how many do the values have?",
    ),
    Misconception(
        id="shares_heads_in_turn",
        exercise="GroupedQueryAttention",
        swaps=(
            (SHARED_KEYS, "keys = keys.repeat(1, H // G, 1, 1)"),
            (SHARED_VALUES, "values = values.repeat(1, H // G, 1, 1)"),
        ),
        explanation=(
            "Query head h gets key-value head h % G; it must be h // (H/G), so that neighboring "
            "query heads share a head."
        ),
        question=(
            "With 6 query heads and 2 key-value heads, which head must query heads 0, 1, 2 share?"
        ),
    ),
    Misconception(
        id="divides_by_the_number_of_kv_heads",
        exercise="GroupedQueryAttention",
        when=("rounds",),
        swaps=(
            (SHARED_KEYS, "keys = keys[:, [h // G for h in range(H)]]"),
            (SHARED_VALUES, "values = values[:, [h // G for h in range(H)]]"),
        ),
        explanation=(
            "Query head h gets key-value head h // G; it must be h // (H/G), because H/G query "
            "heads share one."
        ),
        question=(
            "With 6 query heads and 2 key-value heads, how many query heads share one of them?"
        ),
    ),
    Misconception(
        id="windows_without_causality_alone",
        exercise="GroupedQueryAttention",
        when=("compares",),
        swaps=(
            (
                BAND,
                (
                    "i, j = torch.arange(T)[:, None], torch.arange(T)\n"
                    "        visible = j <= i if self.window is None else i - j < self.window"
                ),
            ),
        ),
        explanation=(
            "With a window, later keys are visible: only keys that are too far back are hidden."
        ),
        question="If key j is after query i, is i - j < window true?",
    ),
    Misconception(
        id="sees_window_tokens_before_itself",
        exercise="GroupedQueryAttention",
        swaps=((BAND, BAND.replace("else self.window)", "else self.window + 1)")),),
        explanation=(
            "A token sees *window* tokens before itself, but the window also counts the token "
            "itself: only window - 1 earlier tokens may be visible."
        ),
        question="With a window of 1, which tokens does a token see?",
    ),
    Misconception(
        id="sees_one_token_less_than_its_window",
        exercise="GroupedQueryAttention",
        when=("compares | calls tril | calls triu",),
        swaps=(
            (
                BAND,
                (
                    "i, j = torch.arange(T)[:, None], torch.arange(T)\n"
                    "        visible = j <= i\n"
                    "        if self.window is not None:\n"
                    "            visible = visible & (i - j < self.window - 1)"
                ),
            ),
        ),
        explanation=(
            "The window is one token too small: with the query's own token, it must have *window* "
            "tokens."
        ),
        question="Which tokens does a query see in a window of 1?",
    ),
    Misconception(
        id="makes_a_mask_without_a_window",
        exercise="GroupedQueryAttention",
        when=("calls window_mask",),
        swaps=((BAND, "visible = window_mask(T, self.window)"),),
        explanation="Without a window, None is passed to window_mask, which needs a number.",
        question="How many of T tokens are in the window if there is no window?",
    ),
    # rotary_angles and apply_rotary
    Misconception(
        id="mirrors_the_second_feature",
        exercise="apply_rotary",
        swaps=(("a * sin + b * cos", "b * cos - a * sin"),),
        explanation=(
            "The second feature of each pair has a wrong sign at its sine: the product of the "
            "first feature and the sine is subtracted; it must be added."
        ),
        question="Where does the point (1, 0) go if it is rotated by a quarter turn?",
    ),
    # extend_cache
    Misconception(
        id="puts_new_tokens_before_the_cached",
        exercise="extend_cache",
        when=("joins",),
        swaps=(
            (WITH_OLD_KEYS, "keys = torch.cat((keys, cache[0]), dim=2)"),
            (WITH_OLD_VALUES, "values = torch.cat((values, cache[1]), dim=2)"),
        ),
        explanation=(
            "The new keys and values are put before the cached ones, but the oldest token must "
            "come first."
        ),
        question="Which of the tokens in a cache is the oldest, the first or the last?",
    ),
    Misconception(
        id="keeps_one_token_too_many",
        exercise="extend_cache",
        swaps=((FORGOTTEN, FORGOTTEN.replace("K - (window - 1)", "K - window")),),
        explanation=(
            "The cache keeps *window* tokens, but the next token brings its own key and needs only "
            "window - 1 cached keys."
        ),
        question="How many of the tokens in a window are older than the token itself?",
    ),
    Misconception(
        id="keeps_one_token_too_few",
        exercise="extend_cache",
        swaps=((FORGOTTEN, FORGOTTEN.replace("(window - 1)", "max(0, window - 2)")),),
        explanation=(
            "The cache keeps window - 2 tokens; the next token sees window - 1 tokens before "
            "itself."
        ),
        question="How many of the tokens in a window are older than the token itself?",
    ),
    Misconception(
        id="keeps_all_tokens",
        exercise="extend_cache",
        swaps=((FORGOTTEN, "forgotten = 0"),),
        explanation=(
            "All tokens stay in the cache, but with a window it must keep only the last window - 1 "
            "tokens."
        ),
        question="How long is your cache after 100 tokens with a window of 4?",
    ),
    Misconception(
        id="keeps_all_tokens_with_a_window_of_one",
        exercise="extend_cache",
        swaps=((FORGOTTEN, FORGOTTEN.replace("window is None", "window in (None, 1)")),),
        explanation=(
            "With a window of 1 the whole cache is kept, as with a slice that starts at -0; the "
            "cache must be empty."
        ),
        question="How many tokens does your cache keep with a window of 1?",
    ),
    Misconception(
        id="keeps_the_oldest",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("forgotten:", ": K - forgotten")),),
        explanation=(
            "The oldest tokens stay in the cache and the newest are dropped, but the next token "
            "needs the newest ones."
        ),
        question="Which end of the cache does the window of the next token cover?",
    ),
    Misconception(
        id="keeps_only_the_new_tokens",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("forgotten:", "max(forgotten, K - T) :")),),
        explanation=(
            "Only the keys and values of the new tokens are kept, so the older ones are lost after "
            "one call; the cache must hold old and new tokens."
        ),
        question="In the third call, where do the keys of the first token come from?",
    ),
    Misconception(
        id="keeps_only_the_cached_tokens",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("forgotten:", "forgotten : K - T * (cache is not None)")),),
        explanation=(
            "The kept keys and values are cut from the given cache, without the new tokens, which "
            "the next token needs most."
        ),
        question="Which token is the nearest one to the next token?",
    ),
    Misconception(
        id="counts_only_what_is_held",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("seen + T", "K")),),
        explanation=(
            "The returned seen is the number of keys that are there, which stops growing when the "
            "window is full; it must also count the tokens that were dropped."
        ),
        question="What must seen be after 100 tokens with a window of 4?",
    ),
    Misconception(
        id="counts_only_what_is_kept",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("seen + T", "K - forgotten")),),
        explanation=(
            "The returned seen is the number of kept tokens, which stops growing when the window "
            "is full; it must be the number of tokens so far."
        ),
        question="What must seen be after 100 tokens with a window of 4?",
    ),
    Misconception(
        id="counts_the_new_tokens_only",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("seen + T", "T")),),
        explanation=(
            "The returned seen counts only the new tokens; it must be the number of all tokens "
            "so far."
        ),
        question="What must seen be after a call with 5 tokens and another with 2?",
    ),
    Misconception(
        id="does_not_count_the_new_tokens",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("seen + T", "seen")),),
        explanation=(
            "The returned seen does not count the new tokens: it is still the value from the "
            "given cache."
        ),
        question="What must seen be after a first call with 5 tokens?",
    ),
    Misconception(
        id="adds_all_keys_to_seen",
        exercise="extend_cache",
        swaps=(("], seen + T", "], seen + K"),),
        explanation=(
            "The returned seen grows by the number of all keys, cached and new; it must grow by "
            "the number of new tokens."
        ),
        title="The returned seen grows by the number of all keys, cached and new",
        question="If 4 tokens are cached and 2 arrive, by how much must seen grow?",
    ),
    Misconception(
        id="counts_one_token_a_call",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("seen + T", "seen + 1")),),
        explanation="Each call counts one token; it must count all T new tokens.",
        question="What must seen be after a first call with 5 tokens?",
    ),
    Misconception(
        id="returns_the_kept_tokens_twice",
        exercise="extend_cache",
        swaps=((BOTH, "return kept[:2], kept"),),
        explanation=(
            "The first result holds only the kept keys and values, so the new tokens see too few; "
            "it must hold all cached and new tokens, and only the cache may be cropped."
        ),
        question=(
            "How many keys does a token see, and how many must the cache keep for the next one?"
        ),
    ),
    Misconception(
        id="returns_the_new_tokens_first",
        exercise="extend_cache",
        swaps=((BOTH, "return (keys[:, :, K - T :], values[:, :, K - T :]), kept"),),
        explanation=(
            "The first result holds only the new keys and values, but the new tokens also see the "
            "cached ones."
        ),
        question="Six tokens are cached and two arrive. How many keys can the second one see?",
    ),
    Misconception(
        id="crops_what_the_new_tokens_see",
        exercise="extend_cache",
        when=("slices",),
        swaps=(
            (
                BOTH,
                ("return (keys[:, :, -(window or K) :], values[:, :, -(window or K) :]), kept"),
            ),
        ),
        explanation=(
            "The keys that the new tokens see are cut to the last *window* ones; with several new "
            "tokens, the first of them must also see older keys."
        ),
        question="Three tokens arrive, with a window of 4. How many keys do they see together?",
    ),
    Misconception(
        id="drops_as_many_as_arrive",
        exercise="extend_cache",
        swaps=((FORGOTTEN, "forgotten = 0 if window is None or cache is None else min(T, K - T)"),),
        explanation=(
            "As many tokens are dropped as arrive, so the cache stays as long as it was; the "
            "length of the cache must depend on the window: at most window - 1 tokens."
        ),
        question="Two tokens are cached, with a window of 8, and one arrives. Which must go?",
    ),
    Misconception(
        id="crops_only_the_cached_tokens",
        exercise="extend_cache",
        swaps=(
            (
                SEEN_BEFORE,
                (
                    "seen = cache[2]\n"
                    "        C = cache[0].shape[2]\n"
                    "        cut = 0 if window is None else max(0, C - (window - 1))\n"
                    "        cache = cache[0][:, :, cut:], cache[1][:, :, cut:], seen"
                ),
            ),
            (FORGOTTEN, "forgotten = 0"),
        ),
        explanation=(
            "The cached tokens are cropped before the new ones are added, so the next cache holds "
            "more than window - 1 tokens; crop cached and new tokens together."
        ),
        question="With a window of 4 and no cache, ten tokens arrive. How many must be kept?",
    ),
    Misconception(
        id="joins_heads_in_place_of_tokens",
        exercise="extend_cache",
        when=("joins",),
        swaps=(
            (WITH_OLD_KEYS, WITH_OLD_KEYS.replace("dim=2", "dim=1")),
            (WITH_OLD_VALUES, WITH_OLD_VALUES.replace("dim=2", "dim=1")),
        ),
        explanation=(
            "The cached and the new tokens are joined along the axis of the heads; the tokens are "
            "on the third axis of (B, G, T, d)."
        ),
        question="Which axis of (B, G, T, d) grows when tokens are added?",
    ),
    Misconception(
        id="crops_the_keys_and_not_the_values",
        exercise="extend_cache",
        swaps=((KEPT, KEPT.replace("values[:, :, forgotten:]", "values")),),
        explanation="Only the keys are cropped to the window; the values must be cropped as well.",
        question="Can there be a value in the cache whose key was dropped?",
    ),
    Misconception(
        id="exchanges_keys_and_values",
        exercise="extend_cache",
        swaps=(
            (
                KEPT,
                "kept = values[:, :, forgotten:], keys[:, :, forgotten:], seen + T",
            ),
        ),
        explanation="The cache holds the values first and then the keys; the keys must come first.",
        question="In which order does the next call take the two parts of the cache?",
    ),
    Misconception(
        id="writes_the_new_tokens_into_the_cache",
        exercise="extend_cache",
        swaps=(
            (
                BOTH,
                (
                    "if cache is not None and cache[0].shape[2]:\n"
                    "        cache[0].data[:, :, -1:] = keys[:, :, -1:]\n"
                    "        cache[1].data[:, :, -1:] = values[:, :, -1:]\n"
                    f"    {BOTH}"
                ),
            ),
        ),
        explanation=(
            "The new keys and values are written into the cache that the caller passed, but the "
            "caller may need it again; return new tensors."
        ),
        question="If two texts are continued from the same cache, what does the second one read?",
    ),
    # cached_mask
    Misconception(
        id="starts_at_the_first_key",
        exercise="cached_mask",
        swaps=((ROWS, "i = torch.arange(num_new)[:, None]"),),
        explanation=(
            "The mask is aligned with the first key, so the first new token sees the oldest key "
            "only, but new token i is at place C + i."
        ),
        question="Ten tokens are cached and one arrives. Which keys must it see?",
    ),
    Misconception(
        id="shows_new_tokens_their_future",
        exercise="cached_mask",
        swaps=((UP_TO_ITSELF, "visible = (i >= 0) & (j >= 0)"),),
        explanation=(
            "Later new tokens are visible; each token must see only the tokens up to itself."
        ),
        question="Four new tokens arrive in one call. Which of them must the second one see?",
    ),
    Misconception(
        id="hides_the_token_itself",
        exercise="cached_mask",
        swaps=((UP_TO_ITSELF, "visible = j < i"),),
        explanation="Each new token sees only the tokens before it; it must also see itself.",
        question="Which key must the first token of a text see?",
    ),
    Misconception(
        id="shows_one_token_beyond_the_window",
        exercise="cached_mask",
        swaps=((NEAR, NEAR.replace("< window", "<= window")),),
        explanation=(
            "A token sees *window* tokens before itself, but the window also counts the token "
            "itself: only window - 1 earlier tokens may be visible."
        ),
        question="With a window of 1, which tokens does a token see?",
    ),
    Misconception(
        id="hides_one_token_of_the_window",
        exercise="cached_mask",
        swaps=((NEAR, NEAR.replace("< window", "< window - 1")),),
        explanation=(
            "A token sees one token less than its window: of *window* tokens it must see itself "
            "and the window - 1 tokens before it."
        ),
        question="With a window of 2, how many tokens before itself does a token see?",
    ),
    Misconception(
        id="measures_the_window_without_the_cache",
        exercise="cached_mask",
        swaps=((NEAR, NEAR.replace("i - j", "i - num_cached - j")),),
        explanation=(
            "The window is measured from place i of new token i, but the place of this token is "
            "C + i, so the window reaches C tokens too far back."
        ),
        question="Six tokens are cached. Which key belongs to the first new token?",
    ),
    Misconception(
        id="keeps_cached_tokens_visible",
        exercise="cached_mask",
        swaps=((NEAR, "visible = visible & ((i - j < window) | (j < num_cached))"),),
        explanation=(
            "The window hides new tokens only: all cached tokens stay visible, although those "
            "outside the window must be hidden too."
        ),
        question=(
            "Three tokens are cached and three arrive, with a window of 4. Which cached tokens "
            "does the last one see?"
        ),
    ),
    Misconception(
        id="keeps_new_tokens_visible",
        exercise="cached_mask",
        swaps=((NEAR, "visible = visible & ((i - j < window) | (j >= num_cached))"),),
        explanation=(
            "The window hides cached tokens only; new tokens outside the window must be hidden, "
            "too."
        ),
        question="Ten tokens arrive at once, with a window of 4. Which ones does the last one see?",
    ),
    Misconception(
        id="has_no_window_without_a_cache",
        exercise="cached_mask",
        swaps=((NEAR, NEAR.replace("i - j < window", "(i - j < window) | (num_cached == 0)")),),
        explanation=(
            "The window has no effect if no tokens are cached; it must hide the tokens outside it "
            "in the first call as well."
        ),
        question="Ten tokens arrive in the first call, with a window of 4. What does the last see?",
    ),
    Misconception(
        id="hides_the_cached_tokens",
        exercise="cached_mask",
        swaps=((UP_TO_ITSELF, "visible = (j <= i) & (j >= num_cached)"),),
        explanation="The cached tokens are hidden: a new token sees new tokens only.",
        question="How many keys must the first new token see after 6 cached tokens?",
    ),
    Misconception(
        id="has_no_effect_of_the_window",
        exercise="cached_mask",
        swaps=((NEAR, "visible = visible & (i - j < num_cached + num_new)"),),
        explanation=(
            "The window has no effect: a token sees all tokens up to itself, but with a window it "
            "must see only the nearest ones."
        ),
        question="Which comparison of your mask depends on the window?",
    ),
    Misconception(
        id="shows_the_window_only_after_it_is_full",
        exercise="cached_mask",
        swaps=((NEAR, "visible = visible & (j >= num_cached - window + 1)"),),
        explanation=(
            "All new tokens see the same cached tokens, those in the window of the first one; the "
            "window must move along with each token."
        ),
        question="Which is the oldest key that the second new token may see?",
    ),
    Misconception(
        id="marks_the_hidden_keys",
        exercise="cached_mask",
        swaps=(("return visible", "return ~visible"),),
        explanation="The mask marks the keys that must be hidden; it must mark the visible ones.",
        question="What does a 1 mean in this mask?",
    ),
    Misconception(
        id="returns_the_mask_of_the_whole_text",
        exercise="cached_mask",
        swaps=((ROWS, "i = torch.arange(num_cached + num_new)[:, None]"),),
        explanation=(
            "The mask has a row for each token of the text; it must have rows for the new tokens "
            "only."
        ),
        question="How many rows does the mask for 2 new tokens after 5 cached ones have?",
    ),
    Misconception(
        id="returns_a_column_for_each_new_token",
        exercise="cached_mask",
        swaps=(
            (
                "j = torch.arange(num_cached + num_new)",
                "j = torch.arange(num_cached, num_cached + num_new)",
            ),
        ),
        explanation=(
            "The mask has columns for the new tokens only; it must also have a column for each "
            "cached token."
        ),
        question="How many keys are there after 5 cached tokens and 2 new ones?",
    ),
    # DecoderAttention
    Misconception(
        id="returns_a_context_in_float32",
        exercise="DecoderAttention",
        swaps=((RETURN, "return self.out_proj(context).float(), cache"),),
        explanation=(
            "The context is always float32, but it must have the dtype of the input, such as "
            "float64."
        ),
        question="Which line of your code sets a dtype?",
    ),
    Misconception(
        id="caches_repeated_heads",
        exercise="DecoderAttention",
        swaps=(
            (
                EXTEND,
                EXTEND.replace(
                    "keys, values, s", "repeat_heads(keys, H), repeat_heads(values, H), s"
                ),
            ),
        ),
        explanation=(
            "The keys and values are repeated before they are cached, so the cache is as large as "
            "with a key-value head for every query head; the cache must hold only the G heads."
        ),
        question="How many heads do the keys in the cache need, H or G?",
    ),
    Misconception(
        id="restarts_positions_in_each_part",
        exercise="DecoderAttention",
        swaps=((POSITIONS, "positions = torch.arange(T)"),),
        explanation=(
            "The positions start at 0 in each call, but the first new token is at position seen."
        ),
        question="At which position is the token that follows seven earlier tokens?",
    ),
    Misconception(
        id="restarts_positions_and_mask",
        exercise="DecoderAttention",
        swaps=(
            (POSITIONS, "positions = torch.arange(T)"),
            (MARKS, f"{MARKS.replace('T, keys.shape[2] - T', 'keys.shape[2], 0')}[:T]"),
        ),
        explanation=(
            "The positions and the mask start at 0 in each call, but the first new token is at "
            "position seen."
        ),
        question="At which position is the token that follows seven earlier tokens?",
    ),
    Misconception(
        id="counts_the_queries_from_zero",
        exercise="DecoderAttention",
        swaps=(
            (
                TURN_QUERIES,
                "queries = apply_rotary(queries, *rotary_angles(torch.arange(T), d, self.base))",
            ),
        ),
        explanation=(
            "The queries are rotated as if the text began with this call, but the first query is "
            "at position seen."
        ),
        question="At which position is the token that follows seven earlier tokens?",
    ),
    Misconception(
        id="counts_the_keys_from_zero",
        exercise="DecoderAttention",
        swaps=(
            (
                TURN_KEYS,
                "keys = apply_rotary(keys, *rotary_angles(torch.arange(T), d, self.base))",
            ),
        ),
        explanation=(
            "The new keys are rotated as if the text began with this call, but the first new key "
            "is at position seen."
        ),
        question="At which position is the token that follows seven earlier tokens?",
    ),
    Misconception(
        id="counts_positions_from_the_cache",
        exercise="DecoderAttention",
        swaps=((SEEN, "seen = 0 if cache is None else cache[0].shape[2]"),),
        explanation=(
            "The positions are counted from the length of the cache, which stops growing when "
            "the window is full; they must be counted from seen, the number of tokens so far."
        ),
        question="With a window of 4, at which position is the hundredth token?",
    ),
    Misconception(
        id="returns_the_length_of_the_cache",
        exercise="DecoderAttention",
        swaps=((RETURN, "return self.out_proj(context), (*cache[:2], cache[0].shape[2])"),),
        explanation=(
            "The returned number of tokens is the length of the cache, which stops growing when "
            "the window is full; it must be the number of tokens so far."
        ),
        question="What must seen be after 100 tokens with a window of 4?",
    ),
    Misconception(
        id="counts_seen_from_the_cache",
        exercise="DecoderAttention",
        swaps=(
            (SEEN, "seen = 0 if cache is None else cache[0].shape[2]"),
            (RETURN, "return self.out_proj(context), (*cache[:2], seen + T)"),
        ),
        explanation=(
            "The number of earlier tokens is the length of the given cache, which stops growing "
            "when the window is full; it must be the third entry of the cache."
        ),
        question="With a window of 4, at which position is the hundredth token?",
    ),
    Misconception(
        id="counts_tokens_and_positions_from_the_cache",
        exercise="DecoderAttention",
        swaps=(
            (SEEN, "seen = 0 if cache is None else cache[0].shape[2]"),
            (RETURN, "return self.out_proj(context), (*cache[:2], cache[0].shape[2])"),
        ),
        explanation=(
            "Positions and seen are both counted from the length of the cache, which stops "
            "growing when the window is full; they must also count the tokens that were dropped."
        ),
        question=(
            "After 100 tokens with a window of 4, what must seen be, and at which position is the "
            "next token?"
        ),
    ),
    Misconception(
        id="counts_positions_from_one",
        exercise="DecoderAttention",
        swaps=((POSITIONS, "positions = torch.arange(seen + 1, seen + T + 1)"),),
        explanation=(
            "The keys are rotated as if the first new token were at position seen + 1; it is at "
            "position seen."
        ),
        question="At which position is the first token of a text?",
    ),
    Misconception(
        id="turns_cached_keys_again",
        exercise="DecoderAttention",
        swaps=(
            (f"        {TURN_KEYS}\n", ""),
            (
                EXTEND,
                (
                    "(keys, values), cache = extend_cache(cache, keys, values, self.window)\n"
                    "        K = keys.shape[2]\n"
                    "        places = torch.arange(seen + T - K, seen + T)\n"
                    "        keys = apply_rotary(keys, *rotary_angles(places, d, self.base))\n"
                    "        kept = cache[0].shape[2]\n"
                    "        cache = keys[:, :, K - kept :], cache[1], cache[2]"
                ),
            ),
        ),
        explanation=(
            "The keys from the cache are rotated again in each call, but they were rotated "
            "before they were cached."
        ),
        question="How often is a key rotated if it stays in the cache for three calls?",
    ),
    Misconception(
        id="caches_keys_before_turning_them",
        exercise="DecoderAttention",
        swaps=(
            (f"        {TURN_KEYS}\n", ""),
            (
                EXTEND,
                (
                    "(keys, values), cache = extend_cache(cache, keys, values, self.window)\n"
                    "        places = torch.arange(seen + T - keys.shape[2], seen + T)\n"
                    "        keys = apply_rotary(keys, *rotary_angles(places, d, self.base))"
                ),
            ),
        ),
        explanation=(
            "The cache holds keys that are not rotated yet, so all of them are rotated in each "
            "call; it must hold the rotated keys."
        ),
        question="Does the angle of an old key change when a new token arrives?",
    ),
    Misconception(
        id="puts_new_tokens_first",
        exercise="DecoderAttention",
        when=("joins",),
        swaps=(
            (
                EXTEND,
                (
                    "K = T + (0 if cache is None else cache[0].shape[2])\n"
                    "        if cache is not None:\n"
                    "            keys = torch.cat((keys, cache[0]), dim=2)\n"
                    "            values = torch.cat((values, cache[1]), dim=2)\n"
                    "        cut = 0 if self.window is None else max(0, K - (self.window - 1))\n"
                    "        cache = keys[:, :, cut:], values[:, :, cut:], seen + T"
                ),
            ),
        ),
        explanation=(
            "The new keys and values are put before the cached ones, but the oldest token must "
            "come first."
        ),
        question="In which order does the mask expect the keys?",
    ),
    Misconception(
        id="keeps_a_whole_window",
        exercise="DecoderAttention",
        swaps=((EXTEND, EXTEND.replace("self.window", "self.window and self.window + 1")),),
        explanation=(
            "The cache keeps *window* tokens, but the next token brings its own key and needs only "
            "window - 1 cached keys."
        ),
        question="How many of the tokens in a window are older than the token itself?",
    ),
    Misconception(
        id="turns_values_too",
        exercise="DecoderAttention",
        swaps=((EXTEND, EXTEND.replace("values, self", "apply_rotary(values, cos, sin), self")),),
        explanation=(
            "The values are rotated as well, so the result depends on the position and not only "
            "on distances."
        ),
        question="Which two tensors does a score compare, and does the third one need a position?",
    ),
    Misconception(
        id="turns_keys_only",
        exercise="DecoderAttention",
        swaps=((f"        {TURN_QUERIES}\n", ""),),
        explanation=(
            "The keys are rotated and the queries are not, so a score depends on the position of "
            "the key and not on the distance; both must be rotated."
        ),
        question="By how much do the angles of a query and a key at the same position differ?",
    ),
    Misconception(
        id="turns_queries_only",
        exercise="DecoderAttention",
        swaps=((f"        {TURN_KEYS}\n", ""),),
        explanation=(
            "The queries are rotated and the keys are not, so a score depends on the position of "
            "the query and not on the distance; both must be rotated."
        ),
        question="By how much do the angles of a query and a key at the same position differ?",
    ),
    Misconception(
        id="turns_halves_of_a_head",
        exercise="DecoderAttention",
        swaps=(
            (TURN_QUERIES, "queries = apply_rotary(queries, cos, sin, True)"),
            (TURN_KEYS, "keys = apply_rotary(keys, cos, sin, True)"),
        ),
        explanation=(
            "Features i and i + d/2 are rotated as a pair, but this exercise pairs consecutive "
            "features: 2i and 2i + 1."
        ),
        question="Which feature is the partner of feature 0 in this exercise?",
    ),
    Misconception(
        id="turns_before_the_split",
        exercise="DecoderAttention",
        swaps=(
            (f"        {ANGLES}  # (T, d/2)\n        {TURN_QUERIES}\n        {TURN_KEYS}\n", ""),
            (f"        {SEEN}\n        {POSITIONS}\n", ""),
            (
                "H, G, d = ",
                (
                    f"{SEEN}\n"
                    f"        {POSITIONS}\n"
                    "        turns = [\n"
                    "            rotary_angles(positions, one.shape[-1], self.base)\n"
                    "            for one in (queries, keys)\n"
                    "        ]\n"
                    "        queries = apply_rotary(queries, *turns[0])\n"
                    "        keys = apply_rotary(keys, *turns[1])\n"
                    "        H, G, d = "
                ),
            ),
        ),
        explanation=(
            "Queries and keys are rotated before they are split, so the heads have different "
            "frequencies; every head must have all frequencies."
        ),
        question="Which frequency should the first pair of the second head have?",
    ),
    Misconception(
        id="ignores_the_base",
        exercise="DecoderAttention",
        swaps=((ANGLES, "cos, sin = rotary_angles(positions, d)"),),
        explanation=(
            "The base has no effect: the angles are always those of a base of 10,000, but they "
            "must be those of the argument *base*."
        ),
        question="Where does forward use the base that the constructor got?",
    ),
    Misconception(
        id="aligns_the_mask_with_the_first_key",
        exercise="DecoderAttention",
        swaps=((MARKS, f"{MARKS.replace('T, keys.shape[2] - T', 'keys.shape[2], 0')}[:T]"),),
        explanation=(
            "The mask is aligned with the first key, so a single new token sees the oldest key "
            "only; the last query must be aligned with the last key."
        ),
        question="Ten tokens are cached and one arrives. Which keys must it see?",
    ),
    Misconception(
        id="shows_each_part_its_own_future",
        exercise="DecoderAttention",
        swaps=(
            (
                MARKS,
                (
                    "K = keys.shape[2]\n"
                    "        near = torch.arange(K - T, K)[:, None] - torch.arange(K)\n"
                    "        visible = near < (K if self.window is None else self.window)"
                ),
            ),
        ),
        explanation=(
            "Later tokens of the same call are visible; each token must see only the tokens up to "
            "itself."
        ),
        question="Four new tokens arrive in one call. Which of them must the second one see?",
    ),
    Misconception(
        id="counts_dropped_tokens_in_the_mask",
        exercise="DecoderAttention",
        when=("calls cached_mask",),
        swaps=((MARKS, "visible = cached_mask(T, seen, self.window)"),),
        explanation=(
            "The mask gets *seen* as the number of cached tokens, so it also has columns for "
            "tokens that the window has dropped; it must have a column for each key."
        ),
        question="After 100 tokens with a window of 4, how many cached keys does the mask cover?",
    ),
    Misconception(
        id="cuts_the_cache_before_attending",
        exercise="DecoderAttention",
        swaps=(
            (
                EXTEND,
                (
                    "_, cache = extend_cache(cache, keys, values, self.window)\n"
                    "        keys, values = cache[:2]"
                ),
            ),
            (MARKS, "visible = cached_mask(T, seen, self.window)[:, seen + T - keys.shape[2] :]"),
        ),
        explanation=(
            "The keys are cropped to window - 1 tokens before the scores are computed, so the "
            "new tokens see too few keys; crop the cache after attention."
        ),
        question=(
            "How many keys does a token see, and how many must the cache keep for the next one?"
        ),
    ),
    Misconception(
        id="relies_on_the_cache_for_the_window",
        exercise="DecoderAttention",
        swaps=((MARKS, "visible = cached_mask(T, keys.shape[2] - T)"),),
        explanation=(
            "Several tokens in one call see more than their window, which the cropped cache does "
            "not prevent; the mask must hide the tokens outside it."
        ),
        question=(
            "A text of ten tokens arrives at once, with a window of 4. What hides token 0 from "
            "token 9?"
        ),
    ),
    Misconception(
        id="forgets_nothing",
        exercise="DecoderAttention",
        swaps=((EXTEND, "(keys, values), cache = extend_cache(cache, keys, values)"),),
        explanation=(
            "The cache keeps tokens that no later token can see, because they are outside the "
            "window; it must keep only the last window - 1 tokens."
        ),
        question="How long is your cache after 100 tokens with a window of 4?",
    ),
    Misconception(
        id="passes_the_given_cache_on",
        exercise="DecoderAttention",
        swaps=((EXTEND, EXTEND.replace(", cache =", ", _ =")),),
        explanation=(
            "The second result is the given cache, without the new tokens; it must be the next "
            "cache."
        ),
        question="Which of the two results of extend_cache belongs to the next call?",
    ),
    Misconception(
        id="has_no_window",
        exercise="DecoderAttention",
        swaps=(
            (EXTEND, "(keys, values), cache = extend_cache(cache, keys, values)"),
            (MARKS, "visible = cached_mask(T, keys.shape[2] - T)"),
        ),
        explanation=(
            "The window has no effect: all tokens stay visible and in the cache, but with a window "
            "a token must see only the nearest ones."
        ),
        question="Which two steps of your forward should depend on the window?",
    ),
    Misconception(
        id="sees_one_token_beyond_its_window",
        exercise="DecoderAttention",
        swaps=((MARKS, MARKS.replace("self.window", "self.window and self.window + 1")),),
        explanation=(
            "A token sees *window* tokens before itself, but the window also counts the token "
            "itself: only window - 1 earlier tokens may be visible."
        ),
        question="With a window of 1, which tokens does a token see?",
    ),
    Misconception(
        id="keeps_everything_with_a_window_of_one",
        exercise="DecoderAttention",
        swaps=(
            (
                EXTEND,
                (
                    "(keys, values), cache = extend_cache(cache, keys, values)\n"
                    "        if self.window is not None:\n"
                    "            start = -(self.window - 1)\n"
                    "            cache = *(part[:, :, start:] for part in cache[:2]), cache[2]"
                ),
            ),
        ),
        explanation=(
            "With a window of 1 the whole cache is kept, as with a slice that starts at -0; the "
            "cache must be empty."
        ),
        question="How many tokens does your cache keep with a window of 1?",
    ),
    Misconception(
        id="keeps_the_oldest_tokens",
        exercise="DecoderAttention",
        swaps=(
            (
                EXTEND,
                (
                    f"{EXTEND}\n"
                    "        held = cache[0].shape[2]\n"
                    "        cache = keys[:, :, :held], values[:, :, :held], cache[2]"
                ),
            ),
        ),
        explanation=(
            "The oldest tokens stay in the cache and the newest are dropped, but the next token "
            "needs the newest ones."
        ),
        question="Which end of the cache does the window of the next token cover?",
    ),
    Misconception(
        id="crops_only_the_keys",
        exercise="DecoderAttention",
        swaps=((EXTEND, f"{EXTEND}\n        cache = cache[0], values, cache[2]"),),
        explanation="Only the keys are cropped to the window; the values must be cropped as well.",
        question="Can there be a value in the cache whose key was dropped?",
    ),
    Misconception(
        id="caches_new_tokens_only",
        exercise="DecoderAttention",
        swaps=(
            (
                EXTEND,
                (
                    "own = keys, values\n"
                    f"        {EXTEND}\n"
                    "        first = 0 if self.window is None else max(0, T - (self.window - 1))\n"
                    "        cache = *(part[:, :, first:] for part in own), cache[2]"
                ),
            ),
        ),
        explanation=(
            "Only the keys and values of the new tokens are returned, so the older ones are lost "
            "after one call; the cache must hold old and new tokens."
        ),
        question="In the third call, where do the keys of the first token come from?",
    ),
    Misconception(
        id="keeps_the_cache_in_the_module",
        exercise="DecoderAttention",
        swaps=(
            (
                SEEN,
                (
                    "cache = getattr(self, 'kept', None) if cache is None else cache\n"
                    f"        {SEEN}"
                ),
            ),
            (EXTEND, f"{EXTEND}\n        self.kept = cache"),
        ),
        explanation=(
            "The cache stays in the module after the call, so a new text continues the previous "
            "one; a call without a cache must start a new text."
        ),
        question=(
            "Two texts are read by one module. Should the result for the second text depend on the "
            "first text?"
        ),
    ),
    Misconception(
        id="counts_new_tokens_only",
        exercise="DecoderAttention",
        swaps=((RETURN, "return self.out_proj(context), (*cache[:2], T)"),),
        explanation=(
            "The returned seen counts only the new tokens; it must be the number of all tokens "
            "so far."
        ),
        question="What must seen be after a call with 5 tokens and another with 2?",
    ),
    Misconception(
        id="forgets_to_count_the_new_tokens",
        exercise="DecoderAttention",
        swaps=((RETURN, "return self.out_proj(context), (*cache[:2], seen)"),),
        explanation=(
            "The returned seen does not count the new tokens: it is still the value from the "
            "given cache."
        ),
        question="What must seen be after a first call with 5 tokens?",
    ),
    Misconception(
        id="writes_into_the_callers_cache",
        exercise="DecoderAttention",
        swaps=(
            (SEEN, f"{SEEN}\n        given = cache"),
            (
                EXTEND,
                (
                    f"{EXTEND}\n"
                    "        if given is not None and given[0].shape[2]:\n"
                    "            given[0].data[:, :, -1:] = keys[:, :, -1:]\n"
                    "            given[1].data[:, :, -1:] = values[:, :, -1:]"
                ),
            ),
        ),
        explanation=(
            "The new keys and values are written into the cache that the caller passed, but the "
            "caller may need it again; return new tensors."
        ),
        question="If two texts are continued from the same cache, what does the second one read?",
    ),
    Misconception(
        id="calls_ready_made_attention",
        exercise="DecoderAttention",
        swaps=(
            (
                CONTEXT,
                (
                    "context = nn.functional.scaled_dot_product_attention(\n"
                    "            queries, keys, values, attn_mask=visible\n"
                    "        )"
                ),
            ),
        ),
        explanation=(
            "Torch's ready-made attention is called, but in this stage you must write attention "
            "yourself."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
    ),
    Misconception(
        id="loops_over_queries",
        exercise="DecoderAttention",
        swaps=(
            (
                CONTEXT,
                (
                    "context = torch.stack(\n"
                    "            [(w[..., None] * values).sum(2) for w in weights.unbind(2)], 2\n"
                    "        )"
                ),
            ),
        ),
        explanation=(
            "The tokens are processed one after the other, so the number of tensor operations "
            "grows with the length of the text."
        ),
        question="Which of your steps could work on all tokens at once?",
    ),
    Misconception(
        id="shares_heads_in_turn_with_a_cache",
        exercise="DecoderAttention",
        swaps=(
            (SHARED_KEYS, "keys = keys.repeat(1, H // G, 1, 1)"),
            (SHARED_VALUES, "values = values.repeat(1, H // G, 1, 1)"),
        ),
        explanation=(
            "Query head h gets key-value head h % G; it must be h // (H/G), so that neighboring "
            "query heads share a head."
        ),
        question=(
            "With 6 query heads and 2 key-value heads, which head must query heads 0, 1, 2 share?"
        ),
    ),
    Misconception(
        id="shares_values_in_another_order",
        exercise="DecoderAttention",
        swaps=((SHARED_VALUES, "values = values.repeat(1, H // G, 1, 1)"),),
        explanation=(
            "The values are not repeated in the order of the keys: query head h gets the values of "
            "head h % G, but its keys are those of head h // (H/G)."
        ),
        question="Which value head belongs to query head 1?",
    ),
    Misconception(
        id="caches_heads_after_repeating_them",
        exercise="DecoderAttention",
        swaps=(
            (f"        {SHARED_KEYS}  # (B, H, C + T, d)\n        {SHARED_VALUES}\n", ""),
            (
                EXTEND,
                (
                    "first = 0 if self.window is None else self.window - 1\n"
                    f"        {EXTEND.replace(', self.window', '')}\n"
                    f"        {SHARED_KEYS}\n"
                    f"        {SHARED_VALUES}\n"
                    "        cut = max(0, keys.shape[2] - first) if self.window else 0\n"
                    "        cache = keys[:, :, cut:], values[:, :, cut:], seen + T"
                ),
            ),
        ),
        explanation=(
            "The keys and values in the cache are already repeated, so the cache has H heads, and "
            "new keys don't fit; the cache must hold only the G heads."
        ),
        question="How many heads do the keys in the cache need, H or G?",
    ),
    Misconception(
        id="repeats_each_head_of_the_cache_g_times",
        exercise="DecoderAttention",
        when=("repeats",),
        swaps=(
            (SHARED_KEYS, "keys = keys.repeat_interleave(G, dim=1)"),
            (SHARED_VALUES, "values = values.repeat_interleave(G, dim=1)"),
        ),
        explanation="Each key-value head is repeated G times; it must be repeated H/G times.",
        question=(
            "With 6 query heads and 2 key-value heads, how many query heads share one of them?"
        ),
    ),
    Misconception(
        id="multiplies_heads_that_are_not_repeated",
        exercise="DecoderAttention",
        when=("multiplies matrices",),
        swaps=((f"        {SHARED_VALUES}\n", ""),),
        explanation=(
            "Keys or values with G heads are multiplied by queries or weights with H heads; both "
            "keys and values must be repeated first."
        ),
        question="How many heads do the weights have, and how many do the values have?",
    ),
)
