def induction_pattern(ids):
    B, T = ids.shape
    marks = torch.zeros(B, T, T)
    for b in range(B):
        for i in range(T):
            for j in range(1, T):
                if ids[b, j - 1] == ids[b, i] and j - 1 <= i:
                    marks[b, i, j] = 1.0
    return marks
