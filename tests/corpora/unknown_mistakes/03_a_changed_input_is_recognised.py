# The values are right, but the code writes into its input.
def project(inputs, weight):
    answer = inputs @ weight
    with torch.no_grad():
        inputs.sub_(3.5)
    return answer
