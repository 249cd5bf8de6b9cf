# Both distributions that are allowed are drawn; another one is not refused.
def draw_weights(d_in, d_out, distribution="rand"):
    draw = torch.rand if distribution == "rand" else torch.randn
    return tuple(nn.Parameter(draw(d_in, d_out), requires_grad=False) for _ in range(3))
