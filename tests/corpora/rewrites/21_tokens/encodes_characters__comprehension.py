def encode(text, merges):
    found = []
    for word in split_words(text):
        numbers = [ord(sign) for sign in word]
        for new_id, pair in zip(range(256, 256 + len(merges)), merges):
            numbers = merge(numbers, pair, new_id)
        found = found + numbers
    return found
