def split_words(text):
    from itertools import groupby

    kinds = lambda sign: (sign.isalpha(), sign.isdigit(), sign.isspace())
    return ["".join(run) for _, run in groupby(text, kinds)]
