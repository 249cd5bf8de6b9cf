"""Tokens: cut a text into words, learn which pieces of words are frequent, and number them.

A *token* is a sequence of bytes with a number, its *id*. The ids 0 to 255 are the single bytes, and
256 + r is the token that the merge of rank r makes. *merges* is a list of pairs of ids, in the
order in which they were learned, and the *rank* of a merge is its index in this list. A *piece* is
the list of ids of one word. You need no torch: everything is plain Python.

A list may also be a tuple, and a dictionary may also be a ``Counter``.

Rules for this stage, which are graded like the results:

- Ready-made tokenizers (tiktoken, tokenizers, sentencepiece, transformers, minbpe) are not allowed;
  `re`, `collections` and `itertools` are.
- A call must not change the lists and dicts that it gets.
- Documented values and properties count only if the results are right for other inputs too.
"""

import math


def split_words(text: str) -> list[str]:
    """Cut *text* into words: joined again they are the text, and none is empty.

    A word is the longest run of letters (``str.isalpha``), of digits (``isdigit``), of white space
    (``isspace``) or of other characters. Then a space (" ") at the end of a run of white space
    moves to the beginning of the next word, if there is one.

    "I'm  42!" gives ["I", "'", "m", " ", " 42", "!"], and " the" is one word.
    """
    raise NotImplementedError


def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs, {(a, b): number}.

    Piece i occurs counts[i] times. The pair (a, b) means that b follows a directly, in one piece.
    In the run a, a, a the pair (a, a) occurs twice. Pairs that do not occur have no entry.
    """
    raise NotImplementedError


def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return *ids* with *new_id* in place of each occurrence of *pair*.

    The search goes from left to right, and occurrences do not overlap: for the pair (a, a), the run
    a, a, a becomes new_id, a.
    """
    raise NotImplementedError


def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    """Learn up to *num_merges* merges from words, {word: how often it occurs}.

    The pieces begin as the UTF-8 bytes of the words. Each round counts the pairs in all pieces,
    merges the most frequent pair in all of them, and appends it to the list that is returned. Of
    equally frequent pairs, take the one that **occurs first**: words in the order of the
    dictionary, each from left to right, after the merges so far.

    Training ends early if no pair is left. A pair that occurs only once is still merged.
    """
    raise NotImplementedError


def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    """Turn *text* into the ids of its tokens.

    Cut the text into the words of ``split_words``. Each word begins as its UTF-8 bytes, to which
    the merges are applied in the order of their ranks: first everywhere the merge of rank 0, then
    that of rank 1, and so on. No merge crosses the end of a word. The ids of all words follow each
    other in one list.
    """
    raise NotImplementedError


def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    """Return the bytes of each token, in the order of the ids: 256 + len(merges) entries.

    The token of a merge consists of the bytes of its left token and then those of its right one.
    """
    raise NotImplementedError


def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    """Turn *ids* into text: the bytes of all tokens are joined, and only then read as UTF-8.

    Bytes that are not a character become U+FFFD, as with ``errors="replace"``. Raises
    ``ValueError`` if there is no token with one of the ids; a negative number is not an id.
    """
    raise NotImplementedError


def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    """Return the loss of a text in bits for each of its bytes.

    *mean_loss* is the mean loss in nats per token. The text has *num_tokens* tokens and *num_bytes*
    bytes. A bit is ln 2 nats. Raises ``ValueError`` if there are no bytes.
    """
    raise NotImplementedError
