"""Wrong answers that the suite of stage 13 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

FREQUENCIES = "frequencies = base ** (-torch.arange(0, d_model, 2) / d_model)"
STACKED = "pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)"
TURNED = "turned = a * cos - b * sin, a * sin + b * cos"
PAIRED = "return torch.stack(turned, dim=-1).flatten(start_dim=-2)"
TURN_QUERIES = "queries = apply_rotary(queries, cos, sin)"
TURN_KEYS = "keys = apply_rotary(keys, cos, sin)"
ANGLES = "cos, sin = rotary_angles(positions, d, self.base)"
SPLIT_QUERIES = "queries = queries.view(B, T, H, d).transpose(1, 2)"
SPLIT_KEYS = "keys = keys.view(B, T, H, d).transpose(1, 2)"
SPLIT_VALUES = "values = values.view(B, T, H, d).transpose(1, 2)"

FROM_ZERO = ("torch.arange(num_keys - num_queries, num_keys)", "torch.arange(num_queries)")
PLUS = ("return -alibi_slopes", "return alibi_slopes")
SLOPES_BY_ONE_RULE = "torch.pow(2, -8 / num_heads * torch.arange(1, num_heads + 1))"

MISCONCEPTIONS = (
    # sinusoidal_positions
    Misconception(
        id="puts_sines_and_cosines_in_two_blocks",
        exercise="sinusoidal_positions",
        swaps=((STACKED, "pairs = torch.stack((angles.sin(), angles.cos()), dim=1)"),),
        explanation=(
            "All sines come first and all cosines after them, but each sine must be followed by "
            "the cosine of the same angle."
        ),
        question="Which two features belong to pair i: i and i + d_model/2, or 2i and 2i + 1?",
    ),
    Misconception(
        id="gives_each_feature_its_own_frequency",
        exercise="sinusoidal_positions",
        swaps=(
            (
                STACKED,
                (
                    "shifted = base ** (-torch.arange(1, d_model, 2) / d_model)\n"
                    "    cosines = (positions[:, None] * shifted).cos()\n"
                    "    pairs = torch.stack((angles.sin(), cosines), dim=-1)"
                ),
            ),
        ),
        explanation=(
            "The sine and the cosine of a pair have different frequencies; they must have the same "
            "one."
        ),
        question="What is 2i for features 0 and 1, and what is it for features 2 and 3?",
    ),
    Misconception(
        id="multiplies_by_the_power_of_the_base",
        exercise="sinusoidal_positions",
        swaps=((FREQUENCIES, "frequencies = base ** (torch.arange(0, d_model, 2) / d_model)"),),
        explanation=(
            "The frequencies grow from pair to pair: the positions are multiplied by base^(2i / "
            "d_model), but they must be divided by it."
        ),
        question="Which pair should rotate slowest, the first or the last?",
    ),
    Misconception(
        id="doubles_the_exponents",
        exercise="sinusoidal_positions",
        swaps=((FREQUENCIES, FREQUENCIES.replace("-torch", "-2 * torch")),),
        explanation=(
            "The exponents are twice as large as they must be: the numbers of the even features "
            "already count in steps of two."
        ),
        question="Which exponent of the base do features 2 and 3 have if d_model is 8?",
    ),
    Misconception(
        id="doubles_the_numbers_of_the_features",
        exercise="sinusoidal_positions",
        swaps=(
            (FREQUENCIES, FREQUENCIES.replace("-torch", "-2 * torch")),
            (
                STACKED,
                (
                    "shifted = base ** (-2 * torch.arange(1, d_model, 2) / d_model)\n"
                    "    cosines = (positions[:, None] * shifted).cos()\n"
                    "    pairs = torch.stack((angles.sin(), cosines), dim=-1)"
                ),
            ),
        ),
        explanation=(
            "The exponents are twice the numbers of the features. These numbers already count in "
            "steps of two, and both features of a pair need the exponent of the even one."
        ),
        question="Which exponents of the base do features 2 and 3 have if d_model is 8?",
    ),
    Misconception(
        id="spreads_the_exponents_up_to_one",
        exercise="sinusoidal_positions",
        swaps=((FREQUENCIES, "frequencies = base ** -torch.linspace(0, 1, d_model // 2)"),),
        explanation="The exponents are spread evenly from 0 to 1; the last one must be below 1.",
        question="If d_model is 4, what is 2i / d_model for the last pair?",
    ),
    # rotary_angles
    Misconception(
        id="multiplies_angles_by_the_power_of_the_base",
        exercise="rotary_angles",
        swaps=((" ** (-torch.arange(0, d, 2) / d)", " ** (torch.arange(0, d, 2) / d)"),),
        explanation=(
            "The frequencies grow from pair to pair: the positions are multiplied by base^(2i / "
            "d), but they must be divided by it."
        ),
        question="Which pair should rotate slowest, the first or the last?",
    ),
    Misconception(
        id="repeats_the_angles_for_both_features",
        exercise="rotary_angles",
        swaps=(
            (
                "return angles.cos(), angles.sin()",
                (
                    "angles = torch.cat((angles, angles), dim=-1)\n"
                    "    return angles.cos(), angles.sin()"
                ),
            ),
        ),
        explanation=(
            "There are d angles for each position, but the two features of a pair share one "
            "angle: (T, d/2)."
        ),
        question="How many pairs does a vector with d features have?",
    ),
    Misconception(
        id="repeats_each_angle_for_its_pair",
        exercise="rotary_angles",
        swaps=(
            (
                "return angles.cos(), angles.sin()",
                (
                    "angles = angles.repeat_interleave(2, dim=-1)\n"
                    "    return angles.cos(), angles.sin()"
                ),
            ),
        ),
        explanation=(
            "Each angle is repeated for both features of its pair, but the result must have one "
            "angle per pair: (T, d/2)."
        ),
        question="How many pairs does a vector with d features have?",
    ),
    Misconception(
        id="counts_its_own_positions",
        exercise="rotary_angles",
        swaps=(("positions[:, None]", "torch.arange(len(positions))[:, None]"),),
        explanation=(
            "The positions are counted from 0, but they must be those that the caller passes."
        ),
        question="Which angles should the positions 7, 8 and 9 get?",
    ),
    Misconception(
        id="rounds_the_positions",
        exercise="rotary_angles",
        swaps=(("positions[:, None]", "positions.long()[:, None]"),),
        explanation="The positions become whole numbers, but a position may be any number.",
        question="Between which two angles should the angle of position 0.5 be?",
    ),
    Misconception(
        id="returns_angles_alone",
        exercise="rotary_angles",
        swaps=(("return angles.cos(), angles.sin()", "return angles"),),
        explanation="The angles are returned, but the result must be their cosines and sines.",
        question="What are the two parts of the result?",
    ),
    Misconception(
        id="doubles_the_exponents_of_the_pairs",
        exercise="rotary_angles",
        swaps=(("-torch.arange(0, d, 2) / d", "-2 * torch.arange(0, d, 2) / d"),),
        explanation=(
            "The exponents are twice as large as they must be: the numbers of the even features "
            "already count in steps of two."
        ),
        question="Which exponent of the base does pair 1 have if d is 8?",
    ),
    Misconception(
        id="spreads_the_exponents_of_the_pairs_up_to_one",
        exercise="rotary_angles",
        swaps=(("base ** (-torch.arange(0, d, 2) / d)", "base ** -torch.linspace(0, 1, d // 2)"),),
        explanation="The exponents are spread evenly from 0 to 1; the last one must be below 1.",
        question="If d is 4, what is 2i / d for the last pair?",
    ),
    Misconception(
        id="subtracts_the_first_position",
        exercise="rotary_angles",
        swaps=(("positions[:, None]", "(positions - positions[:1])[:, None]"),),
        explanation=(
            "The first position is subtracted from all, so the angles of the first row are 0; the "
            "angles must belong to the positions as they are."
        ),
        question="Which angles should the positions 7, 8 and 9 get?",
    ),
    # apply_rotary
    Misconception(
        id="mixes_pairs_and_halves",
        exercise="apply_rotary",
        swaps=(
            (
                TURNED,
                (
                    "if not halves:\n"
                    "        one, other = x.chunk(2, dim=-1)\n"
                    "        swapped = torch.cat((-other, one), dim=-1)\n"
                    "        wide = cos.repeat_interleave(2, dim=-1)\n"
                    "        return x * wide + swapped * sin.repeat_interleave(2, dim=-1)\n"
                    "    turned = a * cos - b * sin, a * sin + b * cos"
                ),
            ),
        ),
        explanation=(
            "Angles of neighbours are used for halves: each feature is combined with the one "
            "half a vector away, but the angles are arranged for neighbouring features."
        ),
        question="Which feature is the partner of feature 0, and which angle do the two share?",
    ),
    Misconception(
        id="mixes_halves_and_pairs",
        exercise="apply_rotary",
        swaps=(
            (
                TURNED,
                (
                    "if halves:\n"
                    "        swapped = torch.cat((-b, a), dim=-1)\n"
                    "        wide = cos.repeat_interleave(2, dim=-1)\n"
                    "        return x * wide + swapped * sin.repeat_interleave(2, dim=-1)\n"
                    "    turned = a * cos - b * sin, a * sin + b * cos"
                ),
            ),
        ),
        explanation=(
            "With halves, the angles are arranged for neighbours: each angle is repeated for the "
            "next feature, but features i and i + d/2 must share it."
        ),
        question="Which two features share the angle of column 0 if the pairs are halves?",
    ),
    Misconception(
        id="mixes_halves_and_pairs_always",
        exercise="apply_rotary",
        swaps=(
            (
                TURNED,
                (
                    "one, other = x.chunk(2, dim=-1)\n"
                    "    swapped = torch.cat((-other, one), dim=-1)\n"
                    "    wide = cos.repeat_interleave(2, dim=-1)\n"
                    "    return x * wide + swapped * sin.repeat_interleave(2, dim=-1)\n"
                    "    turned = a * cos - b * sin, a * sin + b * cos"
                ),
            ),
        ),
        explanation=(
            "Both layouts use the angles of neighbours for halves: each feature is combined with "
            "the one half a vector away, but the angles are arranged for neighbouring features."
        ),
        question="Which feature is the partner of feature 0, and which angle do the two share?",
    ),
    Misconception(
        id="turns_the_other_way",
        exercise="apply_rotary",
        swaps=((TURNED, "turned = a * cos + b * sin, b * cos - a * sin"),),
        explanation="Each pair is rotated by minus its angle: both sines have the opposite sign.",
        question="Where does the point (1, 0) go if it is rotated by a quarter turn?",
    ),
    Misconception(
        id="puts_pairs_back_as_halves",
        exercise="apply_rotary",
        swaps=((PAIRED, "return torch.cat(turned, dim=-1)"),),
        explanation=(
            "Neighbouring pairs are rotated and then put back as halves; each feature must "
            "return to its own position in the vector."
        ),
        question="Which two features of x form a pair, and where must each of them return?",
    ),
    Misconception(
        id="puts_halves_back_as_pairs",
        exercise="apply_rotary",
        swaps=(("    if halves:\n        return torch.cat(turned, dim=-1)  # (…, T, d)\n", ""),),
        explanation=(
            "Halves are rotated and then put back as neighbouring pairs; each feature must return "
            "to its own position in the vector."
        ),
        question="Which two features of x form a pair if `halves` is True?",
    ),
    Misconception(
        id="turns_with_a_feature_that_was_turned",
        exercise="apply_rotary",
        swaps=(
            (
                TURNED,
                "first = a * cos - b * sin\n    turned = first, first * sin + b * cos",
            ),
        ),
        explanation=(
            "The second feature is computed from the rotated first one; both must come from the "
            "old pair."
        ),
        question="Which a belongs in a sin + b cos, the old one or the new one?",
    ),
    Misconception(
        id="turns_one_feature_of_two",
        exercise="apply_rotary",
        swaps=((TURNED, "turned = a * cos - b * sin, b"),),
        title="Only the first feature of each pair is rotated",
        explanation="Only the first feature of each pair is rotated; the second stays as it was.",
        question="How many coordinates of the point (a, b) change when it is rotated?",
    ),
    Misconception(
        id="turns_its_argument_in_place",
        exercise="apply_rotary",
        swaps=(
            (
                TURNED,
                (
                    "turned = a * cos - b * sin, a * sin + b * cos\n"
                    "    a.data.copy_(turned[0])\n"
                    "    b.data.copy_(turned[1])"
                ),
            ),
        ),
        explanation="The rotated features are written into the tensor that the caller passed.",
        question="Is x[..., 0::2] a new tensor, or a view of the caller's?",
    ),
    Misconception(
        id="turns_token_by_token",
        exercise="apply_rotary",
        swaps=(
            (
                TURNED,
                (
                    "turned = (\n"
                    "        torch.stack([a[..., t, :] * cos[t] - b[..., t, :] * sin[t] "
                    "for t in range(x.shape[-2])], -2),\n"
                    "        torch.stack([a[..., t, :] * sin[t] + b[..., t, :] * cos[t] "
                    "for t in range(x.shape[-2])], -2),\n"
                    "    )"
                ),
            ),
        ),
        explanation=(
            "Each token is rotated separately, so the number of tensor operations grows with the "
            "length of the text."
        ),
        question="How does broadcasting align (…, T, d/2) with (T, d/2)?",
    ),
    Misconception(
        id="turns_detached_numbers",
        exercise="apply_rotary",
        swaps=((TURNED, f"a, b = a.detach(), b.detach()\n    {TURNED}"),),
        explanation="The features are detached from the graph, so no gradient reaches x.",
        question="Which of your steps returns numbers that no longer depend on x?",
    ),
    Misconception(
        id="exchanges_the_layouts",
        exercise="apply_rotary",
        swaps=(
            ("if halves:\n        a, b", "if not halves:\n        a, b"),
            ("if halves:\n        return", "if not halves:\n        return"),
        ),
        explanation=(
            "The two layouts are swapped: neighbors are paired if halves is true, and features i "
            "and i + d/2 are paired otherwise."
        ),
        question="Which feature is the partner of feature 0 if halves is false?",
    ),
    Misconception(
        id="turns_halves_the_other_way",
        exercise="apply_rotary",
        swaps=((TURNED, f"sin = -sin if halves else sin\n    {TURNED}"),),
        explanation=(
            "Pairs of features i and i + d/2 are rotated by minus their angle: both sines have the "
            "opposite sign."
        ),
        question="What becomes of the pair (1, 0) at a small angle, with halves and without?",
    ),
    Misconception(
        id="repeats_the_angles_side_by_side_for_neighbours",
        exercise="apply_rotary",
        swaps=(
            (
                TURNED,
                (
                    "if not halves:\n"
                    "        wide = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)\n"
                    "        (cos, more), (sin, most) = ((one[..., ::2], one[..., 1::2]) "
                    "for one in wide)\n"
                    "        return torch.stack((a * cos - b * sin, a * most + b * more), "
                    "dim=-1).flatten(-2)\n"
                    "    turned = a * cos - b * sin, a * sin + b * cos"
                ),
            ),
        ),
        explanation=(
            "Neighbouring features are paired, but the angles are arranged for halves: the two "
            "features of a pair get the angles of different pairs."
        ),
        question="Which angle do features 2 and 3 need, if d is 8 and they are one pair?",
        when=("repeats",),
    ),
    # alibi_slopes
    Misconception(
        id="halves_slopes_for_any_number_of_heads",
        exercise="alibi_slopes",
        swaps=(
            (
                "return torch.tensor(slopes + between[: num_heads - P])",
                "return torch.tensor([2.0 ** -(h + 1) for h in range(num_heads)])",
            ),
        ),
        explanation=(
            "Each slope is half the one before, for any number of heads; this is right for 8 "
            "heads only."
        ),
        question="Which slope does the last of 4 heads have, and which does the last of 16?",
    ),
    Misconception(
        id="uses_one_formula_for_all_numbers_of_heads",
        exercise="alibi_slopes",
        when=("multiplies | divides",),
        swaps=(
            (
                "return torch.tensor(slopes + between[: num_heads - P])",
                (
                    "return torch.tensor("
                    "[2 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)])"
                ),
            ),
        ),
        explanation=(
            "The rule for powers of 2 is used for every number of heads; other numbers have a "
            "rule with two parts."
        ),
        question="What are the first 8 slopes of 12 heads?",
    ),
    Misconception(
        id="sorts_the_slopes",
        exercise="alibi_slopes",
        swaps=(
            (
                "slopes + between[: num_heads - P]",
                "sorted(slopes + between[: num_heads - P], reverse=True)",
            ),
        ),
        explanation=(
            "The slopes are sorted by size; the slopes for P heads must come first, and the "
            "others after them."
        ),
        question="Which slope does head P get, the first head after the first P heads?",
    ),
    Misconception(
        id="takes_the_even_slopes_between",
        exercise="alibi_slopes",
        when=("multiplies | divides",),
        swaps=(("for h in range(0, 2 * P, 2)", "for h in range(1, 2 * P, 2)"),),
        title="The second, fourth, … of the slopes for 2P heads are taken",
        explanation=(
            "The second, fourth, … of the slopes for 2P heads are taken, but those are the "
            "slopes for P heads again; the first, third, … must be taken."
        ),
        question="Which slope does head P get, the first head after the first P heads?",
    ),
    Misconception(
        id="starts_with_a_slope_of_one",
        exercise="alibi_slopes",
        when=("multiplies | divides",),
        swaps=(("2 ** (-8 * (h + 1) / P)", "2 ** (-8 * h / P)"),),
        explanation="The exponents of the slopes start at 0, so the first slope is 1.",
        question="With 8 heads, which slope does the docstring give head 0?",
    ),
    Misconception(
        id="takes_neighboring_slopes_between",
        exercise="alibi_slopes",
        when=("multiplies | divides",),
        swaps=(("for h in range(0, 2 * P, 2)", "for h in range(2 * P)"),),
        explanation=(
            "The other heads get the first slopes for 2P heads in a row, but they must get every "
            "second one."
        ),
        question="Which slopes for 8 heads do heads 4 and 5 of 6 have?",
    ),
    Misconception(
        id="starts_both_lists_with_a_slope_of_one",
        exercise="alibi_slopes",
        when=("multiplies | divides",),
        swaps=(("(-8 * (h + 1) / P)", "(-8 * h / P)"), ("(h + 1) / (2 * P)", "h / (2 * P)")),
        explanation="For P and for 2P heads, the exponents start at 0, so the first slope is 1.",
        question="With 8 heads, which slope does the docstring give head 0?",
    ),
    Misconception(
        id="takes_the_power_of_two_above",
        exercise="alibi_slopes",
        when=("multiplies | divides",),
        swaps=(
            ("(num_heads.bit_length() - 1)", "(num_heads - 1).bit_length()"),
            ("slopes + between[: num_heads - P]", "(slopes + between)[:num_heads]"),
        ),
        explanation=(
            "For some numbers of heads, such as 6, P is the power of 2 above; it must be the one "
            "below."
        ),
        question="What is P for 6 heads?",
    ),
    Misconception(
        id="uses_one_formula_for_the_slopes_of_the_bias",
        exercise="alibi_bias",
        swaps=(("alibi_slopes(num_heads)", SLOPES_BY_ONE_RULE),),
        title="The slopes follow the rule for powers of 2 for every number of heads",
        explanation=(
            "The slopes follow the rule for powers of 2 for every number of heads; the slopes of "
            "other numbers of heads must be those of alibi_slopes."
        ),
        question="What are the first 8 slopes of 14 heads?",
    ),
    Misconception(
        id="uses_one_formula_for_the_slopes_of_a_bias_of_zeros",
        exercise="alibi_bias",
        swaps=(
            ("alibi_slopes(num_heads)", SLOPES_BY_ONE_RULE),
            ("queries[:, None] - keys", "(queries[:, None] - keys).clamp(min=0)"),
        ),
        title="For every number of heads, the slopes follow the rule for powers of 2",
        explanation=(
            "For every number of heads, the slopes follow the rule for powers of 2; the slopes of "
            "other numbers of heads must be those of alibi_slopes."
        ),
        question="What are the first 8 slopes of 14 heads?",
    ),
    Misconception(
        id="puts_the_first_query_at_the_first_key",
        exercise="alibi_bias",
        swaps=(("torch.arange(num_keys - num_queries, num_keys)", "torch.arange(num_queries)"),),
        explanation=(
            "The first query is put at the first key, but the last query must be at the last key."
        ),
        question="With a single query and three keys, at which position is the query?",
    ),
    Misconception(
        id="takes_absolute_distances_from_the_first_key",
        exercise="alibi_bias",
        swaps=(
            ("torch.arange(num_keys - num_queries, num_keys)", "torch.arange(num_queries)"),
            ("queries[:, None] - keys", "(queries[:, None] - keys).abs()"),
        ),
        title="Distances have no sign, and the first query is put at the first key",
        explanation=(
            "Distances have no sign, and the first query is put at the first key; the last query "
            "must be at the last key."
        ),
        question="With a single query and three keys, at which position is the query?",
    ),
    *(
        Misconception(
            id=name,
            exercise="alibi_bias",
            swaps=(
                ("queries[:, None] - keys", "(queries[:, None] - keys).clamp(min=0)"),
                *swaps,
            ),
            explanation=explanation,
            question=(
                "Which bias do one query and the first of three keys get, and which the last key?"
            ),
        )
        for name, swaps, explanation in (
            (
                "adds_clamped_distances",
                (PLUS,),
                "The minus is missing: the bias grows with the distance, and it must fall.",
            ),
            (
                "clamps_distances_from_the_first_key",
                (FROM_ZERO,),
                (
                    "The positions of the queries count from 0; the last query must be at the "
                    "position of the last key."
                ),
            ),
            (
                "adds_clamped_distances_from_the_first_key",
                (FROM_ZERO, PLUS),
                (
                    "The minus is missing, and the first query is at the first key; the bias must "
                    "fall with the distance, and the last query must be at the last key."
                ),
            ),
        )
    ),
    Misconception(
        id="adds_distances_from_the_first_key",
        exercise="alibi_bias",
        swaps=(FROM_ZERO, PLUS),
        explanation=(
            "The bias lacks the minus, and the first query is put at the first key; the bias must "
            "fall with the distance, and the last query must be at the last key."
        ),
        question="Which bias do one query and the first of three keys get, and which the last key?",
    ),
    Misconception(
        id="measures_from_the_start_of_the_text",
        exercise="alibi_bias",
        swaps=(("queries[:, None] - keys", "keys.expand(num_queries, num_keys)"),),
        explanation=(
            "The distance is measured from the start of the text, but it must be measured from "
            "each query back to the key."
        ),
        question=(
            "Which key should have a bias of 0: the first one, or the one at the position of the "
            "query?"
        ),
    ),
    Misconception(
        id="measures_from_the_last_key",
        exercise="alibi_bias",
        swaps=(("queries[:, None] - keys", "(num_keys - 1 - keys).expand(num_queries, -1)"),),
        explanation=(
            "The distance of every query is measured from the last key, but each query has its "
            "own position."
        ),
        question="What is the bias of a query and the key at its own position?",
    ),
    Misconception(
        id="adds_the_distance",
        exercise="alibi_bias",
        swaps=(("return -alibi_slopes", "return alibi_slopes"),),
        explanation=(
            "The bias is positive, so scores grow with the distance; it must be minus the slope "
            "times the distance."
        ),
        question="Which key should get the larger score, a near one or a far one?",
    ),
    Misconception(
        id="counts_distances_from_one",
        exercise="alibi_bias",
        swaps=(("queries[:, None] - keys", "queries[:, None] - keys + 1"),),
        explanation="Each distance is too large by one.",
        question="What is the distance of a query from the key at its own position?",
    ),
    Misconception(
        id="counts_distances_from_minus_one",
        exercise="alibi_bias",
        swaps=(("queries[:, None] - keys", "queries[:, None] - keys - 1"),),
        explanation="Each distance is too small by one.",
        question="What is the distance of a query from the key at its own position?",
    ),
    Misconception(
        id="divides_distances_by_the_keys",
        exercise="alibi_bias",
        swaps=(("queries[:, None] - keys", "(queries[:, None] - keys) / num_keys"),),
        explanation="The distances, or the slopes, are divided by the number of keys.",
        question="Does a distance change if there are more keys before it?",
    ),
    Misconception(
        id="puts_the_heads_last",
        exercise="alibi_bias",
        swaps=(
            (
                "-alibi_slopes(num_heads)[:, None, None] * distances",
                "-alibi_slopes(num_heads) * distances[..., None]",
            ),
        ),
        explanation="The axis of the heads comes last, but it must come first: (H, Tq, Tk).",
        question="With which axes of the scores (B, H, Tq, Tk) must the bias be aligned?",
    ),
    # RotaryAttention
    Misconception(
        id="turns_values_too",
        exercise="RotaryAttention",
        swaps=((TURN_KEYS, f"{TURN_KEYS}\n        values = apply_rotary(values, cos, sin)"),),
        explanation=(
            "The values are rotated as well, so the result depends on the position and not only "
            "on distances."
        ),
        question="Which two tensors does a score compare, and does the third one need a position?",
    ),
    Misconception(
        id="turns_keys_only",
        exercise="RotaryAttention",
        swaps=((f"        {TURN_QUERIES}\n", ""),),
        explanation=(
            "The keys are rotated and the queries are not, so a score depends on the position of "
            "the key and not on the distance; both must be rotated."
        ),
        question="By how much do the angles of a query and a key at the same position differ?",
    ),
    Misconception(
        id="turns_values_in_place_of_keys",
        exercise="RotaryAttention",
        swaps=((TURN_KEYS, TURN_KEYS.replace("keys", "values")),),
        explanation=(
            "The queries and the values are rotated, but the keys are not; scores depend on "
            "distances only if queries and keys are rotated."
        ),
        question="Which two of the three are compared by a score?",
    ),
    Misconception(
        id="turns_before_the_split",
        exercise="RotaryAttention",
        swaps=(
            (f"        {TURN_QUERIES}\n        {TURN_KEYS}\n", ""),
            (
                SPLIT_QUERIES,
                (
                    "positions = torch.arange(offset, offset + T)\n"
                    "        cos, sin = rotary_angles(positions, H * d, self.base)\n"
                    "        queries = apply_rotary(queries, cos, sin)\n"
                    "        keys = apply_rotary(keys, cos, sin)\n"
                    f"        {SPLIT_QUERIES}"
                ),
            ),
        ),
        explanation=(
            "Queries and keys are rotated before they are split, so the heads have different "
            "frequencies; all heads must have the same."
        ),
        question="Which frequency should the first pair of the second head have?",
    ),
    Misconception(
        id="moves_queries_alone",
        exercise="RotaryAttention",
        swaps=(
            (
                TURN_KEYS,
                (f"cos, sin = rotary_angles(torch.arange(T), d, self.base)\n        {TURN_KEYS}"),
            ),
        ),
        explanation=(
            "The offset is added to the positions of the queries only, so all distances change "
            "with it; it must also be added to the positions of the keys."
        ),
        question="What is the distance of a token from itself, at any offset?",
    ),
    Misconception(
        id="moves_keys_alone",
        exercise="RotaryAttention",
        swaps=(
            (
                TURN_QUERIES,
                "queries = apply_rotary(queries, *rotary_angles(torch.arange(T), d, self.base))",
            ),
        ),
        explanation=(
            "The offset is added to the positions of the keys only, so all distances change with "
            "it; it must also be added to the positions of the queries."
        ),
        question="What is the distance of a token from itself, at any offset?",
    ),
    Misconception(
        id="turns_halves_of_a_head",
        exercise="RotaryAttention",
        swaps=(
            (TURN_QUERIES, "queries = apply_rotary(queries, cos, sin, halves=True)"),
            (TURN_KEYS, "keys = apply_rotary(keys, cos, sin, halves=True)"),
        ),
        explanation=(
            "Features i and i + d/2 are rotated as a pair, but this exercise pairs neighbours: "
            "2i and 2i + 1."
        ),
        question="Which feature is the partner of feature 0 in this exercise?",
    ),
    Misconception(
        id="takes_the_frequencies_of_all_features",
        exercise="RotaryAttention",
        swaps=(
            (
                ANGLES,
                (
                    "cos, sin = rotary_angles(positions, H * d, self.base)\n"
                    "        cos, sin = cos[:, : d // 2], sin[:, : d // 2]"
                ),
            ),
        ),
        explanation=(
            "The frequencies are computed for d_out features, and each head uses the first of "
            "them; they must be computed for the d features of a head."
        ),
        question="How many pairs does one head have, and which frequency should the last one have?",
    ),
    Misconception(
        id="turns_each_head_by_another_angle",
        exercise="RotaryAttention",
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, T, H, d)"),
            (SPLIT_KEYS, "keys = keys.view(B, T, H, d)"),
            ("torch.arange(offset, offset + T)", "torch.arange(offset, offset + H)"),
            (
                TURN_KEYS,
                (
                    f"{TURN_KEYS}\n"
                    "        queries, keys = queries.transpose(1, 2), keys.transpose(1, 2)"
                ),
            ),
        ),
        explanation=(
            "The angles depend on the head, not on the token: when queries and keys are rotated, "
            "the axis before the last one counts heads, but it must count tokens."
        ),
        question="Which axis of (B, T, H, d) does broadcasting align with the rows of cos?",
    ),
    Misconception(
        id="limits_the_positions",
        exercise="RotaryAttention",
        swaps=(("if self.context_length < T:", "if self.context_length < offset + T:"),),
        explanation=(
            "Positions above context_length raise an error, but only the number of tokens in a "
            "call is limited."
        ),
        question="Which of T and offset + T does the docstring limit?",
    ),
    Misconception(
        id="calls_ready_made_attention",
        exercise="RotaryAttention",
        swaps=(
            (
                "context = weights @ values",
                (
                    "context = nn.functional.scaled_dot_product_attention(\n"
                    "            queries, keys, values, is_causal=True\n        )"
                ),
            ),
        ),
        explanation=(
            "Torch's ready-made attention computes the context vectors, but you must compute them "
            "yourself."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
    ),
    Misconception(
        id="loops_over_queries",
        exercise="RotaryAttention",
        swaps=(
            (
                "context = weights @ values",
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
        id="merges_without_transposing",
        exercise="RotaryAttention",
        swaps=(("context.transpose(1, 2).reshape(B, T, H * d)", "context.reshape(B, T, H * d)"),),
        explanation=(
            "The heads are reshaped to (B, T, d_out) without swapping axes first, so a token "
            "gets numbers from other tokens."
        ),
        question="Which two axes must be neighbours before they can become one?",
    ),
    Misconception(
        id="turns_queries_alone",
        exercise="RotaryAttention",
        swaps=((f"        {TURN_KEYS}\n", ""),),
        explanation=(
            "The queries are rotated, but the keys are not, so the scores depend on positions and "
            "not only on distances."
        ),
        question=(
            "By which angle must a key be rotated if the token is at the position of the query?"
        ),
    ),
    Misconception(
        id="turns_keys_the_other_way",
        exercise="RotaryAttention",
        swaps=((TURN_KEYS, "keys = apply_rotary(keys, cos, -sin)"),),
        explanation=(
            "The keys are rotated in the opposite direction to the queries, so the scores depend "
            "on the sum of two positions and not on their distance."
        ),
        question="What is left of the two angles if query and key are at the same position?",
    ),
    Misconception(
        id="turns_by_a_fixed_base",
        exercise="RotaryAttention",
        swaps=(("rotary_angles(positions, d, self.base)", "rotary_angles(positions, d)"),),
        explanation=(
            "The base that the constructor gets has no effect on the angles: they are always "
            "those of the base 10000."
        ),
        question="Which step of forward needs the base?",
    ),
    Misconception(
        id="turns_before_tokens_and_heads_are_swapped",
        exercise="RotaryAttention",
        when=("swaps axes",),
        swaps=(
            (SPLIT_QUERIES, "queries = queries.view(B, T, H, d)"),
            (SPLIT_KEYS, "keys = keys.view(B, T, H, d)"),
            (
                TURN_KEYS,
                (
                    f"{TURN_KEYS}\n"
                    "        queries, keys = queries.transpose(1, 2), keys.transpose(1, 2)"
                ),
            ),
        ),
        explanation=(
            "Queries and keys are rotated while their axes are (B, T, H, d), so the rows of the "
            "angles are aligned with the heads and not with the tokens."
        ),
        question="Which axis comes before the features of a query when it is rotated?",
    ),
)
