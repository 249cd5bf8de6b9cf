def train(model, batches, learning_rate):
    history = []
    for _ in range(len(batches)):
        x, y = batches[0]
        history += [train_step(model, x, y, learning_rate)]
    return history
