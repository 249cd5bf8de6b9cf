def dot_product(a, b):
    n = len(a)
    if n != len(b):
        raise ValueError("not equally long")
    result = 0.0
    i = 0
    while i < n - 1:
        result = result + a[i] * b[i]
        i += 1
    return result
