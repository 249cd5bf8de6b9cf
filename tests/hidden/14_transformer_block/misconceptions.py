"""Wrong answers that the suite of stage 14 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

GELU_THEN_SHORTCUT = """
            output = gelu(layer(x))
            x = x + output if self.use_shortcut and x.shape == output.shape else output
"""
SHORTCUT_THEN_GELU = """
            output = layer(x)
            output = x + output if self.use_shortcut and x.shape == output.shape else output
            x = gelu(output)
"""
PRE_NORM = """
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
"""
NORM_THEN_SHORTCUT = """
            x = self.norm1(x)
            x = x + self.att(x)
            x = self.norm2(x)
            return x + self.ff(x)
"""
NORM_BEFORE_AND_AFTER = """
            x = self.norm1(x + self.att(self.norm1(x)))
            return self.norm2(x + self.ff(self.norm2(x)))
"""
FEED_FORWARD_FIRST = """
            x = x + self.ff(self.norm2(x))
            return x + self.att(self.norm1(x))
"""

MISCONCEPTIONS = (
    # RMSNorm
    Misconception(
        id="divides_by_the_standard_deviation",
        exercise="RMSNorm",
        swaps=(("(x**2).mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True, correction=0)"),),
        explanation=(
            "The features are divided by their standard deviation, which measures distances from "
            "the mean; RMSNorm takes the mean of the squared features themselves."
        ),
        question="For the features 3, 3, 3, what is the variance, and what is the mean square?",
    ),
    # gelu
    Misconception(
        id="uses_the_error_function",
        exercise="gelu",
        swaps=(("1 + torch.tanh(inner)", "1 + torch.erf(x / math.sqrt(2))"),),
        explanation=(
            "This is the form of GELU with the error function; the exercise asks for the form with "
            "tanh, which differs from it in the fourth digit."
        ),
        question="Which function does the formula in the docstring contain?",
    ),
    Misconception(
        id="uses_the_quick_sigmoid",
        exercise="gelu",
        swaps=(("0.5 * x * (1 + torch.tanh(inner))", "x * torch.sigmoid(1.702 * x)"),),
        explanation=(
            "This is the quick approximation x · sigmoid(1.702 x), not the form of GELU with tanh."
        ),
        question="Where in your code is the cubic term of the formula?",
    ),
    # DeepNetwork
    Misconception(
        id="adds_the_shortcut_before_gelu",
        exercise="DeepNetwork",
        swaps=((GELU_THEN_SHORTCUT, SHORTCUT_THEN_GELU),),
        explanation=(
            "The shortcut is added before GELU, so its way is bent as well: the input of a layer "
            "must be added to the result of GELU."
        ),
        question="On which way from the output back to the input does a gradient meet no GELU?",
    ),
    Misconception(
        id="adds_the_shortcut_to_any_shape",
        exercise="DeepNetwork",
        swaps=(("self.use_shortcut and x.shape == output.shape", "self.use_shortcut"),),
        explanation=(
            "The input of a layer is added also where its shape differs from that of the result: "
            "torch then repeats a single feature, or raises an error."
        ),
        question="What is the shape of the result if a layer goes from 3 features to 1?",
    ),
    # SwiGLU
    Misconception(
        id="gates_with_up",
        exercise="SwiGLU",
        swaps=(
            ("gate = self.gate(x)", "gate = self.up(x)"),
            ("torch.sigmoid(gate) * self.up(x)", "torch.sigmoid(gate) * self.gate(x)"),
        ),
        explanation="silu is applied to up and not to gate: the two layers have changed roles.",
        question="Which of the two layers decides how far the features of the other are opened?",
    ),
    # TransformerBlock
    Misconception(
        id="starts_the_shortcut_after_the_norm",
        exercise="TransformerBlock",
        swaps=((PRE_NORM, NORM_THEN_SHORTCUT),),
        explanation=(
            "The shortcuts start after the norms: the normalised features are added, and those "
            "that came in are lost."
        ),
        question="What must a pre-norm block return if attention and feed-forward give zeros?",
    ),
    Misconception(
        id="exchanges_pre_norm_and_post_norm",
        exercise="TransformerBlock",
        swaps=(("if self.norm_first:", "if not self.norm_first:"),),
        title="Pre-norm and post-norm are exchanged",
        explanation=(
            "The block is post-norm where norm_first is true, and pre-norm where it is false."
        ),
        question="Is the norm inside the branch, or after the sum, if norm_first is true?",
    ),
    Misconception(
        id="normalizes_the_sums_as_well",
        exercise="TransformerBlock",
        swaps=((PRE_NORM, NORM_BEFORE_AND_AFTER),),
        explanation=(
            "The pre-norm block also normalises the sums after the shortcuts, so each norm is used "
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
            "The block holds a copy of the given attention: later changes of the given module do "
            "not reach the block."
        ),
        question="What does self.att have to be, so that both names mean the same module?",
    ),
)
