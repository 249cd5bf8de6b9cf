"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import collections
import itertools
import math

import pytest

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, number, number_agrees
from autograder.suite.forbidden import avoids

READY = frozenset(
    {
        "AutoTokenizer",
        "BPE",
        "BasicTokenizer",
        "BpeTrainer",
        "ByteLevel",
        "ByteLevelBPETokenizer",
        "CharBPETokenizer",
        "Encoding",
        "GPT2Tokenizer",
        "GPT2TokenizerFast",
        "GPT4Tokenizer",
        "PreTrainedTokenizerFast",
        "RegexTokenizer",
        "SentencePieceBPETokenizer",
        "SentencePieceProcessor",
        "SentencePieceTrainer",
        "Tokenizer",
        "encoding_for_model",
        "get_encoding",
    }
)
BY_HAND = "In this stage you write the tokenizer yourself."
LETTERS = "abcdefghijklmnopqrstuvwxyz"
BEYOND_ASCII = ("é", "ß", "漢", "😀")  # 2, 2, 3 and 4 bytes
SENTENCES = (
    "This is the Hugging Face Course.",
    "This chapter is about tokenization.",
    "This section shows several tokenizer algorithms.",
    "Hopefully, you will be able to understand how they are trained and generate tokens.",
)
LOW = {"low_": 5, "lower_": 2, "newest_": 6, "widest_": 3}
FAST = {"fast_": 4, "faster_": 3, "tall_": 5, "taller_": 4}
HUG = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
WIKIPEDIA = "aaabdaaabac"
WIKIPEDIA_MERGES = [(97, 97), (97, 98), (256, 257)]
GPT2_TEXTS = {
    "hello": "Hello, I am",
    "tea": "Hello, do you like tea?",
    "akwirw": "Akwirw ier",
    "terraces": " In the sunlit terraces of someunknownPlace.",
}
PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
GPT2_BYTES = (*PRINTABLE, *(one for one in range(256) if one not in PRINTABLE))


def whole_numbers(probe, count, below):
    """Draw *count* whole numbers from 0 to *below* - 1."""
    return [int(share * below) for share in probe.uniform(count).tolist()]


def draw_text(probe, count, parts=LETTERS):
    """Draw *count* of *parts*, which are characters or longer texts, and join them."""
    return "".join(parts[index] for index in whole_numbers(probe, count, len(parts)))


def different_letters(probe, count):
    """Draw *count* different letters."""
    order = probe.uniform(len(LETTERS)).tolist()
    return "".join(sorted(LETTERS, key=lambda letter: order[LETTERS.index(letter)])[:count])


def draw_pieces(probe, count, below=4):
    """Draw *count* lists of 2 to 9 numbers below *below*, and how often each one occurs."""
    lengths = [2 + size for size in whole_numbers(probe, count, 8)]
    pieces = [whole_numbers(probe, length, below) for length in lengths]
    return pieces, [1 + size for size in whole_numbers(probe, count, 9)]


def draw_words(probe, count, letters="abcde"):
    """Draw up to *count* different words of 3 to 7 letters, and how often each one occurs."""
    sizes = [3 + size for size in whole_numbers(probe, count, 5)]
    words = dict.fromkeys(draw_text(probe, size, letters) for size in sizes)
    often = whole_numbers(probe, count, 30)
    return {word: 1 + times for word, times in zip(words, often, strict=False)}


def texts(answer, what="The result"):
    """Return *answer* if it is a list of texts; otherwise fail the check."""
    right = isinstance(answer, list | tuple) and all(isinstance(one, str) for one in answer)
    expect(right, f"{what} is not a list of texts.", Status.WRONG_TYPE)
    return list(answer)


def numbers(answer, below, what="The result"):
    """Return *answer* if it is a list of ids below *below*; otherwise fail the check."""
    right = isinstance(answer, list | tuple) and all(type(one) is int for one in answer)
    expect(right, f"{what} is not a list of whole numbers.", Status.WRONG_TYPE)
    expect(
        all(0 <= one < below for one in answer),
        f"{what} has a number that is not the id of a token.",
    )
    return list(answer)


def known_merges(answer):
    """Return *answer* if it is a list of merges of known tokens; otherwise fail the check."""
    pairs = isinstance(answer, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(type(one) is int for one in pair)
        for pair in answer
    )
    expect(pairs, "The result is not a list of pairs of whole numbers.", Status.WRONG_TYPE)
    for rank, pair in enumerate(answer):
        message = "A merge names a token that did not exist before it."
        expect(all(0 <= one < 256 + rank for one in pair), message)
    return [tuple(pair) for pair in answer]


def in_pairs(value):
    """Return the lists of two numbers in a documented value as tuples."""
    return [tuple(pair) for pair in value]


def by_gpt2(documented, name):
    """Return GPT-2's merges for a text as pairs, and GPT-2's id of each token of this stage."""
    given = documented[f"gpt2.{name}.merges"].plain
    numbered = [*map(GPT2_BYTES.index, range(256)), *(one for *_, one in given)]
    return [(left, right) for left, right, _ in given], numbered


# split_words


@check("split_words", points=0.25, layer="documented")
def test_cuts_the_documented_sentences(student, documented):
    """The words of four sentences of the Hugging Face course, counted, are the documented ones."""
    words = [texts(student.call("split_words", sentence)) for sentence in SENTENCES]
    counted = collections.Counter(word for some in words for word in some)

    documented["hf.words"].matches(dict(counted), "The count of the words")


@check("split_words", points=0.25, layer="probe")
def test_cuts_where_the_kind_of_character_changes(student, reference, probe):
    """Letters, digits and other characters are words of different kinds."""
    text = "7bI'm" + draw_text(probe, 40, ("a", "B", "tea", "4", "42", "!", "'", "_", "-", " "))

    agrees(student.call("split_words", text), reference.call("split_words", text), "The words")


@check("split_words", points=0.2, layer="probe")
def test_moves_one_space_to_the_next_word(student, reference, probe):
    """A run of white space gives only the space at its end away; a line break stays."""
    spaces = (" ", "  ", "   ", "\n", " \n", "\n ", "\n  ", "\t", "a", "b!", "7")
    for text in ("a  b\n  c", draw_text(probe, 30, spaces) + "  "):
        words = student.call("split_words", text)

        agrees(words, reference.call("split_words", text), "The words")


@check("split_words", points=0.15, layer="probe")
def test_knows_letters_and_digits_beyond_english(student, reference, probe):
    """Letters with accents and other alphabets are letters; digits need not be 0 to 9."""
    text = "Grüße 5 " + draw_text(probe, 30, (*BEYOND_ASCII, "z", "ж", "٣", "3", " ", "…"))

    agrees(student.call("split_words", text), reference.call("split_words", text), "The words")


@check("split_words", points=0.1, layer="laws")
def test_joined_words_are_the_text(student, probe):
    """Joined, the words are the text; none is empty, and a run of letters stays together."""
    run = draw_text(probe, 5)
    text = run + draw_text(probe, 30, ("  ", " ", "a", "é", "7", "!", "\n")) + " "
    words = texts(student.call("split_words", text), "The list of words")

    agrees("".join(words), text, "The text of the joined words")
    expect(all(words), "One of the words is empty.")
    expect(words[0].startswith(run), "The first word does not begin with the whole run of letters.")
    expect(len(words) > 1, "There is only one word.")


@check("split_words", points=0.1, layer="laws")
def test_a_word_has_one_kind_of_character(student, probe):
    """Behind the space at its beginning, a word has characters of one kind only."""
    text = "a1" + draw_text(probe, 40, ("a", "é", "b", "7", "!", "?", "\n", " "))
    words = texts(student.call("split_words", text), "The list of words")

    expect("".join(words) == text, "The joined words are not the text.")
    for word in words:
        kinds = {kind_of(symbol) for symbol in (word[1:] if word[:1] == " " else word)}
        expect(len(kinds) < 2, "A word has characters of more than one kind.")


def kind_of(symbol):
    """Return the number of the first test that a character passes."""
    tests = (str.isalpha, str.isdigit, str.isspace)
    return next((place for place, test in enumerate(tests) if test(symbol)), len(tests))


@check("split_words", points=0.15, layer="laws")
def test_words_meet_only_where_they_must(student, probe):
    """Where two words meet, a space begins or the kind changes; a word never ends in a space."""
    text = "ab" + draw_text(probe, 40, ("a", "b", "c", "77", "!", "\n", " ")) + "a"
    words = texts(student.call("split_words", text), "The list of words")

    expect("".join(words) == text, "The joined words are not the text.")
    expect(all(words), "One of the words is empty.")
    expect(len(words) > 1, "There is only one word.")
    for left, right in itertools.pairwise(words):
        meets = right[0] == " " or kind_of(left[-1]) != kind_of(right[0])
        expect(meets, "Two words meet within a run of equal kind.")
        ends = bool(left.strip()) and left.endswith(" ")
        expect(not ends, "A word that is not white space ends in a space.")


@check("split_words", points=0.1, layer="laws")
def test_words_of_two_texts(student, probe):
    """The words of two texts, joined where a new word begins, are the words of both."""
    one = draw_text(probe, 9, ("a", "7", "!", " ", "\n")) + "x"
    other = " y" + draw_text(probe, 9, ("b", "4", "?", " ", "\n"))
    apart = [texts(student.call("split_words", text)) for text in (one, other)]
    expect(any("y" in word for word in apart[1]), "The words lack a letter of the text.")

    found = student.call("split_words", one + other)
    agrees(found, apart[0] + apart[1], "The list of all words", "the joined list of both texts")


@check("split_words", points=0.1, layer="laws")
def test_other_letters_have_words_of_the_same_lengths(student, probe):
    """Other letters and other digits in the same places give words of the same lengths."""
    text = "a4 " + draw_text(probe, 30, ("a", "b", "4", " ", "\n", "!"))
    moved = text.translate(str.maketrans("ab4", "éz7"))
    words, others = (texts(student.call("split_words", one)) for one in (text, moved))

    lengths, wanted = ([len(word) for word in some] for some in (words, others))
    agrees(lengths, wanted, "The list of lengths", "that with other letters")
    expect(sum(map(len, words)) == len(text), "The words are not as long as the text.")
    expect(words != others, "The words do not depend on the letters.")


# count_pairs


@check("count_pairs", points=0.15, layer="documented")
def test_counts_the_documented_pairs(student, documented):
    """In 1, 2, 3, 1, 2 the pair (1, 2) occurs twice."""
    found = student.call("count_pairs", [[1, 2, 3, 1, 2]], [1])

    documented["minbpe.get_stats"].matches(found, "The count of pairs")


@check("count_pairs", points=0.15, layer="documented")
def test_counts_the_documented_words(student, documented):
    """In hug 10, pug 5, pun 12, bun 4 and hugs 5, h u occurs 15 times and u g 20 times."""
    pieces = [list(word.encode()) for word in HUG]
    found = student.call("count_pairs", pieces, [*HUG.values()])
    expect(isinstance(found, dict), "The result is not a dictionary.", Status.WRONG_TYPE)

    counts = [found.get(pair) for pair in ((104, 117), (117, 103))]
    documented["hf.hug.pairs"].matches(counts, "The list of the two counts")


@check("count_pairs", points=0.2, layer="probe")
def test_counts_the_pairs_of_unseen_pieces(student, reference, probe):
    """Each pair has the number of times that it occurs in all pieces."""
    given = draw_pieces(probe, 4 + probe.number % 5)

    agrees(student.call("count_pairs", *given), reference.call("count_pairs", *given), "The counts")


@check("count_pairs", points=0.15, layer="probe")
def test_counts_runs_and_short_pieces(student, probe):
    """A run of n equal ids has n - 1 pairs, and a piece with one id or none has no pair."""
    length, often, lone = 3 + probe.number % 9, 2 + probe.number % 7, probe.number % 11
    pieces = [[7] * length, [lone], [], [lone, 7]]
    found = student.call("count_pairs", pieces, [often, 5, 3, 1])
    pairs = {(7, 7): often * (length - 1)}
    pairs[(lone, 7)] = pairs.get((lone, 7), 0) + 1

    agrees(found, pairs, "The count of pairs")


@check("count_pairs", points=0.1, layer="laws")
def test_all_counts_add_up(student, probe):
    """Together, the counts are the number of neighbours in all pieces."""
    pieces, counts = draw_pieces(probe, 5)
    found = student.call("count_pairs", pieces, counts)
    expect(isinstance(found, dict), "The result is not a dictionary.", Status.WRONG_TYPE)
    neighbours = zip(pieces, counts, strict=True)

    total = sum(number(one, "A count") for one in found.values())
    number_agrees(
        total, sum(often * (len(one) - 1) for one, often in neighbours), "The sum of counts"
    )


@check("count_pairs", points=0.1, layer="laws")
def test_a_piece_twice_counts_twice(student, probe):
    """Two equal pieces count as much as one piece with the sum of their counts."""
    [one, other], [few, many] = draw_pieces(probe, 2)
    apart = student.call("count_pairs", [one, other, one], [few, many, 3])
    together = student.call("count_pairs", [one, other], [few + 3, many])
    less = student.call("count_pairs", [one, other], [few, many])

    agrees(apart, together, "The count for a piece twice", "that for the sum of its counts")
    expect(not alike(together, less), "A larger count of a piece changes nothing.")


@check("count_pairs", points=0.1, layer="laws")
def test_backwards_the_pairs_are_turned_round(student, probe):
    """If all pieces are written backwards, each pair is turned round and keeps its count."""
    pieces, counts = draw_pieces(probe, 4, 6)
    pieces[0] = [1, 5, 5, *pieces[0]]
    forwards = student.call("count_pairs", pieces, counts)
    backwards = student.call("count_pairs", [piece[::-1] for piece in pieces], counts)
    for one in (forwards, backwards):
        right = isinstance(one, dict) and all(isinstance(key, tuple) for key in one)
        expect(right and one, "The result is not a dictionary of pairs.", Status.WRONG_TYPE)

    turned = {pair[::-1]: times for pair, times in forwards.items()}
    agrees(backwards, turned, "The count of reversed pieces", "that with each pair turned round")
    expect(not alike(forwards, backwards), "Forwards and backwards, the counts are the same.")


@check("count_pairs", points=0.15, layer="forbidden", rules=("lists_unchanged",))
def test_counting_leaves_the_pieces_unchanged(student, probe):
    """The pieces and their counts are as before."""
    expect(
        student.keeps_inputs("count_pairs", *draw_pieces(probe, 4)), "One of the lists has changed."
    )


# merge


@check("merge", points=0.1, layer="documented")
def test_merges_the_documented_pair(student, documented):
    """In 1, 2, 3, 1, 2 the pair (1, 2) becomes 4: 4, 3, 4."""
    documented["minbpe.merge"].matches(student.call("merge", [1, 2, 3, 1, 2], (1, 2), 4))


@check("merge", points=0.2, layer="documented")
def test_merges_the_documented_steps(student, documented):
    """Wikipedia's aaabdaaabac becomes ZabdZabac, then ZYdZYac, then XdXac."""
    ids, steps = list(WIKIPEDIA.encode()), []
    for rank, pair in enumerate(WIKIPEDIA_MERGES):
        ids = student.call("merge", ids, pair, 256 + rank)
        steps.append(numbers(ids, 257 + rank))

    documented["wikipedia.steps"].matches(steps, "The list of the three steps")


@check("merge", points=0.2, layer="probe")
def test_merges_unseen_ids(student, reference, probe):
    """Each occurrence of the pair is replaced, and all other ids stay."""
    drawn = whole_numbers(probe, 20 + probe.number % 9, 3)
    ids = [0, 1, *drawn, 2, 0, 1, 2]

    agrees(
        student.call("merge", ids, (0, 1), 300),
        reference.call("merge", ids, (0, 1), 300),
        "The list of ids",
    )


@check("merge", points=0.1, layer="probe")
def test_merges_runs_without_overlap(student, reference, probe):
    """Runs of the same id are merged from left to right, without overlap."""
    lengths = [2 + size for size in whole_numbers(probe, 4, 5)]
    ids = [one for length in (3, *lengths) for one in (*[5] * length, 9)]

    agrees(
        student.call("merge", ids, (5, 5), 256),
        reference.call("merge", ids, (5, 5), 256),
        "The list of ids",
    )


@check("merge", points=0.1, layer="probe")
def test_merges_at_both_ends(student, probe):
    """The first and the last two ids can be a pair, and a single id at the end stays."""
    a, b, new = 1 + probe.number % 5, 7 + probe.number % 3, 256 + probe.number % 30

    agrees(student.call("merge", [a, b, 6, a, b], (a, b), new), [new, 6, new], "The list of ids")
    agrees(student.call("merge", [6, a, b, a], (a, b), new), [6, new, a], "The list of ids")
    for short in ([a], []):
        agrees(student.call("merge", short, (a, b), new), short, "The list of ids")


@check("merge", points=0.15, layer="laws")
def test_written_out_again_the_ids_are_the_same(student, probe):
    """If each new id is written out as the pair again, the ids are those from before."""
    ids = [2, 1, *whole_numbers(probe, 25, 3), 2, 1]
    merged = numbers(student.call("merge", ids, (2, 1), 257), 258)
    written_out = [one for id_ in merged for one in ((2, 1) if id_ == 257 else (id_,))]

    agrees(written_out, ids, "The list of ids that is written out")
    expect(len(merged) < len(ids), "The list of ids has become no shorter.")


@check("merge", points=0.1, layer="laws")
def test_the_pair_is_gone(student, probe):
    """After the merge the pair does not occur, and merging again changes nothing."""
    ids = [1, 1, 1, *whole_numbers(probe, 25, 2), 0, 1, 1]
    merged = numbers(student.call("merge", ids, (1, 1), 258), 259)

    expect(258 in merged, "The new id does not occur.")
    expect((1, 1) not in itertools.pairwise(merged), "The pair still occurs.")
    again = student.call("merge", merged, (1, 1), 258)
    agrees(again, merged, "The list that is merged again", "the list that is merged once")


@check("merge", points=0.1, layer="laws")
def test_only_the_pair_in_its_order_is_merged(student, probe):
    """The pair turned round is a different one: it does not occur, so nothing changes."""
    low = sorted(whole_numbers(probe, 9, 4))
    ids = [*low, 4, 5, 6]

    agrees(student.call("merge", ids, (5, 4), 256), ids, "The list without the pair")
    agrees(student.call("merge", ids, (4, 5), 256), [*low, 256, 6], "The list with the pair")


@check("merge", points=0.1, layer="laws")
def test_a_run_is_halved(student, probe):
    """A run of n equal ids becomes n // 2 new ids, and an odd one stays at the end."""
    for length in (4 + probe.number % 9, 5 + probe.number % 9):
        merged = student.call("merge", [3] * length, (3, 3), 256)

        agrees(merged, [256] * (length // 2) + [3] * (length % 2), "The list of ids")


@check("merge", points=0.15, layer="forbidden", rules=("lists_unchanged",))
def test_merging_leaves_the_ids_unchanged(student, probe):
    """The list of ids is as before; the result is a new list."""
    ids = [1, 2, *whole_numbers(probe, 9, 3)]
    expect(student.keeps_inputs("merge", ids, (1, 2), 256), "The list of ids has changed.")


# train_bpe


@check("train_bpe", points=0.25, layer="documented")
def test_learns_the_merges_of_the_paper(student, documented):
    """From low_, lower_, newest_ and widest_ the merges are es, est, est_, lo and so on."""
    documented["sennrich.merges"].matches(student.call("train_bpe", LOW, 10), "The list of merges")


@check("train_bpe", points=0.1, layer="documented")
def test_learns_the_documented_merges_of_tall_and_fast(student, documented):
    """From fast_, faster_, tall_ and taller_ the merges are ta, tal, tall, fa, fas and so on."""
    documented["d2l.merges"].matches(student.call("train_bpe", FAST, 10), "The list of merges")


@check("train_bpe", points=0.1, layer="documented")
def test_learns_the_documented_merges_of_hug(student, documented):
    """From hug, pug, pun, bun and hugs the merges are ug, un, hug."""
    documented["hf.hug.merges"].matches(student.call("train_bpe", HUG, 3), "The list of merges")


@check("train_bpe", points=0.15, layer="documented")
def test_learns_the_documented_merges_of_sentences(student, documented):
    """From the 30 words of four sentences the 19 merges are the documented ones."""
    found = student.call("train_bpe", dict(documented["hf.words"].plain), 19)

    documented["hf.merges"].matches(found, "The list of merges")


@check("train_bpe", points=0.25, layer="probe")
def test_learns_the_merges_of_unseen_words(student, reference, probe):
    """In each round the most frequent pair is merged."""
    words = draw_words(probe, 6 + probe.number % 4)
    merges = reference.call("train_bpe", words, 8)

    agrees(student.call("train_bpe", words, 8), merges, "The list of merges")


@check("train_bpe", points=0.2, layer="probe")
def test_the_first_of_equally_frequent_pairs_is_merged(student, reference, probe):
    """If several pairs are equally frequent, the one that occurs first is merged."""
    letters = different_letters(probe, 12)
    words = dict.fromkeys((letters[:4], letters[4:9], letters[9:]), 2)
    merges = reference.call("train_bpe", words, 7)

    agrees(student.call("train_bpe", words, 7), merges, "The list of merges")


@check("train_bpe", points=0.1, layer="probe")
def test_learns_from_bytes(student, reference, probe):
    """A character beyond ASCII has several bytes, which are merged like all others."""
    words = draw_words(probe, 5, (*BEYOND_ASCII, "a"))
    merges = reference.call("train_bpe", words, 6)

    agrees(student.call("train_bpe", words, 6), merges, "The list of merges")


@check("train_bpe", points=0.15, layer="probe")
def test_learns_from_a_text_in_one_piece(student, reference, probe):
    """A text that was not cut is one long word, whose spaces are bytes like all others."""
    text = draw_text(probe, 40 + probe.number % 20, ("a", "b", " ", "a b"))
    merges = reference.call("train_bpe", {text: 1}, 5)

    agrees(student.call("train_bpe", {text: 1}, 5), merges, "The list of merges")


@check("train_bpe", points=0.1, layer="laws")
def test_fewer_merges_are_the_beginning_of_more(student, probe):
    """The first merges do not depend on how many are asked for."""
    words = draw_words(probe, 6)
    many = known_merges(student.call("train_bpe", words, 6))
    few = known_merges(student.call("train_bpe", words, 3))

    expect(len(few) == 3 and len(many) == 6, "The number of merges is not the one asked for.")
    agrees(few, many[:3], "The list of three merges", "the beginning of that of six")


@check("train_bpe", points=0.15, layer="laws")
def test_only_the_proportions_of_counts_matter(student, probe):
    """Three times all counts change nothing; a very frequent word becomes one token first."""
    words, often = draw_words(probe, 5), different_letters(probe, 4)
    merges = known_merges(student.call("train_bpe", words, 4))
    tripled = {word: 3 * times for word, times in words.items()}
    first = known_merges(student.call("train_bpe", {**words, often: 10_000}, 3))

    found = known_merges(student.call("train_bpe", tripled, 4))
    agrees(found, merges, "The list of merges for tripled counts", "that for the counts")
    parts = sorted(part for pair in first for part in pair)
    agrees(
        parts, sorted((*often.encode(), 256, 257)), "The list of parts in the first three merges"
    )


@check("train_bpe", points=0.1, layer="laws")
def test_merges_join_known_tokens(student, probe):
    """Each merge joins two tokens that exist before it, and no pair is merged twice."""
    words = {"a漢b漢": 3, **draw_words(probe, 7, ("a", "b", "漢"))}
    merges = known_merges(student.call("train_bpe", words, 9))

    expect(len(set(merges)) == 9, "There are not nine different merges.")
    expect(max(max(pair) for pair in merges) > 255, "No merge uses a token of an earlier merge.")


@check("train_bpe", points=0.15, layer="laws")
def test_training_ends_when_every_word_is_one_token(student, probe):
    """When every word is one token, no pair is left, and training ends without an error."""
    letters = different_letters(probe, 11)
    cut = 3 + probe.number % 6
    words = {letters[:cut]: 1, letters[cut:]: 4}

    agrees(
        student.call("train_bpe", {letters[:2]: 1}, 5),
        [tuple(letters[:2].encode())],
        "The list of merges",
    )
    agrees(student.call("train_bpe", {}, 3), [], "The list of merges without words")
    merges = known_merges(student.call("train_bpe", words, 50))
    goes_on = "Training ends before every word is one token, or goes on after that."
    expect(len(merges) == 9, goes_on)


@check("train_bpe", points=0.05, layer="forbidden", rules=("lists_unchanged",))
def test_training_leaves_the_words_unchanged(student, probe):
    """The dictionary of words is as before."""
    expect(student.keeps_inputs("train_bpe", draw_words(probe, 4), 3), "The words have changed.")


@check("train_bpe", points=0.05, layer="forbidden", rules=("no_ready_tokenizer",))
def test_training_uses_no_ready_tokenizer(student):
    """You learn the merges yourself."""
    result = student.call("train_bpe", {"aba": 2}, 1)
    expect(isinstance(result, list | tuple), "The result is not a list.", Status.WRONG_TYPE)
    expect(result, "The result is empty.")

    avoids(student, "train_bpe", READY, BY_HAND)


# encode


@check("encode", points=0.1, layer="documented")
def test_encodes_the_documented_letters(student, documented):
    """With three merges, aaabdaaabac is 258, 100, 258, 97, 99."""
    ids = student.call("encode", WIKIPEDIA, WIKIPEDIA_MERGES)

    documented["minbpe.wikipedia"].matches(ids, "The list of ids")


@check("encode", points=0.05, layer="documented")
@pytest.mark.parametrize("word", ["bug", "thug"])
def test_encodes_documented_words(student, documented, word):
    """With the merges ug, un and hug, the word has the documented tokens."""
    ids = student.call("encode", word, in_pairs(documented["hf.hug.merges"].plain))

    documented[f"hf.hug.{word}"].matches(ids, "The list of ids")


@check("encode", points=0.1, layer="documented")
def test_encodes_the_documented_sentence(student, documented):
    """With 19 merges, "This is not a token." has the nine documented tokens."""
    merges = in_pairs(documented["hf.merges"].plain)

    ids = student.call("encode", "This is not a token.", merges)
    documented["hf.encode"].matches(ids, "The list of ids")


@check("encode", points=0.15, layer="documented")
def test_gives_the_ids_of_gpt2(student, documented):
    """With GPT-2's merges, two published texts have GPT-2's own ids."""
    for name in ("hello", "tea"):
        gives_gpt2s_ids(student, documented, name)


@check("encode", points=0.1, layer="documented")
def test_gives_the_ids_of_gpt2_for_unknown_words(student, documented):
    """With GPT-2's merges, "Akwirw ier" has GPT-2's own ids: the order of the merges decides."""
    gives_gpt2s_ids(student, documented, "akwirw")


@check("encode", points=0.05, layer="documented")
def test_gives_the_ids_of_gpt2_for_a_sentence(student, documented):
    """With 63 of GPT-2's merges, a published sentence has GPT-2's own ids."""
    gives_gpt2s_ids(student, documented, "terraces")


def gives_gpt2s_ids(student, documented, name):
    """Compare the ids of a text, written as GPT-2's numbers, with the printed ones."""
    merges, numbered = by_gpt2(documented, name)
    ids = numbers(student.call("encode", GPT2_TEXTS[name], merges), len(numbered))
    documented[f"gpt2.{name}"].matches([numbered[one] for one in ids], "The list of GPT-2's ids")


@check("encode", points=0.2, layer="probe")
def test_encodes_unseen_texts(student, reference, probe):
    """Each word of an unseen text has its bytes, with all merges applied in their order."""
    words = {**draw_words(probe, 5, "abc"), "a b!": 99}  # merges that no word may use
    merges = reference.call("train_bpe", words, 10)
    text = "a b!" + draw_text(probe, 12, (*words, "cab", "abba", " 42", "!", " "))

    ids = reference.call("encode", text, merges)
    agrees(student.call("encode", text, merges), ids, "The list of ids")


@check("encode", points=0.15, layer="probe")
def test_encodes_characters_of_several_bytes(student, reference, probe):
    """A character beyond ASCII begins as its bytes, which can be merged."""
    text = "ß" + draw_text(probe, 12, (*BEYOND_ASCII, "a", " ", "\n  "))
    merges = reference.call("train_bpe", dict.fromkeys(BEYOND_ASCII, 1), 4)

    ids = reference.call("encode", text, merges)
    agrees(student.call("encode", text, merges), ids, "The list of ids")


@check("encode", points=0.15, layer="probe")
def test_the_rank_of_a_merge_decides(student, reference, probe):
    """A merge of low rank comes before one of high rank, also if that one makes a longer token."""
    a, b, c, d = different_letters(probe, 4).encode()
    text = bytes([a, b, c, d, b, c, a, b, c]).decode()
    for merges in ([(b, c), (a, b), (257, c), (256, d)], [(a, b), (b, c), (256, c), (c, d)]):
        ids = reference.call("encode", text, merges)
        agrees(student.call("encode", text, merges), ids, "The list of ids")


@check("encode", points=0.1, layer="probe")
def test_no_merge_crosses_two_words(student, probe):
    """The last byte of a word and the first of the next one are never merged."""
    a, b = different_letters(probe, 2).encode()
    text = bytes((a, 32, b, 33, b, a, 32, 32, 33)).decode()
    merges = [(a, 32), (33, b), (32, b), (32, 32)]

    found = student.call("encode", text, merges)
    agrees(found, [a, 258, 33, b, a, 32, 32, 33], "The list of ids")


@check("encode", points=0.1, layer="laws")
def test_tokens_have_the_bytes_of_the_text(student, reference, probe):
    """The bytes of all tokens are those of the text, and there are fewer tokens than bytes."""
    words = draw_words(probe, 5)
    merges = reference.call("train_bpe", words, 6)
    every = reference.call("token_bytes", merges)
    text = " ".join((*words, draw_text(probe, 6, (*BEYOND_ASCII, "7"))))
    ids = numbers(student.call("encode", text, merges), len(every))

    expect(b"".join(every[one] for one in ids) == text.encode(), "The bytes are not the text's.")
    expect(len(ids) < len(text.encode()), "There are not fewer tokens than bytes.")


@check("encode", points=0.1, layer="laws")
def test_more_merges_give_fewer_tokens(student, reference, probe):
    """Without merges each byte is a token; more merges never give more tokens."""
    words = draw_words(probe, 5)
    merges = reference.call("train_bpe", words, 8)
    text = " ".join(words)
    sizes = [len(numbers(student.call("encode", text, merges[:few]), 264)) for few in (0, 3, 8)]

    expect(sizes[0] == len(text), "Without merges, there are not as many tokens as bytes.")
    expect(sizes[0] > sizes[1] >= sizes[2], "More merges do not give fewer tokens.")


@check("encode", points=0.1, layer="laws")
def test_a_text_has_the_tokens_of_its_words(student, reference, probe):
    """The tokens of a text are those of its words, one after the other."""
    words = draw_words(probe, 4)
    merges = reference.call("train_bpe", {"x !a": 99, "a! 7": 99, **words}, 12)
    parts = ["x", *(f" {word}" for word in words), " a", "!", " 7"]
    alone = [numbers(student.call("encode", part, merges), 268) for part in parts]
    expect(all(alone), "A word has no token.")
    expect(alone[0] != alone[-2], "Two different words have the same tokens.")

    found = student.call("encode", "".join(parts), merges)
    joined = [one for ids in alone for one in ids]
    agrees(found, joined, "The list of all ids", "the joined list of the words alone")


@check("encode", points=0.15, layer="laws")
def test_a_word_becomes_one_token(student, reference, probe):
    """With merges that were trained to the end, each word of the training is one token."""
    words = draw_words(probe, 5)
    merges = reference.call("train_bpe", words, 100)
    found = [numbers(student.call("encode", word, merges), 356) for word in words]

    expect(all(len(ids) == 1 for ids in found), "A word of the training is not one token.")
    expect(len({ids[0] for ids in found}) == len(words), "Two words have the same token.")


@check("encode", points=0.1, layer="laws")
def test_the_first_merge_is_made_first(student, probe):
    """If two merges share a letter, the one that was learned first is made, anywhere."""
    a, b, c = different_letters(probe, 3).encode()
    for text, ids in (((a, b, c, a, b), [a, 256, 257]), ((a, b, a, b, c), [257, a, 256])):
        found = student.call("encode", bytes(text).decode(), [(b, c), (a, b)])

        agrees(found, ids, "The list of ids")


@check("encode", points=0.02, layer="forbidden", rules=("lists_unchanged",))
def test_encoding_leaves_the_merges_unchanged(student, probe):
    """The list of merges is as before."""
    a, b = different_letters(probe, 2)
    merges = [(ord(a), ord(b)), (256, 256)]
    expect(student.keeps_inputs("encode", (a + b) * 4, merges), "The merges have changed.")


@check("encode", points=0.03, layer="forbidden", rules=("no_ready_tokenizer",))
def test_encoding_uses_no_ready_tokenizer(student):
    """You apply the merges yourself."""
    result = student.call("encode", "ab", [(97, 98)])
    expect(isinstance(result, list | tuple), "The result is not a list.", Status.WRONG_TYPE)
    expect(result, "The result is empty.")

    avoids(student, "encode", READY, BY_HAND)


# token_bytes


@check("token_bytes", points=0.2, layer="documented")
def test_has_the_documented_tokens(student, documented):
    """The merges of fast_, faster_, tall_ and taller_ make ta, tal, tall, fa, fas and so on."""
    found = student.call("token_bytes", in_pairs(documented["d2l.merges"].plain))
    added = byte_strings(found)[256:]

    names = [one.decode(errors="backslashreplace") for one in added]
    documented["d2l.tokens"].matches(names, "The list of tokens after the bytes")


def byte_strings(answer):
    """Return *answer* if it is a list of bytes; otherwise fail the check."""
    right = isinstance(answer, list | tuple) and all(isinstance(one, bytes) for one in answer)
    expect(right, "The result is not a list of bytes.", Status.WRONG_TYPE)
    return list(answer)


def chained_merges(probe, count):
    """Draw *count* merges, which join bytes and the tokens of earlier merges."""
    drawn = [tuple(whole_numbers(probe, 2, 256))]
    for rank in range(1, count):
        [other] = whole_numbers(probe, 1, 256)
        drawn.append((255 + rank, other) if rank % 2 else (other, 255 + rank))
    return drawn


@check("token_bytes", points=0.2, layer="probe")
def test_has_the_tokens_of_unseen_merges(student, reference, probe):
    """Each token has the bytes of its left part, then those of its right part."""
    merges = chained_merges(probe, 3 + probe.number % 4)

    found = student.call("token_bytes", merges)
    agrees(found, reference.call("token_bytes", merges), "The list of tokens")


@check("token_bytes", points=0.1, layer="laws")
def test_the_single_bytes_come_first(student, probe):
    """The first 256 tokens are the single bytes in their order; the tokens of merges follow."""
    merges = chained_merges(probe, 2 + probe.number % 5)
    tokens = byte_strings(student.call("token_bytes", merges))

    first = [bytes((number,)) for number in range(256)]
    agrees(tokens[:256], first, "The list of the first 256 tokens")
    expect(len(tokens) > 256, "There are only the single bytes.")


@check("token_bytes", points=0.1, layer="laws")
def test_each_merge_makes_one_token(student, probe):
    """A merge makes one token: its left part, then its right part."""
    merges = chained_merges(probe, 2 + probe.number % 5)
    tokens = byte_strings(student.call("token_bytes", merges))

    expect(len({*tokens}) > 200, "There are at most 200 different tokens.")
    added = tokens[-len(merges) :]
    base = len(tokens) - len(merges)
    expect(all(max(pair) - 256 + base < len(tokens) for pair in merges), "A token is missing.")
    for (left, right), token in zip(merges, added, strict=True):
        parts = [tokens[one] if one < 256 else added[one - 256] for one in (left, right)]
        expect(token == b"".join(parts), "A token is not its left part and then its right part.")


@check("token_bytes", points=0.1, layer="laws")
def test_more_merges_change_no_earlier_token(student, probe):
    """With more merges there are more tokens, and the earlier ones stay as they are."""
    merges = chained_merges(probe, 6)
    many, few = (byte_strings(student.call("token_bytes", merges[:end])) for end in (6, 2))

    expect(len({*many}) > 200, "There are at most 200 different tokens.")
    expect(len(many) == len(few) + 4, "Four more merges do not make four more tokens.")
    agrees(many[: len(few)], few, "The list of earlier tokens", "that with fewer merges")


# decode


@check("decode", points=0.1, layer="signature", rules=("refuses",))
def test_refuses_ids_without_a_token(student):
    """With one merge, 257 is not the id of a token."""
    for ids in ([257], [104, 1000]):
        expect(student.refuses("decode", ids, [(104, 105)]), "An unknown id is not refused.")


@check("decode", points=0.05, layer="signature", rules=("refuses",))
def test_refuses_negative_ids(student):
    """A negative number is not an id, although it is an index in Python."""
    for ids in ([-1], [104, -200]):
        expect(student.refuses("decode", ids, [(104, 105)]), "A negative id is not refused.")


@check("decode", points=0.1, layer="documented")
def test_decodes_the_documented_letters(student, documented):
    """With three merges, 258, 100, 258, 97, 99 is aaabdaaabac."""
    ids = documented["minbpe.wikipedia"].plain

    agrees(student.call("decode", ids, WIKIPEDIA_MERGES), WIKIPEDIA, "The text")


@check("decode", points=0.1, layer="documented")
def test_decodes_the_ids_of_gpt2(student, documented):
    """With GPT-2's merges, its ids of a published sentence are this sentence."""
    merges, numbered = by_gpt2(documented, "terraces")
    ids = [numbered.index(one) for one in documented["gpt2.terraces"].plain]

    agrees(student.call("decode", ids, merges), GPT2_TEXTS["terraces"], "The text")


@check("decode", points=0.15, layer="probe")
def test_decodes_unseen_ids(student, reference, probe):
    """The bytes of all tokens, joined, are read as UTF-8."""
    words = draw_words(probe, 5, ("a", "b", "é", "😀"))
    merges = reference.call("train_bpe", words, 8)
    ids = [*reference.call("encode", " ".join(words), merges), 256, 97, 257]

    agrees(student.call("decode", ids, merges), reference.call("decode", ids, merges), "The text")


@check("decode", points=0.15, layer="probe")
def test_marks_bytes_that_are_no_character(student, reference, probe):
    """Bytes that are not a character become U+FFFD, and all others keep their place."""
    broken = [97, 195, 98, 0, 240, 159, *whole_numbers(probe, 5, 256), 97, 128, 98, 226]

    agrees(student.call("decode", broken, []), reference.call("decode", broken, []), "The text")


@check("decode", points=0.15, layer="laws")
def test_decoding_undoes_encoding(student, reference, probe):
    """The ids of a text give the text again."""
    words = draw_words(probe, 4)
    merges = reference.call("train_bpe", words, 7)
    text = draw_text(probe, 15, (*words, *BEYOND_ASCII, " ", "\n", "7", "!")) + "."
    ids = reference.call("encode", text, merges)

    agrees(student.call("decode", ids, merges), text, "The text")


@check("decode", points=0.1, layer="laws")
def test_joined_ids_are_the_joined_text(student, probe):
    """Two lists of ids, joined, give the two texts, joined."""
    one, other = (list(draw_text(probe, 7).encode()) for _ in range(2))
    merges = [(one[0], one[1]), (256, 256)]
    apart = [student.call("decode", ids, merges) for ids in ([256, *one], [*other, 257])]
    together = student.call("decode", [256, *one, *other, 257], merges)

    expect(
        all(isinstance(part, str) for part in apart), "The result is not a text.", Status.WRONG_TYPE
    )
    agrees(together, "".join(apart), "The text of both lists", "the joined text of each")
    expect({*apart[0]} != {*apart[1]}, "The texts of different ids have the same characters.")


@check("decode", points=0.15, layer="laws")
def test_a_character_may_lie_in_several_tokens(student, probe):
    """A character whose bytes lie in several tokens comes out whole, a part of it as U+FFFD."""
    sign = chr(0x1F600 + probe.number % 30)
    whole = list(sign.encode())
    merges = [(whole[0], whole[1])]

    agrees(
        student.call("decode", [97, 256, *whole[2:]], merges),
        f"a{sign}",
        "The text of a whole character",
    )
    agrees(student.call("decode", whole, merges), sign, "The text of a character of four tokens")
    agrees(student.call("decode", [97, 256], merges), "a�", "The text of half a character")


@check("decode", points=0.02, layer="forbidden", rules=("lists_unchanged",))
def test_decoding_leaves_the_lists_unchanged(student, probe):
    """The ids and the merges are as before."""
    ids, merges = list(draw_text(probe, 6).encode()), [(97, 98)]
    expect(student.keeps_inputs("decode", [*ids, 256], merges), "One of the lists has changed.")


@check("decode", points=0.03, layer="forbidden", rules=("no_ready_tokenizer",))
def test_decoding_uses_no_ready_tokenizer(student):
    """You join the bytes yourself."""
    result = student.call("decode", [97, 256], [(97, 98)])
    expect(isinstance(result, str), "The result is not a text.", Status.WRONG_TYPE)
    expect(result, "The result is empty.")

    avoids(student, "decode", READY, BY_HAND)


# bits_per_byte


@check("bits_per_byte", points=0.1, layer="signature", rules=("refuses",))
def test_refuses_a_text_without_bytes(student):
    """Without bytes there is no loss per byte."""
    expect(student.refuses("bits_per_byte", 1.5, 3, 0), "0 bytes are not refused.")


@check("bits_per_byte", points=0.2, layer="probe")
def test_computes_unseen_bits(student, reference, probe):
    """The loss of all tokens, in bits, is shared among all bytes."""
    loss = 1 + probe.uniform(1).item()
    sizes = 20 + probe.number % 13, 60 + probe.number % 29

    expected = reference.call("bits_per_byte", loss, *sizes)
    number_agrees(student.call("bits_per_byte", loss, *sizes), expected, "The number of bits")


@check("bits_per_byte", points=0.1, layer="laws")
def test_equal_chances_of_256_bytes_cost_8_bits(student, probe):
    """If a token is a byte, the loss ln 256 is 8 bits, and the loss ln 2 is one bit."""
    many = 3 + probe.number % 50
    for choices, bits, count in ((256, 8.0, many), (2, 1.0, many), (2, 1.0, 1)):
        found = student.call("bits_per_byte", math.log(choices), count, count)

        number_agrees(found, bits, "The number of bits")


@check("bits_per_byte", points=0.1, layer="laws")
def test_only_the_loss_of_the_whole_text_counts(student, probe):
    """Twice the loss of half the tokens is the same; twice as many tokens cost twice as much."""
    loss, count = 0.5 + probe.uniform(1).item(), 5 + probe.number % 30
    once, same, more = (
        number(student.call("bits_per_byte", loss * times, tokens, 200), "The number of bits")
        for times, tokens in ((1, 2 * count), (2, count), (1, 4 * count))
    )

    agrees(same, once, "The number of bits", "that for half the loss of twice the tokens")
    agrees(more, 2 * once, "The number of bits for twice as many tokens", "twice the number before")
    expect(more > once, "Twice as many tokens do not cost more bits.")


@check("bits_per_byte", points=0.1, layer="laws")
def test_the_loss_is_shared_by_the_bytes(student, probe):
    """Twice as many bytes halve the bits per byte, and twice the loss doubles them."""
    loss, count = 0.5 + probe.uniform(1).item(), 5 + probe.number % 30
    once, halved, doubled = (
        number(student.call("bits_per_byte", one, 40, size), "The number of bits")
        for one, size in ((loss, count), (loss, 2 * count), (2 * loss, count))
    )

    agrees(halved, once / 2, "The number of bits for twice as many bytes", "half the number before")
    agrees(doubled, 2 * once, "The number of bits for twice the loss", "twice the number before")
    expect(doubled > once, "Twice the loss does not cost more bits.")
