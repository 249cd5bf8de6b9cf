def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    model.zero_grad()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= learning_rate * p.grad
    return loss.item()
