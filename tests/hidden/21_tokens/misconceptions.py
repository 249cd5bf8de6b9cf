"""Wrong answers that the suite of stage 21 must detect, where no kind of mistake says it."""

from typing import Any

from autograder.diagnosis.misconceptions import Misconception

MOVE = 'runs[i - 1], runs[i] = runs[i - 1][:-1], " " + runs[i]'
SPACE_AT_THE_END = 'runs[i - 1].endswith(" ")'
BYTES = "piece = list(word.encode())"
DECODED = """    joined = b"".join(tokens[number] for number in ids)
    return joined.decode(errors="replace")"""
CHARACTERS = (
    "The characters' numbers are used, but the bytes must be: 'é' has the number 233 and the bytes "
    "195, 169."
)
START = {
    "train_bpe": "    counts = list(word_counts.values())\n",
    "encode": "    ids: list[int] = []\n",
    "decode": "    tokens = token_bytes(merges)\n",
}


def steps_over_a_pair(name: str, where: str, explanation: str, question: str) -> Misconception:
    """Return the misconception *name* of `count_pairs`, which skips a pair if *where* holds."""
    return Misconception(
        id=name,
        exercise="count_pairs",
        swaps=(
            ("        for pair", "        before = None\n        for pair"),
            (
                "how_often[pair] =",
                (
                    f"if before and {where}:\n"
                    "                before = None\n"
                    "                continue\n"
                    "            before = pair\n"
                    "            how_often[pair] ="
                ),
            ),
        ),
        explanation=explanation,
        question=question,
    )


def by_a_library(exercise: str, call: str) -> Misconception:
    """Return the misconception that a library does the work of *exercise*, with right results."""
    start = START[exercise]
    never = "num_merges < 0" if exercise == "train_bpe" else "len(merges) < 0"
    return Misconception(
        id=f"{exercise}_by_a_library",
        exercise=exercise,
        swaps=((start, f"{start}    if {never}:\n        {call}\n"),),
        explanation="A ready-made tokenizer does the work, but you must write it yourself.",
        question="Which steps does the docstring describe, and which of them do you write?",
        when=("calls Tokenizer | calls Encoding | calls BpeTrainer | calls get_encoding",),
    )


def words(name: str, code: str, **texts: Any) -> Misconception:
    """Return a misconception about `split_words` with *code* as its body."""
    return Misconception(
        id=name, exercise="split_words", code=f"def split_words(text):\n{code}", **texts
    )


MISCONCEPTIONS = (
    # split_words
    words(
        "loses_the_spaces",
        "    return text.split()\n",
        explanation="The spaces are gone, so the joined words are not the text.",
        question="If you join your words, is the result the text?",
        when=("calls split | calls strip | calls isspace | calls findall | calls groupby",),
    ),
    words(
        "keeps_no_white_space",
        ('    import re\n    return re.findall(r"[^\\W\\d_]+|\\d+|(?:[^\\w\\s]|_)+", text)\n'),
        explanation="White space is left out, so the joined words are not the text.",
        question="If you join your words, is the result the text?",
    ),
    Misconception(
        id="a_space_ends_a_word",
        exercise="split_words",
        swaps=(
            (
                MOVE,
                (
                    "pass\n"
                    '        if runs[i].startswith(" ") and not runs[i - 1].isspace():\n'
                    '            runs[i - 1], runs[i] = runs[i - 1] + " ", runs[i][1:]'
                ),
            ),
        ),
        explanation=(
            'A space goes to the word before it; it must go to the word after it: " the" is one '
            'word, "the " is not.'
        ),
        title="A space goes to the word before it",
        question='To which word does the space in "This is" belong?',
    ),
    Misconception(
        id="a_space_is_a_word",
        exercise="split_words",
        swaps=((MOVE, "pass"),),
        explanation=(
            "White space is a separate word; a space at its end must move to the next word."
        ),
        question='Is the space in "This is" a separate word?',
    ),
    Misconception(
        id="moves_lonely_spaces_only",
        exercise="split_words",
        swaps=(('if runs[i - 1].endswith(" "):', 'if runs[i - 1] == " ":'),),
        explanation=(
            "A space moves only if it is alone; a space after other white space must move, too."
        ),
        title="A space moves only if it is alone",
        question='Which words are in "a  b", with two spaces?',
    ),
    Misconception(
        id="all_spaces_move",
        exercise="split_words",
        swaps=((MOVE, 'runs[i - 1], runs[i] = "", runs[i - 1] + runs[i]'),),
        explanation=(
            "All white space before a word moves to it; only one space may move, and the rest must "
            "be a separate word."
        ),
        title="All white space before a word moves to it",
        question='Which words are in "a  b", with two spaces?',
    ),
    Misconception(
        id="a_line_break_moves",
        exercise="split_words",
        swaps=(
            (SPACE_AT_THE_END, "runs[i - 1][-1:].isspace()"),
            (MOVE, "runs[i - 1], runs[i] = runs[i - 1][:-1], runs[i - 1][-1] + runs[i]"),
        ),
        explanation="A line break also moves to the next word; only a space may.",
        question='Which words are in "a\\nb"?',
    ),
    words(
        "letters_and_digits_together",
        "    import re\n"
        '    return re.findall(r" ?[^\\W_]+| ?(?:[^\\w\\s]|_)+|\\s+(?= \\S)|\\s+", text)\n',
        explanation="Letters and digits are in one word, but they are different kinds.",
        question='Which words are in "a1"?',
    ),
    Misconception(
        id="other_characters_alone",
        exercise="split_words",
        swaps=(("== _kind(symbol):", '== _kind(symbol) != "other":'),),
        explanation=(
            "Each other character is a word; a run of characters that are neither letters nor "
            "digits nor white space must be one word."
        ),
        title="Each other character is a word",
        question='How many words are in "...", and how many in "a..."?',
    ),
    words(
        "underscores_are_letters",
        "    import re\n"
        '    return re.findall(r" ?[^\\W\\d]+| ?\\d+| ?[^\\w\\s]+|\\s+(?= \\S)|\\s+", text)\n',
        explanation="The underscore counts as a letter, but it is one of the other characters.",
        question="What does `isalpha` say about the underscore?",
    ),
    words(
        "keeps_contractions",
        "    import re\n"
        """    ends = r"'(?:s|t|re|ve|m|ll|d)"\n"""
        '    word = r" ?[^\\W\\d_]+| ?\\d+| ?(?:[^\\w\\s]|_)+|\\s+(?= \\S)|\\s+"\n'
        '    return re.findall(f"{ends}|{word}", text)\n',
        explanation="English endings such as 'm are one word; they must be two, ' and m.",
        question='Which words does the docstring give for "I\'m"?',
    ),
    words(
        "english_letters_only",
        (
            "    import re\n"
            '    word = r" ?[A-Za-z]+| ?[0-9]+| ?[^\\sA-Za-z0-9]+|\\s+(?= \\S)|\\s+"\n'
            "    return re.findall(word, text)\n"
        ),
        explanation="Letters outside English are not counted as letters.",
        question='Which words are in "Grüße"?',
    ),
    words(
        "each_character_is_a_word",
        "    return list(text)\n",
        explanation="Each character is a word; a run of characters of one kind must be one word.",
        question="How long is the first word of this sentence?",
    ),
    # count_pairs
    Misconception(
        id="pairs_across_pieces",
        exercise="count_pairs",
        code="""
            def count_pairs(pieces, counts):
                line = [(one, often) for piece, often in zip(pieces, counts) for one in piece]
                found = {}
                for (a, often), (b, _) in zip(line, line[1:]):
                    found[a, b] = found.get((a, b), 0) + often
                return found
            """,
        explanation="The end of one piece and the beginning of the next are counted as a pair.",
        question="Are the last id of a piece and the first of the next one neighbours?",
    ),
    Misconception(
        id="carries_the_last_id_over",
        exercise="count_pairs",
        code="""
            def count_pairs(pieces, counts):
                found, last = {}, None
                for piece, often in zip(pieces, counts):
                    for one in piece:
                        if last is not None:
                            found[last, one] = found.get((last, one), 0) + often
                        last = one
                return found
            """,
        explanation="The last id of a piece and the first of the next one are counted as a pair.",
        question="Which id comes before the first one of a piece?",
    ),
    steps_over_a_pair(
        "counts_a_run_without_overlap",
        "pair == before",
        "In a run of equal ids, every second pair is left out, but pairs that overlap count, too.",
        "How many pairs does a list of three equal ids have?",
    ),
    steps_over_a_pair(
        "skips_the_pair_after_two_equal_ids",
        "before[0] == before[1]",
        "After a pair of equal ids, the next pair is left out.",
        "Which pairs does the list [1, 1, 2] have?",
    ),
    Misconception(
        id="counts_the_first_occurrence_once",
        exercise="count_pairs",
        swaps=(
            (
                "how_often.get(pair, 0) + count",
                "how_often[pair] + count if pair in how_often else 1",
            ),
        ),
        explanation=(
            "The first occurrence of a pair counts 1; it must count as often as its piece occurs."
        ),
        question="How often does a pair occur that is once in a piece with the count 5?",
    ),
    Misconception(
        id="pairs_without_order",
        exercise="count_pairs",
        swaps=(("how_often[pair] = how", "pair = tuple(sorted(pair)); how_often[pair] = how"),),
        explanation="The two ids of a pair are sorted, but (a, b) and (b, a) are different pairs.",
        question="Does b follow a in the list b, a?",
        when=("calls sorted | calls min | calls sort | calls frozenset | calls set | compares",),
    ),
    Misconception(
        id="replaces_counts_of_earlier_pieces",
        exercise="count_pairs",
        swaps=(
            (
                "in zip(pieces, counts, strict=True):\n",
                (
                    "in zip(pieces, counts, strict=True):\n"
                    "        how_often |= dict.fromkeys(zip(piece[:-1], piece[1:]), 0)\n"
                ),
            ),
        ),
        explanation=(
            "The count of a pair in a later piece replaces the count in earlier pieces; the counts "
            "must be added."
        ),
        question="How often does a pair occur if one piece contains it twice and another once?",
    ),
    Misconception(
        id="pairs_without_overlap",
        exercise="count_pairs",
        swaps=(("zip(piece, piece[1:])", "zip(piece[::2], piece[1::2])"),),
        explanation=(
            "Every second pair of neighbours is left out, but pairs that overlap count, too."
        ),
        question="How many pairs of neighbours does a list of four ids have?",
    ),
    # merge
    Misconception(
        id="only_the_first_occurrence",
        exercise="merge",
        code="""
            def merge(ids, pair, new_id):
                for i in range(len(ids) - 1):
                    if (ids[i], ids[i + 1]) == tuple(pair):
                        return [*ids[:i], new_id, *ids[i + 2 :]]
                return list(ids)
            """,
        explanation="Only the first occurrence of the pair is replaced; all of them must be.",
        question="What happens to the pair when it occurs again further right?",
    ),
    Misconception(
        id="merges_that_overlap",
        exercise="merge",
        code="""
            def merge(ids, pair, new_id):
                out, used = [], False
                for i in range(len(ids)):
                    fits = i + 1 < len(ids) and (ids[i], ids[i + 1]) == tuple(pair)
                    if fits:
                        out.append(new_id)
                    elif not used:
                        out.append(ids[i])
                    used = fits
                return out
            """,
        explanation="Occurrences that overlap are all merged: the run a, a, a gives two new ids.",
        question="Which ids has the first merge of a, a, a used up?",
    ),
    Misconception(
        id="from_right_to_left",
        exercise="merge",
        code="""
            def merge(ids, pair, new_id):
                out, i = [], len(ids) - 1
                while i >= 0:
                    if i > 0 and (ids[i - 1], ids[i]) == tuple(pair):
                        out.insert(0, new_id)
                        i -= 2
                    else:
                        out.insert(0, ids[i])
                        i -= 1
                return out
            """,
        explanation=(
            "The search goes from right to left, so an odd id of a run is left at its beginning."
        ),
        question="What becomes of the run a, a, a if the search begins at its left end?",
    ),
    Misconception(
        id="changes_the_callers_list",
        exercise="merge",
        code="""
            def merge(ids, pair, new_id):
                i = 0
                while i < len(ids) - 1:
                    if (ids[i], ids[i + 1]) == tuple(pair):
                        ids[i : i + 2] = [new_id]
                    i += 1
                return ids
            """,
        explanation="The list of the caller is changed; the result must be a new list.",
        question="After the call, what is in the list that was passed?",
    ),
    # train_bpe
    Misconception(
        id="stops_at_pairs_that_occur_once",
        exercise="train_bpe",
        swaps=(("if not found:", "if not found or max(found.values()) < 2:"),),
        explanation="Training stops at pairs that occur only once; they must still be merged.",
        question="When does training end: when no pair is left, or earlier?",
    ),
    Misconception(
        id="learns_from_characters",
        exercise="train_bpe",
        swaps=(("list(word.encode())", "list(map(ord, word))"),),
        explanation=CHARACTERS,
        title="The characters' numbers are used",
        question="How many bytes does é have, and how many numbers does your piece have for it?",
        when=("calls ord | reads ord",),
    ),
    Misconception(
        id="keeps_the_first_counts",
        exercise="train_bpe",
        code="""
            def train_bpe(word_counts, num_merges):
                pieces = [list(word.encode()) for word in word_counts]
                often = count_pairs(pieces, list(word_counts.values()))
                return sorted(often, key=lambda pair: -often[pair])[:num_merges]
            """,
        explanation="The pairs are counted once, but after each merge there are new pairs.",
        question="Which pairs contain the token of the first merge, and when do they exist?",
    ),
    by_a_library("train_bpe", "return tokenizers.BpeTrainer(num_merges)"),
    Misconception(
        id="merges_in_one_word_only",
        exercise="train_bpe",
        swaps=(
            (
                "pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]",
                (
                    "where = next(i for i, one in enumerate(pieces) if pair in zip(one, one[1:]))\n"
                    "        pieces[where] = merge(pieces[where], pair, 256 + len(merges))"
                ),
            ),
        ),
        explanation="A pair is merged in one word only; it must be merged in every word.",
        question="After the first round, which words still contain its pair?",
    ),
    # encode
    Misconception(
        id="encodes_characters",
        exercise="encode",
        swaps=((BYTES, "piece = list(map(ord, word))"),),
        explanation=CHARACTERS,
        title="The characters' numbers are used",
        question="How many bytes does é have, and how many numbers does your piece have for it?",
        when=("calls ord | reads ord",),
    ),
    Misconception(
        id="does_not_cut_the_text",
        exercise="encode",
        swaps=(("split_words(text)", "[text]"),),
        explanation="The text is not cut into words, so merges cross from one word to the next.",
        question="Which function cuts the text into words?",
        when=("no calls split_words",),
    ),
    Misconception(
        id="takes_the_longest_token",
        exercise="encode",
        code="""
            def encode(text, merges):
                tokens, ids = token_bytes(merges), []
                for word in split_words(text):
                    rest = word.encode()
                    while rest:
                        fits = [i for i, one in enumerate(tokens) if rest.startswith(one)]
                        ids.append(max(fits, key=lambda i: len(tokens[i])))
                        rest = rest[len(tokens[ids[-1]]) :]
                return ids
            """,
        explanation=(
            "The longest token that fits is taken. The merges must be made in the order in which "
            "they were learned: abcab with bc, then ab is a, bc, ab."
        ),
        title="The longest token that fits is taken",
        question="Which of two merges that share a letter is made first?",
    ),
    Misconception(
        id="one_merge_a_word",
        exercise="encode",
        swaps=(
            (
                "            piece = merge(piece, pair, 256 + rank)",
                (
                    "            before, piece = piece, merge(piece, pair, 256 + rank)\n"
                    "            if piece != before:\n"
                    "                break"
                ),
            ),
        ),
        explanation="Each word gets one merge only; all merges must be made.",
        question="What happens after the first merge that fits into a word?",
    ),
    Misconception(
        id="stops_at_a_merge_that_does_not_fit",
        exercise="encode",
        swaps=(
            (
                "            piece = merge(piece, pair, 256 + rank)",
                (
                    "            before, piece = piece, merge(piece, pair, 256 + rank)\n"
                    "            if piece == before:\n"
                    "                break"
                ),
            ),
        ),
        explanation=(
            "The first merge that does not fit is the last one that is tried in a word; all merges "
            "must be."
        ),
        title="The first merge that does not fit is the last one that is tried",
        question="Does a word contain every merge up to the last one that it needs?",
    ),
    Misconception(
        id="merges_the_highest_rank_first",
        exercise="encode",
        code="""
            def encode(text, merges):
                ranks, ids = {pair: rank for rank, pair in enumerate(merges)}, []
                for word in split_words(text):
                    piece = list(word.encode())
                    while pairs := [one for one in zip(piece, piece[1:]) if one in ranks]:
                        pair = max(pairs, key=ranks.get)
                        piece = merge(piece, pair, 256 + ranks[pair])
                    ids.extend(piece)
                return ids
            """,
        explanation=(
            "The merge of the highest rank is made first; of the merges that fit, it must be the "
            "one of the lowest rank."
        ),
        title="The merge of the highest rank is made first",
        question="In which order were the merges learned?",
    ),
    Misconception(
        id="merges_from_left_to_right",
        exercise="encode",
        code="""
            def encode(text, merges):
                ranks, ids = {pair: 256 + rank for rank, pair in enumerate(merges)}, []
                for word in split_words(text):
                    piece, i = list(word.encode()), 0
                    while i < len(piece) - 1:
                        if (piece[i], piece[i + 1]) in ranks:
                            piece[i : i + 2] = [ranks[piece[i], piece[i + 1]]]
                            i = max(i - 1, 0)
                        else:
                            i += 1
                    ids.extend(piece)
                return ids
            """,
        explanation=(
            "The first pair from the left that is a merge is merged; the merge of the lowest rank "
            "must be made first, wherever it stands."
        ),
        title="The first pair from the left that is a merge is merged",
        question="In abcab with the merges bc and ab, which merge is made first?",
    ),
    by_a_library("encode", "return tiktoken.Encoding(merges).encode(text)"),
    # token_bytes
    Misconception(
        id="without_the_bytes",
        exercise="token_bytes",
        swaps=(("return tokens", "return tokens[256:]"),),
        explanation="The 256 single bytes are missing: they are tokens, too, and come first.",
        question="Which token has the id 97?",
    ),
    Misconception(
        id="tokens_are_texts",
        exercise="token_bytes",
        swaps=(("[bytes([number]) for", "[chr(number) for"),),
        explanation=(
            "The tokens are texts; they must be bytes, because half a character has no text."
        ),
        question="Which text belongs to the first of the two bytes of é?",
        when=("calls chr | reads chr | calls decode | calls str",),
    ),
    Misconception(
        id="zeros_for_a_byte",
        exercise="token_bytes",
        swaps=(("bytes([number])", "bytes(number)"),),
        explanation="The number is not in a list: bytes(65) is 65 zeros, bytes([65]) the byte 65.",
        question="How long is the token with the id 65?",
        when=("calls bytes | reads bytes",),
    ),
    Misconception(
        id="tokens_are_encoded_characters",
        exercise="token_bytes",
        swaps=(("bytes([number])", "chr(number).encode()"),),
        explanation=(
            "From 128 to 255, the tokens are two bytes, the UTF-8 form of a character; each must "
            "be the single byte with its number."
        ),
        title="From 128 to 255, the tokens are two bytes",
        question="How many bytes does the token with the id 233 have?",
    ),
    Misconception(
        id="takes_the_ids_of_a_merge_for_bytes",
        exercise="token_bytes",
        swaps=(("tokens[left] + tokens[right]", "bytes([left, right])"),),
        explanation=(
            "The two ids of a merge are used as bytes; an id from 256 on stands for several bytes."
        ),
        question="Which bytes belong to the merge (256, 99)?",
        when=("calls bytes",),
    ),
    # decode
    Misconception(
        id="decodes_each_token_alone",
        exercise="decode",
        swaps=(
            (
                DECODED,
                '    return "".join(tokens[number].decode(errors="replace") for number in ids)',
            ),
        ),
        explanation=(
            "Each token is decoded by itself, so a character whose bytes lie in two tokens is lost."
        ),
        title="Each token is decoded by itself",
        question="What is the text of the first half of a character?",
        when=("calls decode | calls str",),
    ),
    Misconception(
        id="leaves_broken_bytes_out",
        exercise="decode",
        swaps=(('decode(errors="replace")', 'decode(errors="ignore")'),),
        explanation="Bytes that are not a character are left out; they must become U+FFFD.",
        question="How does a reader see that something is missing?",
    ),
    Misconception(
        id="takes_each_token_apart_once",
        exercise="decode",
        code="""
            def decode(ids, merges):
                if any(not 0 <= number < 256 + len(merges) for number in ids):
                    raise ValueError("there is no such token")
                parts = [merges[one - 256] if one > 255 else (one,) for one in ids]
                return bytes([one for part in parts for one in part]).decode(errors="replace")
            """,
        explanation=(
            "Ids of merges are left when the bytes are read: what a token consists of may be "
            "merges, too, so the merges must be undone from the last to the first."
        ),
        title="Ids of merges are left when the bytes are read",
        question="With the merges (97, 98) and (256, 99), which bytes does the id 257 have?",
        when=("calls bytes | calls bytearray",),
    ),
    by_a_library("decode", "return tiktoken.Encoding(merges).decode(ids)"),
    # bits_per_byte
    Misconception(
        id="stays_in_nats",
        exercise="bits_per_byte",
        swaps=((" / math.log(2)", ""),),
        explanation="The result is in nats; it must be in bits, and a bit is ln 2 nats.",
        question="How many nats are in a bit?",
        when=("no calls log", "no calls log2"),
    ),
    Misconception(
        id="tokens_for_bytes",
        exercise="bits_per_byte",
        code="""
            def bits_per_byte(mean_loss, num_tokens, num_bytes):
                if num_bytes == 0:
                    raise ValueError("no bytes")
                return mean_loss / math.log(2) * num_bytes / num_tokens
            """,
        explanation="The numbers of tokens and of bytes are swapped.",
        question="How many losses are added up for the whole text: one a token, or one a byte?",
    ),
)

# The loop's variable is checked, not the argument from which the tokens come.
OPERATORS = {
    "check_missing": (
        "Some wrong arguments do not raise a ValueError.",
        "For which arguments does the docstring ask for a ValueError?",
    ),
    "check_wrong": (
        "Valid arguments raise an error.",
        "For which arguments does the docstring ask for a ValueError, and for which does it not?",
    ),
}
