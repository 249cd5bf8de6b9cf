def train_step(model, ids, targets, learning_rate):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in model.parameters():
        if p.requires_grad and p.grad is not None:
            p.data.sub_(learning_rate * p.grad)
    return float(loss)
