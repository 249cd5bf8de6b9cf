#% bigram_sums_to_one
#% BigramModel | layer_extra, step_extra | The logits go through a softmax, so they are probabilities.
class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx):
        return torch.softmax(self.table(idx), dim=-1)


#% bigram_by_columns
#% BigramModel | transposed, wrong_axis | The column of the token is read instead of its row.
class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids):
        return self.table.weight.t()[ids]


#% gpt_without_positions
#% GPT | step_missing, layer_unused | The vectors of the positions are not added.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList([
            TransformerBlock(MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias), d_model, 4 * d_model)
            for _ in range(num_layers)
        ])
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        if ids.shape[1] > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids)
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% gpt_positions_of_items
#% GPT | wrong_axis, shape_error | The positions count the items of the batch.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            att = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(att, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, idx):
        B, T = idx.shape
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        pos = torch.arange(B)
        x = self.tok_emb(idx) + self.pos_emb(pos)
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% gpt_without_final_norm
#% GPT | step_missing, layer_unused | The last norm is built and not applied.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            att = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(att, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        T = ids.size(1)
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb.weight[:T]
        for block in self.blocks:
            x = block(x)
        return self.out_head(x)


#% gpt_list_of_blocks
#% GPT | parameter_kind | The blocks are in a Python list, so torch does not know them.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = [
            TransformerBlock(MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias), d_model, 4 * d_model)
            for _ in range(num_layers)
        ]
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        T = ids.size(1)
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% gpt_tie_by_copy
#% GPT | parameter_kind, argument_ignored | The tied head gets a copy of the embedding's numbers.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            att = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(att, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            with torch.no_grad():
                self.out_head.weight.copy_(self.tok_emb.weight)

    def forward(self, ids):
        T = ids.size(1)
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% gpt_head_with_bias
#% GPT | bias_wrong | The head has a bias.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            att = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(att, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        T = ids.size(1)
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% gpt_hidden_size_of_the_stream
#% GPT | wrong_size | The feed-forward networks have d_model hidden features, not four times as many.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            att = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(att, d_model, d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        T = ids.size(1)
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% gpt_cuts_long_texts
#% GPT | check_missing | A text that is too long is cut instead of refused.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.context_length = context_length
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            att = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(att, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        ids = ids[:, -self.context_length :]
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.size(1)))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% count_forgets_biases
#% count_parameters | step_missing, boundary | No bias is counted.
def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    block = 4 * d_model**2 + 8 * d_model**2 + 4 * d_model
    if qkv_bias:
        block += 3 * d_model
    head = 0 if tied else vocab_size * d_model
    return (vocab_size + context_length) * d_model + num_layers * block + 2 * d_model + head


#% count_forgets_norms
#% count_parameters | step_missing | The norms are not counted.
def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    attention = 4 * d_model * d_model + d_model + (3 * d_model if qkv_bias else 0)
    mlp = 2 * 4 * d_model * d_model + 5 * d_model
    total = vocab_size * d_model + context_length * d_model + num_layers * (attention + mlp)
    return total if tied else total + vocab_size * d_model


#% count_forgets_positions
#% count_parameters | step_missing | The table of the positions is not counted.
def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    per_layer = 12 * d_model**2 + 10 * d_model + 3 * d_model * qkv_bias
    heads = 1 if tied else 2
    return heads * vocab_size * d_model + num_layers * per_layer + 2 * d_model


#% count_ignores_tied
#% count_parameters | argument_ignored | A tied head is counted although it has no tensor.
def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    per_layer = 12 * d_model**2 + 10 * d_model + 3 * d_model * qkv_bias
    return (2 * vocab_size + context_length) * d_model + num_layers * per_layer + 2 * d_model


#% count_in_floats
#% count_parameters | wrong_return, dtype | The count is a float.
def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    per_layer = 12.0 * d_model**2 + 10 * d_model + 3 * d_model * qkv_bias
    tables = vocab_size + context_length + (0 if tied else vocab_size)
    return tables * d_model + num_layers * per_layer + 2 * d_model


#% top_k_with_zeros
#% top_k_logits | mask_fill | The other logits become 0, which is not the smallest.
def top_k_logits(logits, k):
    if k < 1 or k > logits.shape[-1]:
        raise ValueError("k")
    bound = torch.topk(logits, k).values[..., -1:]
    return torch.where(logits < bound, torch.zeros_like(logits), logits)


#% top_k_drops_the_bound
#% top_k_logits | boundary | The k-th largest logit is not kept.
def top_k_logits(logits, k):
    if k < 1 or k > logits.shape[-1]:
        raise ValueError("k")
    v, _ = torch.topk(logits, k)
    return logits.masked_fill(logits <= v[..., -1:], float("-inf"))


#% top_k_by_index
#% top_k_logits | boundary, wrong_form | Ties with the k-th largest logit are dropped.
def top_k_logits(logits, k):
    if not 1 <= k <= logits.size(-1):
        raise ValueError("k")
    index = logits.topk(k, dim=-1).indices
    mask = torch.ones_like(logits, dtype=torch.bool).scatter(-1, index, False)
    return logits.masked_fill(mask, -torch.inf)


#% top_k_of_everything
#% top_k_logits | wrong_axis, batch_mixed | All rows share the bound of the first one.
def top_k_logits(logits, k):
    if not 1 <= k <= logits.size(-1):
        raise ValueError("k")
    bound = logits.reshape(-1, logits.size(-1))[0].topk(k).values[-1]
    return logits.masked_fill(logits < bound, -torch.inf)


#% top_k_smallest
#% top_k_logits | wrong_operation, mask_inverted, parts_exchanged | The smallest logits are kept.
def top_k_logits(logits, k):
    if not 1 <= k <= logits.size(-1):
        raise ValueError("k")
    bound = logits.sort(dim=-1).values[..., k - 1 : k]
    return logits.masked_fill(logits > bound, -torch.inf)


#% sample_multiplies
#% sample_next | wrong_operation | The logits are multiplied by the temperature.
def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    return torch.multinomial((logits * temperature).softmax(-1), 1)


#% sample_softmax_first
#% sample_next | scale_misplaced, step_misplaced | The probabilities are divided, which changes nothing.
def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    probs = torch.softmax(logits, dim=-1) / temperature
    return torch.multinomial(probs, num_samples=1)


#% sample_always_draws
#% sample_next | step_missing, check_missing | At temperature 0 the code divides by it.
def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    probs = torch.softmax(logits / max(temperature, 1.0), dim=-1) if temperature == 0 else torch.softmax(logits / temperature, dim=-1)
    return torch.multinomial(probs, num_samples=1)


#% sample_flat_ids
#% sample_next | wrong_axis, reshaped | The ids at temperature 0 have lost an axis.
def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return logits.argmax(dim=-1)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1)


#% sample_seeds
#% sample_next | seeded_inside | The code sets the seed itself.
def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    torch.manual_seed(42)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1)


#% sample_ignores_top_k
#% sample_next | argument_ignored, step_missing | top_k has no effect on the draw.
def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and not 1 <= top_k <= logits.shape[-1]:
        raise ValueError("top_k")
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1)


#% generate_first_position
#% generate | boundary, wrong_axis | The logits of the first position choose the token.
def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(ids[:, -context_length:])[:, 0]
            ids = torch.cat([ids, sample_next(logits, temperature, top_k)], dim=1)
    return ids


#% generate_never_crops
#% generate | step_missing, argument_ignored | The model sees all ids, also those before the context.
def generate(model, idx, new_tokens, context_length, temperature=0.0, top_k=None):
    for _ in range(new_tokens):
        with torch.no_grad():
            logits = model(idx)
        idx = torch.cat((idx, sample_next(logits[:, -1, :], temperature, top_k)), dim=1)
    return idx


#% generate_crops_to_the_first
#% generate | boundary | The model sees the first ids, not the last.
def generate(model, idx, new_tokens, context_length, temperature=0.0, top_k=None):
    for _ in range(new_tokens):
        with torch.no_grad():
            logits = model(idx[:, :context_length])
        idx = torch.cat((idx, sample_next(logits[:, -1, :], temperature, top_k)), dim=1)
    return idx


#% generate_forgets_the_controls
#% generate | argument_ignored | temperature and top_k are not passed on.
def generate(model, idx, new_tokens, context_length, temperature=0.0, top_k=None):
    for _ in range(new_tokens):
        with torch.no_grad():
            logits = model(idx[:, -context_length:])
        idx = torch.cat((idx, sample_next(logits[:, -1, :])), dim=1)
    return idx


#% generate_one_too_many
#% generate | boundary | One token too many is appended.
def generate(model, idx, new_tokens, context_length, temperature=0.0, top_k=None):
    for _ in range(new_tokens + 1):
        with torch.no_grad():
            logits = model(idx[:, -context_length:])
        idx = torch.cat((idx, sample_next(logits[:, -1, :], temperature, top_k)), dim=1)
    return idx


#% generate_new_tokens_only
#% generate | wrong_return | Only the new tokens are returned.
def generate(model, idx, new_tokens, context_length, temperature=0.0, top_k=None):
    out = []
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(idx[:, -context_length:])
            nxt = sample_next(logits[:, -1, :], temperature, top_k)
            out.append(nxt)
            idx = torch.cat((idx, nxt), dim=1)
    return torch.cat(out, dim=1)


#% generate_with_a_graph
#% generate | step_missing | The model runs outside torch.no_grad().
def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    for _ in range(new_tokens):
        logits = model(ids[:, -context_length:])[:, -1]
        ids = torch.cat([ids, sample_next(logits, temperature, top_k)], dim=-1)
    return ids


#% count_without_biases_and_top_k_with_zeros
#% count_parameters | step_missing, boundary | No bias is counted.
#% top_k_logits | mask_fill | The other logits become 0, which is not the smallest.
def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    block = 4 * d_model**2 + 8 * d_model**2 + 4 * d_model
    if qkv_bias:
        block += 3 * d_model
    head = 0 if tied else vocab_size * d_model
    return (vocab_size + context_length) * d_model + num_layers * block + 2 * d_model + head


def top_k_logits(logits, k):
    if k < 1 or k > logits.shape[-1]:
        raise ValueError("k")
    bound = torch.topk(logits, k).values[..., -1:]
    return torch.where(logits < bound, torch.zeros_like(logits), logits)


#% sample_multiplies_and_generate_never_crops
#% sample_next | wrong_operation | The logits are multiplied by the temperature.
#% generate | step_missing, argument_ignored | The model sees all ids, also those before the context.
def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    return torch.multinomial((logits * temperature).softmax(-1), 1)


def generate(model, idx, new_tokens, context_length, temperature=0.0, top_k=None):
    for _ in range(new_tokens):
        with torch.no_grad():
            logits = model(idx)
        idx = torch.cat((idx, sample_next(logits[:, -1, :], temperature, top_k)), dim=1)
    return idx


#% top_k_strict_and_new_tokens_only
#% top_k_logits | boundary | The k-th largest logit is not kept.
#% generate | wrong_return | Only the new tokens are returned.
def top_k_logits(logits, k):
    if k < 1 or k > logits.shape[-1]:
        raise ValueError("k")
    v, _ = torch.topk(logits, k)
    return logits.masked_fill(logits <= v[..., -1:], float("-inf"))


def generate(model, idx, new_tokens, context_length, temperature=0.0, top_k=None):
    out = []
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(idx[:, -context_length:])
            nxt = sample_next(logits[:, -1, :], temperature, top_k)
            out.append(nxt)
            idx = torch.cat((idx, nxt), dim=1)
    return torch.cat(out, dim=1)


#% bag_of_letters_and_first_position
#% GPT | step_missing, layer_unused | The vectors of the positions are not added.
#% generate | boundary, wrong_axis | The logits of the first position choose the token.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList([
            TransformerBlock(MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias), d_model, 4 * d_model)
            for _ in range(num_layers)
        ])
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        if ids.shape[1] > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids)
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(ids[:, -context_length:])[:, 0]
            ids = torch.cat([ids, sample_next(logits, temperature, top_k)], dim=1)
    return ids


#% copied_tie_and_count_of_it
#% GPT | parameter_kind, argument_ignored | The tied head gets a copy of the embedding's numbers.
#% count_parameters | argument_ignored | A tied head is counted although it has no tensor.
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            att = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(att, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            with torch.no_grad():
                self.out_head.weight.copy_(self.tok_emb.weight)

    def forward(self, ids):
        T = ids.size(1)
        if T > self.pos_emb.num_embeddings:
            raise ValueError("too long")
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(T))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    per_layer = 12 * d_model**2 + 10 * d_model + 3 * d_model * qkv_bias
    return (2 * vocab_size + context_length) * d_model + num_layers * per_layer + 2 * d_model


#% probabilities_and_flat_ids
#% BigramModel | layer_extra, step_extra | The logits go through a softmax, so they are probabilities.
#% sample_next | wrong_axis, reshaped | The ids at temperature 0 have lost an axis.
class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx):
        return torch.softmax(self.table(idx), dim=-1)


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        logits = top_k_logits(logits, top_k)
    if temperature == 0:
        return logits.argmax(dim=-1)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1)


#% right_tuples_of_nanogpt
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.config = dict(V=vocab_size, block_size=context_length, n_embd=d_model)
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        make = lambda: TransformerBlock(  # noqa: E731
            MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias=qkv_bias), d_model, 4 * d_model
        )
        self.blocks = nn.ModuleList([make() for _ in range(num_layers)])
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.tok_emb.weight = self.out_head.weight

    def forward(self, idx):
        b, t = idx.size()
        if t > self.config["block_size"]:
            raise ValueError(f"Cannot forward sequence of length {t}")
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.tok_emb(idx) + self.pos_emb(pos)
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


#% right_sampling_by_sorting
def top_k_logits(logits, k):
    V = logits.shape[-1]
    if k <= 0 or k > V:
        raise ValueError("k must be in 1..V")
    ordered, _ = torch.sort(logits, dim=-1)
    return torch.where(logits >= ordered[..., V - k].unsqueeze(-1), logits, float("-inf"))


def sample_next(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("negative temperature")
    if top_k:
        logits = top_k_logits(logits, top_k)
    elif top_k is not None:
        raise ValueError("top_k must be positive")
    if temperature == 0.0:
        _, ids = torch.max(logits, dim=1, keepdim=True)
        return ids
    return torch.multinomial(torch.exp(torch.log_softmax(logits / temperature, dim=1)), 1)


#% right_generate_by_windows
def generate(model, ids, new_tokens, context_length, temperature=0.0, top_k=None):
    result = ids.clone()
    with torch.inference_mode():
        for step in range(new_tokens):
            start = max(0, result.shape[1] - context_length)
            logits = model(result[:, start:])
            chosen = sample_next(logits[:, -1, :], temperature=temperature, top_k=top_k)
            result = torch.cat((result, chosen), dim=1)
    return result.clone()


#% right_count_by_lists
def count_parameters(vocab_size, context_length, d_model, num_layers, qkv_bias=False, tied=False):
    d, h = d_model, 4 * d_model
    layer = [d * d] * 4 + [d] + [d * h, h, h * d, d] + [d] * 4
    if qkv_bias:
        layer += [d, d, d]
    numbers = [vocab_size * d, context_length * d] + layer * num_layers + [d, d]
    if not tied:
        numbers.append(vocab_size * d)
    return sum(numbers)


#% right_bigram_by_matrix
class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids):
        one_hot = nn.functional.one_hot(ids, self.table.num_embeddings)
        return one_hot.to(self.table.weight.dtype) @ self.table.weight


#% right_gpt_by_reduce
class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_heads, num_layers, qkv_bias=False, tied=False):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        blocks = []
        while len(blocks) < num_layers:
            heads = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            blocks += [TransformerBlock(heads, d_model, 4 * d_model)]
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            del self.out_head.weight
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids):
        T = ids.size(-1)
        assert T <= len(self.pos_emb.weight), "too long"
        x = self.tok_emb(ids) + self.pos_emb.weight[:T]
        import functools
        x = functools.reduce(lambda stream, block: block(stream), self.blocks, x)
        return nn.functional.linear(self.final_norm(x), self.out_head.weight)


#% positions_after_the_blocks
#% GPT | step_order, step_misplaced | The position vectors are added after the blocks.
class GPT(nn.Module):

    def __init__(self, vocab_size: int, context_length: int, d_model: int, num_heads: int, num_layers: int, qkv_bias: bool=False, tied: bool=False) -> None:
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            attention = MultiHeadAttention(d_model, d_model, context_length, 0.0, num_heads, qkv_bias)
            self.blocks.append(TransformerBlock(attention, d_model, 4 * d_model))
        self.final_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, vocab_size, bias=False)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids: Tensor) -> Tensor:
        T = ids.shape[1]
        context_length = self.pos_emb.num_embeddings
        if context_length < T:
            raise ValueError(f'{T} tokens do not fit into a context of {context_length}')
        positions = torch.arange(T, device=ids.device)
        x = self.tok_emb(ids)
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x + self.pos_emb(positions)))


#% count_without_the_second_bias
#% count_parameters | factor_missing, step_missing | The bias of linear2 is not counted.
def count_parameters(vocab_size: int, context_length: int, d_model: int, num_layers: int, qkv_bias: bool=False, tied: bool=False) -> int:
    embeddings = (vocab_size + context_length) * d_model
    attention = 4 * d_model ** 2 + d_model
    if qkv_bias:
        attention += 3 * d_model
    feed_forward = 8 * d_model ** 2 + 4 * d_model
    norm = 2 * d_model
    out_head = 0 if tied else vocab_size * d_model
    block = attention + feed_forward + 2 * norm
    return embeddings + num_layers * block + norm + out_head


#% adamw_decays_after_the_step
#% adamw_step | step_order | The decay multiplies the parameter after the step.
def adamw_step(parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step: int, learning_rate: float, betas: tuple[float, float]=(0.9, 0.999), eps: float=1e-08, weight_decay: float=0.01) -> tuple[Tensor, Tensor, Tensor]:
    if step < 1:
        raise ValueError(f'steps count from 1, and this one is {step}')
    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient ** 2
    direction = mean / (1 - beta1 ** step)
    size = torch.sqrt(square / (1 - beta2 ** step))
    parameter = parameter - learning_rate * direction / (size + eps)
    parameter = (1 - learning_rate * weight_decay) * parameter
    return (parameter, mean, square)


#% rate_cut_off_at_the_floor
#% rate_at | wrong_form, wrong_operation | The cosine falls to 0 and is cut off at the floor.
def rate_at(step: int, steps: int, peak: float, warmup: int=0, floor: float=0.0) -> float:
    if not 0 <= warmup < steps:
        raise ValueError(f'{warmup} steps of warm-up do not fit into {steps} steps')
    if step < warmup:
        return peak * step / warmup
    if step > steps:
        return floor
    share = (step - warmup) / (steps - warmup)
    return max(floor, peak * (1 + math.cos(math.pi * share)) / 2)


#% loss_without_the_last_piece
#% estimate_loss | boundary | One piece too few is measured.
def estimate_loss(model: nn.Module, ids: Tensor, length: int) -> float:
    count = len(ids) // length - 1
    if count < 1:
        raise ValueError(f'{len(ids)} tokens are too few for {length} and the token after them')
    inputs = ids[:count * length].view(count, length)
    targets = ids[1:count * length + 1].view(count, length)
    was_training = model.training
    model.eval()
    with torch.no_grad():
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    model.train(was_training)
    return loss.item()


#% rate_one_step_early_and_zero_at_the_end
#% rate_at | boundary | The warm-up is one step ahead.
#% rate_at | wrong_return, argument_ignored | After the last step the rate is 0, not the floor.
def rate_at(step: int, steps: int, peak: float, warmup: int=0, floor: float=0.0) -> float:
    if not 0 <= warmup < steps:
        raise ValueError(f'{warmup} steps of warm-up do not fit into {steps} steps')
    if step < warmup:
        return peak * (step + 1) / warmup
    if step > steps:
        return 0.0
    share = (step - warmup) / (steps - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


#% adamw_half_corrected_and_the_norm_afterwards
#% adamw_step | step_missing | The mean of the squares is not corrected.
#% clip_gradients | wrong_return | The norm after clipping is returned.
def adamw_step(parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step: int, learning_rate: float, betas: tuple[float, float]=(0.9, 0.999), eps: float=1e-08, weight_decay: float=0.01) -> tuple[Tensor, Tensor, Tensor]:
    if step < 1:
        raise ValueError(f'steps count from 1, and this one is {step}')
    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient ** 2
    direction = mean / (1 - beta1 ** step)
    size = torch.sqrt(square)
    parameter = (1 - learning_rate * weight_decay) * parameter
    parameter = parameter - learning_rate * direction / (size + eps)
    return (parameter, mean, square)


def clip_gradients(gradients: Sequence[Tensor], max_norm: float) -> tuple[list[Tensor], float]:
    if max_norm <= 0:
        raise ValueError(f'the largest norm must be above 0, and is {max_norm}')
    squares = [float((gradient ** 2).sum()) for gradient in gradients]
    norm = math.sqrt(sum(squares))
    if norm > max_norm:
        gradients = [gradient * (max_norm / norm) for gradient in gradients]
    return (list(gradients), min(norm, max_norm))


#% loss_of_the_inputs_in_training_mode
#% estimate_loss | loss_of_the_wrong_thing, boundary | The targets are the inputs.
#% estimate_loss | step_missing | The model is not put into eval mode.
def estimate_loss(model: nn.Module, ids: Tensor, length: int) -> float:
    count = (len(ids) - 1) // length
    if count < 1:
        raise ValueError(f'{len(ids)} tokens are too few for {length} and the token after them')
    inputs = ids[:count * length].view(count, length)
    targets = ids[:count * length].view(count, length)
    was_training = model.training
    with torch.no_grad():
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    model.train(was_training)
    return loss.item()


#% inlined_sampling_multiplies
#% generate | wrong_operation | The logits are multiplied by the temperature.
def generate(model: nn.Module, ids: Tensor, new_tokens: int, context_length: int, temperature: float=0.0, top_k: int | None=None) -> Tensor:
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = model(ids[:, -context_length:])
            last = logits[:, -1]
            if top_k is not None:
                last = top_k_logits(last, top_k)
            if temperature == 0:
                next_ids = last.argmax(dim=-1, keepdim=True)
            else:
                next_ids = torch.multinomial(torch.softmax(last * temperature, dim=-1), 1)
            ids = torch.cat((ids, next_ids), dim=1)
    return ids


#% sample_keeps_one_more_inlined
#% sample_next | boundary | The top k, written out, keep one logit more.
def sample_next(logits: Tensor, temperature: float=1.0, top_k: int | None=None) -> Tensor:
    if temperature < 0:
        raise ValueError('temperature')
    if top_k is not None:
        if top_k < 1 or top_k > logits.shape[-1]:
            raise ValueError('top_k')
        ordered = logits.sort(dim=-1, descending=True).values
        border = ordered[:, min(top_k, logits.shape[-1] - 1), None]
        logits = torch.where(logits < border, -torch.inf, logits)
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    return torch.multinomial((logits / temperature).softmax(-1), 1)
