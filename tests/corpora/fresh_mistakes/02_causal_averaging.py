#% loop_without_itself
#% causal_mean_loop | boundary, mask_shifted | Token t is left out of its own mean.
def causal_mean_loop(x):
    B, T, C = x.shape
    xbow = torch.zeros((B, T, C))
    for b in range(B):
        for t in range(T):
            xprev = x[b, :t]
            xbow[b, t] = torch.mean(xprev, 0)
    return xbow


#% loop_over_everything
#% causal_mean_loop | mask_missing | Every token becomes the mean of the whole sequence.
def causal_mean_loop(x):
    rows = []
    for seq in x:
        rows.append(torch.stack([seq.mean(dim=0) for _ in range(len(seq))]))
    return torch.stack(rows)


#% loop_writes_into_x
#% causal_mean_loop | in_place | The means overwrite the caller's tensor.
def causal_mean_loop(x):
    for t in range(x.shape[1] - 1, -1, -1):
        x[:, t] = x[:, : t + 1].mean(dim=1)
    return x


#% weights_divided_by_T
#% averaging_weights | wrong_divisor | Every row is divided by T, not by the number of its tokens.
def averaging_weights(T):
    a = torch.tril(torch.ones((T, T)))
    return a / T


#% weights_of_the_future
#% averaging_weights | mask_inverted, transposed | Token t averages itself and the tokens after it.
def averaging_weights(T):
    m = torch.ones(T, T).triu()
    return m / m.sum(1, keepdim=True)


#% weights_divided_by_column_sums
#% averaging_weights | wrong_divisor, wrong_axis | The columns are made to sum to one instead of the rows.
def averaging_weights(T):
    wei = torch.tril(torch.ones(T, T))
    wei = wei / torch.sum(wei, dim=0, keepdim=True)
    return wei


#% cumsum_over_the_batch
#% causal_mean_matmul | wrong_axis, batch_mixed | The running sum runs over the items of the batch.
def causal_mean_matmul(x):
    counts = torch.arange(1, x.shape[1] + 1).view(1, -1, 1)
    return x.cumsum(dim=0) / counts


#% matmul_without_division
#% causal_mean_matmul | wrong_divisor | The rows are added up and never divided by their number.
def causal_mean_matmul(x):
    T = x.size(1)
    lower = torch.ones(T, T).tril()
    return torch.einsum("ij,bjc->bic", lower, x)


#% softmax_weights_filled_with_zero
#% masked_softmax_weights | mask_fill, mask_missing | Hidden scores are zero like the others, so nothing is hidden.
import torch.nn.functional as F


def masked_softmax_weights(T):
    tril = torch.tril(torch.ones(T, T))
    wei = torch.zeros((T, T))
    wei = wei.masked_fill(tril == 0, 0.0)
    return F.softmax(wei, dim=-1)


#% softmax_weights_see_the_next
#% masked_softmax_weights | mask_shifted | Each token also sees the one after it.
def masked_softmax_weights(T):
    future = torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=2)
    wei = torch.zeros(T, T)
    wei[future] = float("-inf")
    return wei.softmax(dim=1)


#% softmax_weights_per_column
#% masked_softmax_weights | softmax_axis | The columns sum to one instead of the rows.
def masked_softmax_weights(T):
    bias = torch.full((T, T), float("-inf")).triu(1)
    return torch.softmax(bias, dim=0)


#% softmax_mean_of_first_item
#% causal_mean_softmax | batch_mixed | The mean of the first sequence is returned for every item.
def causal_mean_softmax(x):
    B, T, C = x.shape
    keep = torch.tril(torch.ones(T, T)).bool()
    wei = torch.where(keep, torch.zeros(T, T), torch.tensor(-torch.inf)).softmax(-1)
    out = wei @ x[0]
    return out.expand(B, T, C)


#% softmax_mean_without_graph
#% causal_mean_softmax | detached | Everything is computed without a graph, so x gets no gradient.
@torch.no_grad()
def causal_mean_softmax(x):
    T = x.shape[-2]
    m = torch.tril(torch.ones(T, T))
    s = torch.zeros(T, T).masked_fill(m == 0, -1e9)
    return torch.softmax(s, dim=-1) @ x


#% softmax_mean_twice
#% causal_mean_softmax | softmax_twice | The softmax is taken of weights, so hidden tokens count again.
def causal_mean_softmax(x):
    w = masked_softmax_weights(x.shape[1])
    return torch.softmax(w, dim=1) @ x


#% softmax_mean_shifted_and_twice
#% causal_mean_softmax | mask_shifted | Each token also sees the one after it.
#% causal_mean_softmax | softmax_twice | The softmax is taken of weights.
import torch.nn.functional as F


def causal_mean_softmax(x):
    T = x.shape[1]
    seen = torch.tril(torch.ones(T, T), diagonal=1)
    w = torch.zeros(T, T).masked_fill(seen == 0, float("-inf"))
    w = F.softmax(w, dim=-1)
    w = F.softmax(w, dim=-1)
    return w @ x


#% softmax_weights_shifted_per_column
#% masked_softmax_weights | mask_shifted | Each token also sees the one after it.
#% masked_softmax_weights | softmax_axis | The columns sum to one instead of the rows.
def masked_softmax_weights(T):
    i = torch.arange(T)
    hidden = i[None, :] > i[:, None] + 1
    s = torch.zeros(T, T).masked_fill(hidden, float("-inf"))
    return s.softmax(0)


#% loop_detached_and_divided_by_T
#% causal_mean_loop | detached | The rows are copied out of the graph.
#% causal_mean_loop | wrong_divisor | Each sum is divided by T, not by the number of its tokens.
def causal_mean_loop(x):
    B, T, C = x.shape
    out = torch.empty(B, T, C)
    for b in range(B):
        running = torch.zeros(C)
        for t in range(T):
            running = running + x[b, t].detach()
            out[b, t] = running / T
    return out


#% column_sums_and_zero_fill
#% averaging_weights | wrong_divisor, wrong_axis | The columns are made to sum to one.
#% masked_softmax_weights | mask_fill, mask_missing | Hidden scores are zero, so every token is visible.
def averaging_weights(T):
    tri = torch.ones(T, T).tril(0)
    return tri / tri.sum(0)


def masked_softmax_weights(T):
    tri = torch.tril(torch.ones(T, T))
    scores = torch.zeros(T, T) * tri
    return torch.softmax(scores, dim=-1)


#% matmul_of_first_item_without_division
#% causal_mean_matmul | batch_mixed | Only the first sequence is used, for every item.
#% causal_mean_matmul | wrong_divisor | The rows are added up and never divided.
def causal_mean_matmul(x):
    B, T, C = x.size()
    tri = torch.tril(torch.ones(T, T))
    res = tri.matmul(x[0])
    return res.unsqueeze(0).repeat(B, 1, 1)


#% matmul_strict_and_detached
#% causal_mean_matmul | mask_shifted | A token does not count for itself.
#% causal_mean_matmul | detached | The input is detached.
def causal_mean_matmul(x):
    T = x.shape[1]
    m = torch.tril(torch.ones(T, T), -1)
    m[0, 0] = 1.0
    w = m / m.sum(-1, keepdim=True)
    return w @ x.data


#% softmax_mean_soft_mask_and_columns
#% causal_mean_softmax | mask_fill | Hidden scores are -1, so hidden tokens still count.
#% causal_mean_softmax | softmax_axis | The columns sum to one instead of the rows.
def causal_mean_softmax(x):
    T = x.shape[1]
    s = torch.zeros(T, T)
    s = s.masked_fill(torch.tril(torch.ones(T, T)) == 0, -1.0)
    attn = torch.nn.Softmax(dim=0)(s)
    return torch.matmul(attn, x)


#% right_with_running_sums
def causal_mean_loop(x):
    total = torch.zeros_like(x[:, 0])
    out = []
    for t in range(x.shape[1]):
        total = total + x[:, t]
        out.append(total / (t + 1))
    return torch.stack(out, dim=1)


def averaging_weights(T):
    rows = [[1 / (t + 1) if j <= t else 0.0 for j in range(T)] for t in range(T)]
    return torch.tensor(rows, dtype=torch.float32)


#% right_with_where_and_einsum
def causal_mean_matmul(x):
    n = x.shape[1]
    i = torch.arange(n)
    w = torch.where(i[:, None] >= i[None, :], 1.0, 0.0) / (i + 1.0)[:, None]
    return torch.einsum("ts,bsc->btc", w, x)


def masked_softmax_weights(T):
    bias = torch.full((T, T), float("-inf")).triu(diagonal=1)
    e = torch.exp(bias)
    return e / e.sum(dim=1, keepdim=True)


#% right_with_bmm
def causal_mean_softmax(x):
    B, T, _ = x.shape
    hide = ~torch.ones(T, T, dtype=torch.bool).tril()
    w = torch.zeros(B, T, T).masked_fill(hide, -torch.inf).softmax(dim=2)
    return torch.bmm(w, x)


def causal_mean_matmul(x):
    return (x.permute(0, 2, 1) @ averaging_weights(x.shape[1]).T).permute(0, 2, 1)


#% total_not_reset_s1_of_02
#% causal_mean_loop | state_kept | causal_mean_loop does not reset the running sum for each sequence of the batch.
def causal_mean_loop(x: Tensor) -> Tensor:
    out = torch.empty_like(x)
    total = torch.zeros(x.shape[-1])
    for b in range(len(x)):
        for t in range(x.shape[1]):
            total = total + x[b, t]
            out[b, t] = total / (t + 1)
    return out


#% divides_by_T_s2_of_02
#% averaging_weights | wrong_divisor, wrong_reduction | averaging_weights divides each row by T instead of by t + 1.
def averaging_weights(T: int) -> Tensor:
    visible = torch.tril(torch.ones(T, T))
    return visible / T


#% weights_transposed_s3_of_02
#% causal_mean_matmul | transposed | causal_mean_matmul uses the weights transposed (einsum sums over the rows).
def causal_mean_matmul(x: Tensor) -> Tensor:
    T = x.size(1)
    w = torch.ones(T, T).tril()
    w = w / torch.arange(1, T + 1).view(T, 1)
    return torch.einsum('st,bsc->btc', w, x)


#% softmax_columns_s4_of_02
#% masked_softmax_weights | softmax_axis, wrong_axis | masked_softmax_weights takes the softmax over the columns (dim 0).
def masked_softmax_weights(T: int) -> Tensor:
    visible = torch.tril(torch.ones(T, T))
    scores = torch.zeros(T, T)
    scores = scores.masked_fill(visible == 0, float('-inf'))
    return torch.softmax(scores, dim=0)


#% softmax_d1_of_02
#% causal_mean_softmax | mask_fill | causal_mean_softmax hides later tokens with -1 instead of minus infinity.
#% causal_mean_softmax | softmax_axis, wrong_axis | causal_mean_softmax takes the softmax over the columns (dim 0).
def causal_mean_softmax(x: Tensor) -> Tensor:
    T = x.shape[1]
    hide = torch.triu(torch.ones(T, T), diagonal=1).bool()
    scores = torch.where(hide, torch.tensor(0.0), torch.tensor(0.0))
    scores[hide] = -1.0
    weights = scores.softmax(dim=0)
    return weights @ x


#% weights_d2_of_02
#% averaging_weights | mask_shifted, mask_extra | averaging_weights leaves out the token itself (diagonal=-1).
#% averaging_weights | wrong_divisor, wrong_reduction | averaging_weights divides by T instead of by the row's number of tokens.
def averaging_weights(T: int) -> Tensor:
    return torch.tril(torch.ones(T, T), diagonal=-1) / T


#% weights_matmul_d3_of_02
#% averaging_weights | mask_inverted | averaging_weights keeps the later tokens (triu instead of tril).
#% causal_mean_matmul | wrong_divisor, wrong_reduction | causal_mean_matmul divides the result by T once more.
def averaging_weights(T: int) -> Tensor:
    visible = torch.triu(torch.ones(T, T))
    return visible / visible.sum(dim=1, keepdim=True)


def causal_mean_matmul(x: Tensor) -> Tensor:
    weights = averaging_weights(x.shape[1])
    return weights @ x / x.shape[1]


#% softmax_two_d4_of_02
#% masked_softmax_weights | mask_fill | masked_softmax_weights fills hidden scores with 0 instead of minus infinity.
#% causal_mean_softmax | transposed | causal_mean_softmax multiplies with the transposed weights.
def masked_softmax_weights(T: int) -> Tensor:
    visible = torch.tril(torch.ones(T, T))
    scores = torch.zeros(T, T)
    scores = scores.masked_fill(visible == 0, 0.0)
    return torch.softmax(scores, dim=-1)


def causal_mean_softmax(x: Tensor) -> Tensor:
    w = masked_softmax_weights(x.shape[1])
    return w.T @ x
