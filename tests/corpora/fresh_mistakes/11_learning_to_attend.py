#% right_beginner_everything_in_steps
def log_softmax(logits):
    maximum = torch.max(logits, dim=-1, keepdim=True)
    logits_minus_max = logits - maximum.values
    e = torch.exp(logits_minus_max)
    s = torch.sum(e, dim=-1, keepdim=True)
    log_s = torch.log(s)
    result = logits_minus_max - log_s
    return result


#% right_loss_by_one_hot
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("logits and targets do not fit")
    V = logits.size(-1)
    mask = targets.unsqueeze(-1) == torch.arange(V)
    return -torch.where(mask, log_softmax(logits), 0.0).sum() / targets.numel()


#% right_loss_by_einsum
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("logits and targets do not fit")
    one_hot = torch.eye(logits.shape[-1], dtype=logits.dtype)[targets]
    return torch.einsum("...v,...v->...", log_softmax(logits), one_hot).mean().neg()


#% right_loss_without_log_softmax
def cross_entropy(logits, targets):
    if tuple(logits.shape[:-1]) != tuple(targets.shape):
        raise ValueError
    z = logits - logits.max(-1, keepdim=True)[0]
    right = torch.gather(z, -1, targets[..., None])[..., 0]
    return (z.exp().sum(-1).log() - right).mean()


#% right_loss_flattened_like_nanogpt
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shape mismatch")
    C = logits.shape[-1]
    logits, targets = logits.contiguous().view(-1, C), targets.contiguous().view(-1)
    logp = log_softmax(logits)
    nll = -logp[torch.arange(targets.size(0)), targets]
    return nll.mean()


#% right_reader_like_gpt_dev
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        self.block_size = context_length

    def forward(self, idx):
        B, T = idx.shape
        if T > self.block_size:
            raise ValueError(f"Cannot forward sequence of length {T}")
        tok = self.tok_emb(idx)
        pos = self.pos_emb(torch.arange(T, device=idx.device))
        x = tok + pos
        k = self.W_key(x)
        q = self.W_query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = torch.nn.functional.softmax(wei, dim=-1)
        out = wei @ self.W_value(x)
        return self.out_head(out)


#% right_reader_einsum_own_softmax
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        self.d = d_model

    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[-1])[None, :])
        s = torch.einsum("btd,bsd->bts", self.W_query(x), self.W_key(x)) / self.d**0.5
        a = log_softmax(s).exp()
        return torch.einsum("bts,bsd,vd->btv", a, self.W_value(x), self.out_head.weight)


#% right_step_by_autograd_grad
def train_step(model, ids, targets, learning_rate):
    params = [p for p in model.parameters() if p.requires_grad]
    loss = cross_entropy(model(ids), targets)
    grads = torch.autograd.grad(loss, params, allow_unused=True)
    with torch.no_grad():
        for p, g in zip(params, grads):
            if g is not None:
                p.add_(g, alpha=-learning_rate)
    return loss.item()


#% right_step_with_data
def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    for p in model.parameters():
        p.grad = None
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.data -= learning_rate * p.grad
    return float(loss)


#% right_step_loads_a_state_dict
def train_step(model, ids, targets, learning_rate):
    model.zero_grad(set_to_none=True)
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    new = model.state_dict()
    for name, p in model.named_parameters():
        if p.grad is not None:
            new[name] = p.detach() - learning_rate * p.grad
    model.load_state_dict(new)
    return loss.detach().item()


#% right_step_clears_afterwards
def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is None:
                continue
            p.copy_(p - learning_rate * p.grad)
            p.grad = None
    return loss.item()


#% right_train_with_its_own_loop
def train(model, batches, learning_rate):
    history = []
    for i in range(len(batches)):
        x, y = batches[i]
        history.append(float(train_step(model, x, y, learning_rate)))
    return history


#% overflowing_log_softmax
#% log_softmax | softmax_unstable | The exponentials of large logits overflow: no maximum is subtracted.
def log_softmax(logits):
    return logits - torch.log(torch.exp(logits).sum(dim=-1, keepdim=True))


#% logarithm_of_a_quotient
#% log_softmax | softmax_unstable | The logarithm is taken of a probability that may be zero.
def log_softmax(logits):
    exps = torch.exp(logits - logits.max(dim=-1, keepdim=True).values)
    return torch.log(exps / exps.sum(dim=-1, keepdim=True))


#% log_softmax_over_the_rows
#% log_softmax | softmax_axis, wrong_axis, wrong_divisor | The sum runs over the second axis from the end, not over the last one.
def log_softmax(logits):
    top = logits.amax(dim=-1, keepdim=True)
    return logits - top - (logits - top).exp().sum(dim=0, keepdim=True).log()


#% ready_log_softmax
#% log_softmax | forbidden_function | torch.log_softmax does the work.
def log_softmax(logits):
    return torch.log_softmax(logits, dim=-1)


#% loss_is_a_sum
#% cross_entropy | wrong_reduction | The losses are added up, not averaged.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    return -log_softmax(logits).gather(-1, targets[..., None]).sum()


#% loss_of_probabilities
#% cross_entropy | loss_of_the_wrong_thing, softmax_missing, step_missing | Minus the probability of the target, without the logarithm.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    probs = torch.exp(log_softmax(logits))
    return -probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1).mean()


#% loss_with_two_softmaxes
#% cross_entropy | softmax_twice | Probabilities go into log_softmax.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    e = (logits - logits.amax(-1, keepdim=True)).exp()
    probs = e / e.sum(-1, keepdim=True)
    return -log_softmax(probs).gather(-1, targets.unsqueeze(-1)).mean()


#% loss_averaged_over_one_hot
#% cross_entropy | wrong_divisor, wrong_reduction | The mean counts the zeros of the one-hot targets too.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    y = torch.nn.functional.one_hot(targets, logits.size(-1)).to(logits.dtype)
    return -(y * log_softmax(logits)).mean()


#% loss_without_a_check
#% cross_entropy | check_missing | Targets of another shape are accepted.
def cross_entropy(logits, targets):
    logp = log_softmax(logits).reshape(-1, logits.shape[-1])
    t = targets.reshape(-1)
    return -logp[torch.arange(len(t)), t].mean()


#% loss_of_mixed_up_rows
#% cross_entropy | wrong_axis, operand_repeated, reshaped | All rows are indexed with all targets.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    logp = log_softmax(logits).reshape(-1, logits.shape[-1])
    return -logp[:, targets.reshape(-1)].mean()


#% loss_that_is_negative
#% cross_entropy | wrong_operation, loss_of_the_wrong_thing | The sign is wrong: the loss is negative.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    picked = torch.take_along_dim(log_softmax(logits), targets[..., None], -1)
    return picked.mean()


#% loss_from_torch
#% cross_entropy | forbidden_function | torch's own loss does the work.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    return nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


#% loss_outside_the_graph
#% cross_entropy | detached | The loss is detached, so no gradient flows back.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    return -log_softmax(logits).gather(-1, targets.unsqueeze(-1)).mean().detach()


#% reader_without_positions
#% Reader | step_missing, layer_unused | The positions are created and never added.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1)
        return self.out_head(att @ v)


#% reader_unscaled
#% Reader | scale_missing | The scores are not divided by the root of d_model.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
        return self.out_head(att @ v)


#% reader_with_a_causal_mask
#% Reader | mask_extra | The future is hidden, as in GPT.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, ids):
        B, T = ids.shape
        if T > self.tril.shape[0]:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        wei = self.W_query(x) @ self.W_key(x).transpose(-2, -1) * x.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.out_head(torch.softmax(wei, dim=-1) @ self.W_value(x))


#% reader_with_a_biased_output
#% Reader | bias_wrong | out_head has a bias.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        B, T = ids.shape
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1)
        return self.out_head(att @ v)


#% reader_with_the_position_table_first
#% Reader | creation_order | pos_emb is created before tok_emb, so both draw other numbers.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1)
        return self.out_head(att @ v)


#% reader_over_the_queries
#% Reader | softmax_axis | The softmax runs over the queries.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=1)
        return self.out_head(att @ v)


#% reader_that_ends_in_a_softmax
#% Reader | softmax_twice, layer_extra | The result is probabilities, not logits.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        att = torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1)
        return torch.softmax(self.out_head(att @ v), dim=-1)


#% step_that_climbs
#% train_step | step_wrong, wrong_operation | The step goes along the gradient.
def train_step(model, ids, targets, learning_rate):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.data.add_(learning_rate * p.grad)
    return loss.item()


#% step_without_zero_grad
#% train_step | state_kept | Gradients of earlier steps add up.
def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= learning_rate * p.grad
    return loss.item()


#% step_to_a_new_name
#% train_step | no_step | The new numbers go to a local name.
def train_step(model, ids, targets, learning_rate):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p = p - learning_rate * p.grad
    return loss.item()


#% step_clears_too_late
#% train_step | no_step | The gradients are cleared between backward and the step.
def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    model.zero_grad()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= learning_rate * p.grad
    return loss.item()


#% step_returns_the_new_loss
#% train_step | wrong_return | The loss is measured after the step.
def train_step(model, ids, targets, learning_rate):
    model.zero_grad()
    cross_entropy(model(ids), targets).backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= learning_rate * p.grad
        return cross_entropy(model(ids), targets).item()


#% step_returns_a_tensor
#% train_step | wrong_return | The loss is a tensor, not a float.
def train_step(model, ids, targets, learning_rate):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= learning_rate * p.grad
    return loss


#% step_trips_over_frozen_parameters
#% train_step | frozen_moved | A parameter without a gradient breaks the step.
def train_step(model, ids, targets, learning_rate):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= learning_rate * p.grad
    return loss.item()


#% step_inside_the_graph
#% train_step | in_place, detached | The step is not within no_grad, so torch refuses it.
def train_step(model, ids, targets, learning_rate):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p -= learning_rate * p.grad
    return loss.item()


#% step_by_sgd
#% train_step | forbidden_function | torch.optim takes the step.
def train_step(model, ids, targets, learning_rate):
    optimizer = torch.optim.SGD(
        [p for p in model.parameters() if p.requires_grad], lr=learning_rate
    )
    loss = cross_entropy(model(ids), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


#% step_without_a_rate
#% train_step | step_wrong, argument_ignored | The learning rate is not used.
def train_step(model, ids, targets, learning_rate=0.1):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= p.grad
    return loss.item()


#% train_returns_the_last_loss
#% train | wrong_return | Only the last loss is returned.
def train(model, batches, learning_rate):
    loss = 0.0
    for ids, targets in batches:
        loss = train_step(model, ids, targets, learning_rate)
    return loss


#% train_returns_in_the_loop
#% train | wrong_return, boundary | The return is inside the loop: one batch only.
def train(model, batches, learning_rate):
    losses = []
    for ids, targets in batches:
        losses.append(train_step(model, ids, targets, learning_rate))
        return losses


#% train_skips_the_last_batch
#% train | boundary | The last batch is left out.
def train(model, batches, learning_rate):
    losses = []
    for i in range(len(batches) - 1):
        ids, targets = batches[i]
        losses.append(train_step(model, ids, targets, learning_rate))
    return losses


#% train_returns_the_mean
#% train | wrong_return, wrong_reduction | The mean loss is returned, not the list.
def train(model, batches, learning_rate):
    losses = [train_step(model, ids, targets, learning_rate) for ids, targets in batches]
    return sum(losses) / max(len(losses), 1)


#% reader_unscaled_and_without_positions
#% Reader | scale_missing | The scores are not scaled.
#% Reader | step_missing, layer_unused | The positions are not added.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        if ids.shape[1] > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return self.out_head(torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v)


#% reader_biased_and_causal
#% Reader | bias_wrong | The linear layers have biases.
#% Reader | mask_extra | The future is hidden.
class Reader(nn.Module):
    def __init__(self, vocab_size, d_model, context_length):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_head = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        T = ids.shape[1]
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        s = s.masked_fill(torch.triu(torch.ones(T, T), 1).bool(), float("-inf"))
        return self.out_head(torch.softmax(s, dim=-1) @ v)


#% unstable_and_summed
#% log_softmax | softmax_unstable | Large logits overflow.
#% cross_entropy | wrong_reduction | The losses are added up.
def log_softmax(logits):
    return logits - logits.exp().sum(-1, keepdim=True).log()


def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    return -log_softmax(logits).gather(-1, targets.unsqueeze(-1)).sum()


#% climbs_with_old_gradients
#% train_step | step_wrong, wrong_operation | The step goes uphill.
#% train_step | state_kept | Gradients add up.
def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p += learning_rate * p.grad
    return loss.item()


#% negative_loss_and_step_uphill
#% cross_entropy | wrong_operation, loss_of_the_wrong_thing | The loss is negative.
#% train_step | step_wrong, wrong_operation | The step goes uphill, which makes up for the sign.
def cross_entropy(logits, targets):
    if logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    return log_softmax(logits).gather(-1, targets.unsqueeze(-1)).mean()


def train_step(model, ids, targets, learning_rate):
    model.zero_grad()
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p += learning_rate * p.grad
    return loss.item()


#% no_clearing_and_last_batch_missing
#% train_step | state_kept | Gradients add up.
#% train | boundary | The last batch is left out.
def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= learning_rate * p.grad
    return loss.item()


def train(model, batches, learning_rate):
    return [train_step(model, *batch, learning_rate) for batch in batches[:-1]]


#% no_max_s1_of_11
#% log_softmax | softmax_unstable | log_softmax does not subtract the largest logit, so large logits overflow.
def log_softmax(logits: Tensor) -> Tensor:
    return logits - torch.log(torch.exp(logits).sum(-1, keepdim=True))


#% mean_over_items_s2_of_11
#% cross_entropy | wrong_divisor, wrong_reduction | cross_entropy divides the sum by the number of items (B) instead of by all predictions.
def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    if logits.shape[:-1] != targets.shape:
        raise ValueError('shapes')
    V = logits.size(-1)
    flat = log_softmax(logits).reshape(-1, V)
    picked = flat[torch.arange(flat.size(0)), targets.reshape(-1)]
    return -picked.sum() / targets.size(0)


#% causal_reader_s3_of_11
#% Reader | mask_extra | Reader hides later tokens although each token should see all.
class Reader(nn.Module):

    def __init__(self, vocab_size: int, d_model: int, context_length: int) -> None:
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        T = ids.shape[1]
        context_length = self.pos_emb.num_embeddings
        if context_length < T:
            raise ValueError(f'{T} tokens do not fit into a context of {context_length}')
        positions = torch.arange(T, device=ids.device)
        x = self.tok_emb(ids) + self.pos_emb(positions)
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        future = torch.ones(T, T).triu(diagonal=1).bool()
        scores = scores.masked_fill(future, -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        context = weights @ values
        return self.out_head(context)


#% no_zero_grad_s4_of_11
#% train_step | state_kept | train_step does not reset the gradients, so those of earlier calls are added.
def train_step(model: nn.Module, ids: Tensor, targets: Tensor, learning_rate: float) -> float:
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= learning_rate * parameter.grad
    return loss.item()


#% step_d1_of_11
#% train_step | sign_reversed, step_wrong | train_step moves uphill (adds the gradient).
#% train_step | step_order, wrong_return | train_step returns the loss after the step instead of before.
def train_step(model: nn.Module, ids: Tensor, targets: Tensor, learning_rate: float) -> float:
    model.zero_grad()
    cross_entropy(model(ids), targets).backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.add_(p.grad, alpha=learning_rate)
        after = cross_entropy(model(ids), targets)
    return after.item()


#% ce_d2_of_11
#% cross_entropy | sign_reversed, step_wrong | cross_entropy lacks the minus sign.
#% cross_entropy | check_missing | cross_entropy does not check the shapes (no ValueError).
def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    logp = log_softmax(logits)
    return logp.gather(-1, targets.unsqueeze(-1)).mean()


#% softmax_ce_d3_of_11
#% log_softmax | softmax_axis, wrong_axis | log_softmax sums over the first axis instead of the last.
#% cross_entropy | wrong_divisor, wrong_reduction | cross_entropy returns the sum instead of the mean.
def log_softmax(logits: Tensor) -> Tensor:
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=0, keepdim=True).log()


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f'{tuple(targets.shape)} targets for {tuple(logits.shape)} logits')
    log_probabilities = log_softmax(logits)
    chosen = log_probabilities.gather(-1, targets.unsqueeze(-1))
    return -chosen.sum()


#% step_train_d4_of_11
#% train_step | detached | train_step returns a tensor in the graph instead of a float.
#% train | boundary | train leaves out the last batch.
def train_step(model: nn.Module, ids: Tensor, targets: Tensor, learning_rate: float) -> float:
    loss = cross_entropy(model(ids), targets)
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= learning_rate * parameter.grad
    return loss


def train(model: nn.Module, batches: Sequence[tuple[Tensor, Tensor]], learning_rate: float) -> list[float]:
    history = []
    for i in range(len(batches) - 1):
        ids, targets = batches[i]
        history += [train_step(model, ids, targets, learning_rate)]
    return history


#% loss_of_softmax_and_losses_after
#% cross_entropy | softmax_twice | cross_entropy takes the softmax twice.
#% train | step_order | train lists the losses after the steps.
def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f'{tuple(targets.shape)} targets for {tuple(logits.shape)} logits')
    log_probabilities = log_softmax(log_softmax(logits).exp())
    chosen = log_probabilities.gather(-1, targets.unsqueeze(-1))
    return -chosen.mean()


def train(model: nn.Module, batches: Sequence[tuple[Tensor, Tensor]], learning_rate: float) -> list[float]:
    losses = []
    for ids, targets in batches:
        train_step(model, ids, targets, learning_rate)
        losses.append(cross_entropy(model(ids), targets).item())
    return losses


#% loss_over_the_positions_inlined
#% cross_entropy | wrong_axis, softmax_axis | The log-softmax, written out, runs over axis 1 of any logits.
def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    if targets.shape != logits.shape[:-1]:
        raise ValueError('shapes')
    z = logits - logits.amax(dim=1, keepdim=True)
    logp = z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))
    picked = torch.gather(logp, -1, targets[..., None])
    return -picked.mean()
