"""Wrong answers that the suite of stage 20 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

RECORD = "record_activations"
PATCH = "run_with_patches"
MAP = "patching_map"
WITH_HOOKS = ("calls register_forward_hook | calls register_module_forward_hook",)
PROTECTED = """    finally:
        for hook in hooks:
            hook.remove()
"""
BY_NAMES = """    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
"""
BY_THE_LOOP = """    hooks = []
    for name in names:
        def record(_module, _given, made):
            activations[name] = made

        hooks.append(modules[name].register_forward_hook(record))
"""
BY_PATCHES = """    def replacer(patch):
        def replace(_module, _given, made):
            if patch.shape != made.shape:
                raise ValueError(f"{tuple(patch.shape)} cannot replace {tuple(made.shape)}")
            return patch

        return replace

    hooks = [
        modules[name].register_forward_hook(replacer(patch)) for name, patch in patches.items()
    ]
"""
BY_THE_LOOP_OF_PATCHES = """    hooks = []
    for name, patch in patches.items():
        def replace(_module, _given, made):
            if patch.shape != made.shape:
                raise ValueError("another shape")
            return patch

        hooks.append(modules[name].register_forward_hook(replace))
"""
IN_A_NEW_PATCH = """            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
"""
IN_THE_SAME_PATCH = """            patch = corrupted_activations[name].clone()
            for position in range(clean.shape[1]):
"""
IN_CALLER = "ablated[:, :, head].mean(dim=0) if mean else 0.0"


def in_both(name, swaps, **sentences):
    """Make the same mistake in both exercises that register hooks."""
    return [
        Misconception(id=f"{name}_{where}", exercise=exercise, swaps=swaps[exercise], **sentences)
        for where, exercise in (("in_recording", RECORD), ("in_patching", PATCH))
        if exercise in swaps
    ]


MISCONCEPTIONS = (
    *in_both(
        "leaves_the_hooks",
        {
            RECORD: ((PROTECTED, "    finally:\n        pass\n"),),
            PATCH: ((PROTECTED, "    finally:\n        pass\n"),),
        },
        when=(*WITH_HOOKS, "no calls remove"),
        explanation=(
            "The hooks are never removed, so those of earlier calls are still in the model and run "
            "in later calls."
        ),
        title="The hooks are never removed",
        question="How many hooks does the model have after three calls of your function?",
    ),
    *in_both(
        "leaves_the_hooks_after_an_error",
        {
            RECORD: (
                ("    try:\n", "    if True:\n"),
                (PROTECTED, PROTECTED.replace("finally", "if True")),
            ),
            PATCH: (
                ("    try:\n", "    if True:\n"),
                ("        return model(inputs)\n", "        output = model(inputs)\n"),
                (
                    PROTECTED,
                    PROTECTED.replace("finally", "if True") + "    return output\n",
                ),
            ),
        },
        when=(*WITH_HOOKS, "calls remove"),
        explanation=(
            "The hooks are removed only if the call raises no error; after an error they stay in "
            "the model."
        ),
        question="Which block of Python runs whether or not an error was raised?",
    ),
    *in_both(
        "reads_the_variable_of_the_loop",
        {RECORD: ((BY_NAMES, BY_THE_LOOP),)},
        when=WITH_HOOKS,
        explanation=(
            "All activations are stored under one name: when the hooks run, the loop is over, and "
            "its variable holds the last name."
        ),
        title="All activations are stored under one name",
        question="Which value does the variable of your loop have when the model runs?",
    ),
    Misconception(
        id="gives_all_modules_the_last_patch",
        exercise=PATCH,
        when=WITH_HOOKS,
        swaps=((BY_PATCHES, BY_THE_LOOP_OF_PATCHES),),
        explanation=(
            "Every hook returns the last patch: when the hooks run, the loop is over, and its "
            "variable holds the last one."
        ),
        title="Every hook returns the last patch",
        question="Which value does the variable of your loop have when the model runs?",
    ),
    Misconception(
        id="stores_the_inputs",
        exercise=RECORD,
        swaps=(("activations[name] = made", "activations[name] = _given[0]"),),
        explanation="The input of each module is stored; its output must be stored.",
        question="Which of the three arguments of a forward hook is the output of the module?",
    ),
    Misconception(
        id="cuts_the_activations_from_the_graph",
        exercise=RECORD,
        when=("detaches | calls no_grad | calls inference_mode",),
        swaps=(("activations[name] = made", "activations[name] = made.detach()"),),
        explanation=(
            "The activations are cut from the graph of the output, but they must stay in it."
        ),
        title="The activations are cut from the graph",
        question="Which step takes tensors out of torch's graph?",
    ),
    Misconception(
        id="calls_the_model_twice",
        exercise=RECORD,
        swaps=(("output = model(inputs)", "model(inputs); output = model(inputs)"),),
        explanation="The model is called twice; one call must give the output and all activations.",
        title="The model is called twice",
        question="How often does your code call the model, and which call runs your hooks?",
    ),
    Misconception(
        id="runs_each_module_on_the_inputs",
        exercise=RECORD,
        code="""
            def record_activations(model, inputs, names):
                modules = dict(model.named_modules())
                if unknown := [name for name in names if name not in modules]:
                    raise ValueError(f"the model has no modules named {unknown}")
                return model(inputs), {name: modules[name](inputs) for name in names}
        """,
        when=("no calls register_forward_hook",),
        explanation=(
            "Each module is called on the inputs of the model; it must run where it is in the "
            "model, on what the modules before it return."
        ),
        title="Each module is called on the inputs of the model",
        question="What is the input of the third module of a model?",
    ),
    *in_both(
        "uses_a_ready_tool",
        {
            RECORD: (("activations = {}", "graph, activations = torch.fx.Graph(), {}"),),
            PATCH: (("    def replacer", "    graph = torch.fx.Graph()\n\n    def replacer"),),
        },
        when=("reads fx",),
        explanation=(
            "The code uses `torch.fx`, a ready-made tool that looks inside models; this stage asks "
            "for your own hooks."
        ),
        question="Which method of a module registers a function that gets its output?",
    ),
    Misconception(
        id="records_all_modules",
        exercise=RECORD,
        swaps=(
            (
                "for name in names]\n    try:",
                "for name in modules]\n    try:",
            ),
        ),
        explanation=(
            "The activations of all modules are returned; the dictionary must hold those of the "
            "given names alone."
        ),
        title="The activations of all modules are returned",
        question="How many entries does the dictionary have for a single name?",
    ),
    # run_with_patches
    Misconception(
        id="returns_nothing_from_the_hook",
        exercise=PATCH,
        when=WITH_HOOKS,
        swaps=(("            return patch\n", "            made = patch\n"),),
        explanation=(
            "The hook does not return the patch, so the module's own output passes on, and the "
            "patches have no effect."
        ),
        title="The hook does not return the patch",
        question="What happens to the output of a module if its hook returns None?",
    ),
    Misconception(
        id="uses_the_first_patch_only",
        exercise=PATCH,
        swaps=(("in patches.items()\n    ]", "in list(patches.items())[:1]\n    ]"),),
        explanation="Only the first of the patches is used; all of them must be.",
        question="Which modules have hooks when the model runs?",
    ),
    Misconception(
        id="adds_the_patch",
        exercise=PATCH,
        when=("adds",),
        swaps=(("            return patch\n", "            return made + patch\n"),),
        explanation="The patch is added to the output of the module; it must replace it.",
        question="What is the activation of a module whose patch is full of zeros?",
    ),
    Misconception(
        id="replaces_the_inputs",
        exercise=PATCH,
        when=("calls register_forward_pre_hook",),
        code="""
            def run_with_patches(model, inputs, patches):
                modules = dict(model.named_modules())
                if unknown := [name for name in patches if name not in modules]:
                    raise ValueError(f"the model has no modules named {unknown}")
                hooks = []

                def replacer(patch):
                    return lambda module, given: patch

                try:
                    for name, patch in patches.items():
                        hooks.append(modules[name].register_forward_pre_hook(replacer(patch)))
                    return model(inputs)
                finally:
                    for hook in hooks:
                        hook.remove()
        """,
        explanation="The patch replaces the input of the module; it must replace its output.",
        question="Does a forward pre-hook run before its module, or after it?",
    ),
    Misconception(
        id="replaces_inputs_of_the_same_shape",
        exercise=PATCH,
        when=("calls register_forward_pre_hook",),
        swaps=(
            ("(_module, _given, made):", "(_module, _given, made=None):"),
            ("if patch.shape != made", "made = _given[0]\n            if patch.shape != made"),
            ("modules[name].register_forward_hook", "modules[name].register_forward_pre_hook"),
        ),
        explanation=(
            "The patch replaces the input of the module, and its shape is compared with that of "
            "the input; it must be the output."
        ),
        question="Does a forward pre-hook run before its module, or after it?",
    ),
    # induction_pattern
    Misconception(
        id="marks_the_earlier_copy",
        exercise="induction_pattern",
        swaps=(("torch.cat((none, earlier[..., :-1]), dim=-1)", "earlier"),),
        explanation=(
            "The pattern marks the earlier copy of the token; it must mark the token after that "
            "copy."
        ),
        title="The pattern marks the earlier copy of the token",
        question=(
            "The letter c comes again. Which letter must the model read: the earlier c, or the one "
            "after it?"
        ),
    ),
    Misconception(
        id="marks_the_token_before_the_copy",
        exercise="induction_pattern",
        swaps=(
            ("earlier[..., :1]", "earlier[..., -1:]"),
            ("(none, earlier[..., :-1])", "(earlier[..., 1:], none)"),
        ),
        explanation=(
            "The pattern marks the token before the earlier copy; it must mark the token after it."
        ),
        title="The pattern marks the token before the earlier copy",
        question="In the text c j c, which letter comes directly after the first c?",
    ),
    Misconception(
        id="moves_the_queries",
        exercise="induction_pattern",
        swaps=(
            ("earlier[..., :1]", "earlier[:, :1]"),
            ("(none, earlier[..., :-1]), dim=-1", "(none, earlier[:, :-1]), dim=1"),
        ),
        explanation=(
            "The marks are moved along the axis of the queries; they must be moved along the axis "
            "of the keys."
        ),
        question="Which axis of (B, T, T) holds the tokens that are attended to?",
    ),
    Misconception(
        id="counts_a_token_as_its_own_copy",
        exercise="induction_pattern",
        swaps=(("torch.tril(same, diagonal=-1)", "torch.tril(same)"),),
        explanation=(
            "Each token counts as a copy of itself, so the token after the query is marked, too."
        ),
        title="Each token counts as a copy of itself",
        question="Is the current token an earlier occurrence of itself?",
    ),
    Misconception(
        id="marks_after_later_copies",
        exercise="induction_pattern",
        swaps=(("torch.tril(same, diagonal=-1).float()", "same.float()"),),
        explanation="Later copies of a token count as well; only earlier copies may count.",
        question="Can the model see a copy that comes after the query?",
    ),
    Misconception(
        id="marks_after_later_copies_only",
        exercise="induction_pattern",
        swaps=(("torch.tril(same, diagonal=-1)", "torch.triu(same, diagonal=1)"),),
        explanation="Later copies of a token count in place of earlier ones.",
        question="Which of its copies has the model already read when it reads a token?",
    ),
    Misconception(
        id="marks_all_copies",
        exercise="induction_pattern",
        swaps=(
            ("torch.tril(same, diagonal=-1).float()", "same.float() - torch.eye(ids.shape[1])"),
            ("torch.cat((none, earlier[..., :-1]), dim=-1)", "earlier"),
        ),
        explanation=(
            "All other copies of the token are marked; the tokens directly after the earlier ones "
            "must be marked."
        ),
        title="All other copies of the token are marked",
        question="The letter c comes again. Which letter must the model read?",
    ),
    Misconception(
        id="divides_the_rows_of_the_pattern",
        exercise="induction_pattern",
        when=("divides",),
        swaps=(
            (
                "return torch.cat((none, earlier[..., :-1]), dim=-1)",
                (
                    "pattern = torch.cat((none, earlier[..., :-1]), dim=-1)\n"
                    "    return pattern / pattern.sum(-1, keepdim=True).clamp(min=1)"
                ),
            ),
        ),
        explanation="The rows are divided by their sums; the pattern must hold only 0 and 1.",
        question="Which numbers does the docstring allow in the pattern?",
    ),
    Misconception(
        id="marks_the_newest_copy_only",
        exercise="induction_pattern",
        swaps=(
            (
                "return torch.cat((none, earlier[..., :-1]), dim=-1)",
                (
                    "pattern = torch.cat((none, earlier[..., :-1]), dim=-1)\n"
                    "    later = pattern.flip(-1).cumsum(-1).flip(-1)\n"
                    "    return pattern * (later == 1)"
                ),
            ),
        ),
        explanation="Only the newest earlier copy counts; each earlier copy must have its mark.",
        question="How many marks does the third c of a text have?",
    ),
    Misconception(
        id="marks_the_oldest_copy_only",
        exercise="induction_pattern",
        swaps=(
            (
                "return torch.cat((none, earlier[..., :-1]), dim=-1)",
                (
                    "oldest = earlier * (earlier.cumsum(-1) == 1)\n"
                    "    return torch.cat((none, oldest[..., :-1]), dim=-1)"
                ),
            ),
        ),
        explanation="Only the oldest copy counts; each earlier copy must have its mark.",
        question="How many marks does the third c of a text have?",
    ),
    Misconception(
        id="comes_round_to_the_first_token",
        exercise="induction_pattern",
        swaps=(("torch.zeros_like(earlier[..., :1])", "same[..., -1:].float()"),),
        explanation=(
            "The first token counts as the one after the last token of the text, as if the text "
            "were a ring; no token comes before the first one."
        ),
        title="The first token counts as the one after the last token of the text",
        question="Which token does torch.roll put in front of the first one?",
    ),
    # logit_lens
    Misconception(
        id="reads_without_the_norm",
        exercise="logit_lens",
        when=("no calls norm",),
        swaps=(("out_head(norm(stream))", "out_head(stream)"),),
        explanation="The stream is read without the norm that the model applies before out_head.",
        question="Which two modules does the model apply to its last stream?",
    ),
    Misconception(
        id="norms_the_last_stream_only",
        exercise="logit_lens",
        swaps=(
            (
                "out_head(norm(stream)) for stream in streams]",
                (
                    "out_head(norm(stream) if place == len(streams) - 1 else stream)\n"
                    "        for place, stream in enumerate(streams)]"
                ),
            ),
        ),
        explanation="Only the last stream is read through the norm; each stream must be.",
        question="What does the model do with a stream before out_head reads it?",
    ),
    Misconception(
        id="norms_all_streams_but_the_last",
        exercise="logit_lens",
        swaps=(
            (
                "out_head(norm(stream)) for stream in streams]",
                (
                    "out_head(stream if place == len(streams) - 1 else norm(stream))\n"
                    "        for place, stream in enumerate(streams)]"
                ),
            ),
        ),
        explanation="The last stream is read without the norm; each stream must be normalized.",
        question="What does the model do with its last stream before out_head reads it?",
    ),
    Misconception(
        id="norms_the_logits",
        exercise="logit_lens",
        swaps=(
            (
                "out_head(norm(stream))",
                "torch.nn.functional.layer_norm(out_head(stream), out_head.weight.shape[:1])",
            ),
        ),
        explanation="The norm is applied to the logits; it must be applied to the stream.",
        question="How many features does the norm expect?",
    ),
    Misconception(
        id="adds_the_streams_up",
        exercise="logit_lens",
        swaps=(
            (
                "out_head(norm(stream)) for stream in streams",
                "out_head(norm(sum(streams[: end + 1]))) for end in range(len(streams))",
            ),
        ),
        explanation="Each stream is added to those before it, but it already contains them.",
        question="What does the second layer add to: its own result, or the stream so far?",
    ),
    # ablate_heads
    Misconception(
        id="removes_the_other_heads",
        exercise="ablate_heads",
        swaps=(("for head in heads:", "for head in {*range(num_heads)} - {*heads}:"),),
        explanation="All heads except these are removed; the heads in the list must be removed.",
        question="What must the result be for an empty list of heads?",
    ),
    Misconception(
        id="takes_one_mean_for_all_positions",
        exercise="ablate_heads",
        swaps=((IN_CALLER, "ablated[:, :, head].mean(dim=(0, 1)) if mean else 0.0"),),
        explanation=(
            "The mean is taken over items and positions; it must be taken over the items, position "
            "by position."
        ),
        question="How many means does a feature need in a batch of texts with T tokens?",
    ),
    Misconception(
        id="takes_the_mean_over_the_positions",
        exercise="ablate_heads",
        swaps=((IN_CALLER, "ablated[:, :, head].mean(dim=1, keepdim=True) if mean else 0.0"),),
        explanation="The mean is taken over the positions; it must be taken over the items.",
        question="Which axis of (B, T, H, d) holds the items?",
    ),
    Misconception(
        id="takes_the_mean_over_the_features",
        exercise="ablate_heads",
        swaps=((IN_CALLER, "ablated[:, :, head].mean(dim=-1, keepdim=True) if mean else 0.0"),),
        explanation="The mean is taken over the features; it must be taken over the items.",
        question="Does each feature of the head keep its own mean?",
    ),
    Misconception(
        id="takes_every_nth_feature",
        exercise="ablate_heads",
        swaps=(
            ("unflatten(-1, (num_heads, -1)).clone()", "unflatten(-1, (-1, num_heads)).mT.clone()"),
            ("ablated.flatten(start_dim=2)", "ablated.mT.flatten(start_dim=2)"),
        ),
        explanation=(
            "A head gets every num_heads-th feature; the features of a head must be next to each "
            "other."
        ),
        question="With six features and two heads, which features belong to head 0?",
    ),
    Misconception(
        id="averages_the_other_heads",
        exercise="ablate_heads",
        swaps=((IN_CALLER, "merged.unflatten(-1, (num_heads, -1)).mean(dim=2) if mean else 0.0"),),
        explanation="The mean is taken over the heads; it must be taken over the items.",
        question="Does a head that is removed keep features of other heads?",
    ),
    # head_contributions
    Misconception(
        id="takes_rows_of_the_weight",
        exercise="head_contributions",
        swaps=(
            (
                "out_weight.unflatten(-1, (num_heads, -1)).permute(1, 2, 0)",
                "out_weight.unflatten(0, (num_heads, -1))",
            ),
        ),
        explanation=(
            "The heads get rows of the weight; nn.Linear multiplies by the transposed weight, so a "
            "head must get columns."
        ),
        title="The heads get rows of the weight",
        question="Which axis of the weight of an nn.Linear belongs to its input features?",
    ),
    Misconception(
        id="adds_the_heads_up",
        exercise="head_contributions",
        swaps=(("return heads @ columns", "return (heads @ columns).sum(dim=1)"),),
        explanation="The contributions of the heads are added up; each head needs its own.",
        question="How many axes does the result have, and what does each of them count?",
    ),
    Misconception(
        id="gives_all_heads_the_first_columns",
        exercise="head_contributions",
        swaps=(("permute(1, 2, 0)", "permute(1, 2, 0)[:1]"),),
        explanation=(
            "All heads are multiplied by the columns of head 0, but each head has its own columns."
        ),
        question="Which columns of the weight meet the features of the last head?",
    ),
    Misconception(
        id="puts_the_heads_behind_the_tokens",
        exercise="head_contributions",
        swaps=(("return heads @ columns", "return (heads @ columns).transpose(1, 2)"),),
        explanation=(
            "The heads are on axis 2 of the result; they must be on axis 1, before the tokens."
        ),
        question="In which order does the docstring list the four axes of the result?",
    ),
    # logit_attribution
    Misconception(
        id="divides_by_the_variance",
        exercise="logit_attribution",
        swaps=(("torch.sqrt(variance + eps)", "(variance + eps)"),),
        explanation="The parts are divided by the variance; they must be divided by its root.",
        question="Which spread does a stream have after the norm?",
    ),
    Misconception(
        id="forgets_the_scale",
        exercise="logit_attribution",
        when=("no reads scale",),
        swaps=(("normalized * scale * directions", "normalized * directions"),),
        explanation="The scale of the norm is not used.",
        question="What does the norm do with the features after the division?",
    ),
    Misconception(
        id="divides_each_part_by_its_own_spread",
        exercise="logit_attribution",
        swaps=(("stream.var(", "parts.var("),),
        explanation=(
            "Each part is divided by its own spread, but the model divides the sum, so all parts "
            "must have one common divisor."
        ),
        title="Each part is divided by its own spread",
        question="By how many different numbers does LayerNorm divide the features of one token?",
    ),
    Misconception(
        id="subtracts_the_mean_of_the_stream",
        exercise="logit_attribution",
        swaps=(("parts.mean(dim=-1, keepdim=True)", "stream.mean(dim=-1, keepdim=True)"),),
        explanation=(
            "The mean of the whole stream is subtracted from each part; each part must lose its "
            "own mean."
        ),
        question="What is the sum of the means of all parts?",
    ),
    Misconception(
        id="subtracts_no_mean",
        exercise="logit_attribution",
        swaps=(("parts - parts.mean(dim=-1, keepdim=True)", "parts"),),
        explanation=(
            "No mean is subtracted from the parts; each part must lose the mean over its features."
        ),
        question="What must a part add whose features are all equal?",
    ),
    Misconception(
        id="sums_the_squares_of_the_stream",
        exercise="logit_attribution",
        swaps=(
            (
                "stream.var(dim=-1, keepdim=True, correction=0)",
                "(stream.var(dim=-1, keepdim=True, correction=0) * stream.shape[-1])",
            ),
        ),
        explanation=(
            "The sum of the squares is used as the variance of the stream; it must be divided by d."
        ),
        question="How does the variance change if each feature comes twice?",
    ),
    Misconception(
        id="measures_the_stream_from_zero",
        exercise="logit_attribution",
        swaps=(
            (
                "stream.var(dim=-1, keepdim=True, correction=0)",
                "stream.pow(2).mean(dim=-1, keepdim=True)",
            ),
        ),
        explanation=(
            "The mean square of the stream is used as its variance; its mean must be subtracted "
            "first."
        ),
        question="For the features 3, 3, 3, what is the variance, and what is the mean square?",
    ),
    Misconception(
        id="adds_the_spreads_of_the_parts",
        exercise="logit_attribution",
        swaps=(
            (
                "stream.var(dim=-1, keepdim=True, correction=0)",
                "parts.var(dim=-1, keepdim=True, correction=0).sum(dim=0)",
            ),
        ),
        explanation=(
            "The variances of the parts are added up; it must be the variance of their sum, which "
            "differs if the parts are related."
        ),
        question="What is the variance of the sum of x and -x?",
    ),
    # patching_map
    Misconception(
        id="corrupts_the_clean_text",
        exercise=MAP,
        swaps=(
            (
                "patch = corrupted_activations[name].clone()",
                "patch = clean_activations[name].clone()",
            ),
            (
                "= clean_activations[name][:, position]",
                "= corrupted_activations[name][:, position]",
            ),
            ("run_with_patches(model, corrupted,", "run_with_patches(model, clean,"),
        ),
        explanation=(
            "A corrupted activation is put into the clean text, which measures what it breaks; a "
            "clean activation must be put into the corrupted text, to measure what it restores."
        ),
        title="A corrupted activation is put into the clean text",
        question="Which text does the model read in the third run?",
    ),
    Misconception(
        id="keeps_the_patches_of_earlier_positions",
        exercise=MAP,
        swaps=((IN_A_NEW_PATCH, IN_THE_SAME_PATCH),),
        explanation=(
            "The clean activation of one position is still in the patch of the next, so each run "
            "also has the clean activations of all earlier positions."
        ),
        question="How many positions of your patch are clean in the last run?",
    ),
    Misconception(
        id="patches_the_rest_of_the_text",
        exercise=MAP,
        swaps=(
            (
                "patch[:, position] = clean_activations[name][:, position]",
                "patch[:, position:] = clean_activations[name][:, position:]",
            ),
        ),
        explanation=(
            "The positions after that of the entry are patched as well; it must be that position "
            "alone."
        ),
        title="The positions after that of the entry are patched as well",
        question="At how many positions does a run have activations of the clean text?",
    ),
    Misconception(
        id="patches_all_positions",
        exercise=MAP,
        swaps=(
            (
                "patch = corrupted_activations[name].clone()",
                "patch = clean_activations[name].clone()",
            ),
            ("                patch[:, position] = clean_activations[name][:, position]\n", ""),
        ),
        explanation=(
            "The activation is patched at all positions at once; it must be patched at one "
            "position at a time."
        ),
        question="Are all entries of a row of your map equal?",
    ),
    Misconception(
        id="divides_by_the_clean_difference",
        exercise=MAP,
        swaps=(("restored / (highest - lowest)", "restored / highest"),),
        explanation=(
            "The share is taken of the clean difference; the corrupted difference must be "
            "subtracted from it."
        ),
        question="What must an entry be if the patch restores the clean answer in full?",
    ),
    Misconception(
        id="measures_from_the_clean_difference",
        exercise=MAP,
        swaps=(("difference(logits) - lowest", "difference(logits) - highest"),),
        explanation=(
            "The clean difference is subtracted from the patched one; it must be the corrupted "
            "difference, so that a patch without effect gives 0."
        ),
        question="What must an entry be if the patch changes nothing?",
    ),
    Misconception(
        id="measures_the_right_logit_alone",
        exercise=MAP,
        swaps=(("(last[items, right] - last[items, wrong]).mean()", "last[items, right].mean()"),),
        explanation="Only the logit of the right answer counts; that of the wrong one is missing.",
        question="What does your difference show if a patch raises all logits by 1?",
    ),
    Misconception(
        id="compares_each_item_with_all_answers",
        exercise=MAP,
        swaps=(
            (
                "(last[items, right] - last[items, wrong]).mean()",
                "(last[:, right] - last[:, wrong]).mean()",
            ),
        ),
        explanation=(
            "Each item is compared with the answers of all items, but item b has its own answers, "
            "right[b] and wrong[b]."
        ),
        title="Each item is compared with the answers of all items",
        question="Which shape do you get if you index logits (B, V) with [:, right]?",
    ),
    Misconception(
        id="uses_the_first_answers_for_all",
        exercise=MAP,
        swaps=(
            (
                "(last[items, right] - last[items, wrong]).mean()",
                "(last[:, right[0]] - last[:, wrong[0]]).mean()",
            ),
        ),
        explanation=(
            "The answers of the first item are used for all items, but item b has its own answers, "
            "right[b] and wrong[b]."
        ),
        title="The answers of the first item are used for all items",
        question="Which two logits does the second item of the batch compare?",
    ),
    Misconception(
        id="leaves_the_hooks_of_earlier_runs",
        exercise=MAP,
        when=(*WITH_HOOKS, "no calls remove"),
        swaps=(
            (
                "logits = run_with_patches(model, corrupted, {name: patch})",
                (
                    "module = dict(model.named_modules())[name]\n"
                    "                kept = clean_activations[name][:, position]\n"
                    "                def hook(_module, _given, made, t=position, kept=kept):\n"
                    "                    made = made.clone()\n"
                    "                    made[:, t] = kept\n"
                    "                    return made\n"
                    "                module.register_forward_hook(hook)\n"
                    "                logits = model(corrupted)"
                ),
            ),
        ),
        explanation=(
            "The hooks are never removed, so each run also has the patches of all earlier runs."
        ),
        title="The hooks are never removed",
        question="How many hooks does the model have after three runs?",
    ),
    Misconception(
        id="averages_the_shares_of_the_items",
        exercise=MAP,
        swaps=(
            (
                "(last[items, right] - last[items, wrong]).mean()",
                "last[items, right] - last[items, wrong]",
            ),
            (
                "restored = torch.zeros(len(names), clean.shape[1])",
                "restored = torch.zeros(len(names), clean.shape[1], len(clean))",
            ),
            (
                "return restored / (highest - lowest)",
                "return (restored / (highest - lowest)).mean(-1)",
            ),
        ),
        explanation=(
            "The shares of the items are averaged; the differences must be averaged first, because "
            "an item with a small difference has a huge share."
        ),
        title="The shares of the items are averaged",
        question="Which numbers must be averaged before you divide?",
    ),
    Misconception(
        id="forgets_the_corrupted_difference",
        exercise=MAP,
        swaps=(("difference(logits) - lowest", "difference(logits)"),),
        explanation="The difference of the corrupted text is not subtracted from the patched one.",
        question="What must an entry be if the patch changes nothing?",
    ),
    Misconception(
        id="runs_the_clean_text",
        exercise=MAP,
        swaps=(("run_with_patches(model, corrupted,", "run_with_patches(model, clean,"),),
        explanation=(
            "The patch is put into the clean text; the model must read the corrupted one, in which "
            "only the patch is clean."
        ),
        title="The patch is put into the clean text",
        question="Which text does the model read in the third run?",
    ),
    Misconception(
        id="patches_the_first_item_only",
        exercise="patching_map",
        swaps=(
            (
                "patch[:, position] = clean_activations[name][:, position]",
                "patch[0, position] = clean_activations[name][0, position]",
            ),
        ),
        explanation="Only the first item of the batch gets its clean activation; each item must.",
        question="Which items does your patch change, and how many does the batch have?",
    ),
    Misconception(
        id="patches_without_effect",
        exercise=MAP,
        swaps=(("{name: patch}", "{name: corrupted_activations[name]}"),),
        explanation=(
            "The patches have no effect, as if they held only activations of the corrupted text, "
            "for example because both runs store theirs in one dictionary."
        ),
        title="The patches have no effect",
        question="Which activation does the module have at the position of the entry?",
    ),
    Misconception(
        id="patches_the_beginning_of_the_text",
        exercise=MAP,
        swaps=(
            (
                "patch[:, position] = clean_activations[name][:, position]",
                "patch[:, :position] = clean_activations[name][:, :position]",
            ),
        ),
        explanation=(
            "The positions before that of the entry are patched; it must be that position alone."
        ),
        question="Which positions have activations of the clean text in the first run?",
    ),
    Misconception(
        id="starts_the_patch_from_zeros",
        exercise=MAP,
        swaps=(
            (
                "patch = corrupted_activations[name].clone()",
                "patch = torch.zeros_like(corrupted_activations[name])",
            ),
        ),
        explanation=(
            "The other positions of the patch are 0; they must keep the activations of the "
            "corrupted text."
        ),
        title="The other positions of the patch are 0",
        question="Which activations does the model have at the positions that are not patched?",
    ),
    Misconception(
        id="averages_over_all_positions",
        exercise=MAP,
        swaps=(("last = logits[:, -1]", "last = logits.mean(dim=1)"),),
        explanation=(
            "The logits of all positions are averaged; only those of the last position must be "
            "used."
        ),
        question="At which position does the model give its answer?",
    ),
    Misconception(
        id="builds_the_graph_of_every_run",
        exercise=MAP,
        when=("no calls no_grad", "no calls inference_mode", "no calls set_grad_enabled"),
        swaps=(
            ("with torch.no_grad():", "if True:"),
            (
                "return restored / (highest - lowest)",
                "return (restored / (highest - lowest)).detach()",
            ),
        ),
        explanation=(
            "Each run builds a graph, because the model is not called under torch.no_grad()."
        ),
        question="Which context manager keeps torch from recording what a model computes?",
    ),
    Misconception(
        id="uses_a_ready_tool_for_the_map",
        exercise=MAP,
        when=("reads fx",),
        swaps=(
            (
                "    items = torch.arange(len(clean))",
                "    graph, items = torch.fx.Graph(), torch.arange(len(clean))",
            ),
        ),
        explanation=(
            "The code uses `torch.fx`, a ready-made tool that looks inside models; this stage asks "
            "for your own hooks."
        ),
        question="Which of your own functions put one activation in place of another?",
    ),
)

# A pattern is equal in several dtypes, so the sentence about a wrong one names none.
OPERATORS = {
    "scale_missing": None,  # no exercise divides scores by the root of the key size
    "scale_wrong_size": None,
    "scale_wrong_power": None,
    "scale_extra": None,
    "dtype": (
        "The result has the wrong dtype.",
        "Which dtype do the inputs have, and which one must the result have?",
    ),
    "reshaped": (
        "A new shape alone keeps all numbers in their order; axes must be swapped as well.",
        "Which number comes second after a swap of two axes, and which one after a reshape?",
    ),
}
