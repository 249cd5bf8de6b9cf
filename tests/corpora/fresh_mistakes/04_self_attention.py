#% v1_first_uniform_weights
#% SelfAttentionV1 | distribution | The weights are drawn from the uniform distribution.
class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            w = torch.rand(dimension_inputs, dimension_outputs)
            setattr(self, name, nn.Parameter(w, requires_grad=False))

    def forward(self, input_vectors):
        Q = input_vectors.matmul(self.W_q)
        K = input_vectors.matmul(self.W_k)
        V = input_vectors.matmul(self.W_v)
        attn = nn.functional.softmax(Q.matmul(K.t()) / K.size(1) ** 0.5, dim=1)
        return attn.matmul(V)


#% v1_first_plain_tensors
#% SelfAttentionV1 | parameter_kind | The weights are plain tensors, which the module does not know.
class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        self.W_q = torch.randn(dimension_inputs, dimension_outputs)
        self.W_k = torch.randn(dimension_inputs, dimension_outputs)
        self.W_v = torch.randn(dimension_inputs, dimension_outputs)

    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        return torch.softmax(q @ k.T * k.shape[-1] ** -0.5, dim=-1) @ v


#% v1_first_is_trainable
#% SelfAttentionV1 | parameter_kind | The weights are not frozen.
class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        d_i, d_o = dimension_inputs, dimension_outputs
        self.W_q, self.W_k, self.W_v = (nn.Parameter(torch.randn(d_i, d_o)) for _ in range(3))

    def forward(self, input_vectors):
        queries, keys = input_vectors @ self.W_q, input_vectors @ self.W_k
        energy = torch.einsum("qd,kd->qk", queries, keys) / self.W_k.shape[1] ** 0.5
        return torch.einsum("qk,kd->qd", energy.softmax(-1), input_vectors @ self.W_v)


#% v1_scaled_by_input_size
#% SelfAttention_v1 | scale_wrong_size | The scores are divided by the root of the input's size.
import math


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.scale = math.sqrt(d_in)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        att = (x @ self.W_query) @ (x @ self.W_key).transpose(-2, -1) / self.scale
        return att.softmax(dim=-1) @ (x @ self.W_value)


#% v1_keys_created_first
#% SelfAttention_v1 | creation_order | The keys' weights are drawn before those of the queries.
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        omega = torch.inner(x @ self.W_query, x @ self.W_key)
        alpha = torch.softmax(omega / omega.new_tensor(self.W_key.shape[1]).sqrt(), dim=1)
        return alpha @ x @ self.W_value


#% v1_weights_detached
#% SelfAttention_v1 | detached | The weights are taken out of the graph, so queries and keys don't train.
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        with torch.no_grad():
            logits = (x @ self.W_query) @ (x @ self.W_key).T
            attn = torch.softmax(logits / self.d_out**0.5, dim=-1)
        return attn @ (x @ self.W_value)


#% v1_scales_the_weights
#% SelfAttention_v1 | scale_misplaced, scale_missing | The weights are divided after the softmax instead of the scores before it.
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = torch.matmul(x, self.W_key)
        queries = torch.matmul(x, self.W_query)
        values = torch.matmul(x, self.W_value)
        weights = torch.softmax(torch.matmul(queries, keys.T), dim=-1) / keys.shape[1] ** 0.5
        return torch.matmul(weights, values)


#% v2_bias_never_handed_on
#% SelfAttention_v2 | argument_ignored, bias_wrong | qkv_bias has no effect: there is never a bias.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q.mm(k.t()) / k.size(-1) ** 0.5, -1).mm(v)


#% v2_bias_by_default
#% SelfAttention_v2 | default_changed, bias_wrong | The layers have a bias unless it is switched off.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=True):
        super().__init__()
        mk = lambda: nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query, self.W_key, self.W_value = mk(), mk(), mk()
        self.d = d_out

    def forward(self, x):
        scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x))
        return (scores / self.d**0.5).softmax(dim=1).matmul(self.W_value(x))


#% v2_keys_not_transposed
#% SelfAttention_v2 | shape_error, transposed | The keys are not transposed, so (T, d) times (T, d) does not fit.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        scores = torch.matmul(q, k) / k.shape[-1] ** 0.5
        return torch.matmul(scores.softmax(-1), v)


#% v2_value_layer_unused
#% SelfAttention_v2 | layer_unused, projection_exchanged | The layer of the values is never used: queries are mixed.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        w = torch.softmax(q @ k.transpose(0, 1) / k.shape[1] ** 0.5, dim=-1)
        return w @ q


#% v2_layers_of_other_names
#% SelfAttention_v2 | wrong_name | The layers have short names, so the documented ones do not exist.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        att = torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=1)
        return att @ v


#% transfer_without_transpose
#% transfer_weights | transposed, shape_error | The weights are copied without being transposed.
def transfer_weights(source, target):
    if source.W_query.bias is not None:
        raise ValueError("bias!")
    for name in ["W_query", "W_key", "W_value"]:
        w = getattr(source, name).weight
        setattr(target, name, nn.Parameter(w.detach().clone()))


#% transfer_shares_memory
#% transfer_weights | shared_memory | The target's parameters share their memory with the source.
def transfer_weights(source, target):
    for lin in (source.W_query, source.W_key, source.W_value):
        if lin.bias is not None:
            raise ValueError("cannot transfer a bias")
    target.W_query = nn.Parameter(source.W_query.weight.data.T)
    target.W_key = nn.Parameter(source.W_key.weight.data.T)
    target.W_value = nn.Parameter(source.W_value.weight.data.T)


#% transfer_forgets_bias_check
#% transfer_weights | check_missing | A source with a bias is not refused.
def transfer_weights(source, target):
    with torch.no_grad():
        for name, param in target.named_parameters():
            param.copy_(getattr(source, name).weight.t())


#% v1_unscaled_and_columns
#% SelfAttention_v1 | scale_missing | The scores are not scaled.
#% SelfAttention_v1 | softmax_axis | The softmax runs over the queries.
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        q = torch.einsum("ti,io->to", x, self.W_query)
        k = torch.einsum("ti,io->to", x, self.W_key)
        v = torch.einsum("ti,io->to", x, self.W_value)
        attn = nn.functional.softmax(torch.einsum("io,jo->ij", q, k), dim=0)
        return torch.einsum("ij,jo->io", attn, v)


#% v1_first_normal_and_trainable_reversed
#% SelfAttentionV1 | creation_order | The weights are drawn in the reverse order.
#% SelfAttentionV1 | parameter_kind | The weights are not frozen.
class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        size = dimension_inputs, dimension_outputs
        self.W_v = nn.Parameter(torch.randn(*size))
        self.W_k = nn.Parameter(torch.randn(*size))
        self.W_q = nn.Parameter(torch.randn(*size))

    def forward(self, x):
        k = x @ self.W_k
        s = (x @ self.W_q) @ k.T / k.shape[1] ** 0.5
        return s.softmax(1) @ (x @ self.W_v)


#% v2_biased_and_scaled_by_power
#% SelfAttention_v2 | bias_wrong, argument_ignored | There is a bias even if qkv_bias is false.
#% SelfAttention_v2 | scale_wrong_power | The scores are divided by the key's size itself.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        sims = (q @ k.T) / k.shape[-1]
        return torch.softmax(sims, dim=-1) @ v


#% v2_keys_with_keys_twice
#% SelfAttention_v2 | operand_repeated, projection_exchanged, layer_unused | The keys are compared with themselves.
#% SelfAttention_v2 | softmax_twice | The softmax is taken of weights.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        k, v = self.W_key(x), self.W_value(x)
        w = self.softmax(k @ k.T / k.shape[-1] ** 0.5)
        return self.softmax(w) @ v


#% transfer_swaps_and_accepts_bias
#% transfer_weights | projection_exchanged | The weights of queries and keys are exchanged.
#% transfer_weights | check_missing | A source with a bias is not refused.
def transfer_weights(source, target):
    target.W_query.data = source.W_key.weight.data.T.clone()
    target.W_key.data = source.W_query.weight.data.T.clone()
    target.W_value.data = source.W_value.weight.data.T.clone()


#% v1_normal_and_v2_unscaled
#% SelfAttention_v1 | distribution | The weights are drawn from the normal distribution.
#% SelfAttention_v2 | scale_missing | The scores are not scaled.
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x):
        k = x @ self.W_key
        w = torch.softmax((x @ self.W_query) @ k.T / k.shape[-1] ** 0.5, dim=-1)
        return w @ (x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        w = (self.W_query(x) @ self.W_key(x).T).softmax(dim=1)
        return w @ self.W_value(x)


#% v2_seeds_and_mixes_transposed
#% SelfAttention_v2 | seeded_inside | The constructor seeds torch.
#% SelfAttention_v2 | transposed | The transposed weights mix the values.
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        torch.manual_seed(789)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights.T @ values


#% right_with_a_shared_helper
def attend(q, k, v):
    d = k.shape[-1]
    e = torch.exp(q.mm(k.t()).div(d**0.5))
    return e.mm(v) / e.sum(dim=1).unsqueeze(1)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for n in "query", "key", "value":
            self.register_parameter(f"W_{n}", nn.Parameter(torch.rand((d_in, d_out))))

    def forward(self, x):
        return attend(x @ self.W_query, x @ self.W_key, x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for n in "query", "key", "value":
            self.add_module(f"W_{n}", nn.Linear(d_in, d_out, qkv_bias))

    def forward(self, x):
        return attend(self.W_query(x), self.W_key(x), self.W_value(x))


#% right_by_inheritance
class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        self.W_q, self.W_k, self.W_v = [
            nn.Parameter(torch.randn(dimension_inputs, dimension_outputs)).requires_grad_(False)
            for _ in range(3)
        ]

    def forward(self, input_vectors):
        kq = self.W_q @ self.W_k.T / self.W_k.shape[1] ** 0.5
        return (input_vectors @ kq @ input_vectors.T).softmax(-1) @ (input_vectors @ self.W_v)


class SelfAttention_v1(SelfAttentionV1):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    W_q = property(lambda self: self.W_query)
    W_k = property(lambda self: self.W_key)
    W_v = property(lambda self: self.W_value)


#% right_transfer_by_new_parameters
def transfer_weights(source, target):
    assert_no_bias(source)
    for name in ("W_query", "W_key", "W_value"):
        w = getattr(source, name).weight
        setattr(target, name, nn.Parameter(w.detach().t().contiguous().clone()))


def assert_no_bias(model):
    if model.W_query.bias is not None or model.W_key.bias is not None or model.W_value.bias is not None:
        raise ValueError("source has a bias")


#% trainable_s1_of_04
#% SelfAttentionV1 | parameter_kind | SelfAttentionV1's weights are trainable (requires_grad not False).
class SelfAttentionV1(nn.Module):

    def __init__(self, dimension_inputs: int, dimension_outputs: int) -> None:
        super().__init__()
        shape = (dimension_inputs, dimension_outputs)
        self.W_q = nn.Parameter(torch.randn(shape))
        self.W_k = nn.Parameter(torch.randn(shape))
        self.W_v = nn.Parameter(torch.randn(shape))

    def forward(self, input_vectors: Tensor) -> Tensor:
        queries = input_vectors @ self.W_q
        keys = input_vectors @ self.W_k
        values = input_vectors @ self.W_v
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


#% scale_d_in_s2_of_04
#% SelfAttention_v1 | scale_wrong_size, scale_wrong_power | SelfAttention_v1 divides by the root of d_in (the input's size) instead of the key's size.
class SelfAttention_v1(nn.Module):

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (x @ W for W in (self.W_query, self.W_key, self.W_value))
        att = nn.functional.softmax(torch.einsum('id,jd->ij', q, k) / x.shape[-1] ** 0.5, dim=1)
        return torch.einsum('ij,jd->id', att, v)


#% keys_from_query_layer_s3_of_04
#% SelfAttention_v2 | projection_exchanged | SelfAttention_v2 computes the keys with W_query (copy-paste).
class SelfAttention_v2(nn.Module):

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        queries = self.W_query(x)
        keys = self.W_query(x)
        values = self.W_value(x)
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


#% shared_memory_s4_of_04
#% transfer_weights | transposed | transfer_weights lets the target share the source's memory (a transposed view) instead of copying.
def transfer_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    for name in ('W_query', 'W_key', 'W_value'):
        layer = getattr(source, name)
        if layer.bias is not None:
            raise ValueError('bias')
        setattr(target, name, nn.Parameter(layer.weight.data.t()))


#% forward_d1_of_04
#% SelfAttention_v1 | scale_missing | SelfAttention_v1 does not scale the scores.
#% SelfAttention_v1 | softmax_axis, wrong_axis | SelfAttention_v1 takes the softmax over the queries (dim 0).
class SelfAttention_v1(nn.Module):

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Tensor) -> Tensor:
        queries, keys, values = (x @ self.W_query, x @ self.W_key, x @ self.W_value)
        weights = torch.softmax(queries @ keys.T, dim=0)
        return weights @ values


#% init_d2_of_04
#% SelfAttention_v1 | distribution | SelfAttention_v1 draws with randn instead of rand.
#% SelfAttention_v1 | creation_order | SelfAttention_v1 draws W_value before W_key.
class SelfAttention_v1(nn.Module):

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x: Tensor) -> Tensor:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


#% transfer_d3_of_04
#% transfer_weights | check_missing | transfer_weights does not raise ValueError for a source with a bias.
#% transfer_weights | projection_exchanged | transfer_weights copies W_key's weight into W_value.
def transfer_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    with torch.no_grad():
        target.W_query.data = source.W_query.weight.T.clone()
        target.W_key.data = source.W_key.weight.T.clone()
        target.W_value.data = source.W_key.weight.T.clone()


#% v2_transfer_d4_of_04
#% SelfAttention_v2 | transposed | SelfAttention_v2 multiplies the values with the transposed weights.
#% transfer_weights | reshaped | transfer_weights reshapes W_value's weight instead of transposing it.
class SelfAttention_v2(nn.Module):

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights.T @ values


def transfer_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    layers = (source.W_query, source.W_key, source.W_value)
    if any((layer.bias is not None for layer in layers)):
        raise ValueError('the source has a bias, but the target cannot hold one')
    with torch.no_grad():
        target.W_query.copy_(source.W_query.weight.T)
        target.W_key.copy_(source.W_key.weight.T)
        target.W_value.copy_(source.W_value.weight.reshape(target.W_value.shape))
