def train_step(model, ids, targets, learning_rate):
    for p in model.parameters():
        p.grad = None
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.data = p.data + learning_rate * p.grad
    return loss.item()
