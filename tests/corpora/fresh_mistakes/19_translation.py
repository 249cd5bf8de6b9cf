#% right_pad_by_python_lists
def pad_batch(sequences, padding=0):
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append(list(s) + [padding] * missing)
        mask.append([True] * len(s) + [False] * missing)
    return torch.tensor(ids), torch.tensor(mask)


#% right_pad_by_pad_sequence
def pad_batch(sequences, padding=0):
    rows = [torch.tensor(s, dtype=torch.int64) for s in sequences]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)
    ones = [torch.ones(len(s), dtype=torch.bool) for s in sequences]
    mask = nn.utils.rnn.pad_sequence(ones, batch_first=True, padding_value=False)
    return ids, mask


#% right_forcing_filled_in_place
def teacher_forcing(sequences, start, end, padding=0):
    max_len = max(len(s) for s in sequences) + 1
    inputs = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    targets = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, 0] = start
        inputs[i, 1 : n + 1] = torch.tensor(s)
        targets[i, :n] = torch.tensor(s)
        targets[i, n] = end
    return inputs, targets


#% right_heads_with_a_split_method
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


#% right_heads_by_einsum
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError
        self.h = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, visible=None):
        q = self.W_query(x).unflatten(2, (self.h, -1))
        k = self.W_key(memory).unflatten(2, (self.h, -1))
        v = self.W_value(memory).unflatten(2, (self.h, -1))
        s = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
        if visible is not None:
            bias = torch.zeros(visible.shape, dtype=s.dtype).masked_fill(~visible, -1e9)
            s = s + (bias[:, None] if bias.ndim == 3 else bias)
        w = s.softmax(-1)
        return self.out_proj(torch.einsum("bhqk,bkhd->bqhd", w, v).flatten(2))


#% right_encoder_by_branches
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.att(h, h, mask)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


#% right_decoder_with_one_mask_helper
class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        at = torch.arange(x.shape[1])
        causal = at[:, None] >= at
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory, memory_mask)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


#% right_translator_by_lambda
class Translator(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        max_source,
        max_target,
        d_model,
        num_heads,
        num_blocks=1,
    ):
        super().__init__()
        self.max_source, self.max_target = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        att = lambda: MultiHeadCrossAttention(d_model, num_heads)
        self.encoder = nn.ModuleList(
            [EncoderBlock(att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            [DecoderBlock(att(), att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        b, n = source.shape
        if n > self.max_source:
            raise ValueError("source too long")
        pos = torch.arange(n).expand(b, n)
        h = self.source_emb(source) + self.source_pos(pos)
        for layer in self.encoder:
            h = layer(h, source_mask)
        h = self.encoder_norm(h)
        return h

    def decode(self, inputs, memory, source_mask=None):
        b, n = inputs.shape
        if n > self.max_target:
            raise ValueError("target too long")
        pos = torch.arange(n).expand(b, n)
        h = self.target_emb(inputs) + self.target_pos(pos)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        h = self.decoder_norm(h)
        return self.out_head(h)

    def forward(self, source, inputs, source_mask=None):
        return self.decode(inputs, self.encode(source, source_mask), source_mask)


#% right_translation_loss_by_one_hot
def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    V = logits.size(-1)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / V)
    one_hot = nn.functional.one_hot(targets, V).to(log_p.dtype)
    q = q + (1 - smoothing) * one_hot
    loss = -(q * log_p).sum(dim=-1)
    keep = (targets != padding).to(loss.dtype)
    return (loss * keep).sum() / keep.sum()


#% right_loss_by_indexing
def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    keep = targets != padding
    logits, targets = logits[keep], targets[keep]
    log_probs = torch.log_softmax(logits, -1)
    n = torch.arange(len(targets))
    nll = -log_probs[n, targets]
    uniform = -log_probs.sum(-1) / logits.shape[-1]
    return torch.lerp(nll, uniform, smoothing).sum() / len(targets)


#% right_greedy_with_where
@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.all()):
            break
    return seq[:, 1:]


#% right_greedy_item_by_item
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    rows = []
    with torch.inference_mode():
        for b in range(source.shape[0]):
            one_mask = None if source_mask is None else source_mask[b : b + 1]
            memory = model.encode(source[b : b + 1], one_mask)
            row = [start]
            while len(row) <= max_length and (row[-1] != end or len(row) == 1):
                logits = model.decode(torch.tensor([row]), memory, one_mask)
                row.append(int(logits[0, -1].argmax()))
            rows.append(row[1:])
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [padding] * (longest - len(row)) for row in rows])


#% pad_mask_of_ones_at_padding
#% pad_batch | mask_inverted | The mask is true at the padding.
def pad_batch(sequences, padding=0):
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append(list(s) + [padding] * missing)
        mask.append([False] * len(s) + [True] * missing)
    return torch.tensor(ids), torch.tensor(mask)


#% pad_in_front
#% pad_batch | parts_exchanged, layout_wrong | The padding comes before the tokens.
def pad_batch(sequences, padding=0):
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append([padding] * missing + list(s))
        mask.append([False] * missing + [True] * len(s))
    return torch.tensor(ids), torch.tensor(mask)


#% pad_with_zeros_only
#% pad_batch | argument_ignored | The padding is always 0.
def pad_batch(sequences, padding=0):
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append(list(s) + [0] * missing)
        mask.append([True] * len(s) + [False] * missing)
    return torch.tensor(ids), torch.tensor(mask)


#% pad_mask_from_ids
#% pad_batch | loss_of_the_wrong_thing, wrong_form | The mask is made from the ids, so a token with the padding's id is hidden.
def pad_batch(sequences, padding=0):
    rows = [torch.tensor(s) for s in sequences]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)
    return ids, ids.ne(padding)


#% pad_cuts_to_the_shortest
#% pad_batch | wrong_reduction, wrong_operation | All rows are cut to the length of the shortest list.
def pad_batch(sequences, padding=0):
    length = min(len(s) for s in sequences)
    ids = torch.tensor([list(s)[:length] for s in sequences])
    return ids, torch.ones_like(ids, dtype=torch.bool)


#% forcing_without_an_end
#% teacher_forcing | step_missing, argument_ignored | The targets have no end.
def teacher_forcing(sequences, start, end, padding=0):
    max_len = max(len(s) for s in sequences) + 1
    inputs = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    targets = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, 0] = start
        inputs[i, 1 : n + 1] = torch.tensor(s)
        targets[i, :n] = torch.tensor(s)
    return inputs, targets


#% forcing_end_in_the_last_column
#% teacher_forcing | step_misplaced, layout_wrong | The end is in the last column, after the padding.
def teacher_forcing(sequences, start, end, padding=0):
    max_len = max(len(s) for s in sequences) + 1
    inputs = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    targets = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, 0] = start
        inputs[i, 1 : n + 1] = torch.tensor(s)
        targets[i, :n] = torch.tensor(s)
        targets[i, -1] = end
    return inputs, targets


#% forcing_inputs_are_the_targets
#% teacher_forcing | step_missing, parts_exchanged | The inputs are not shifted: they are the targets.
def teacher_forcing(sequences, start, end, padding=0):
    max_len = max(len(s) for s in sequences) + 1
    inputs = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    targets = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, :n] = torch.tensor(s)
        inputs[i, n] = end
        targets[i, :n] = torch.tensor(s)
        targets[i, n] = end
    return inputs, targets


#% forcing_swaps_start_and_end
#% teacher_forcing | parts_exchanged | Start and end have changed places.
def teacher_forcing(sequences, start, end, padding=0):
    max_len = max(len(s) for s in sequences) + 1
    inputs = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    targets = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, 0] = end
        inputs[i, 1 : n + 1] = torch.tensor(s)
        targets[i, :n] = torch.tensor(s)
        targets[i, n] = start
    return inputs, targets


#% heads_queries_from_memory
#% MultiHeadCrossAttention | operand_repeated, projection_exchanged | The queries come from the memory.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(memory))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


#% heads_attend_to_themselves
#% MultiHeadCrossAttention | argument_ignored, operand_repeated | Keys and values come from x.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(x))
        v = self.split(self.W_value(x))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


#% heads_scale_of_the_model
#% MultiHeadCrossAttention | scale_wrong_size | The scores are divided by the root of d_model.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim * self.num_heads)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


#% heads_hide_what_is_visible
#% MultiHeadCrossAttention | mask_inverted | What is visible is hidden.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None], -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


#% heads_join_without_permute
#% MultiHeadCrossAttention | reshaped | The heads are joined by a reshape alone.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.reshape(b, n, h * d)
        return self.out_proj(out)


#% heads_first_mask_for_all
#% MultiHeadCrossAttention | batch_mixed | The mask of the first item is used for all items.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:1, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


#% encoder_forgets_the_mask
#% EncoderBlock | argument_ignored, mask_missing | In pre-norm, the mask is not passed on.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.att(h, h)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


#% encoder_keys_without_the_norm
#% EncoderBlock | step_missing, operand_repeated | In pre-norm, keys and values are not normalized.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.att(h, x, mask)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


#% encoder_is_causal
#% EncoderBlock | mask_extra | The encoder does not look ahead.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :] & torch.ones(x.size(1), x.size(1)).tril().bool()
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.att(h, h, mask)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


#% encoder_drops_the_first_shortcut
#% EncoderBlock | step_missing, wrong_operation | In pre-norm, the first shortcut is missing.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = self.att(h, h, mask)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


#% decoder_sees_the_future
#% DecoderBlock | mask_missing | The self-attention has no mask.
class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = None
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory, memory_mask)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


#% decoder_sees_the_next_token
#% DecoderBlock | mask_shifted | Each token sees the one after it.
class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n), diagonal=1).bool()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory, memory_mask)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


#% decoder_reads_no_memory
#% DecoderBlock | operand_repeated, argument_ignored | In pre-norm, the second attention reads the targets.
class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n)).bool()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, h)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


#% decoder_ignores_the_mask_of_the_memory
#% DecoderBlock | argument_ignored, mask_missing | The mask of the memory is never applied.
class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n)).bool()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory))
            x = self.norm3(x + self.ff(x))
        return x


#% decoder_uses_the_second_norm_twice
#% DecoderBlock | layer_unused, parts_exchanged, operand_repeated | In pre-norm, norm2 is used for the network too.
class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n)).bool()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory, memory_mask)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


#% translator_without_source_positions
#% Translator | step_missing, layer_unused | The positions of the source are not added.
class Translator(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        max_source,
        max_target,
        d_model,
        num_heads,
        num_blocks=1,
    ):
        super().__init__()
        self.max_source, self.max_target = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        att = lambda: MultiHeadCrossAttention(d_model, num_heads)
        self.encoder = nn.ModuleList(
            [EncoderBlock(att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            [DecoderBlock(att(), att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        b, n = source.shape
        if n > self.max_source:
            raise ValueError("source too long")
        pos = torch.arange(n).expand(b, n)
        h = self.source_emb(source)
        for layer in self.encoder:
            h = layer(h, source_mask)
        h = self.encoder_norm(h)
        return h

    def decode(self, inputs, memory, source_mask=None):
        b, n = inputs.shape
        if n > self.max_target:
            raise ValueError("target too long")
        pos = torch.arange(n).expand(b, n)
        h = self.target_emb(inputs) + self.target_pos(pos)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        h = self.decoder_norm(h)
        return self.out_head(h)

    def forward(self, source, inputs, source_mask=None):
        return self.decode(inputs, self.encode(source, source_mask), source_mask)


#% translator_without_the_encoders_norm
#% Translator | step_missing, layer_unused | The encoder's norm is not applied.
class Translator(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        max_source,
        max_target,
        d_model,
        num_heads,
        num_blocks=1,
    ):
        super().__init__()
        self.max_source, self.max_target = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        att = lambda: MultiHeadCrossAttention(d_model, num_heads)
        self.encoder = nn.ModuleList(
            [EncoderBlock(att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            [DecoderBlock(att(), att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        b, n = source.shape
        if n > self.max_source:
            raise ValueError("source too long")
        pos = torch.arange(n).expand(b, n)
        h = self.source_emb(source) + self.source_pos(pos)
        for layer in self.encoder:
            h = layer(h, source_mask)
        return h

    def decode(self, inputs, memory, source_mask=None):
        b, n = inputs.shape
        if n > self.max_target:
            raise ValueError("target too long")
        pos = torch.arange(n).expand(b, n)
        h = self.target_emb(inputs) + self.target_pos(pos)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        h = self.decoder_norm(h)
        return self.out_head(h)

    def forward(self, source, inputs, source_mask=None):
        return self.decode(inputs, self.encode(source, source_mask), source_mask)


#% loss_counts_padding
#% smoothed_cross_entropy | wrong_divisor | The losses at padding are zero, but they are counted.
def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    V = logits.size(-1)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / V)
    one_hot = nn.functional.one_hot(targets, V).to(log_p.dtype)
    q = q + (1 - smoothing) * one_hot
    loss = -(q * log_p).sum(dim=-1)
    keep = (targets != padding).to(loss.dtype)
    return (loss * keep).mean()


#% loss_target_keeps_all
#% smoothed_cross_entropy | factor_missing, step_missing | The target's probability is not reduced.
def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    V = logits.size(-1)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / V)
    one_hot = nn.functional.one_hot(targets, V).to(log_p.dtype)
    q = q + one_hot
    loss = -(q * log_p).sum(dim=-1)
    keep = (targets != padding).to(loss.dtype)
    return (loss * keep).sum() / keep.sum()


#% greedy_keeps_writing
#% greedy_translate | step_missing | Items go on after their end.
@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.all()):
            break
    return seq[:, 1:]


#% greedy_stops_with_the_first
#% greedy_translate | wrong_reduction, wrong_operation | The loop stops when the first item has ended.
@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.any()):
            break
    return seq[:, 1:]


#% greedy_passes_the_last_id
#% greedy_translate | boundary, step_missing | The decoder gets the last id alone.
@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq[:, -1:], memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.all()):
            break
    return seq[:, 1:]


#% greedy_returns_the_start
#% greedy_translate | wrong_return, boundary | The start id is in the result.
@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.all()):
            break
    return seq


#% pad_zeros_and_no_end
#% pad_batch | argument_ignored | The padding is always 0.
#% teacher_forcing | step_missing, argument_ignored | The targets have no end.
def pad_batch(sequences, padding=0):
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append(list(s) + [0] * missing)
        mask.append([True] * len(s) + [False] * missing)
    return torch.tensor(ids), torch.tensor(mask)


def teacher_forcing(sequences, start, end, padding=0):
    max_len = max(len(s) for s in sequences) + 1
    inputs = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    targets = torch.full((len(sequences), max_len), padding, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, 0] = start
        inputs[i, 1 : n + 1] = torch.tensor(s)
        targets[i, :n] = torch.tensor(s)
    return inputs, targets


#% pad_mask_and_loss_of_padding
#% pad_batch | mask_inverted | The mask is true at the padding.
#% smoothed_cross_entropy | wrong_divisor | The losses at padding are zero, but they are counted.
def pad_batch(sequences, padding=0):
    max_len = max([len(s) for s in sequences])
    ids, mask = [], []
    for s in sequences:
        missing = max_len - len(s)
        ids.append(list(s) + [padding] * missing)
        mask.append([False] * len(s) + [True] * missing)
    return torch.tensor(ids), torch.tensor(mask)


def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    V = logits.size(-1)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / V)
    one_hot = nn.functional.one_hot(targets, V).to(log_p.dtype)
    q = q + (1 - smoothing) * one_hot
    loss = -(q * log_p).sum(dim=-1)
    keep = (targets != padding).to(loss.dtype)
    return (loss * keep).mean()


#% memory_queries_and_causal_encoder
#% MultiHeadCrossAttention | operand_repeated, projection_exchanged | The queries come from the memory.
#% EncoderBlock | mask_extra | The encoder does not look ahead.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(memory))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :] & torch.ones(x.size(1), x.size(1)).tril().bool()
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.att(h, h, mask)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


#% scale_and_future
#% MultiHeadCrossAttention | scale_wrong_size | The scores are divided by the root of d_model.
#% DecoderBlock | mask_missing | The self-attention has no mask.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim * self.num_heads)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = None
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory, memory_mask)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


#% reshape_and_no_positions
#% MultiHeadCrossAttention | reshaped | The heads are joined by a reshape alone.
#% Translator | step_missing, layer_unused | The positions of the source are not added.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.reshape(b, n, h * d)
        return self.out_proj(out)


class Translator(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        max_source,
        max_target,
        d_model,
        num_heads,
        num_blocks=1,
    ):
        super().__init__()
        self.max_source, self.max_target = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        att = lambda: MultiHeadCrossAttention(d_model, num_heads)
        self.encoder = nn.ModuleList(
            [EncoderBlock(att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            [DecoderBlock(att(), att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        b, n = source.shape
        if n > self.max_source:
            raise ValueError("source too long")
        pos = torch.arange(n).expand(b, n)
        h = self.source_emb(source)
        for layer in self.encoder:
            h = layer(h, source_mask)
        h = self.encoder_norm(h)
        return h

    def decode(self, inputs, memory, source_mask=None):
        b, n = inputs.shape
        if n > self.max_target:
            raise ValueError("target too long")
        pos = torch.arange(n).expand(b, n)
        h = self.target_emb(inputs) + self.target_pos(pos)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        h = self.decoder_norm(h)
        return self.out_head(h)

    def forward(self, source, inputs, source_mask=None):
        return self.decode(inputs, self.encode(source, source_mask), source_mask)


#% encoder_mask_and_decoder_mask
#% EncoderBlock | argument_ignored, mask_missing | In pre-norm, the mask is not passed on.
#% DecoderBlock | argument_ignored, mask_missing | The mask of the memory is never applied.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.att(h, h)
            h = self.norm2(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.att(x, x, mask))
            x = self.norm2(x + self.ff(x))
        return x


class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n)).bool()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory))
            x = self.norm3(x + self.ff(x))
        return x


#% loss_target_and_greedy_any
#% smoothed_cross_entropy | factor_missing, step_missing | The target's probability is not reduced.
#% greedy_translate | wrong_reduction, wrong_operation | The loop stops when the first item has ended.
def smoothed_cross_entropy(logits, targets, smoothing=0.0, padding=0):
    V = logits.size(-1)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / V)
    one_hot = nn.functional.one_hot(targets, V).to(log_p.dtype)
    q = q + one_hot
    loss = -(q * log_p).sum(dim=-1)
    keep = (targets != padding).to(loss.dtype)
    return (loss * keep).sum() / keep.sum()


@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.any()):
            break
    return seq[:, 1:]


#% next_token_and_start
#% DecoderBlock | mask_shifted | Each token sees the one after it.
#% greedy_translate | wrong_return, boundary | The start id is in the result.
class DecoderBlock(nn.Module):
    def __init__(
        self, self_attention, cross_attention, d_model, d_hidden, norm_first=True, activation="gelu"
    ):
        super().__init__()
        self.self_att = self_attention
        self.cross_att = cross_attention
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm_first = norm_first

    def forward(self, x, memory, memory_mask=None):
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n), diagonal=1).bool()
        if memory_mask is not None:
            memory_mask = memory_mask[:, None, :]
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.self_att(h, h, causal)
            h = self.norm2(x)
            x = x + self.cross_att(h, memory, memory_mask)
            h = self.norm3(x)
            x = x + self.ff(h)
        else:
            x = self.norm1(x + self.self_att(x, x, causal))
            x = self.norm2(x + self.cross_att(x, memory, memory_mask))
            x = self.norm3(x + self.ff(x))
        return x


@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.all()):
            break
    return seq


#% heads_scale_and_mask
#% MultiHeadCrossAttention | scale_wrong_power | The scores are divided by the size of a head, not by its root.
#% MultiHeadCrossAttention | batch_mixed | The mask of the first item is used for all items.
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, memory, visible=None):
        q = self.split(self.W_query(x))
        k = self.split(self.W_key(memory))
        v = self.split(self.W_value(memory))
        scores = torch.matmul(q, k.transpose(2, 3)) / self.head_dim
        if visible is not None:
            if visible.dim() == 2:
                visible = visible[None]
            scores = scores.masked_fill(visible[:1, None] == False, -torch.inf)
        attn = scores.softmax(dim=-1)
        out = torch.matmul(attn, v)
        b, h, n, d = out.shape
        out = out.permute(0, 2, 1, 3).reshape(b, n, h * d)
        return self.out_proj(out)


#% greedy_any_and_start
#% greedy_translate | wrong_reduction, wrong_operation | The loop stops when the first item has ended.
#% greedy_translate | wrong_return, boundary | The start id is in the result.
@torch.no_grad()
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    b = source.size(0)
    memory = model.encode(source, source_mask)
    seq = torch.full((b, 1), start, dtype=torch.long)
    finished = torch.zeros(b).bool()
    for step in range(max_length):
        logits = model.decode(seq, memory, source_mask)
        nxt = logits[:, -1, :].argmax(dim=-1)
        nxt = torch.where(finished, torch.full_like(nxt, padding), nxt)
        seq = torch.cat([seq, nxt[:, None]], dim=1)
        finished = finished | (nxt == end)
        if bool(finished.any()):
            break
    return seq


#% inlined_forcing_pads_in_front
#% teacher_forcing | parts_exchanged, layout_wrong | The padding comes before the tokens.
def teacher_forcing(sequences, start, end, padding=0):
    T = max(len(s) for s in sequences)
    inputs = torch.tensor([[padding] * (T - len(s)) + [start] + list(s) for s in sequences])
    targets = torch.tensor([[padding] * (T - len(s)) + list(s) + [end] for s in sequences])
    return inputs, targets


#% inlined_forcing_ignores_padding
#% teacher_forcing | argument_ignored | The padding is always 0.
def teacher_forcing(sequences, start, end, padding=0):
    T = max(len(s) for s in sequences)
    inputs = torch.zeros(len(sequences), T + 1, dtype=torch.int64)
    targets = torch.zeros_like(inputs)
    for row in range(len(sequences)):
        s = sequences[row]
        inputs[row, : len(s) + 1] = torch.tensor([start] + list(s))
        targets[row, : len(s) + 1] = torch.tensor(list(s) + [end])
    return inputs, targets


#% inlined_forcing_shifts_a_padded_batch
#% teacher_forcing | step_misplaced, layout_wrong | The end comes after the padding.
def teacher_forcing(sequences, start, end, padding=0):
    ids, mask = pad_batch(sequences, padding)
    column = torch.ones(len(ids), 1, dtype=torch.int64)
    return torch.cat([start * column, ids], 1), torch.cat([ids, end * column], 1)


#% inlined_encoder_without_scale
#% EncoderBlock | scale_missing | The scores are not divided by the root of the head's size.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def attend(self, x, mask):
        a, H = self.att, self.att.num_heads
        q, k, v = (
            f(x).unflatten(-1, (H, -1)).transpose(1, 2) for f in (a.W_query, a.W_key, a.W_value)
        )
        scores = q @ k.mT
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        return a.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.ff(x))


#% inlined_encoder_masks_after_softmax
#% EncoderBlock | mask_after_softmax | The mask is applied after the softmax.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def attend(self, x, mask):
        a, H = self.att, self.att.num_heads
        q, k, v = (
            f(x).unflatten(-1, (H, -1)).transpose(1, 2) for f in (a.W_query, a.W_key, a.W_value)
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            w = scores.softmax(-1) * mask[:, None, None, :]
        else:
            w = scores.softmax(-1)
        return a.out_proj((w @ v).transpose(1, 2).flatten(2))

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.ff(x))


#% inlined_encoder_joins_by_reshape
#% EncoderBlock | reshaped | The heads are joined by a reshape alone.
class EncoderBlock(nn.Module):
    def __init__(self, attention, d_model, d_hidden, norm_first=True, activation="gelu"):
        super().__init__()
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)
        self.norm_first = norm_first

    def attend(self, x, mask):
        a, H = self.att, self.att.num_heads
        q, k, v = (
            f(x).unflatten(-1, (H, -1)).transpose(1, 2) for f in (a.W_query, a.W_key, a.W_value)
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        return a.out_proj((scores.softmax(-1) @ v).reshape(x.shape))

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.ff(x))


#% inlined_translator_forgets_positions
#% Translator | step_missing, layer_unused | forward adds no positions to the targets.
class Translator(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        max_source,
        max_target,
        d_model,
        num_heads,
        num_blocks=1,
    ):
        super().__init__()
        self.max_source, self.max_target = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        att = lambda: MultiHeadCrossAttention(d_model, num_heads)
        self.encoder = nn.ModuleList(
            [EncoderBlock(att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            [DecoderBlock(att(), att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        b, n = source.shape
        if n > self.max_source:
            raise ValueError("source too long")
        pos = torch.arange(n).expand(b, n)
        h = self.source_emb(source) + self.source_pos(pos)
        for layer in self.encoder:
            h = layer(h, source_mask)
        h = self.encoder_norm(h)
        return h

    def decode(self, inputs, memory, source_mask=None):
        b, n = inputs.shape
        if n > self.max_target:
            raise ValueError("target too long")
        pos = torch.arange(n).expand(b, n)
        h = self.target_emb(inputs) + self.target_pos(pos)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        h = self.decoder_norm(h)
        return self.out_head(h)

    def forward(self, source, inputs, source_mask=None):
        h = self.source_emb(source) + self.source_pos.weight[: source.shape[1]]
        for layer in self.encoder:
            h = layer(h, source_mask)
        memory = self.encoder_norm(h)
        h = self.target_emb(inputs)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        return self.out_head(self.decoder_norm(h))


#% inlined_translator_forgets_the_mask
#% Translator | argument_ignored, mask_missing | forward passes no mask to the decoder.
class Translator(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        max_source,
        max_target,
        d_model,
        num_heads,
        num_blocks=1,
    ):
        super().__init__()
        self.max_source, self.max_target = max_source, max_target
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        att = lambda: MultiHeadCrossAttention(d_model, num_heads)
        self.encoder = nn.ModuleList(
            [EncoderBlock(att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            [DecoderBlock(att(), att(), d_model, d_model * 4) for _ in range(num_blocks)]
        )
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source, source_mask=None):
        b, n = source.shape
        if n > self.max_source:
            raise ValueError("source too long")
        pos = torch.arange(n).expand(b, n)
        h = self.source_emb(source) + self.source_pos(pos)
        for layer in self.encoder:
            h = layer(h, source_mask)
        h = self.encoder_norm(h)
        return h

    def decode(self, inputs, memory, source_mask=None):
        b, n = inputs.shape
        if n > self.max_target:
            raise ValueError("target too long")
        pos = torch.arange(n).expand(b, n)
        h = self.target_emb(inputs) + self.target_pos(pos)
        for layer in self.decoder:
            h = layer(h, memory, source_mask)
        h = self.decoder_norm(h)
        return self.out_head(h)

    def forward(self, source, inputs, source_mask=None):
        h = self.source_emb(source) + self.source_pos.weight[: source.shape[1]]
        for layer in self.encoder:
            h = layer(h, source_mask)
        memory = self.encoder_norm(h)
        h = self.target_emb(inputs) + self.target_pos.weight[: inputs.shape[1]]
        for layer in self.decoder:
            h = layer(h, memory)
        return self.out_head(self.decoder_norm(h))


#% inlined_greedy_of_lists_by_any
#% greedy_translate | wrong_reduction, wrong_operation | The loop stops when the first item has ended.
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    ids = [[start] for _ in source]
    done = [False] * len(ids)
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        while not any(done) and len(ids[0]) <= max_length:
            logits = model.decode(torch.tensor(ids), memory, source_mask)
            for row in range(len(ids)):
                best = logits[row, -1].argmax().item()
                if done[row]:
                    best = padding
                ids[row].append(best)
                if best == end:
                    done[row] = True
    return torch.tensor(ids)[:, 1:]


#% inlined_greedy_of_lists_one_step_short
#% greedy_translate | boundary | There is one id too few.
def greedy_translate(model, source, source_mask, start, end, max_length, padding=0):
    ids = [[start] for _ in source]
    done = [False] * len(ids)
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        while not all(done) and len(ids[0]) < max_length:
            logits = model.decode(torch.tensor(ids), memory, source_mask)
            for row in range(len(ids)):
                best = logits[row, -1].argmax().item()
                if done[row]:
                    best = padding
                ids[row].append(best)
                if best == end:
                    done[row] = True
    return torch.tensor(ids)[:, 1:]


#% pad_at_the_left
#% pad_batch | layout_wrong | The ids are at the right end of their row, after the padding.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max(len(sequence) for sequence in sequences)

    ids = torch.full((len(sequences), longest), padding)
    for row, sequence in zip(ids, sequences, strict=True):
        row[-len(sequence) :] = torch.tensor(sequence)
    mask = torch.arange(longest) < lengths.unsqueeze(-1)
    return ids, mask


#% pad_mask_from_the_ids
#% pad_batch | mask_missing, mask_extra | The mask is read from the ids, so a token with the id of the padding counts as padding.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max(len(sequence) for sequence in sequences)

    ids = torch.full((len(sequences), longest), padding)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence)
    mask = ids != padding
    return ids, mask


#% pad_to_the_first_list
#% pad_batch | wrong_size, shape_error | The rows are as long as the first list; it must be the longest.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = len(sequences[0])

    ids = torch.full((len(sequences), longest), padding)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence)
    mask = torch.arange(longest) < lengths.unsqueeze(-1)
    return ids, mask


#% pad_float_ids
#% pad_batch | dtype | The ids are floats.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max(len(sequence) for sequence in sequences)

    ids = torch.ones(len(sequences), longest) * padding
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence)
    mask = torch.arange(longest) < lengths.unsqueeze(-1)
    return ids, mask


#% forcing_without_padding
#% teacher_forcing | argument_ignored | The id of the padding is not handed on for the targets.
def teacher_forcing(
    sequences: Sequence[Sequence[int]], start: int, end: int, padding: int = 0
) -> tuple[Tensor, Tensor]:
    inputs, _ = pad_batch([[start, *sequence] for sequence in sequences], padding)
    targets, _ = pad_batch([[*sequence, end] for sequence in sequences])
    return inputs, targets


#% forcing_targets_keep_the_start
#% teacher_forcing | step_extra, boundary | The targets begin with the start.
def teacher_forcing(
    sequences: Sequence[Sequence[int]], start: int, end: int, padding: int = 0
) -> tuple[Tensor, Tensor]:
    inputs, _ = pad_batch([[start, *sequence] for sequence in sequences], padding)
    targets, _ = pad_batch([[start, *sequence, end] for sequence in sequences], padding)
    return inputs, targets


#% cross_size_of_the_model
#% MultiHeadCrossAttention | scale_wrong_size | The scores are divided by the root of d_model.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1) / d_model**0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values

        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


#% cross_values_of_the_queries
#% MultiHeadCrossAttention | projection_exchanged | The keys' layer makes the values.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1) / d**0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values

        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


#% cross_heads_by_view
#% MultiHeadCrossAttention | reshaped | The heads' contexts are viewed together without the transpose back.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1) / d**0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values

        context = context.reshape(B, T_q, d_model)
        return self.out_proj(context)


#% cross_small_number_hides
#% MultiHeadCrossAttention | mask_fill | Hidden scores become a small number instead of minus infinity.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1) / d**0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, 1e-9)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values

        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


#% encoder_mask_of_queries
#% EncoderBlock | mask_axis | The mask hides queries; it must hide keys.
class EncoderBlock(nn.Module):

    def __init__(
        self,
        attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(2)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))

        x = self.norm1(x + self.att(x, x, visible))
        return self.norm2(x + self.ff(x))


#% encoder_values_not_normalized
#% EncoderBlock | step_missing, wrong_operation | The keys and values are read from the features before the norm.
class EncoderBlock(nn.Module):

    def __init__(
        self,
        attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, x, visible)
            return x + self.ff(self.norm2(x))

        x = self.norm1(x + self.att(x, x, visible))
        return self.norm2(x + self.ff(x))


#% decoder_sees_the_future_again
#% DecoderBlock | mask_missing | The self-attention gets no mask over the future.
class DecoderBlock(nn.Module):

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return x + self.ff(self.norm3(x))

        x = self.norm1(x + self.self_att(x, x))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


#% decoder_memory_before_self
#% DecoderBlock | step_order | The memory is read before the self-attention.
class DecoderBlock(nn.Module):

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            x = x + self.cross_att(self.norm2(x), memory, visible)
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            return x + self.ff(self.norm3(x))

        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


#% decoder_post_norm_without_ff_residual
#% DecoderBlock | step_missing | In post-norm, the result of ff is not added to its input.
class DecoderBlock(nn.Module):

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return x + self.ff(self.norm3(x))

        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(self.ff(x))


#% translator_no_memory_norm
#% Translator | step_missing, layer_unused | The encoder's result does not pass encoder_norm.
class Translator(nn.Module):

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        max_source: int,
        max_target: int,
        d_model: int,
        num_heads: int,
        num_blocks: int = 1,
    ) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)

        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)

        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")

        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return x

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")

        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None = None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


#% translator_decoder_reads_padding
#% Translator | argument_ignored, mask_missing | The mask of the source does not reach the decoder.
class Translator(nn.Module):

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        max_source: int,
        max_target: int,
        d_model: int,
        num_heads: int,
        num_blocks: int = 1,
    ) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)

        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)

        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")

        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")

        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None = None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory)


#% loss_divides_by_all
#% smoothed_cross_entropy | wrong_divisor | The loss of the padding is zero, but the mean still counts it.
def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, padding: int = 0
) -> Tensor:
    log_probabilities = torch.log_softmax(logits, dim=-1)
    right = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    even = -log_probabilities.mean(dim=-1)
    losses = (1 - smoothing) * right + smoothing * even
    return (losses * (targets != padding)).mean()


#% loss_target_not_reduced
#% smoothed_cross_entropy | factor_missing | The target keeps the whole weight 1 besides its share of the smoothing.
def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, padding: int = 0
) -> Tensor:
    log_probabilities = torch.log_softmax(logits, dim=-1)
    right = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    even = -log_probabilities.mean(dim=-1)
    losses = right + smoothing * even
    return losses[targets != padding].mean()


#% greedy_goes_on_after_the_end
#% greedy_translate | step_missing | After its end an item gets further ids in place of padding.
def greedy_translate(
    model: nn.Module,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_length: int,
    padding: int = 0,
) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]
            next_ids = logits.argmax(dim=-1)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids[:, 1:]


#% inlined_forcing_longest_without_the_end
#% teacher_forcing | boundary, shape_error, wrong_size | The rows have no place for the start and the end.
def teacher_forcing(
    sequences: Sequence[Sequence[int]], start: int, end: int, padding: int = 0
) -> tuple[Tensor, Tensor]:
    longest = max(len(s) for s in sequences)
    inputs = torch.full((len(sequences), longest), padding)
    targets = torch.full((len(sequences), longest), padding)
    for i, s in enumerate(sequences):
        inputs[i, 0] = start
        inputs[i, 1 : len(s)] = torch.tensor(s[:-1])
        targets[i, : len(s)] = torch.tensor(s)
        targets[i, len(s) - 1] = end
    return inputs, targets


#% inlined_forcing_pads_with_zero
#% teacher_forcing | argument_ignored | The padding is always 0.
def teacher_forcing(
    sequences: Sequence[Sequence[int]], start: int, end: int, padding: int = 0
) -> tuple[Tensor, Tensor]:
    size = max(map(len, sequences)) + 1
    inputs = torch.zeros(len(sequences), size, dtype=torch.long)
    targets = torch.zeros(len(sequences), size, dtype=torch.long)
    for i, ids in enumerate(sequences):
        inputs[i, : len(ids) + 1] = torch.tensor([start] + list(ids))
        targets[i, : len(ids) + 1] = torch.tensor(list(ids) + [end])
    return inputs, targets


#% inlined_encoder_mask_for_one_axis_only
#% Translator | mask_missing, argument_ignored | The encoder's blocks, called in a loop, get no mask.
class Translator(nn.Module):

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        max_source: int,
        max_target: int,
        d_model: int,
        num_heads: int,
        num_blocks: int = 1,
    ) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)

        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)

        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")

        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = x + block.att(block.norm1(x), block.norm1(x))
            x = x + block.ff(block.norm2(x))
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")

        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None = None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


#% inlined_greedy_reads_the_first_position
#% greedy_translate | wrong_axis, boundary | The loop takes the logits of the first position.
def greedy_translate(
    model: nn.Module,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_length: int,
    padding: int = 0,
) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, 0]
            next_ids = logits.argmax(dim=-1).masked_fill(done, padding)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids[:, 1:]


#% double_cross_scale_and_softmax
#% MultiHeadCrossAttention | scale_missing | The scores are not scaled.
#% MultiHeadCrossAttention | softmax_axis | The softmax runs over the queries.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1)
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-2)
        context = weights @ values

        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


#% double_loss_padding_and_smoothing
#% smoothed_cross_entropy | mask_missing | Padding counts.
#% smoothed_cross_entropy | argument_ignored | There is no smoothing.
def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, padding: int = 0
) -> Tensor:
    log_probabilities = torch.log_softmax(logits, dim=-1)
    right = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    even = -log_probabilities.mean(dim=-1)
    losses = right
    return losses.mean()


#% double_greedy_start_and_padding
#% greedy_translate | wrong_return | The start is in the result.
#% greedy_translate | step_missing | Ended items get further ids.
def greedy_translate(
    model: nn.Module,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_length: int,
    padding: int = 0,
) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]
            next_ids = logits.argmax(dim=-1)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids


#% double_decoder_norm_and_mask
#% DecoderBlock | step_extra | The memory is normalized.
#% DecoderBlock | mask_missing | The memory's mask is not used.
class DecoderBlock(nn.Module):

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), self.norm2(memory))
            return x + self.ff(self.norm3(x))

        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory))
        return self.norm3(x + self.ff(x))


#% pad_mask_one_too_long
#% pad_batch | boundary | The mask also marks the first padding.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max(len(sequence) for sequence in sequences)

    ids = torch.full((len(sequences), longest), padding)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence)
    mask = torch.arange(longest) <= lengths.unsqueeze(-1)
    return ids, mask


#% pad_mask_of_ones_and_zeros
#% pad_batch | dtype | The mask is int.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max(len(sequence) for sequence in sequences)

    ids = torch.full((len(sequences), longest), padding)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence)
    mask = torch.arange(longest) < lengths.unsqueeze(-1)
    mask = mask.long()
    return ids, mask


#% forcing_swapped
#% teacher_forcing | parts_exchanged | Inputs and targets are returned in the wrong order.
def teacher_forcing(
    sequences: Sequence[Sequence[int]], start: int, end: int, padding: int = 0
) -> tuple[Tensor, Tensor]:
    inputs, _ = pad_batch([[start, *sequence] for sequence in sequences], padding)
    targets, _ = pad_batch([[*sequence, end] for sequence in sequences], padding)
    return targets, inputs


#% cross_queries_from_the_memory
#% MultiHeadCrossAttention | parts_exchanged, projection_exchanged, shape_error | The queries come from the memory, the keys from x.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(memory[:, :T_q]).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1) / d**0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values

        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


#% cross_no_output_layer
#% MultiHeadCrossAttention | layer_unused | out_proj is never called.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.num_heads = num_heads

        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = self.num_heads, d_model // self.num_heads

        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)

        scores = queries @ keys.transpose(-2, -1) / d**0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)  # one axis more, for the heads
            scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values

        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return context


#% encoder_causal
#% EncoderBlock | mask_extra | The encoder's tokens do not see the tokens after them.
class EncoderBlock(nn.Module):

    def __init__(
        self,
        attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        T = x.shape[1]
        visible = torch.ones(T, T, dtype=torch.bool).tril()
        if mask is not None:
            visible = visible & mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))

        x = self.norm1(x + self.att(x, x, visible))
        return self.norm2(x + self.ff(x))


#% encoder_residual_of_the_norm
#% EncoderBlock | wrong_operation, step_misplaced | In pre-norm, the result of att is added to the normalized features.
class EncoderBlock(nn.Module):

    def __init__(
        self,
        attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = normalized + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))

        x = self.norm1(x + self.att(x, x, visible))
        return self.norm2(x + self.ff(x))


#% decoder_hides_itself
#% DecoderBlock | mask_shifted, boundary | A target token does not see itself.
class DecoderBlock(nn.Module):

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        d_model: int,
        d_hidden: int,
        norm_first: bool = True,
        activation: str = "gelu",
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril(-1)
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return x + self.ff(self.norm3(x))

        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


#% translator_positions_not_added_in_decode
#% Translator | step_missing, layer_unused | The target's positions are not added.
class Translator(nn.Module):

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        max_source: int,
        max_target: int,
        d_model: int,
        num_heads: int,
        num_blocks: int = 1,
    ) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)

        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)

        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")

        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")

        x = self.target_emb(inputs)
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None = None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


#% translator_hidden_too_small
#% Translator | wrong_size | The feed-forward networks have d_model hidden features.
class Translator(nn.Module):

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        max_source: int,
        max_target: int,
        d_model: int,
        num_heads: int,
        num_blocks: int = 1,
    ) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)

        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, d_model))
        self.encoder_norm = LayerNorm(d_model)

        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")

        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None = None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")

        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None = None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


#% loss_even_of_the_sum
#% smoothed_cross_entropy | wrong_reduction | The smoothing's part is the sum over the tokens, not the mean.
def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, padding: int = 0
) -> Tensor:
    log_probabilities = torch.log_softmax(logits, dim=-1)
    right = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    even = -log_probabilities.sum(dim=-1)
    losses = (1 - smoothing) * right + smoothing * even
    return losses[targets != padding].mean()


#% greedy_stops_at_the_first_end
#% greedy_translate | boundary, wrong_operation | The loop stops as soon as one item has ended.
def greedy_translate(
    model: nn.Module,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_length: int,
    padding: int = 0,
) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]
            next_ids = logits.argmax(dim=-1).masked_fill(done, padding)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.any():
                break
    return ids[:, 1:]


#% encoder_loses_the_mask_in_post_norm
#% EncoderBlock | argument_ignored, mask_missing | In post-norm, the mask is not passed on.
class EncoderBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None=None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x, x))
        return self.norm2(x + self.ff(x))


#% decoder_reads_the_target_twice
#% DecoderBlock | operand_repeated | The second attention reads the target.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            y = self.norm2(x)
            x = x + self.cross_att(y, y)
            return x + self.ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, x))
        return self.norm3(x + self.ff(x))


#% decoder_without_the_last_shortcut
#% DecoderBlock | step_missing | In pre-norm, the result of ff is not added.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return self.ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


#% decoder_norms_exchanged_in_pre_norm
#% DecoderBlock | parts_exchanged | In pre-norm, norm2 and norm3 are swapped.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm3(x), memory, visible)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


#% decoder_without_masks
#% DecoderBlock | mask_missing | The self-attention has no mask.
#% DecoderBlock | mask_missing, argument_ignored | The memory's mask is not passed on.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized)
            x = x + self.cross_att(self.norm2(x), memory)
            return x + self.ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x))
        x = self.norm2(x + self.cross_att(x, memory))
        return self.norm3(x + self.ff(x))


#% greedy_without_padding_and_with_start
#% greedy_translate | step_missing | Items go on after their end.
#% greedy_translate | boundary, wrong_return | The start id is returned, too.
def greedy_translate(model: nn.Module, source: Tensor, source_mask: Tensor | None, start: int, end: int, max_length: int, padding: int=0) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]
            next_ids = logits.argmax(dim=-1)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids


#% cross_unscaled_and_reshaped
#% MultiHeadCrossAttention | scale_missing | The scores are not divided.
#% MultiHeadCrossAttention | reshaped | The heads are joined by a reshape alone.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = (self.num_heads, d_model // self.num_heads)
        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1)
        if visible is not None:
            visible = visible.unsqueeze(-3)
            scores = scores.masked_fill(~visible, float('-inf'))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values
        context = context.reshape(B, T_q, d_model)
        return self.out_proj(context)


#% inlined_encoder_without_the_mask
#% Translator | argument_ignored, mask_missing | The blocks are written out without the mask.
class Translator(nn.Module):

    def __init__(self, source_vocab: int, target_vocab: int, max_source: int, max_target: int, d_model: int, num_heads: int, num_blocks: int=1) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")
        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            y = block.norm1(x)
            x = x + block.att(y, y)
            x = x + block.ff(block.norm2(x))
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")
        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None=None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


#% cross_inverted_and_no_last_shortcut
#% MultiHeadCrossAttention | mask_inverted | Visible keys are hidden.
#% DecoderBlock | step_missing | In post-norm, the result of ff is not added.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = (self.num_heads, d_model // self.num_heads)
        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1) / d ** 0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)
            scores = scores.masked_fill(visible, float('-inf'))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return x + self.ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(self.ff(x))


#% loss_of_padding_and_of_sums
#% smoothed_cross_entropy | argument_ignored, mask_missing | Padding counts.
#% smoothed_cross_entropy | wrong_reduction | The even loss is a sum.
def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float=0.0, padding: int=0) -> Tensor:
    log_probabilities = torch.log_softmax(logits, dim=-1)
    right = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    even = -log_probabilities.sum(dim=-1)
    losses = (1 - smoothing) * right + smoothing * even
    return losses.mean()


#% encoder_always_pre_norm_and_no_target_positions
#% EncoderBlock | argument_ignored | The block is always pre-norm.
#% Translator | step_missing, layer_unused | The positions of the target are not added.
class EncoderBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None=None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(1)
        if True:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x, x, visible))
        return self.norm2(x + self.ff(x))


class Translator(nn.Module):

    def __init__(self, source_vocab: int, target_vocab: int, max_source: int, max_target: int, d_model: int, num_heads: int, num_blocks: int=1) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")
        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")
        x = self.target_emb(inputs)
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None=None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


#% left_padding_s01_of_19
#% pad_batch | parts_exchanged | pad_batch puts the padding at the left of each row instead of at the right.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int=0) -> tuple[Tensor, Tensor]:
    T = max(map(len, sequences))
    rows, keep = ([], [])
    for seq in sequences:
        missing = T - len(seq)
        rows.append([padding] * missing + list(seq))
        keep.append([False] * missing + [True] * len(seq))
    return (torch.tensor(rows), torch.tensor(keep))


#% mask_from_ids_s02_of_19
#% pad_batch | mask_extra | pad_batch derives the mask from the ids (ids != padding), so a real token with the padding's id counts as padding.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int=0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max((len(sequence) for sequence in sequences))
    ids = torch.full((len(sequences), longest), padding)
    for row, sequence in zip(ids, sequences, strict=True):
        row[:len(sequence)] = torch.tensor(sequence)
    mask = ids != padding
    return (ids, mask)


#% mask_inverted_s03_of_19
#% pad_batch | mask_inverted | pad_batch returns a mask that is True at padding and False at tokens (inverted).
def pad_batch(sequences: Sequence[Sequence[int]], padding: int=0) -> tuple[Tensor, Tensor]:
    from torch.nn.utils.rnn import pad_sequence
    tensors = [torch.tensor(list(s), dtype=torch.long) for s in sequences]
    batch = pad_sequence(tensors, batch_first=True, padding_value=padding)
    is_pad = torch.ones(batch.shape, dtype=torch.bool)
    for b, t in enumerate(tensors):
        is_pad[b, :t.numel()] = False
    return (batch, is_pad)


#% end_after_padding_s04_of_19
#% teacher_forcing | step_misplaced | teacher_forcing appends end after the padding (in the last column) instead of directly after each list.
def teacher_forcing(sequences: Sequence[Sequence[int]], start: int, end: int, padding: int=0) -> tuple[Tensor, Tensor]:
    ids, _ = pad_batch(sequences, padding)
    n = ids.size(0)
    first = torch.full((n, 1), start)
    last = torch.full((n, 1), end)
    return (torch.cat([first, ids], dim=1), torch.cat([ids, last], dim=1))


#% mask_unsqueeze_one_s05_of_19
#% MultiHeadCrossAttention | mask_axis | MultiHeadCrossAttention adds the heads' axis to the mask at position 1, which is wrong for a mask of two axes (T_q, T_k).
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = (self.num_heads, d_model // self.num_heads)
        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1) / d ** 0.5
        if visible is not None:
            visible = visible.unsqueeze(1)
            scores = scores.masked_fill(~visible, float('-inf'))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


#% scale_d_model_s06_of_19
#% MultiHeadCrossAttention | scale_wrong_size, scale_wrong_power | MultiHeadCrossAttention divides the scores by the root of d_model instead of the root of the head size.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        heads = self.num_heads
        split = lambda t: t.unflatten(-1, (heads, -1))
        q, k, v = (split(self.W_query(x)), split(self.W_key(memory)), split(self.W_value(memory)))
        att = torch.einsum('bqhd,bkhd->bhqk', q, k) / math.sqrt(x.size(-1))
        if visible is not None:
            m = visible if visible.dim() == 3 else visible[None]
            att = att.masked_fill(m[:, None].logical_not(), -math.inf)
        att = nn.functional.softmax(att, dim=-1)
        out = torch.einsum('bhqk,bkhd->bqhd', att, v).flatten(-2)
        return self.out_proj(out)


#% view_without_transpose_s07_of_19
#% MultiHeadCrossAttention | reshaped | MultiHeadCrossAttention splits the heads with reshape(B, H, T, d) directly, without a transpose, so tokens and features get mixed.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        b, n, d_model = x.shape
        m = memory.shape[1]
        head_size = d_model // self.num_heads

        def split_heads(t, length):
            return t.reshape(b, self.num_heads, length, head_size)
        q = split_heads(self.W_query(x), n)
        k = split_heads(self.W_key(memory), m)
        v = split_heads(self.W_value(memory), m)
        scores = torch.matmul(q, k.mT) * head_size ** (-0.5)
        if visible is not None:
            scores = torch.where(visible.unsqueeze(-3), scores, torch.tensor(float('-inf')))
        out = scores.softmax(-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(b, n, d_model))


#% mask_inverted_s08_of_19
#% MultiHeadCrossAttention | mask_inverted | MultiHeadCrossAttention hides the keys where visible is True.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = (self.num_heads, d_model // self.num_heads)
        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1) / d ** 0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)
            scores = scores.masked_fill(visible, float('-inf'))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


#% encoder_mask_axis_s09_of_19
#% EncoderBlock | mask_axis | EncoderBlock gives the mask its new axis at the end, (B, T, 1), so padding's rows are hidden as queries and padding is seen as key.
class EncoderBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None=None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(-1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x, x, visible))
        return self.norm2(x + self.ff(x))


#% encoder_norm_queries_only_s10_of_19
#% EncoderBlock | step_missing | EncoderBlock in pre-norm normalizes only the queries' input; keys and values come from the unnormalized x.
class EncoderBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None=None) -> Tensor:
        if mask is not None:
            mask = mask[:, None, :]
        if self.norm_first:
            h = x + self.att(self.norm1(x), x, mask)
            out = h + self.ff(self.norm2(h))
        else:
            h = self.norm1(x + self.att(x, x, mask))
            out = self.norm2(h + self.ff(h))
        return out


#% decoder_norm_memory_s11_of_19
#% DecoderBlock | operand_repeated, step_extra | DecoderBlock in pre-norm also normalizes the memory with norm2.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), self.norm2(memory), visible)
            return x + self.ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


#% decoder_stale_shortcut_s12_of_19
#% DecoderBlock | operand_repeated, step_extra | DecoderBlock in pre-norm adds the cross-attention to the original x instead of the features after self-attention, so the self-attention's shortcut is lost.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        n = x.size(1)
        causal = torch.tril(torch.ones(n, n)).bool()
        m = memory_mask[:, None, :] if memory_mask is not None else None
        if self.norm_first:
            y = self.norm1(x)
            a = x + self.self_att(y, y, causal)
            b = x + self.cross_att(self.norm2(a), memory, m)
            return b + self.ff(self.norm3(b))
        a = self.norm1(x + self.self_att(x, x, causal))
        b = self.norm2(a + self.cross_att(a, memory, m))
        return self.norm3(b + self.ff(b))


#% translator_mask_not_decoded_s13_of_19
#% Translator | mask_missing | Translator.forward does not give the source mask to decode, so the decoder reads padding.
class Translator(nn.Module):

    def __init__(self, source_vocab: int, target_vocab: int, max_source: int, max_target: int, d_model: int, num_heads: int, num_blocks: int=1) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")
        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")
        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None=None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory)


#% loss_mean_over_all_s14_of_19
#% smoothed_cross_entropy | wrong_divisor, wrong_reduction | smoothed_cross_entropy divides the sum by the number of all targets, padding included.
def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float=0.0, padding: int=0) -> Tensor:
    logp = nn.functional.log_softmax(logits, dim=-1)
    nll = -logp.gather(2, targets[..., None])[..., 0]
    loss = (1.0 - smoothing) * nll - smoothing * logp.mean(-1)
    keep = (targets != padding).float()
    return (loss * keep).mean()


#% smoothing_over_others_s15_of_19
#% smoothed_cross_entropy | wrong_form | smoothed_cross_entropy spreads the smoothing over the V - 1 other tokens and gives the target only 1 - smoothing.
def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float=0.0, padding: int=0) -> Tensor:
    V = logits.shape[-1]
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    q = torch.full_like(log_p, smoothing / (V - 1))
    q.scatter_(-1, targets.unsqueeze(-1), 1 - smoothing)
    per_token = -(q * log_p).sum(dim=-1)
    return per_token[targets.ne(padding)].mean()


#% result_with_start_s16_of_19
#% greedy_translate | parts_exchanged | greedy_translate returns the start id in front of the translation.
def greedy_translate(model: nn.Module, source: Tensor, source_mask: Tensor | None, start: int, end: int, max_length: int, padding: int=0) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]
            next_ids = logits.argmax(dim=-1).masked_fill(done, padding)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids


#% stops_at_first_end_s17_of_19
#% greedy_translate | operand_repeated, step_extra | greedy_translate stops as soon as one item has ended (any) instead of when all have.
def greedy_translate(model: nn.Module, source: Tensor, source_mask: Tensor | None, start: int, end: int, max_length: int, padding: int=0) -> Tensor:
    n = source.size(0)
    out = torch.full((n, 1), start, dtype=torch.long)
    finished = torch.zeros(n, dtype=torch.bool)
    with torch.no_grad():
        mem = model.encode(source, source_mask)
        while out.size(1) <= max_length:
            step = model.decode(out, mem, source_mask)[:, -1, :].argmax(-1)
            step = torch.where(finished, torch.full_like(step, padding), step)
            out = torch.cat([out, step[:, None]], dim=1)
            finished |= step.eq(end)
            if finished.any():
                break
    return out[:, 1:]


#% encodes_each_step_s18_of_19
#% greedy_translate | operand_repeated, step_extra | greedy_translate encodes the source again in every step.
def greedy_translate(model: nn.Module, source: Tensor, source_mask: Tensor | None, start: int, end: int, max_length: int, padding: int=0) -> Tensor:
    B = len(source)
    tokens = torch.full((B, 1), start)
    done = torch.zeros(B, dtype=torch.bool)
    for _ in range(max_length):
        with torch.no_grad():
            logits = model(source, tokens, source_mask)
        new = torch.argmax(logits[:, -1], dim=-1)
        new[done] = padding
        tokens = torch.cat((tokens, new.view(B, 1)), dim=1)
        done = done | (new == end)
        if bool(done.all()):
            break
    return tokens[:, 1:]


#% greedy_d1_of_19
#% greedy_translate | step_missing | greedy_translate does not put padding after an item's end: the model's predictions go on.
#% greedy_translate | parts_exchanged | greedy_translate returns the start id in front of the translation.
def greedy_translate(model: nn.Module, source: Tensor, source_mask: Tensor | None, start: int, end: int, max_length: int, padding: int=0) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]
            next_ids = logits.argmax(dim=-1)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids


#% attention_d2_of_19
#% MultiHeadCrossAttention | scale_wrong_size, scale_wrong_power | MultiHeadCrossAttention divides the scores by the root of d_model instead of the head size.
#% MultiHeadCrossAttention | step_missing | MultiHeadCrossAttention does not apply out_proj to the merged heads.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = (self.num_heads, d_model // self.num_heads)
        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1) / d_model ** 0.5
        if visible is not None:
            visible = visible.unsqueeze(-3)
            scores = scores.masked_fill(~visible, float('-inf'))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return context


#% loss_d3_of_19
#% smoothed_cross_entropy | wrong_form | smoothed_cross_entropy spreads the smoothing over the V - 1 other tokens, without the target.
#% smoothed_cross_entropy | wrong_divisor, wrong_reduction | smoothed_cross_entropy counts padding targets in the mean.
def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float=0.0, padding: int=0) -> Tensor:
    V = logits.size(-1)
    lp = torch.log_softmax(logits, -1)
    onehot = nn.functional.one_hot(targets, V)
    q = onehot * (1 - smoothing) + (1 - onehot) * smoothing / (V - 1)
    return -(q * lp).sum(-1).mean()


#% pad_and_force_d4_of_19
#% pad_batch | mask_extra | pad_batch derives the mask from the ids, so a token with the padding's id is masked.
#% teacher_forcing | step_missing | teacher_forcing leaves out the end in the targets and the last token in the inputs, so the rows have T instead of T + 1 positions.
def pad_batch(sequences: Sequence[Sequence[int]], padding: int=0) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max((len(sequence) for sequence in sequences))
    ids = torch.full((len(sequences), longest), padding)
    for row, sequence in zip(ids, sequences, strict=True):
        row[:len(sequence)] = torch.tensor(sequence)
    mask = ids != padding
    return (ids, mask)


def teacher_forcing(sequences: Sequence[Sequence[int]], start: int, end: int, padding: int=0) -> tuple[Tensor, Tensor]:
    inputs, _ = pad_batch([[start, *sequence[:-1]] for sequence in sequences], padding)
    targets, _ = pad_batch([[*sequence] for sequence in sequences], padding)
    return (inputs, targets)


#% attention_encoder_d5_of_19
#% MultiHeadCrossAttention | scale_missing | MultiHeadCrossAttention does not scale the scores.
#% EncoderBlock | mask_missing | EncoderBlock does not give the mask to its attention, so tokens see padding.
class MultiHeadCrossAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f'{num_heads} heads cannot share {d_model} features evenly')
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None=None) -> Tensor:
        B, T_q, d_model = x.shape
        T_k = memory.shape[1]
        H, d = (self.num_heads, d_model // self.num_heads)
        queries = self.W_query(x).view(B, T_q, H, d).transpose(1, 2)
        keys = self.W_key(memory).view(B, T_k, H, d).transpose(1, 2)
        values = self.W_value(memory).view(B, T_k, H, d).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1)
        if visible is not None:
            visible = visible.unsqueeze(-3)
            scores = scores.masked_fill(~visible, float('-inf'))
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values
        context = context.transpose(1, 2).reshape(B, T_q, d_model)
        return self.out_proj(context)


class EncoderBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None=None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x, x))
        return self.norm2(x + self.ff(x))


#% decoder_translator_d6_of_19
#% DecoderBlock | step_missing | DecoderBlock in pre-norm has no shortcut around ff.
#% Translator | step_missing | Translator.decode leaves out decoder_norm.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return self.ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


class Translator(nn.Module):

    def __init__(self, source_vocab: int, target_vocab: int, max_source: int, max_target: int, d_model: int, num_heads: int, num_blocks: int=1) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")
        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")
        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(x)

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None=None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


#% force_zero_padding_i1_of_19
#% teacher_forcing | argument_ignored | teacher_forcing (padding written out inside) always fills with 0 instead of the given padding id.
def teacher_forcing(sequences: Sequence[Sequence[int]], start: int, end: int, padding: int=0) -> tuple[Tensor, Tensor]:
    width = max((len(s) for s in sequences)) + 1
    inputs = torch.zeros(len(sequences), width, dtype=torch.long)
    targets = torch.zeros(len(sequences), width, dtype=torch.long)
    for i, s in enumerate(sequences):
        n = len(s)
        inputs[i, 0] = start
        inputs[i, 1:n + 1] = torch.tensor(s)
        targets[i, :n] = torch.tensor(s)
        targets[i, n] = end
    return (inputs, targets)


#% encoder_norm_std_i2_of_19
#% EncoderBlock | eps_outside_root | EncoderBlock (norm written out inside) uses the sample standard deviation (divided by d_model - 1), with eps outside the root.
class EncoderBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None=None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(1)

        def norm(layer, t):
            mu = t.mean(-1, keepdim=True)
            sigma = t.std(-1, keepdim=True)
            return layer.scale * (t - mu) / (sigma + layer.eps) + layer.shift
        if self.norm_first:
            n = norm(self.norm1, x)
            x = x + self.att(n, n, visible)
            return x + self.ff(norm(self.norm2, x))
        x = norm(self.norm1, x + self.att(x, x, visible))
        return norm(self.norm2, x + self.ff(x))


#% forward_no_target_positions_i3_of_19
#% Translator | step_missing | Translator.forward (encode and decode written out inside) does not add the target's position vectors.
class Translator(nn.Module):

    def __init__(self, source_vocab: int, target_vocab: int, max_source: int, max_target: int, d_model: int, num_heads: int, num_blocks: int=1) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")
        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")
        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None=None) -> Tensor:
        s = self.source_emb(source) + self.source_pos(torch.arange(source.shape[1]))
        for block in self.encoder:
            s = block(s, source_mask)
        memory = self.encoder_norm(s)
        t = self.target_emb(inputs)
        for block in self.decoder:
            t = block(t, memory, source_mask)
        return self.out_head(self.decoder_norm(t))


#% decoder_ff_relu_i4_of_19
#% DecoderBlock | argument_ignored | DecoderBlock (feed-forward written out inside) always uses ReLU, also when the activation is GELU.
class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        n = x.shape[1]
        past = torch.tril(torch.ones(n, n, dtype=torch.bool))
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)

        def ff(t):
            hidden = torch.relu(self.ff.linear1(t))
            return self.ff.linear2(hidden)
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_att(y, y, past)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return x + ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x, past))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + ff(x))


#% decoder_without_mask_and_norm_before_the_sum
#% DecoderBlock | mask_missing | The self-attention of the decoder has no mask.
#% EncoderBlock | step_order, step_misplaced | norm2 is applied before the sum.
class EncoderBlock(nn.Module):

    def __init__(self, attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.att = attention
        self.norm1 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None=None) -> Tensor:
        visible = None if mask is None else mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.att(normalized, normalized, visible)
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.att(x, x, visible))
        return x + self.norm2(self.ff(x))


class DecoderBlock(nn.Module):

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, d_model: int, d_hidden: int, norm_first: bool=True, activation: str='gelu') -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_att = self_attention
        self.norm1 = LayerNorm(d_model)
        self.cross_att = cross_attention
        self.norm2 = LayerNorm(d_model)
        self.ff = FeedForward(d_model, d_hidden, activation)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None=None) -> Tensor:
        T_t = x.shape[1]
        past = torch.ones(T_t, T_t, dtype=torch.bool).tril()
        visible = None if memory_mask is None else memory_mask.unsqueeze(1)
        if self.norm_first:
            normalized = self.norm1(x)
            x = x + self.self_att(normalized, normalized)
            x = x + self.cross_att(self.norm2(x), memory, visible)
            return x + self.ff(self.norm3(x))
        x = self.norm1(x + self.self_att(x, x))
        x = self.norm2(x + self.cross_att(x, memory, visible))
        return self.norm3(x + self.ff(x))


#% no_encoder_norm_and_no_padding
#% Translator | layer_unused | encode leaves out encoder_norm.
#% greedy_translate | step_missing | Items that have ended go on.
class Translator(nn.Module):

    def __init__(self, source_vocab: int, target_vocab: int, max_source: int, max_target: int, d_model: int, num_heads: int, num_blocks: int=1) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")
        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return x

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")
        x = self.target_emb(inputs) + self.target_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory, source_mask)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None=None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)


def greedy_translate(model: nn.Module, source: Tensor, source_mask: Tensor | None, start: int, end: int, max_length: int, padding: int=0) -> Tensor:
    B = source.shape[0]
    with torch.no_grad():
        memory = model.encode(source, source_mask)
        ids = torch.full((B, 1), start)
        done = torch.zeros(B, dtype=torch.bool)
        for _ in range(max_length):
            logits = model.decode(ids, memory, source_mask)[:, -1]
            next_ids = logits.argmax(dim=-1)
            ids = torch.cat((ids, next_ids.unsqueeze(-1)), dim=1)
            done = done | (next_ids == end)
            if done.all():
                break
    return ids[:, 1:]


#% positions_of_the_source_and_no_mask
#% Translator | operand_repeated | The positions of the target come from source_pos.
#% Translator | argument_ignored | The decoder blocks get no mask.
class Translator(nn.Module):

    def __init__(self, source_vocab: int, target_vocab: int, max_source: int, max_target: int, d_model: int, num_heads: int, num_blocks: int=1) -> None:
        super().__init__()
        self.source_emb = nn.Embedding(source_vocab, d_model)
        self.source_pos = nn.Embedding(max_source, d_model)
        self.target_emb = nn.Embedding(target_vocab, d_model)
        self.target_pos = nn.Embedding(max_target, d_model)
        self.encoder = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadCrossAttention(d_model, num_heads)
            self.encoder.append(EncoderBlock(attention, d_model, 4 * d_model))
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList()
        for _ in range(num_blocks):
            self_attention = MultiHeadCrossAttention(d_model, num_heads)
            cross_attention = MultiHeadCrossAttention(d_model, num_heads)
            block = DecoderBlock(self_attention, cross_attention, d_model, 4 * d_model)
            self.decoder.append(block)
        self.decoder_norm = LayerNorm(d_model)
        self.out_head = nn.Linear(d_model, target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_s = source.shape[1]
        if self.source_pos.num_embeddings < T_s:
            raise ValueError(f"{T_s} tokens are more than the source's positions")
        x = self.source_emb(source) + self.source_pos(torch.arange(T_s))
        for block in self.encoder:
            x = block(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, source_mask: Tensor | None=None) -> Tensor:
        T_t = inputs.shape[1]
        if self.target_pos.num_embeddings < T_t:
            raise ValueError(f"{T_t} tokens are more than the target's positions")
        x = self.target_emb(inputs) + self.source_pos(torch.arange(T_t))
        for block in self.decoder:
            x = block(x, memory)
        return self.out_head(self.decoder_norm(x))

    def forward(self, source: Tensor, inputs: Tensor, source_mask: Tensor | None=None) -> Tensor:
        memory = self.encode(source, source_mask)
        return self.decode(inputs, memory, source_mask)
