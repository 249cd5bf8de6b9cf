#% norm_by_torch_var
#% LayerNorm | variance_unbiased, wrong_divisor | The variance is divided by n - 1, which is torch's default.
class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True)
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


#% norm_by_std
#% LayerNorm | eps_outside_root | eps is added to the standard deviation, not to the variance.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        sigma = x.std(-1, keepdim=True, unbiased=False)
        return self.scale * (x - mu) / (sigma + self.eps) + self.shift


#% norm_annotated_transformer
#% LayerNorm | variance_unbiased, wrong_divisor | The deviation is the unbiased one.
#% LayerNorm | eps_outside_root | eps is added outside the root.
class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.scale * (x - mean) / (std + self.eps) + self.shift


#% norm_over_tokens
#% LayerNorm | wrong_axis | Mean and variance run over the tokens, not over the features.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(dim=0, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=0, keepdim=True)
        return self.scale * (x - mean) / (var + self.eps).sqrt() + self.shift


#% norm_without_keepdim
#% LayerNorm | wrong_axis, shape_error | The means lose their axis, so they do not line up with the tokens.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(-1)
        var = x.var(-1, unbiased=False)
        x_hat = (x - mean) / torch.sqrt(var + self.eps)
        return self.scale * x_hat + self.shift


#% norm_never_centred
#% LayerNorm | step_missing | The mean is not subtracted from the features.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        var = x.var(-1, unbiased=False, keepdim=True)
        return x * torch.rsqrt(var + self.eps) * self.scale + self.shift


#% norm_without_root
#% LayerNorm | scale_wrong_power, step_missing | The features are divided by the variance, not by its root.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        var = centred.pow(2).mean(-1, keepdim=True)
        return centred / (var + self.eps) * self.scale + self.shift


#% norm_with_plain_tensors
#% LayerNorm | parameter_kind | scale and shift are plain tensors, so nothing trains or moves them.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = torch.ones(d_model)
        self.shift = torch.zeros(d_model)

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


#% norm_shift_then_scale
#% LayerNorm | step_misplaced | The shift is added before the scale is applied.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.scale * ((x - mean) / torch.sqrt(var + self.eps) + self.shift)


#% norm_from_torch
#% LayerNorm | forbidden_function | F.layer_norm does the work.
class LayerNorm(nn.Module):
    def __init__(self, ndim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(ndim))
        self.shift = nn.Parameter(torch.zeros(ndim))

    def forward(self, input):
        return nn.functional.layer_norm(input, self.scale.shape, self.scale, self.shift, self.eps)


#% norm_fixed_eps
#% LayerNorm | argument_ignored | The argument eps is not used.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.scale * (x - mean) / torch.sqrt(var + 1e-5) + self.shift


#% rms_with_mean
#% RMSNorm | step_extra | The mean is subtracted, as in LayerNorm.
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return self.scale * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


#% rms_by_variance
#% RMSNorm | step_extra, wrong_reduction | The variance takes the place of the mean square.
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps) * self.scale


#% rms_by_sum
#% RMSNorm | wrong_reduction | The squares are added up, not averaged.
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        norm = torch.sqrt((x * x).sum(dim=-1, keepdim=True) + self.eps)
        return self.scale * x / norm


#% rms_without_squares
#% RMSNorm | step_missing, wrong_operation | The features are averaged, not their squares.
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        rms = torch.sqrt(x.abs().mean(-1, keepdim=True) + self.eps)
        return self.scale * x / rms


#% rms_with_a_shift
#% RMSNorm | layer_extra, parameter_kind | There is a shift that RMSNorm does not have.
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.scale * x / rms + self.shift


#% gelu_by_erf
#% gelu | wrong_form, wrong_operation | The form with the error function, not the one with tanh.
def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


#% gelu_by_sigmoid
#% gelu | wrong_form, wrong_operation | The quick approximation with a sigmoid.
def gelu(x):
    return x * torch.sigmoid(1.702 * x)


#% gelu_cube_outside
#% gelu | wrong_operation | The cubic term is added outside the product with the root.
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x + 0.044715 * x**3))


#% gelu_without_root
#% gelu | step_missing, wrong_operation | The root of 2/pi is missing: it is 2/pi.
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(2 / math.pi * (x + 0.044715 * torch.pow(x, 3))))


#% gelu_squared
#% gelu | wrong_operation | x is squared, not cubed.
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**2)))


#% gelu_of_torch
#% gelu | forbidden_function | torch's own GELU.
def gelu(x):
    return nn.functional.gelu(x, approximate="tanh")


#% gelu_without_half
#% gelu | step_missing | The factor one half is missing.
def gelu(x):
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


#% deep_in_a_list
#% DeepNetwork | parameter_kind | The layers are in a Python list, so torch does not know them.
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = [nn.Linear(layer_sizes[i], layer_sizes[i + 1]) for i in range(len(layer_sizes) - 1)]

    def forward(self, x):
        for layer in self.layers:
            out = gelu(layer(x))
            x = x + out if self.use_shortcut and x.shape == out.shape else out
        return x


#% deep_shortcut_inside
#% DeepNetwork | step_misplaced | The shortcut is added before the activation.
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layer_sizes, layer_sizes[1:])])

    def forward(self, x):
        for layer in self.layers:
            out = layer(x)
            if self.use_shortcut and out.shape == x.shape:
                out = out + x
            x = gelu(out)
        return x


#% deep_without_last_gelu
#% DeepNetwork | step_missing, boundary | The last layer has no activation.
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layer_sizes, layer_sizes[1:])])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            out = layer(x)
            if i < len(self.layers) - 1:
                out = gelu(out)
            x = x + out if self.use_shortcut and out.shape == x.shape else out
        return x


#% deep_always_short
#% DeepNetwork | argument_ignored | Shortcuts are always added.
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layer_sizes, layer_sizes[1:])])

    def forward(self, x):
        for layer in self.layers:
            out = gelu(layer(x))
            x = x + out if out.shape == x.shape else out
        return x


#% deep_adds_everywhere
#% DeepNetwork | shape_error, check_missing, step_missing | Shortcuts are added where the shapes differ.
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layer_sizes, layer_sizes[1:])])

    def forward(self, x):
        for layer in self.layers:
            out = gelu(layer(x))
            x = x + out if self.use_shortcut else out
        return x


#% deep_from_the_first_input
#% DeepNetwork | operand_repeated | Each shortcut adds the input of the network, not that of the layer.
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layer_sizes, layer_sizes[1:])])

    def forward(self, x):
        inputs = x
        for layer in self.layers:
            x = gelu(layer(x))
            if self.use_shortcut and x.shape == inputs.shape:
                x = x + inputs
        return x


#% feed_forward_is_linear
#% FeedForward | step_missing | There is no activation between the two layers.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in ("gelu", "relu"):
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x))


#% feed_forward_bends_twice
#% FeedForward | layer_extra, step_extra | A second activation follows the second layer.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in ("gelu", "relu"):
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)
        self.act = gelu if activation == "gelu" else torch.relu

    def forward(self, x):
        return self.act(self.linear2(self.act(self.linear1(x))))


#% feed_forward_always_gelu
#% FeedForward | argument_ignored | The activation is always GELU.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in ["gelu", "relu"]:
            raise ValueError("unknown activation")
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.linear2(gelu(self.linear1(x)))


#% feed_forward_refuses_late
#% FeedForward | check_missing | An unknown activation is noticed only when the module is called.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        self.activation = activation
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        x = self.linear1(x)
        if self.activation == "gelu":
            x = gelu(x)
        elif self.activation == "relu":
            x = torch.relu(x)
        else:
            raise ValueError(self.activation)
        return self.linear2(x)


#% feed_forward_nanogpt
#% FeedForward | bias_wrong | The layers have no biases.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in ("gelu", "relu"):
            raise ValueError
        self.linear1 = nn.Linear(d_model, d_hidden, bias=False)
        self.linear2 = nn.Linear(d_hidden, d_model, bias=False)
        self.fn = gelu if activation == "gelu" else nn.functional.relu

    def forward(self, x):
        x = self.linear1(x)
        x = self.fn(x)
        x = self.linear2(x)
        return x


#% feed_forward_default_relu
#% FeedForward | default_changed | The default activation is ReLU.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="relu"):
        super().__init__()
        if activation not in ("gelu", "relu"):
            raise ValueError
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)
        self.fn = gelu if activation == "gelu" else nn.functional.relu

    def forward(self, x):
        return self.linear2(self.fn(self.linear1(x)))


#% swiglu_gates_the_wrong_one
#% SwiGLU | parts_exchanged, operand_repeated | silu works on up, not on gate.
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        return self.down(self.gate(x) * nn.functional.silu(self.up(x)))


#% swiglu_is_glu
#% SwiGLU | step_missing, wrong_operation | The gate is a plain sigmoid.
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        return self.down(torch.sigmoid(self.gate(x)) * self.up(x))


#% swiglu_adds
#% SwiGLU | wrong_operation | Gate and up are added, not multiplied.
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) + self.up(x))


#% swiglu_with_biases
#% SwiGLU | bias_wrong | The three layers have biases.
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden)
        self.up = nn.Linear(d_model, d_hidden)
        self.down = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


#% swiglu_without_gate
#% SwiGLU | layer_unused, step_missing | The gate is made and never used.
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.up(x)))


#% block_shortcut_after_norm
#% TransformerBlock | step_misplaced, operand_repeated | The shortcuts start after the norms.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = self.norm1(x)
            x = x + self.att(x)
            x = self.norm2(x)
            x = x + self.ff(x)
        else:
            x = self.norm1(x + self.att(x))
            x = self.norm2(x + self.ff(x))
        return x


#% block_second_shortcut_from_input
#% TransformerBlock | operand_repeated | The second shortcut adds the input of the block.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        shortcut = x
        if self.norm_first:
            x = self.att(self.norm1(x)) + shortcut
            x = self.ff(self.norm2(x)) + shortcut
            return x
        x = self.norm1(self.att(x) + shortcut)
        return self.norm2(self.ff(x) + x)


#% block_without_shortcuts
#% TransformerBlock | step_missing | There are no shortcuts.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            return self.ff(self.norm2(self.att(self.norm1(x))))
        return self.norm2(self.ff(self.norm1(self.att(x))))


#% block_always_pre
#% TransformerBlock | argument_ignored | norm_first is ignored: always pre-norm.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x):
        x = x + self.att(self.norm1(x))
        x = x + self.ff(self.norm2(x))
        return x


#% block_reversed_modes
#% TransformerBlock | mask_inverted, check_wrong, parts_exchanged | norm_first means the opposite.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if not self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% block_one_norm
#% TransformerBlock | operand_repeated, layer_unused | norm1 is used twice and norm2 never.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            x = x + self.ff(self.norm1(x))
        else:
            x = self.norm1(x + self.att(x))
            x = self.norm1(x + self.ff(x))
        return x


#% block_forgets_activation
#% TransformerBlock | argument_ignored | The activation is not passed to the feed-forward network.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% block_four_times
#% TransformerBlock | wrong_size, argument_ignored | The hidden size is always 4 d_model.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, 4 * d_model, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% block_copies_attention
#% TransformerBlock | shared_memory | The block holds a copy of the given attention.
import copy


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = copy.deepcopy(attention)
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% block_in_place
#% TransformerBlock | in_place | The shortcut is added in place, into the caller's tensor.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x += self.att(self.norm1(x))
            x += self.ff(self.norm2(x))
            return x
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% block_ready_norms
#% TransformerBlock | forbidden_function, wrong_name | torch's LayerNorm takes the place of your own.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = nn.LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% block_feed_forward_first
#% TransformerBlock | parts_exchanged | The feed-forward network comes before attention.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.ff(self.norm2(x))
            return x + self.att(self.norm1(x))
        x = self.norm2(x + self.ff(x))
        return self.norm1(x + self.att(x))


#% block_sandwich
#% TransformerBlock | layer_extra, step_extra | Pre-norm, with a norm after the sums as well.
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = self.norm1(x + self.att(self.norm1(x)))
            return self.norm2(x + self.ff(self.norm2(x)))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% heads_without_causality
#% MultiHeadAttention | mask_missing | Nothing is hidden.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("num_heads must divide d_out")
        self.h, self.n = num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1))

    def forward(self, x):
        b, t, _ = x.shape
        if t > self.n:
            raise ValueError("too long")
        q, k, v = (f(x).view(b, t, self.h, -1).transpose(1, 2) for f in (self.W_query, self.W_key, self.W_value))
        w = torch.softmax(q @ k.transpose(2, 3) / k.shape[-1] ** 0.5, dim=-1)
        return self.out_proj((self.dropout(w) @ v).transpose(1, 2).reshape(b, t, -1))


#% heads_scaled_by_d_out
#% MultiHeadAttention | scale_wrong_size | The scores are divided by the root of d_out.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("num_heads must divide d_out")
        self.h, self.d_out = num_heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, t, _ = x.shape
        if t > len(self.mask):
            raise ValueError("too long")
        q, k, v = (f(x).view(b, t, self.h, -1).transpose(1, 2) for f in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.transpose(2, 3)).masked_fill(self.mask[:t, :t], -torch.inf)
        w = torch.softmax(scores / self.d_out**0.5, dim=-1)
        return self.out_proj((self.dropout(w) @ v).transpose(1, 2).reshape(b, t, -1))


#% rms_as_an_old_layer_norm
#% RMSNorm | step_extra | The mean is subtracted, as in LayerNorm.
#% RMSNorm | eps_outside_root | eps is added outside the root.
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        x = x - x.mean(dim=-1, keepdim=True)
        return self.scale * x / (x.pow(2).mean(dim=-1, keepdim=True).sqrt() + self.eps)


#% norm_and_rms_both_wrong
#% LayerNorm | variance_unbiased, wrong_divisor | The variance is divided by n - 1.
#% RMSNorm | wrong_reduction | The squares are added up, not averaged.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return self.scale * (x - x.mean(-1, True)) / torch.sqrt(x.var(-1, keepdim=True) + self.eps) + self.shift


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return self.scale * x / torch.sqrt((x**2).sum(-1, keepdim=True) + self.eps)


#% gelu_and_deep_network
#% gelu | wrong_form, wrong_operation | The form with the error function.
#% DeepNetwork | argument_ignored | Shortcuts are always added.
def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / 2**0.5))


class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layer_sizes, layer_sizes[1:])])

    def forward(self, x):
        for layer in self.layers:
            out = gelu(layer(x))
            x = out + x if out.shape == x.shape else out
        return x


#% swiglu_with_biases_on_up
#% SwiGLU | bias_wrong | The three layers have biases.
#% SwiGLU | parts_exchanged, operand_repeated | silu works on up, not on gate.
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden)
        self.up = nn.Linear(d_model, d_hidden)
        self.down = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.down(nn.functional.silu(self.up(x)) * self.gate(x))


#% feed_forward_and_block
#% FeedForward | step_missing | There is no activation between the two layers.
#% TransformerBlock | operand_repeated | The second shortcut adds the input of the block.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        if activation not in ("gelu", "relu"):
            raise ValueError("gelu or relu")
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x))


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            h = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(h))
        h = self.norm1(x + self.att(x))
        return self.norm2(h + self.ff(h))


#% block_of_a_wrong_norm
#% LayerNorm | variance_unbiased, wrong_divisor | The variance is divided by n - 1.
#% TransformerBlock | argument_ignored | norm_first is ignored: always pre-norm.
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True)
        return (x - mean) / torch.sqrt(var + self.eps) * self.scale + self.shift


class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x):
        x = x + self.att(self.norm1(x))
        return x + self.ff(self.norm2(x))


#% right_norms_with_moments
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        var, mean = torch.var_mean(x, -1, unbiased=False, keepdim=True)
        x = (x - mean) * torch.rsqrt(var + self.eps)
        return x.mul(self.scale).add(self.shift)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float() if x.dtype == torch.float16 else x).type_as(x) * self.scale


#% right_norm_transposed
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1)
        var = (x * x).mean(-1) - mean * mean
        x = (x - mean.unsqueeze(-1)) / (var.clamp(min=0) + self.eps).sqrt().unsqueeze(-1)
        return self.scale * x + self.shift


#% right_rms_by_length
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.eps, self.d_model = eps, d_model

    def forward(self, hidden_states):
        mean_square = hidden_states.norm(dim=-1, keepdim=True) ** 2 / self.d_model
        return self.scale * (hidden_states * (mean_square + self.eps) ** -0.5)


#% right_gelu_by_sigmoid
def gelu(x):
    return x * torch.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))


#% right_gelu_nanogpt
def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


#% right_deep_book
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.use_shortcut = use_shortcut
        self.layers = nn.ModuleList([
            nn.Sequential(nn.Linear(layer_sizes[i], layer_sizes[i + 1]))[0] for i in range(len(layer_sizes) - 1)
        ])

    def forward(self, x):
        for layer in self.layers:
            layer_output = gelu(layer(x))
            if self.use_shortcut and x.shape == layer_output.shape:
                x = x + layer_output
            else:
                x = layer_output
        return x


#% right_deep_recursive
class DeepNetwork(nn.Module):
    def __init__(self, layer_sizes, use_shortcut):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in zip(layer_sizes[:-1], layer_sizes[1:]))
        self.skip = use_shortcut

    def forward(self, x):
        for linear in self.layers:
            skip = x if self.skip and linear.in_features == linear.out_features else 0
            x = skip + gelu(linear(x))
        return x


#% right_feed_forward_sequential
class FeedForward(nn.Module):
    def __init__(self, d_model, d_hidden, activation="gelu"):
        super().__init__()
        try:
            self.act = dict(gelu=gelu, relu=nn.functional.relu)[activation]
        except KeyError:
            raise ValueError(f"activation must be gelu or relu: {activation}") from None
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x):
        for step in (self.linear1, self.act, self.linear2):
            x = step(x)
        return x


#% right_swiglu_llama
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        down_proj = self.down(self.act_fn(self.gate(x)) * self.up(x))
        return down_proj


#% right_block_hf
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model)
        self.att = attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)

    def forward(self, hidden_states):
        residual = hidden_states
        if self.norm_first:
            hidden_states = self.norm1(hidden_states)
        hidden_states = self.att(hidden_states)
        hidden_states = residual + hidden_states
        if not self.norm_first:
            hidden_states = self.norm1(hidden_states)
        residual = hidden_states
        if self.norm_first:
            hidden_states = self.norm2(hidden_states)
        hidden_states = self.ff(hidden_states)
        hidden_states = residual + hidden_states
        if not self.norm_first:
            hidden_states = self.norm2(hidden_states)
        return hidden_states


#% right_block_pytorch
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att, self.norm_first = attention, norm_first
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)

    def _sa_block(self, x):
        return self.att(x)

    def _ff_block(self, x):
        return self.ff(x)

    def forward(self, src):
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x))
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x))
            x = self.norm2(x + self._ff_block(x))
        return x


#% right_block_with_dropout_layers
class TransformerBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.drop_shortcut = nn.Dropout(0.0)
        self.norm_first = norm_first

    def forward(self, x):
        for norm, part in [(self.norm1, self.att), (self.norm2, self.ff)]:
            shortcut = x
            x = self.drop_shortcut(part(norm(x) if self.norm_first else x)) + shortcut
            x = x if self.norm_first else norm(x)
        return x


#% norm_with_the_mean_of_the_tokens
#% LayerNorm | wrong_axis | The mean runs over the tokens.
class LayerNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-05) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=-2, keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        normalized = (x - mean) / torch.sqrt(variance + self.eps)
        return self.scale * normalized + self.shift


#% norm_that_starts_with_a_shift
#% LayerNorm | distribution | The shift starts with ones.
class LayerNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-05) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        normalized = (x - mean) / torch.sqrt(variance + self.eps)
        return self.scale * normalized + self.shift


#% rms_without_the_root
#% RMSNorm | step_missing | The root is missing.
class RMSNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-06) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean_square = (x ** 2).mean(dim=-1, keepdim=True)
        return self.scale * x / (mean_square + self.eps)


#% shortcut_inside_gelu
#% DeepNetwork | step_order, step_misplaced | The shortcut is added before GELU.
class DeepNetwork(nn.Module):

    def __init__(self, layer_sizes: Sequence[int], use_shortcut: bool) -> None:
        super().__init__()
        self.use_shortcut = use_shortcut
        pairs = zip(layer_sizes[:-1], layer_sizes[1:], strict=True)
        self.layers = nn.ModuleList((nn.Linear(d_in, d_out) for d_in, d_out in pairs))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            output = layer(x)
            if self.use_shortcut and x.shape == output.shape:
                output = output + x
            x = gelu(output)
        return x


#% swiglu_with_relu
#% SwiGLU | wrong_operation, wrong_form | The gate goes through ReLU.
class SwiGLU(nn.Module):

    def __init__(self, d_model: int, d_hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate(x)
        hidden = torch.relu(gate) * self.up(x)
        return self.down(hidden)


#% post_norm_of_the_first_result
#% TransformerBlock | step_misplaced, step_order | In post-norm, the norm is applied to the result of attention.
class TransformerBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm2(x))
        x = x + self.norm1(self.att(x))
        return self.norm2(x + self.ff(x))


#% gelu_without_half_and_late_activation
#% gelu | factor_missing | The half is missing.
#% FeedForward | step_misplaced, step_order | The activation follows the second layer.
def gelu(x: Tensor) -> Tensor:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
    return x * (1 + torch.tanh(inner))


class FeedForward(nn.Module):

    def __init__(self, d_model: int, d_hidden: int, activation: str='gelu') -> None:
        super().__init__()
        if activation not in ('gelu', 'relu'):
            raise ValueError(f'the activation is gelu or relu, not {activation!r}')
        self.activation = gelu if activation == 'gelu' else torch.relu
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.linear1(x)
        return self.activation(self.linear2(hidden))


#% norm_unbiased_with_eps_outside
#% LayerNorm | variance_unbiased | The variance is divided by n - 1.
#% LayerNorm | eps_outside_root | eps is added to the root.
class LayerNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-05) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True)
        normalized = (x - mean) / (torch.sqrt(variance) + self.eps)
        return self.scale * normalized + self.shift


#% norm_without_shift_and_one_norm
#% LayerNorm | step_missing | The shift is not added.
#% TransformerBlock | operand_repeated | norm1 is used twice in pre-norm.
class LayerNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-05) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        normalized = (x - mean) / torch.sqrt(variance + self.eps)
        return self.scale * normalized


class TransformerBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm1(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% sample_variance_s1_of_14
#% LayerNorm | variance_unbiased | LayerNorm uses the sample variance (divided by d_model - 1).
class LayerNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-05) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mu = torch.mean(x, dim=-1, keepdim=True)
        var = torch.var(x, dim=-1, keepdim=True)
        return (x - mu) * torch.rsqrt(var + self.eps) * self.scale + self.shift


#% eps_outside_s2_of_14
#% RMSNorm | eps_outside_root | RMSNorm adds eps to the root instead of under it.
class RMSNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-06) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean_square = (x ** 2).mean(dim=-1, keepdim=True)
        return self.scale * x / (torch.sqrt(mean_square) + self.eps)


#% last_without_gelu_s3_of_14
#% DeepNetwork | step_missing | DeepNetwork has no GELU after the last layer.
class DeepNetwork(nn.Module):

    def __init__(self, layer_sizes: Sequence[int], use_shortcut: bool) -> None:
        super().__init__()
        self.use_shortcut = use_shortcut
        pairs = zip(layer_sizes[:-1], layer_sizes[1:], strict=True)
        self.layers = nn.ModuleList((nn.Linear(d_in, d_out) for d_in, d_out in pairs))

    def forward(self, x: Tensor) -> Tensor:
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            y = layer(x)
            if i < last:
                y = gelu(y)
            if self.use_shortcut and y.shape == x.shape:
                y = y + x
            x = y
        return x


#% shortcut_from_norm_s4_of_14
#% TransformerBlock | operand_repeated, step_extra | TransformerBlock in pre-norm adds the normalized features instead of the features before the norm.
class TransformerBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor) -> Tensor:
        if not self.norm_first:
            h = self.norm1(x + self.att(x))
            return self.norm2(h + self.ff(h))
        n = self.norm1(x)
        h = n + self.att(n)
        n = self.norm2(h)
        return n + self.ff(n)


#% swiglu_d1_of_14
#% SwiGLU | bias_wrong | SwiGLU's layers have biases.
#% SwiGLU | wrong_form, wrong_operation | SwiGLU gates with sigmoid instead of silu.
class SwiGLU(nn.Module):

    def __init__(self, d_model: int, d_hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden)
        self.up = nn.Linear(d_model, d_hidden)
        self.down = nn.Linear(d_hidden, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.gate(x).sigmoid() * self.up(x))


#% gelu_d2_of_14
#% gelu | wrong_form, wrong_operation | gelu squares x instead of cubing it.
#% gelu | factor_missing, nats_for_bits | gelu lacks the factor 1/2.
def gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 2)))


#% gelu_ff_d3_of_14
#% gelu | wrong_form, wrong_operation | gelu uses √(2π) instead of √(2/π).
#% FeedForward | operand_repeated, step_extra | FeedForward applies the activation once more after linear2.
def gelu(x: Tensor) -> Tensor:
    inner = math.sqrt(2 * math.pi) * (x + 0.044715 * x ** 3)
    return 0.5 * x * (1 + torch.tanh(inner))


class FeedForward(nn.Module):

    def __init__(self, d_model: int, d_hidden: int, activation: str='gelu') -> None:
        super().__init__()
        if activation not in ('gelu', 'relu'):
            raise ValueError(f'the activation is gelu or relu, not {activation!r}')
        self.activation = gelu if activation == 'gelu' else torch.relu
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.activation(self.linear1(x))
        return self.activation(self.linear2(hidden))


#% norm_block_d4_of_14
#% LayerNorm | boundary | LayerNorm does not add the shift.
#% TransformerBlock | operand_repeated, step_extra | TransformerBlock in pre-norm uses norm1 also before ff.
class LayerNorm(nn.Module):

    def __init__(self, d_model: int, eps: float=1e-05) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        normalized = (x - mean) / torch.sqrt(variance + self.eps)
        return self.scale * normalized


class TransformerBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            x = x + self.att(self.norm1(x))
            return x + self.ff(self.norm1(x))
        x = self.norm1(x + self.att(x))
        return self.norm2(x + self.ff(x))


#% network_with_root_of_two_pi_inlined
#% FeedForward | step_wrong | GELU, written out, uses the root of 2 pi.
class FeedForward(nn.Module):

    def __init__(self, d_model: int, d_hidden: int, activation: str='gelu') -> None:
        super().__init__()
        if activation not in ('gelu', 'relu'):
            raise ValueError(f'the activation is gelu or relu, not {activation!r}')
        self.activation = gelu if activation == 'gelu' else torch.relu
        self.linear1 = nn.Linear(d_model, d_hidden)
        self.linear2 = nn.Linear(d_hidden, d_model)

    def forward(self, x: Tensor) -> Tensor:
        h = self.linear1(x)
        if self.activation is gelu:
            h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 * math.pi) * (h + 0.044715 * h ** 3)))
        else:
            h = h.clamp(min=0)
        return self.linear2(h)
