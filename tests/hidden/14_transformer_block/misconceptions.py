"""Wrong answers that the suite of stage 14 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

ONE_HEAD = "H, d = 1, queries.shape[-1]"
PRE_NORM = """
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
"""
SECOND_FROM_THE_INPUT = """
            attended = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(attended))
"""
NO_SHORTCUTS = """
            x = self.att(self.norm1(x))
            return self.ff(self.norm2(x))
"""
NORM_THEN_SHORTCUT = """
            x = self.norm1(x)
            x = x + self.att(x)
            x = self.norm2(x)
            return x + self.ff(x)
"""
FIRST_FROM_THE_NORM = """
            x = self.norm1(x)
            x = x + self.att(x)
            return x + self.ff(self.norm2(x))
"""
SECOND_FROM_THE_NORM = """
            x = x + self.att(self.norm1(x))
            x = self.norm2(x)
            return x + self.ff(x)
"""
NO_FIRST_SHORTCUT = """
            x = self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
"""
NO_SECOND_SHORTCUT = """
            x = x + self.att(self.norm1(x))
            return self.ff(self.norm2(x))
"""
NORM_BEFORE_AND_AFTER = """
            x = self.norm1(x + self.att(self.norm1(x)))
            return self.norm2(x + self.ff(self.norm2(x)))
"""
FEED_FORWARD_FIRST = """
            x = x + self.ff(self.norm2(x))
            return x + self.att(self.norm1(x))
"""
PARALLEL = """
            return x + self.att(self.norm1(x)) + self.ff(self.norm2(x))
"""

MISCONCEPTIONS = (
    # MultiHeadAttention
    Misconception(
        id="splits_into_one_head",
        exercise="MultiHeadAttention",
        swaps=(("H, d = self.num_heads, queries.shape[-1] // self.num_heads", ONE_HEAD),),
        explanation=(
            "The features are not split: num_heads has no effect, and there is only one head; each "
            "head must work on its own block of features."
        ),
        question="With 8 features and 2 heads, how many products are added up in one score?",
    ),
    Misconception(
        id="divides_by_the_root_of_all_features",
        exercise="MultiHeadAttention",
        when=("takes roots",),
        swaps=(("masked / d**0.5", "masked / (H * d) ** 0.5"),),
        explanation=(
            "The scores are divided by the square root of d_out; a head has only d_out / num_heads "
            "features."
        ),
        question="How many products does one score of a head add up?",
    ),
    # LayerNorm
    Misconception(
        id="normalizes_over_the_first_axis",
        exercise="LayerNorm",
        swaps=(
            ("x.mean(dim=-1, keepdim=True)", "x.mean(dim=0, keepdim=True)"),
            (
                "((x - mean) ** 2).mean(dim=-1, keepdim=True)",
                "((x - mean) ** 2).mean(dim=0, keepdim=True)",
            ),
        ),
        title="Mean and variance are computed over the first axis",
        explanation=(
            "Mean and variance are computed over the first axis, so they mix different tokens or "
            "items; each token must be normalized separately, over its features."
        ),
        question=(
            "Which axis holds the features of one token, no matter how many axes come before it?"
        ),
    ),
    Misconception(
        id="normalizes_over_the_second_axis",
        exercise="LayerNorm",
        swaps=(
            ("x.mean(dim=-1, keepdim=True)", "x.mean(dim=1, keepdim=True)"),
            (
                "((x - mean) ** 2).mean(dim=-1, keepdim=True)",
                "((x - mean) ** 2).mean(dim=1, keepdim=True)",
            ),
        ),
        title="Mean and variance are computed over axis 1",
        explanation=(
            "Mean and variance are computed over axis 1, which holds the tokens of a batch; each "
            "token must be normalized separately, over its features."
        ),
        question="Which axis holds the features of one token, with and without a batch axis?",
    ),
    Misconception(
        id="takes_one_variance_of_all_tokens",
        exercise="LayerNorm",
        swaps=(("((x - mean) ** 2).mean(dim=-1, keepdim=True)", "((x - mean) ** 2).mean()"),),
        explanation="All tokens share one variance; each token must have its own.",
        question="How many variances does a batch of B texts with T tokens have?",
    ),
    Misconception(
        id="normalizes_over_all_axes",
        exercise="LayerNorm",
        swaps=(
            ("x.mean(dim=-1, keepdim=True)", "x.mean()"),
            ("((x - mean) ** 2).mean(dim=-1, keepdim=True)", "((x - mean) ** 2).mean()"),
        ),
        explanation="All tokens share one mean and one variance; each token must have its own.",
        question="How many variances does a batch of B texts with T tokens have?",
    ),
    Misconception(
        id="keeps_the_mean",
        exercise="LayerNorm",
        swaps=(("(x - mean) / torch.sqrt", "x / torch.sqrt"),),
        explanation=(
            "The mean is not subtracted: the features are only divided by their standard deviation."
        ),
        question="What must the mean of a token's features be before scale and shift?",
    ),
    Misconception(
        id="scales_the_shift_as_well",
        exercise="LayerNorm",
        swaps=(("self.scale * normalized + self.shift", "self.scale * (normalized + self.shift)"),),
        explanation="The shift is added before the features are scaled, so it is scaled as well.",
        question="In which order does the docstring scale and shift the features?",
    ),
    Misconception(
        id="loses_the_axis_of_the_mean",
        exercise="LayerNorm",
        when=("loses an axis",),
        swaps=(
            ("x.mean(dim=-1, keepdim=True)", "x.mean(dim=-1)"),
            (
                ".mean(dim=-1, keepdim=True)\n        normalized",
                ".mean(dim=-1)\n        normalized",
            ),
        ),
        explanation=(
            "The mean or the variance of a token loses its axis, so the shapes do not fit, or the "
            "numbers of one token are used for another."
        ),
        question=(
            "Which shapes do mean and variance have, and how are they aligned with the features?"
        ),
    ),
    Misconception(
        id="multiplies_by_no_scale",
        exercise="LayerNorm",
        swaps=(("self.scale * normalized", "normalized"),),
        explanation="The normalized features are not multiplied by scale.",
        question="What does the parameter scale change in the result?",
    ),
    Misconception(
        id="adds_no_shift",
        exercise="LayerNorm",
        when=("no reads shift",),
        swaps=(("self.scale * normalized + self.shift", "self.scale * normalized"),),
        explanation="The shift is not added to the scaled features.",
        question="Which of the two parameters of the norm have you used?",
    ),
    Misconception(
        id="divides_by_the_variance",
        exercise="LayerNorm",
        when=("no calls sqrt", "no calls rsqrt", "no calls std"),
        swaps=(("torch.sqrt(variance + self.eps)", "(variance + self.eps)"),),
        explanation="The features are divided by the variance; they must be divided by its root.",
        question="Which spread must the features of a token have before scale and shift?",
    ),
    Misconception(
        id="takes_the_root_twice",
        exercise="LayerNorm",
        when=("takes roots",),
        swaps=(("torch.sqrt(variance + self.eps)", "torch.sqrt(torch.sqrt(variance) + self.eps)"),),
        explanation=(
            "The root is taken of the standard deviation, which is already the root of the "
            "variance."
        ),
        question=(
            "What does the docstring put under the root: the variance or the standard deviation?"
        ),
    ),
    Misconception(
        id="normalizes_over_all_tokens",
        exercise="LayerNorm",
        swaps=(
            (
                "mean = x.mean(dim=-1, keepdim=True)",
                "D = tuple(range(1, x.ndim)) or -1\n        mean = x.mean(dim=D, keepdim=True)",
            ),
            (
                ".mean(dim=-1, keepdim=True)\n        normalized",
                ".mean(dim=D, keepdim=True)\n        normalized",
            ),
        ),
        explanation=(
            "Mean and variance are taken over all tokens of an item; each token must have its own."
        ),
        question="How many means does a text with 5 tokens have?",
    ),
    Misconception(
        id="measures_from_zero",
        exercise="LayerNorm",
        swaps=(("((x - mean) ** 2).mean", "(x**2).mean"),),
        explanation="The mean square of the features is used as their variance.",
        question="For the features 3, 3, 3, what is the variance, and what is the mean square?",
    ),
    # RMSNorm
    Misconception(
        id="averages_without_squares",
        exercise="RMSNorm",
        swaps=(("(x**2).mean", "x.abs().mean"),),
        explanation=(
            "The mean of the absolute values of the features is taken, not the mean of their "
            "squares."
        ),
        question="What do the letters M and S in RMS stand for?",
    ),
    Misconception(
        id="divides_by_the_mean_square",
        exercise="RMSNorm",
        when=("no takes roots",),
        swaps=(("torch.sqrt(mean_square + self.eps)", "(mean_square + self.eps)"),),
        explanation="The features are divided by their mean square; its root is missing.",
        question="What does the letter R in RMS stand for?",
    ),
    Misconception(
        id="shifts_like_layer_norm",
        exercise="RMSNorm",
        swaps=(
            (
                "self.scale = nn.Parameter(torch.ones(d_model))",
                (
                    "self.scale = nn.Parameter(torch.ones(d_model))\n        self.shift = "
                    "nn.Parameter(torch.zeros(d_model))"
                ),
            ),
            (
                "torch.sqrt(mean_square + self.eps)",
                "torch.sqrt(mean_square + self.eps) + self.shift",
            ),
        ),
        explanation="There is a shift, as in LayerNorm; RMSNorm must have only a scale.",
        question="Which parameters does the docstring of RMSNorm list?",
    ),
    Misconception(
        id="divides_by_the_standard_deviation",
        exercise="RMSNorm",
        swaps=(("(x**2).mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True, correction=0)"),),
        explanation=(
            "The features are divided by their standard deviation, which measures distances from "
            "the mean; RMSNorm must take the mean of the squared features themselves."
        ),
        question="For the features 3, 3, 3, what is the variance, and what is the mean square?",
    ),
    Misconception(
        id="adds_one_to_the_scale",
        exercise="RMSNorm",
        swaps=(("self.scale * x", "(1 + self.scale) * x"),),
        explanation="The features are multiplied by 1 + scale; they must be multiplied by scale.",
        question="By which number is a feature multiplied while the scale is 1?",
    ),
    Misconception(
        id="divides_the_root_by_the_number_of_features",
        exercise="RMSNorm",
        swaps=(
            ("(x**2).mean", "(x**2).sum"),
            (
                "torch.sqrt(mean_square + self.eps)",
                "(torch.sqrt(mean_square + self.eps) / len(self.scale))",
            ),
        ),
        explanation=(
            "The root of the sum of the squares is divided by d_model; the sum itself must be "
            "divided by d_model, under the root."
        ),
        question="For the features 3, 3, 3, what is the root of the mean square?",
    ),
    # gelu
    Misconception(
        id="adds_the_cube_outside_the_product",
        exercise="gelu",
        swaps=(
            (
                "math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)",
                "math.sqrt(2 / math.pi) * x + 0.044715 * x**3",
            ),
        ),
        explanation=(
            "The cubic term is added outside the product: the root must multiply the sum of x "
            "and the cubic term."
        ),
        question="Which terms are in the parentheses after the root?",
    ),
    Misconception(
        id="forgets_the_root_of_two_over_pi",
        exercise="gelu",
        when=("calls tanh",),
        swaps=(("math.sqrt(2 / math.pi)", "(2 / math.pi)"),),
        explanation="The factor is 2/π; it must be the square root of 2/π.",
        question="What does the symbol in front of 2/π in the formula mean?",
    ),
    Misconception(
        id="multiplies_two_and_pi",
        exercise="gelu",
        when=("calls tanh",),
        swaps=(("math.sqrt(2 / math.pi)", "math.sqrt(2 * math.pi)"),),
        explanation="The factor is the square root of 2π; it must be the square root of 2/π.",
        question="Which fraction is below the root in the formula?",
    ),
    Misconception(
        id="squares_where_it_must_cube",
        exercise="gelu",
        when=("calls tanh",),
        swaps=(("x**3", "x**2"),),
        explanation="The term with 0.044715 contains the square of x; it must contain its cube.",
        question=(
            "Which power of x does the formula contain, and which sign does this power have for "
            "a negative x?"
        ),
    ),
    Misconception(
        id="uses_the_error_function",
        exercise="gelu",
        when=("calls erf | calls cdf | calls gelu",),
        swaps=(("1 + torch.tanh(inner)", "1 + torch.erf(x / math.sqrt(2))"),),
        explanation=(
            "This is the exact GELU, with the error function; the exercise asks for the tanh "
            "approximation, which differs from it by up to 0.0005."
        ),
        question="Which function does the formula of GELU contain?",
    ),
    Misconception(
        id="uses_the_quick_sigmoid",
        exercise="gelu",
        when=("calls sigmoid",),
        swaps=(("0.5 * x * (1 + torch.tanh(inner))", "x * torch.sigmoid(1.702 * x)"),),
        explanation=(
            "This is the sigmoid approximation x · sigmoid(1.702 x); the exercise asks for the "
            "tanh approximation of GELU."
        ),
        question="Which function and which power of x does the formula of GELU contain?",
    ),
    Misconception(
        id="takes_the_cube_alone",
        exercise="gelu",
        swaps=(("(x + 0.044715 * x**3)", "(0.044715 * x**3)"),),
        explanation="Inside the tanh, x itself is missing: only its cube is there.",
        question="Which terms are in the parentheses after the root in the docstring?",
    ),
    Misconception(
        id="writes_a_digit_too_early",
        exercise="gelu",
        swaps=(("0.044715 *", "0.44715 *"),),
        explanation="The factor of the cube is 0.44715; it must be 0.044715.",
        question="How many zeros has the factor of the cube in the docstring?",
    ),
    Misconception(
        id="forgets_the_half",
        exercise="gelu",
        when=("calls tanh",),
        swaps=(("0.5 * x * (1 +", "x * (1 +"),),
        explanation="The factor 0.5 of GELU is missing.",
        question="What must GELU give for a large positive number?",
    ),
    Misconception(
        id="adds_no_one_to_the_tanh",
        exercise="gelu",
        when=("calls tanh",),
        swaps=(("(1 + torch.tanh(inner))", "torch.tanh(inner)"),),
        explanation="The 1 that GELU adds to the tanh is missing.",
        question="Between which two numbers must the factor of x be: for very small, and large x?",
    ),
    Misconception(
        id="turns_the_fraction_upside_down",
        exercise="gelu",
        when=("calls tanh",),
        swaps=(("math.sqrt(2 / math.pi)", "math.sqrt(math.pi / 2)"),),
        explanation="The factor is the square root of π/2; it must be the square root of 2/π.",
        question="Is the factor before the sum in the formula larger or smaller than 1?",
    ),
    Misconception(
        id="takes_the_root_of_two_alone",
        exercise="gelu",
        when=("calls tanh",),
        swaps=(("math.sqrt(2 / math.pi)", "(math.sqrt(2) / math.pi)"),),
        explanation="The factor is √2 / π; the root must be that of the fraction 2 / π.",
        question="Where does the root in the formula end?",
    ),
    # DeepNetwork
    Misconception(
        id="keeps_the_layers_in_a_list",
        exercise="DeepNetwork",
        swaps=(
            (
                "nn.ModuleList(nn.Linear(d_in, d_out) for d_in, d_out in pairs)",
                "[nn.Linear(d_in, d_out) for d_in, d_out in pairs]",
            ),
        ),
        explanation=(
            "The layers are not registered, for example because they are in a plain list: torch "
            "does not find their parameters, so they are not trained."
        ),
        question=(
            "What does network.parameters() contain, and which container registers the layers in "
            "it?"
        ),
    ),
    Misconception(
        id="leaves_the_last_layer_straight",
        exercise="DeepNetwork",
        swaps=(
            (
                "gelu(layer(x))",
                "(nn.Identity() if layer is self.layers[-1] else gelu)(layer(x))",
            ),
        ),
        explanation="There is no GELU after the last layer; GELU must follow every layer.",
        question="After which layers does the docstring apply GELU?",
    ),
    Misconception(
        id="always_adds_shortcuts",
        exercise="DeepNetwork",
        swaps=(("self.use_shortcut and x.shape == output.shape", "x.shape == output.shape"),),
        explanation="Shortcuts are added even if use_shortcut is false.",
        question="Where in forward does use_shortcut make a difference?",
    ),
    Misconception(
        id="never_adds_shortcuts",
        exercise="DeepNetwork",
        swaps=(
            (
                "x = x + output if self.use_shortcut and x.shape == output.shape else output",
                "x = output",
            ),
        ),
        explanation="No shortcut is added, even if use_shortcut is true.",
        question="Where in forward does use_shortcut make a difference?",
    ),
    Misconception(
        id="adds_the_input_of_the_network",
        exercise="DeepNetwork",
        swaps=(
            ("for layer in self.layers:", "inputs = x\n        for layer in self.layers:"),
            (
                "x = x + output if self.use_shortcut and x.shape == output.shape else output",
                (
                    "x = inputs + output if self.use_shortcut and inputs.shape == output.shape "
                    "else output"
                ),
            ),
        ),
        explanation=(
            "Each shortcut adds the input of the whole network; it must add the input of its "
            "own layer."
        ),
        question="Which tensor goes into the third layer, and which one does its shortcut add?",
    ),
    Misconception(
        id="adds_the_shortcut_before_gelu",
        exercise="DeepNetwork",
        swaps=(
            ("gelu(layer(x))", "layer(x)"),
            ("x + output if", "gelu(x + output) if"),
            ("else output", "else gelu(output)"),
        ),
        explanation=(
            "The shortcut is added before GELU, so it passes through GELU as well; the input of a "
            "layer must be added to the result of GELU."
        ),
        question="Which path from the output back to the input does not pass through a GELU?",
    ),
    Misconception(
        id="adds_the_shortcut_to_any_shape",
        exercise="DeepNetwork",
        swaps=(("self.use_shortcut and x.shape == output.shape", "self.use_shortcut"),),
        explanation=(
            "The input of a layer is added even if its shape differs from that of the result: "
            "torch then broadcasts a single feature, or raises an error."
        ),
        question="What is the shape of the result if a layer maps 3 features to 1?",
    ),
    Misconception(
        id="bends_before_the_layer",
        exercise="DeepNetwork",
        swaps=(("gelu(layer(x))", "layer(gelu(x))"),),
        explanation="GELU is applied to the input of each layer; it must be applied to its result.",
        question="What is the smallest number that GELU can return?",
    ),
    # FeedForward
    Misconception(
        id="bends_the_result_as_well",
        exercise="FeedForward",
        swaps=(("return self.linear2(hidden)", "return self.activation(self.linear2(hidden))"),),
        explanation=(
            "A second activation follows linear2; there must be only one, between the two layers."
        ),
        question="Can your result be far below zero?",
    ),
    Misconception(
        id="makes_relu_the_default",
        exercise="FeedForward",
        swaps=(('activation: str = "gelu"', 'activation: str = "relu"'),),
        explanation="The default activation is ReLU; it must be GELU.",
        question="Which activation does FeedForward(8, 32) use?",
    ),
    Misconception(
        id="has_no_activation",
        exercise="FeedForward",
        when=("calls linear1", "no calls gelu"),
        swaps=(
            ('self.activation = gelu if activation == "gelu" else torch.relu', ""),
            ("self.activation(self.linear1(x))", "self.linear1(x)"),
        ),
        explanation="There is no activation between the two linear layers.",
        question="What can two linear layers without an activation do that one cannot?",
    ),
    Misconception(
        id="keeps_the_hidden_features",
        exercise="FeedForward",
        when=("calls Linear",),
        swaps=(("nn.Linear(d_hidden, d_model)", "nn.Linear(d_hidden, d_hidden)"),),
        explanation=(
            "The second linear layer gives d_hidden features; it must turn them back into d_model "
            "features."
        ),
        question=(
            "Which shape must the second linear layer give, so that it can be added to the input?"
        ),
    ),
    # SwiGLU
    Misconception(
        id="gates_with_a_plain_sigmoid",
        exercise="SwiGLU",
        swaps=(
            (
                "hidden = gate * torch.sigmoid(gate) * self.up(x)",
                "hidden = torch.sigmoid(gate) * self.up(x)",
            ),
        ),
        explanation=(
            "The gate is a plain sigmoid, as in GLU, but silu multiplies the sigmoid by its own "
            "input."
        ),
        question="What is silu(6), and what is sigmoid(6)?",
    ),
    Misconception(
        id="gates_with_relu",
        exercise="SwiGLU",
        when=("calls relu | calls ReLU | calls clamp | takes a maximum",),
        swaps=(
            (
                "hidden = gate * torch.sigmoid(gate) * self.up(x)",
                "hidden = torch.relu(gate) * self.up(x)",
            ),
        ),
        explanation="The gate goes through ReLU; it must go through silu.",
        question="What is silu(-1), and what does your gate give for -1?",
    ),
    Misconception(
        id="adds_the_gate_to_up",
        exercise="SwiGLU",
        swaps=(
            (
                "gate * torch.sigmoid(gate) * self.up(x)",
                "gate * torch.sigmoid(gate) + self.up(x)",
            ),
        ),
        explanation="The results of the gate and of up are added; they must be multiplied.",
        question="What must the result be where the gate is 0?",
        when=("adds",),
    ),
    Misconception(
        id="leaves_out_the_gate",
        exercise="SwiGLU",
        swaps=(
            ("gate = self.gate(x)", "gate = self.up(x)"),
            ("gate * torch.sigmoid(gate) * self.up(x)", "gate * torch.sigmoid(gate)"),
        ),
        explanation="The layer gate is not used: the result is down(silu(up(x))).",
        question="How many of the three layers does your forward use?",
    ),
    Misconception(
        id="leaves_out_up",
        exercise="SwiGLU",
        swaps=(("gate * torch.sigmoid(gate) * self.up(x)", "gate * torch.sigmoid(gate)"),),
        explanation="The layer up is not used: the result is down(silu(gate(x))).",
        question="How many of the three layers does your forward use?",
    ),
    Misconception(
        id="gates_with_up",
        exercise="SwiGLU",
        swaps=(
            ("gate = self.gate(x)", "gate = self.up(x)"),
            ("torch.sigmoid(gate) * self.up(x)", "torch.sigmoid(gate) * self.gate(x)"),
        ),
        explanation=(
            "The function silu is applied to up, not to gate: the roles of the two layers are "
            "swapped."
        ),
        question=(
            "Which of the two layers decides how much of each feature of the other layer passes "
            "through?"
        ),
    ),
    Misconception(
        id="gates_with_gelu",
        exercise="SwiGLU",
        swaps=(("gate * torch.sigmoid(gate)", "gelu(gate)"),),
        explanation="The gate goes through GELU; it must go through silu.",
        question="Which function does the docstring apply to gate(x)?",
    ),
    Misconception(
        id="bends_the_product",
        exercise="SwiGLU",
        swaps=(
            (
                "hidden = gate * torch.sigmoid(gate) * self.up(x)",
                "gate = gate * self.up(x)\n        hidden = gate * torch.sigmoid(gate)",
            ),
        ),
        explanation="The product of gate(x) and up(x) goes through silu; only gate(x) must.",
        question="How does the result change if up(x) has the opposite sign?",
    ),
    # TransformerBlock
    Misconception(
        id="adds_the_input_of_the_block_twice",
        exercise="TransformerBlock",
        when=("calls ff",),
        swaps=((PRE_NORM, SECOND_FROM_THE_INPUT),),
        explanation=(
            "In pre-norm, the second shortcut adds the input of the block; it must add the sum "
            "after attention."
        ),
        question=(
            "To which tensor does your second shortcut add the result of the feed-forward network?"
        ),
    ),
    Misconception(
        id="has_no_shortcuts",
        exercise="TransformerBlock",
        swaps=(
            (PRE_NORM, NO_SHORTCUTS),
            ("x = self.norm1(x + self.att(x))", "x = self.norm1(self.att(x))"),
            ("return self.norm2(x + self.ff(x))", "return self.norm2(self.ff(x))"),
        ),
        explanation=(
            "There are no shortcuts: nothing is added to the outputs of attention and of the "
            "feed-forward network."
        ),
        question=(
            "What must a pre-norm block return if attention and the feed-forward network return "
            "zeros?"
        ),
    ),
    Misconception(
        id="has_no_shortcuts_in_pre_norm",
        exercise="TransformerBlock",
        when=("calls att",),
        swaps=((PRE_NORM, NO_SHORTCUTS),),
        explanation=(
            "There are no shortcuts in the pre-norm block: nothing is added to the outputs of "
            "attention and of the feed-forward network."
        ),
        question=(
            "What must a pre-norm block return if attention and the feed-forward network return "
            "zeros?"
        ),
    ),
    Misconception(
        id="has_no_first_shortcut",
        exercise="TransformerBlock",
        when=("calls att",),
        swaps=((PRE_NORM, NO_FIRST_SHORTCUT),),
        explanation=(
            "The pre-norm block has no first shortcut: the features before the norm must be added "
            "to the output of attention."
        ),
        question="If attention returns zeros, what is left of the block's input in your result?",
    ),
    Misconception(
        id="has_no_second_shortcut",
        exercise="TransformerBlock",
        when=("calls ff",),
        swaps=((PRE_NORM, NO_SECOND_SHORTCUT),),
        explanation=(
            "The pre-norm block has no second shortcut: the sum after attention must be added to "
            "the output of the feed-forward network."
        ),
        question="What must a pre-norm block return if the feed-forward network returns zeros?",
    ),
    Misconception(
        id="uses_one_norm_twice",
        exercise="TransformerBlock",
        swaps=(
            ("self.ff(self.norm2(x))", "self.ff(self.norm1(x))"),
            ("self.norm2(x + self.ff(x))", "self.norm1(x + self.ff(x))"),
        ),
        when=("no calls norm2",),
        explanation="The layer norm1 is used twice, and norm2 is not used.",
        question="Which norm belongs to the feed-forward network?",
    ),
    Misconception(
        id="fixes_the_hidden_size",
        exercise="TransformerBlock",
        swaps=(
            (
                "FeedForward(d_model, d_hidden, activation)",
                "FeedForward(d_model, 4 * d_model, activation)",
            ),
        ),
        explanation="The hidden size is always 4 · d_model; d_hidden has no effect.",
        question="How many features does linear1 have in TransformerBlock(att, 8, 20)?",
    ),
    Misconception(
        id="starts_the_shortcut_after_the_norm",
        exercise="TransformerBlock",
        swaps=((PRE_NORM, NORM_THEN_SHORTCUT),),
        explanation=(
            "In pre-norm, the shortcuts start after the norms: they add the normalized features, "
            "but they must add the features before the norm."
        ),
        question=(
            "What must a pre-norm block return if attention and the feed-forward network return "
            "zeros?"
        ),
    ),
    Misconception(
        id="starts_the_first_shortcut_after_the_norm",
        exercise="TransformerBlock",
        when=("calls att",),
        swaps=((PRE_NORM, FIRST_FROM_THE_NORM),),
        explanation=(
            "In pre-norm, the first shortcut starts after norm1: it adds the normalized features, "
            "but it must add the features before the norm."
        ),
        question=(
            "What must a pre-norm block return if attention and the feed-forward network return "
            "zeros?"
        ),
    ),
    Misconception(
        id="starts_the_second_shortcut_after_the_norm",
        exercise="TransformerBlock",
        when=("calls ff",),
        swaps=((PRE_NORM, SECOND_FROM_THE_NORM),),
        explanation=(
            "In pre-norm, the second shortcut starts after norm2: it adds the normalized features, "
            "but it must add the features before the norm."
        ),
        question=(
            "What must a pre-norm block return if attention and the feed-forward network return "
            "zeros?"
        ),
    ),
    Misconception(
        id="normalizes_the_results_in_pre_norm",
        exercise="TransformerBlock",
        swaps=(
            ("self.att(self.norm1(x))", "self.norm1(self.att(x))"),
            ("self.ff(self.norm2(x))", "self.norm2(self.ff(x))"),
        ),
        explanation=(
            "In pre-norm, the norms are applied to the results of the parts; they must normalize "
            "the inputs."
        ),
        question="Which comes first in pre-norm, the norm or the part?",
    ),
    Misconception(
        id="normalizes_before_the_sum_in_post_norm",
        exercise="TransformerBlock",
        swaps=(
            ("self.norm1(x + self.att(x))", "x + self.norm1(self.att(x))"),
            ("self.norm2(x + self.ff(x))", "x + self.norm2(self.ff(x))"),
        ),
        explanation=(
            "In post-norm, the norms are applied to the results of the parts; they must normalize "
            "the sums."
        ),
        question="What is added first in post-norm, and what is normalized then?",
    ),
    Misconception(
        id="normalizes_the_first_result_in_post_norm",
        exercise="TransformerBlock",
        swaps=(("self.norm1(x + self.att(x))", "x + self.norm1(self.att(x))"),),
        explanation=(
            "In post-norm, norm1 is applied to the result of attention; it must normalize the sum."
        ),
        question="What is added first in post-norm, and what is normalized then?",
    ),
    Misconception(
        id="exchanges_pre_norm_and_post_norm",
        exercise="TransformerBlock",
        swaps=(("if self.norm_first:", "if not self.norm_first:"),),
        explanation=(
            "Pre-norm and post-norm are swapped: the block is post-norm if norm_first is true, and "
            "pre-norm if it is false."
        ),
        question="If norm_first is true, is the norm inside the branch or after the sum?",
    ),
    Misconception(
        id="normalizes_the_sums_as_well",
        exercise="TransformerBlock",
        swaps=((PRE_NORM, NORM_BEFORE_AND_AFTER),),
        explanation=(
            "The pre-norm block also normalizes the sums after the shortcuts, so each norm is used "
            "twice."
        ),
        question="How often does each norm appear in a pre-norm block?",
    ),
    Misconception(
        id="transforms_before_it_attends",
        exercise="TransformerBlock",
        swaps=(
            (PRE_NORM, FEED_FORWARD_FIRST),
            ("x = self.norm1(x + self.att(x))", "x = self.norm2(x + self.ff(x))"),
            ("return self.norm2(x + self.ff(x))", "return self.norm1(x + self.att(x))"),
        ),
        explanation="The feed-forward network comes before attention; attention must be first.",
        question="Which of the two parts gets the block's input?",
    ),
    Misconception(
        id="copies_the_attention",
        exercise="TransformerBlock",
        swaps=(
            (
                "self.att = attention",
                "from copy import deepcopy\n\n        self.att = deepcopy(attention)",
            ),
        ),
        explanation=(
            "The block holds a copy of the given attention: later changes to the given module do "
            "not reach the block."
        ),
        question=(
            "What must be assigned to self.att so that the block and the caller use the same "
            "module?"
        ),
    ),
    Misconception(
        id="uses_one_norm_twice_in_pre_norm",
        exercise="TransformerBlock",
        when=("calls norm1", "calls norm2"),
        swaps=(("self.ff(self.norm2(x))", "self.ff(self.norm1(x))"),),
        explanation=(
            "In the pre-norm block, the first norm is used twice: it also normalizes the input of "
            "the feed-forward network."
        ),
        question="Which norm belongs to the feed-forward network?",
    ),
    Misconception(
        id="transforms_without_a_norm",
        exercise="TransformerBlock",
        when=("calls ff",),
        swaps=(("self.ff(self.norm2(x))", "self.ff(x)"),),
        explanation=(
            "In the pre-norm block, the feed-forward network gets its input without a norm."
        ),
        question="Which two layers of a pre-norm block get normalized features?",
    ),
    Misconception(
        id="attends_without_a_norm",
        exercise="TransformerBlock",
        when=("calls att",),
        swaps=(("self.att(self.norm1(x))", "self.att(x)"),),
        explanation="In the pre-norm block, attention gets its input without a norm.",
        question="Which two layers of a pre-norm block get normalized features?",
    ),
    Misconception(
        id="transforms_the_input_of_the_block",
        exercise="TransformerBlock",
        when=("calls ff",),
        swaps=((PRE_NORM, PARALLEL),),
        explanation=(
            "In pre-norm, the feed-forward network gets the input of the block, not the sum after "
            "attention."
        ),
        question="Which tensor does norm2 normalize in a pre-norm block?",
    ),
    Misconception(
        id="adds_the_sum_before_the_norm_in_post_norm",
        exercise="TransformerBlock",
        swaps=(
            ("x = self.norm1(x + self.att(x))", "h = x + self.att(x)\n        x = self.norm1(h)"),
            ("self.norm2(x + self.ff(x))", "self.norm2(h + self.ff(x))"),
        ),
        explanation=(
            "In post-norm, the second shortcut adds the sum before norm1; it must add the result "
            "of norm1."
        ),
        question="Which features does ff get in post-norm, and which does its shortcut add?",
    ),
    Misconception(
        id="has_no_first_shortcut_in_post_norm",
        exercise="TransformerBlock",
        swaps=(("self.norm1(x + self.att(x))", "self.norm1(self.att(x))"),),
        explanation=(
            "The post-norm block has no first shortcut: the output of attention must be added to "
            "its input before the norm."
        ),
        question="Which sum must norm1 normalize in a post-norm block?",
    ),
    Misconception(
        id="has_no_second_shortcut_in_post_norm",
        exercise="TransformerBlock",
        swaps=(("self.norm2(x + self.ff(x))", "self.norm2(self.ff(x))"),),
        explanation=(
            "The post-norm block has no second shortcut: the output of the feed-forward network "
            "must be added to its input before the norm."
        ),
        question="Which sum must norm2 normalize in a post-norm block?",
    ),
)
