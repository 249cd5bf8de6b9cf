#% dot_by_zip_without_check
#% dot_product | check_missing | Unequal lengths give a number instead of a ValueError.
def dot_product(a, b):
    res = 0.
    for ai, bi in zip(a, b):
        res = res + ai * bi
    return res


#% dot_skips_the_first
#% dot_product | boundary | The first pair of elements is left out of the sum.
def dot_product(a, b):
    if len(a) != len(b):
        raise ValueError("length mismatch")
    s = 0
    for idx in range(1, len(a)):
        s += a[idx] * b[idx]
    return s


#% scores_through_item
#% scores_for_query | detached | The scores are copied into a new tensor, so no gradient reaches the inputs.
def scores_for_query(inputs, query):
    out = []
    for x_i in inputs:
        out.append(torch.dot(x_i, query).item())
    return torch.tensor(out)


#% normalises_in_place
#% normalize_by_sum | in_place | The caller's scores are divided in place.
def normalize_by_sum(scores):
    total = torch.sum(scores)
    scores /= total
    return scores


#% softmax_divides_by_raw_sum
#% softmax_naive | wrong_divisor | The exponentials are divided by the sum of the raw scores.
def softmax_naive(scores):
    top = torch.exp(scores)
    bottom = torch.sum(scores, dim=0)
    return top / bottom


#% naive_by_ready_softmax
#% softmax_naive | forbidden_function | Torch's ready softmax is called instead of exponentials.
import torch.nn.functional as F


def softmax_naive(scores):
    return F.softmax(scores, dim=0)


#% stable_with_one_maximum_for_all
#% softmax_stable | softmax_unstable | One maximum of the whole tensor is subtracted, so slices far below it vanish.
def softmax_stable(scores, dim):
    e = (scores - scores.max()).exp()
    return e / e.sum(dim=dim, keepdim=True)


#% stable_always_last_axis
#% softmax_stable | argument_ignored, softmax_axis, wrong_axis | The axis that is asked for is ignored; the last one is used.
def softmax_stable(scores, dim):
    biggest, _ = torch.max(scores, -1, keepdim=True)
    e = torch.exp(scores - biggest)
    return e.div(e.sum(-1, keepdim=True))


#% context_without_unsqueeze
#% context_vector | shape_error | The weights lack an axis, so (T, d) times (T,) does not fit.
def context_vector(weights, inputs):
    weighted = inputs * weights
    return weighted.sum(dim=0)


#% context_is_a_mean
#% context_vector | wrong_reduction, wrong_divisor | The weighted rows are averaged instead of added.
def context_vector(weights, inputs):
    weighted = inputs * weights.unsqueeze(1)
    return torch.mean(weighted, dim=0)


#% scores_scaled_too_early
#% attention_scores | scale_extra | The scores of this stage are not scaled, but these are divided by the root of d.
import math


def attention_scores(inputs):
    sims = torch.einsum("id,jd->ij", inputs, inputs)
    return sims / math.sqrt(inputs.size(1))


#% scores_by_double_loop
#% attention_scores | loop_over_tokens | Each score is its own dot product, so operations grow with the number of tokens.
def attention_scores(inputs):
    rows = []
    for a in inputs:
        rows.append(torch.stack([a.dot(b) for b in inputs]))
    return torch.stack(rows)


#% weights_per_column
#% attention_weights | softmax_axis | The columns sum to one instead of the rows.
def attention_weights(scores):
    attn = nn_softmax(scores)
    return attn


def nn_softmax(t):
    return torch.nn.functional.softmax(t, dim=0)


#% simple_mixes_transposed
#% simple_self_attention | transposed | The weights are transposed before the mixing.
def simple_self_attention(inputs):
    omega = torch.matmul(inputs, inputs.t())
    alpha = omega.softmax(dim=1)
    z = torch.einsum("ij,id->jd", alpha, inputs)
    return z


#% simple_divides_by_the_sum
#% simple_self_attention | softmax_missing | The scores are divided by their sum; there is no softmax.
def simple_self_attention(inputs):
    sims = inputs.matmul(inputs.transpose(0, 1))
    w = sims / sims.sum(dim=-1, keepdim=True)
    return w.matmul(inputs)


#% simple_returns_both
#% simple_self_attention | wrong_return | The weights are returned as well, in a tuple.
def simple_self_attention(inputs):
    s = inputs @ inputs.T
    a = torch.softmax(s, -1)
    ctx = a @ inputs
    return ctx, a


#% simple_per_column_and_scaled
#% simple_self_attention | softmax_axis | The softmax runs over the queries.
#% simple_self_attention | scale_extra | The scores are divided by the root of d although this stage does not scale.
import math


def simple_self_attention(inputs):
    T, d = inputs.shape
    scores = torch.mm(inputs, inputs.t()).div(math.sqrt(d))
    attn = torch.softmax(scores, 0)
    return torch.mm(attn, inputs)


#% dot_unchecked_and_short
#% dot_product | check_missing | Unequal lengths are not refused.
#% dot_product | boundary | The last pair of elements is left out.
def dot_product(a, b):
    n = min(len(a), len(b))
    i = 0
    acc = 0.0
    while i < n - 1:
        acc += a[i] * b[i]
        i += 1
    return acc


#% stable_overflows_on_last_axis
#% softmax_stable | softmax_unstable | Nothing is subtracted, so scores of 1000 overflow.
#% softmax_stable | argument_ignored, softmax_axis, wrong_axis | The axis that is asked for is ignored.
def softmax_stable(scores, dim):
    numerator = torch.exp(scores)
    denominator = torch.sum(numerator, dim=-1, keepdim=True)
    return numerator / denominator


#% features_compared_and_softmax_repeated
#% attention_scores | transposed, shape_error | Features are compared with features: (d, d) instead of (T, T).
#% attention_weights | softmax_twice | The softmax is taken of weights.
def attention_scores(inputs):
    return torch.matmul(inputs.T, inputs)


def attention_weights(scores):
    soft = torch.nn.Softmax(dim=1)
    normed = soft(scores)
    return soft(normed)


#% sum_detached_and_weights_overwritten
#% normalize_by_sum | detached | The sum is taken out of the graph, so its gradient is lost.
#% context_vector | in_place | The caller's inputs are multiplied in place.
def normalize_by_sum(scores):
    total = float(scores.sum())
    return scores / total


def context_vector(weights, inputs):
    inputs *= weights.view(-1, 1)
    return inputs.sum(0)


#% simple_twice_and_detached
#% simple_self_attention | softmax_twice | The softmax is taken of weights.
#% simple_self_attention | detached | The weights are detached.
import torch.nn.functional as F


def simple_self_attention(inputs):
    logits = inputs @ inputs.T
    p = F.softmax(F.softmax(logits, dim=-1), dim=-1)
    p = p.detach()
    return p @ inputs


#% scores_scaled_and_ready_softmax
#% scores_for_query | scale_extra | The scores are divided by the root of d.
#% softmax_naive | forbidden_function | Torch's ready softmax is called.
def scores_for_query(inputs, query):
    return torch.mv(inputs, query) / query.numel() ** 0.5


def softmax_naive(scores):
    return torch.softmax(scores, dim=0)


#% right_with_logsumexp
def softmax_stable(scores, dim):
    lse = torch.logsumexp(scores, dim=dim, keepdim=True)
    return torch.exp(scores - lse)


def softmax_naive(scores):
    z = scores.exp()
    return z * z.sum().reciprocal()


def attention_weights(scores):
    return torch.log_softmax(scores, dim=1).exp()


#% right_with_einsum_and_recursion
def dot_product(a, b):
    if len(a) != len(b):
        raise ValueError
    if len(a) == 0:
        return 0
    return a[0] * b[0] + dot_product(a[1:], b[1:])


def attention_scores(inputs):
    return torch.tensordot(inputs, inputs, dims=([1], [1]))


def context_vector(weights, inputs):
    return torch.einsum("t,td->d", weights, inputs)


def simple_self_attention(inputs):
    gram = torch.einsum("ic,jc->ij", inputs, inputs)
    e = torch.exp(gram - gram.max(dim=1, keepdim=True).values)
    return torch.einsum("ij,jc->ic", e, inputs) / e.sum(1)[:, None]


#% right_one_query_after_the_other
def scores_for_query(inputs, query):
    return torch.stack([(row * query).sum() for row in inputs])


def context_vector(weights, inputs):
    acc = torch.zeros_like(inputs[0])
    for w, row in zip(weights, inputs):
        acc = acc + w * row
    return acc


def simple_self_attention(inputs):
    out = []
    for q in inputs:
        w = scores_for_query(inputs, q).softmax(dim=0)
        out.append(context_vector(w, inputs))
    return torch.stack(out, dim=0)
