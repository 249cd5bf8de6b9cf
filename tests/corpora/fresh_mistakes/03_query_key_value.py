#% always_normal
#% draw_weights | distribution, argument_ignored | The weights are drawn from the normal distribution even for "rand".
def draw_weights(d_in, d_out, distribution="rand"):
    if distribution not in ("rand", "randn"):
        raise ValueError("unknown distribution " + distribution)
    Wq = nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
    Wk = nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
    Wv = nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
    return Wq, Wk, Wv


#% seeds_with_123
#% draw_weights | seeded_inside | The function seeds torch, so the caller's seed has no effect.
def draw_weights(d_in, d_out, distribution="rand"):
    torch.manual_seed(123)
    fns = {"rand": torch.rand, "randn": torch.randn}
    if distribution not in fns:
        raise ValueError(distribution)
    mats = [nn.Parameter(fns[distribution](d_in, d_out), requires_grad=False) for _ in range(3)]
    return tuple(mats)


#% values_drawn_first
#% draw_weights | creation_order | The weights of the values are drawn before the others.
def draw_weights(d_in, d_out, distribution="rand"):
    def make():
        if distribution == "rand":
            return nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        if distribution == "randn":
            return nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
        raise ValueError("rand or randn")

    W_value = make()
    W_query = make()
    W_key = make()
    return W_query, W_key, W_value


#% anything_else_is_normal
#% draw_weights | check_missing | An unknown distribution is drawn from instead of refused.
def draw_weights(d_in, d_out, distribution="rand"):
    sample = torch.rand if distribution == "rand" else torch.randn
    return tuple(nn.Parameter(sample((d_in, d_out)), requires_grad=False) for _ in "qkv")


#% weights_are_trainable
#% draw_weights | parameter_kind | The parameters require gradients.
def draw_weights(d_in, d_out, distribution="rand"):
    if distribution == "rand":
        ws = [torch.rand(d_in, d_out) for _ in range(3)]
    elif distribution == "randn":
        ws = [torch.randn(d_in, d_out) for _ in range(3)]
    else:
        raise ValueError("distribution?")
    return [nn.Parameter(w) for w in ws]


#% project_like_linear
#% project | shape_error, transposed | The weight is transposed as in nn.Linear, so the shapes do not fit.
import torch.nn.functional as F


def project(inputs, weight):
    return F.linear(inputs, weight)


#% keys_times_queries
#% attention_scores | transposed, operand_repeated | Row i holds the scores of key i instead of those of query i.
def attention_scores(queries, keys):
    return keys @ queries.T


#% divides_by_d_k
#% attention_weights | scale_wrong_power | The scores are divided by d_k instead of its square root.
def attention_weights(scores, d_k):
    return nn.functional.softmax(scores / d_k, dim=-1)


#% divides_by_root_of_tokens
#% attention_weights | scale_wrong_size, argument_ignored | The scores are divided by the root of the number of tokens.
import math


def attention_weights(scores, d_k):
    scale = 1.0 / math.sqrt(scores.size(-1))
    return torch.softmax(scores.mul(scale), -1)


#% softmax_over_the_first_axis
#% attention_weights | softmax_axis | The softmax runs over the queries.
def attention_weights(scores, d_k):
    s = scores * d_k ** -0.5
    return s.softmax(dim=0)


#% mixes_by_columns
#% context_vectors | transposed | The columns of the weights mix the values instead of the rows.
def context_vectors(weights, values):
    return torch.matmul(weights.t(), values)


#% values_from_keys
#% self_attention | projection_exchanged | The keys are mixed instead of the values.
import math


def self_attention(inputs, W_query, W_key, W_value):
    Q, K, V = inputs @ W_query, inputs @ W_key, inputs @ W_key
    A = torch.softmax(Q @ K.T / math.sqrt(K.shape[1]), dim=1)
    return A @ V


#% queries_with_queries
#% self_attention | operand_repeated, projection_exchanged | The queries are compared with themselves.
def self_attention(inputs, W_query, W_key, W_value):
    q = torch.einsum("td,dk->tk", inputs, W_query)
    k = torch.einsum("td,dk->tk", inputs, W_key)
    v = torch.einsum("td,dk->tk", inputs, W_value)
    att = torch.einsum("ik,jk->ij", q, q) / k.size(1) ** 0.5
    return torch.einsum("ij,jv->iv", att.softmax(1), v)


#% scaled_by_value_size
#% self_attention | scale_wrong_size | The scores are divided by the root of the value's size.
import math


def self_attention(inputs, W_query, W_key, W_value):
    d = W_value.shape[1]
    scores = (inputs @ W_query) @ (inputs @ W_key).transpose(0, 1)
    return torch.softmax(scores / math.sqrt(d), dim=-1) @ (inputs @ W_value)


#% returns_the_weights
#% self_attention | wrong_return | The attention weights are returned instead of the context vectors.
def self_attention(inputs, W_query, W_key, W_value):
    scores = attention_scores(project(inputs, W_query), project(inputs, W_key))
    weights = attention_weights(scores, W_key.shape[1])
    context = context_vectors(weights, project(inputs, W_value))
    return weights


#% unscaled_and_per_column
#% self_attention | scale_missing | The scores are not scaled.
#% self_attention | softmax_axis | The softmax runs over the queries.
def self_attention(inputs, W_query, W_key, W_value):
    q = inputs.matmul(W_query)
    k = inputs.matmul(W_key)
    v = inputs.matmul(W_value)
    att = nn.Softmax(dim=0)(q.matmul(k.T))
    return att.matmul(v)


#% exchanged_and_scaled_by_inputs
#% self_attention | transposed, projection_exchanged | Keys take the part of queries and queries that of keys.
#% self_attention | scale_wrong_size | The scores are divided by the root of the input's size.
def self_attention(inputs, W_query, W_key, W_value):
    keys = inputs @ W_key
    queries = inputs @ W_query
    sims = keys @ queries.T
    sims = sims / inputs.shape[-1] ** 0.5
    return sims.softmax(-1) @ (inputs @ W_value)


#% seeds_and_reorders
#% draw_weights | seeded_inside | The function seeds torch.
#% draw_weights | creation_order | Keys are drawn before queries.
def draw_weights(d_in, d_out, distribution="rand"):
    torch.manual_seed(42)
    if distribution == "rand":
        draw = torch.rand
    elif distribution == "randn":
        draw = torch.randn
    else:
        raise ValueError("bad distribution")
    k = nn.Parameter(draw(d_in, d_out), requires_grad=False)
    q = nn.Parameter(draw(d_in, d_out), requires_grad=False)
    v = nn.Parameter(draw(d_in, d_out), requires_grad=False)
    return q, k, v


#% unchecked_and_trainable
#% draw_weights | check_missing | An unknown distribution is not refused.
#% draw_weights | parameter_kind | The parameters require gradients.
def draw_weights(d_in, d_out, distribution="rand"):
    W = []
    for _ in range(3):
        if distribution == "randn":
            W.append(nn.Parameter(torch.randn(d_in, d_out)))
        else:
            W.append(nn.Parameter(torch.rand(d_in, d_out)))
    return tuple(W)


#% multiplied_and_per_column
#% attention_weights | scale_wrong_power | The scores are multiplied by the root of d_k.
#% attention_weights | softmax_axis | The softmax runs over the queries.
import math


def attention_weights(scores, d_k):
    return torch.softmax(scores * math.sqrt(d_k), dim=0)


#% values_from_queries_detached
#% self_attention | projection_exchanged | The values are computed with the weights of the queries.
#% self_attention | detached | The attention weights are detached.
def self_attention(inputs, W_query, W_key, W_value):
    q = inputs @ W_query
    k = inputs @ W_key
    v = inputs @ W_query
    w = torch.softmax(torch.inner(q, k) / k.shape[-1] ** 0.5, dim=-1)
    return w.detach() @ v


#% unscaled_and_mixed_by_columns
#% attention_weights | scale_missing, argument_ignored | The scores are not scaled.
#% context_vectors | transposed | The columns of the weights mix the values.
def attention_weights(scores, d_k):
    return torch.exp(scores - scores.amax(-1, keepdim=True)) / torch.exp(
        scores - scores.amax(-1, keepdim=True)
    ).sum(-1, keepdim=True)


def context_vectors(weights, values):
    if weights.dim() == 1:
        return weights @ values
    return torch.einsum("ji,jd->id", weights, values)


#% twice_and_halved
#% self_attention | softmax_twice | The softmax is taken of weights.
#% self_attention | scale_wrong_power | The scores are divided by half the key's size.
def self_attention(inputs, W_query, W_key, W_value):
    q, k, v = (inputs @ W for W in (W_query, W_key, W_value))
    s = q @ k.mT / (k.shape[1] / 2)
    return s.softmax(-1).softmax(-1) @ v


#% right_with_a_table_of_functions
def draw_weights(d_in, d_out, distribution="rand"):
    try:
        draw = {"rand": torch.rand, "randn": torch.randn}[distribution]
    except KeyError:
        raise ValueError(f"no distribution {distribution}") from None
    out = []
    for _ in range(3):
        p = nn.Parameter(draw(d_in, d_out))
        p.requires_grad_(False)
        out.append(p)
    return out


def project(inputs, weight):
    return nn.functional.linear(inputs, weight.T)


#% right_with_einsum
def attention_scores(queries, keys):
    return torch.einsum("...d,kd->...k", queries, keys)


def attention_weights(scores, d_k):
    e = (scores / torch.sqrt(torch.tensor(float(d_k)))).exp()
    return e / e.sum(-1, keepdim=True)


def context_vectors(weights, values):
    return torch.einsum("...k,kv->...v", weights, values)


#% right_with_scaled_queries
def self_attention(inputs, W_query, W_key, W_value):
    d_k = W_query.size(1)
    Q = inputs.mm(W_query) / d_k**0.25
    K = inputs.mm(W_key) / d_k**0.25
    rows = [torch.mv(K, q).softmax(0) for q in Q]
    return torch.stack(rows) @ inputs @ W_value
