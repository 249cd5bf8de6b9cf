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

    def forward(self, idx):
        B, T = idx.shape
        if T > len(self.tril):
            raise ValueError("too long")
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T))
        k, q, v = self.W_key(x), self.W_query(x), self.W_value(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.out_head(wei.softmax(dim=-1) @ v)
