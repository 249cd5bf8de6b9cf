"""Index by index, as a beginner writes it."""

import math


def split_words(text):
    words = []
    i = 0
    while i < len(text):
        start = i
        if text[i].isalpha():
            while i < len(text) and text[i].isalpha():
                i = i + 1
        elif text[i].isdigit():
            while i < len(text) and text[i].isdigit():
                i = i + 1
        elif text[i].isspace():
            while i < len(text) and text[i].isspace():
                i = i + 1
        else:
            while i < len(text) and not (text[i].isalpha() or text[i].isdigit() or text[i].isspace()):
                i = i + 1
        words.append(text[start:i])
    result = []
    carry = ""
    for number in range(len(words)):
        word = carry + words[number]
        carry = ""
        if number < len(words) - 1 and words[number].isspace() and word[-1] == " ":
            carry = " "
            word = word[:-1]
        if word != "":
            result.append(word)
    return result


def count_pairs(pieces, counts):
    result = {}
    for i in range(len(pieces)):
        for j in range(len(pieces[i]) - 1):
            pair = (pieces[i][j], pieces[i][j + 1])
            if pair in result:
                result[pair] = result[pair] + counts[i]
            else:
                result[pair] = counts[i]
    return result


def merge(ids, pair, new_id):
    new_ids = []
    skip = False
    for i in range(len(ids)):
        if skip:
            skip = False
            continue
        if i < len(ids) - 1 and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            new_ids.append(new_id)
            skip = True
        else:
            new_ids.append(ids[i])
    return new_ids


def train_bpe(word_counts, num_merges):
    words = []
    counts = []
    for word in word_counts:
        words.append(list(bytes(word, "utf-8")))
        counts.append(word_counts[word])
    merges = []
    for step in range(num_merges):
        pairs = count_pairs(words, counts)
        best = None
        for pair in pairs:
            if best is None or pairs[pair] > pairs[best]:
                best = pair
        if best is None:
            return merges
        for i in range(len(words)):
            words[i] = merge(words[i], best, 256 + step)
        merges.append(best)
    return merges


def encode(text, merges):
    result = []
    for word in split_words(text):
        ids = [byte for byte in word.encode("utf-8")]
        for i in range(len(merges)):
            ids = merge(ids, merges[i], i + 256)
        result = result + ids
    return result


def token_bytes(merges):
    tokens = []
    for i in range(256):
        tokens.append(bytes([i]))
    for i in range(len(merges)):
        first = tokens[merges[i][0]]
        second = tokens[merges[i][1]]
        tokens.append(first + second)
    return tokens


def decode(ids, merges):
    tokens = token_bytes(merges)
    result = b""
    for i in ids:
        if i < 0 or i >= len(tokens):
            raise ValueError("unknown id")
        result = result + tokens[i]
    return str(result, "utf-8", "replace")


def bits_per_byte(mean_loss, num_tokens, num_bytes):
    if num_bytes == 0:
        raise ValueError("no bytes")
    total = mean_loss * num_tokens
    return total / (num_bytes * math.log(2))
