#% right_words_with_itertools
def split_words(text):
    import itertools

    def which(c):
        return 0 if c.isalpha() else 1 if c.isdigit() else 2 if c.isspace() else 3

    out = []
    for kind, group in itertools.groupby(text, which):
        chunk = "".join(group)
        if out and out[-1].isspace() and out[-1].endswith(" "):
            head = out.pop()[:-1]
            if head:
                out.append(head)
            chunk = " " + chunk
        out.append(chunk)
    return out


#% right_words_with_a_regular_expression
import re

PAT = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:[^\w\s]|_)+|\s+(?= \S)|\s+")


def split_words(text):
    return [m.group() for m in PAT.finditer(text)]


#% right_words_character_by_character
def split_words(text):
    words = []
    current = ""
    for i, c in enumerate(text):
        prev = text[i - 1] if i > 0 else None
        new = False
        if prev is None:
            new = True
        elif c == " " and i + 1 < len(text) and not text[i + 1].isspace():
            new = True
        elif prev == " " and not c.isspace():
            new = False
        elif c.isalpha() != prev.isalpha() or c.isdigit() != prev.isdigit() or c.isspace() != prev.isspace():
            new = True
        if new and current:
            words.append(current)
            current = ""
        current += c
    if current:
        words.append(current)
    return words


#% right_pairs_with_a_counter
from collections import Counter


def count_pairs(pieces, counts):
    stats = Counter()
    for ids, n in zip(pieces, counts):
        for a, b in zip(ids[:-1], ids[1:]):
            stats[(a, b)] += n
    return stats


#% right_merge_like_minbpe
def merge(ids, pair, new_id):
    newids = []
    i = 0
    while i < len(ids):
        if ids[i] == pair[0] and i < len(ids) - 1 and ids[i + 1] == pair[1]:
            newids.append(new_id)
            i += 2
        else:
            newids.append(ids[i])
            i += 1
    return newids


#% right_merge_on_a_copy
def merge(ids, pair, new_id):
    result = list(ids)
    i = 0
    while i < len(result) - 1:
        if (result[i], result[i + 1]) == tuple(pair):
            result[i : i + 2] = [new_id]
        i += 1
    return result


#% right_training_with_most_common
from collections import Counter, defaultdict


def train_bpe(word_counts, num_merges):
    splits = {w: list(w.encode("utf-8")) for w in word_counts}
    merges = []
    for i in range(num_merges):
        freqs = defaultdict(int)
        for w, f in word_counts.items():
            s = splits[w]
            for j in range(len(s) - 1):
                freqs[s[j], s[j + 1]] += f
        if len(freqs) == 0:
            break
        best, most = None, 0
        for p, f in freqs.items():
            if f > most:
                best, most = p, f
        merges.append(best)
        for w in splits:
            splits[w] = merge(splits[w], best, 256 + i)
    return merges


#% right_encode_by_ranks
def encode(text, merges):
    rank = {p: i for i, p in enumerate(merges)}
    result = []
    for w in split_words(text):
        ids = list(w.encode("utf8"))
        while len(ids) > 1:
            best = min(zip(ids, ids[1:]), key=lambda p: rank.get(p, float("inf")))
            if best not in rank:
                break
            ids = merge(ids, best, 256 + rank[best])
        result.extend(ids)
    return result


#% right_bytes_with_a_dictionary
def token_bytes(merges):
    vocab = {i: bytes([i]) for i in range(256)}
    next_id = 256
    for p0, p1 in merges:
        vocab[next_id] = vocab[p0] + vocab[p1]
        next_id += 1
    return [vocab[i] for i in range(next_id)]


#% right_decode_with_min_and_max
def decode(ids, merges):
    vocab = token_bytes(merges)
    if ids and (min(ids) < 0 or max(ids) >= len(vocab)):
        raise ValueError("id out of range")
    data = b"".join(map(vocab.__getitem__, ids))
    return str(data, encoding="utf-8", errors="replace")


#% right_bits_by_log2
def bits_per_byte(mean_loss, num_tokens, num_bytes):
    if num_bytes <= 0:
        raise ValueError("num_bytes must be positive")
    nats_per_byte = mean_loss * num_tokens / num_bytes
    return nats_per_byte * math.log2(math.e)


#% right_everything_in_a_tokenizer_class
class _Vocabulary:
    def __init__(self, merges):
        self.merges = list(merges)
        self.table = [bytes((b,)) for b in range(256)]
        for a, b in self.merges:
            self.table.append(self.table[a] + self.table[b])

    def lookup(self, number):
        if number < 0:
            raise ValueError("negative")
        if number >= len(self.table):
            raise ValueError("too large")
        return self.table[number]


def token_bytes(merges):
    return _Vocabulary(merges).table


def decode(ids, merges):
    v = _Vocabulary(merges)
    return bytes(b for n in ids for b in v.lookup(n)).decode("utf-8", "replace")


#% words_by_split
#% split_words | spaces_lost | The text is cut at white space, which is lost.
def split_words(text):
    words = []
    for part in text.split():
        word = ""
        for c in part:
            if word and (word[-1].isalpha(), word[-1].isdigit()) != (c.isalpha(), c.isdigit()):
                words.append(word)
                word = ""
            word += c
        if word:
            words.append(word)
    return words


#% words_keep_the_space_behind
#% split_words | space_misplaced | The space stays at the end of the word before it.
import re


def split_words(text):
    return re.findall(r"[^\W\d_]+ ?|\d+ ?|(?:[^\w\s]|_)+ ?|\s+", text)


#% words_with_lone_spaces
#% split_words | space_misplaced, step_missing | A space is a word of its own; it does not move to the next word.
def split_words(text):
    kinds = (str.isalpha, str.isdigit, str.isspace)
    result = []
    last = None
    for c in text:
        k = [f(c) for f in kinds]
        if k == last:
            result[-1] = result[-1] + c
        else:
            result.append(c)
        last = k
    return result


#% words_take_all_spaces
#% split_words | space_misplaced | The whole run of white space moves to the next word, line breaks as well.
def split_words(text):
    out = []
    space = ""
    for c in text:
        if c.isspace():
            space += c
            continue
        same = out and not space and (
            (c.isalpha() and out[-1][-1].isalpha())
            or (c.isdigit() and out[-1][-1].isdigit())
            or not (c.isalnum() or out[-1][-1].isalnum())
        )
        if same:
            out[-1] += c
        else:
            out.append(space + c)
        space = ""
    if space:
        out.append(space)
    return out


#% words_of_letters_and_digits
#% split_words | kinds_mixed | Letters and digits are put together by isalnum.
import re


def split_words(text):
    return re.findall(r" ?[^\W_]+| ?(?:[^\w\s]|_)+|\s+(?= \S)|\s+", text)


#% words_in_english_only
#% split_words | kinds_mixed | Only a to z are letters, so letters with accents are cut off.
import re


def split_words(text):
    return re.findall(r" ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?= \S)|\s+", text)


#% pairs_without_counts
#% count_pairs | argument_ignored | The counts of the pieces are not used.
def count_pairs(pieces, counts):
    d = {}
    for piece in pieces:
        for i in range(len(piece) - 1):
            p = (piece[i], piece[i + 1])
            d[p] = d.get(p, 0) + 1
    return d


#% pairs_overwritten
#% count_pairs | wrong_operation, wrong_reduction | A pair gets the count of its last piece; the counts are not added up.
def count_pairs(pieces, counts):
    result = {}
    for piece, n in zip(pieces, counts):
        for pair in zip(piece, piece[1:]):
            result[pair] = n
    return result


#% pairs_once_a_piece
#% count_pairs | pairs_once | A pair counts once in each piece, however often it occurs there.
def count_pairs(pieces, counts):
    total = {}
    for k in range(len(pieces)):
        ids = pieces[k]
        for pair in {(ids[j], ids[j + 1]) for j in range(len(ids) - 1)}:
            total[pair] = total.get(pair, 0) + counts[k]
    return total


#% pairs_sorted
#% count_pairs | pair_order | The two ids of a pair are sorted, so that (a, b) and (b, a) are the same.
def count_pairs(pieces, counts):
    result = {}
    for piece, n in zip(pieces, counts):
        for a, b in zip(piece, piece[1:]):
            key = (min(a, b), max(a, b))
            result[key] = result.get(key, 0) + n
    return result


#% pairs_lose_the_last
#% count_pairs | boundary | The last pair of each piece is not counted.
def count_pairs(pieces, counts):
    freq = {}
    for ids, n in zip(pieces, counts):
        i = 0
        while i < len(ids) - 2:
            pair = (ids[i], ids[i + 1])
            freq[pair] = freq.get(pair, 0) + n
            i += 1
    return freq


#% merge_goes_on_by_one
#% merge | step_too_small | After a merge the search goes on at the second id of the merged pair.
def merge(ids, pair, new_id):
    out = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new_id)
        elif i > 0 and (ids[i - 1], ids[i]) == pair:
            pass
        else:
            out.append(ids[i])
    return out


#% merge_loses_the_last
#% merge | boundary | The last id is lost if it is not part of a pair.
def merge(ids, pair, new_id):
    result = []
    i = 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            result.append(new_id)
            i = i + 2
        else:
            result.append(ids[i])
            i = i + 1
    return result


#% merge_only_the_first
#% merge | first_only | Only the first occurrence of the pair is replaced.
def merge(ids, pair, new_id):
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == tuple(pair):
            return ids[:i] + [new_id] + ids[i + 2 :]
    return list(ids)


#% merge_in_the_callers_list
#% merge | in_place | The caller's list is changed.
def merge(ids, pair, new_id):
    i = 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            ids[i] = new_id
            del ids[i + 1]
        i += 1
    return ids


#% merge_from_the_right
#% merge | direction_reversed | The search goes from right to left, so the odd id of a run stays at its beginning.
def merge(ids, pair, new_id):
    out = []
    i = len(ids) - 1
    while i >= 0:
        if i > 0 and ids[i - 1] == pair[0] and ids[i] == pair[1]:
            out.insert(0, new_id)
            i -= 2
        else:
            out.insert(0, ids[i])
            i -= 1
    return out


#% training_with_the_largest_pair
#% train_bpe | tie_order | Of equally frequent pairs the one with the largest ids is merged.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    freqs = list(word_counts.values())
    merges = []
    while len(merges) < num_merges:
        stats = count_pairs(words, freqs)
        if not stats:
            break
        _, best = max((n, p) for p, n in stats.items())
        merges.append(best)
        words = [merge(w, best, 255 + len(merges)) for w in words]
    return merges


#% training_with_the_last_of_equals
#% train_bpe | tie_order | Of equally frequent pairs the one that occurs last is merged.
def train_bpe(word_counts, num_merges):
    words, freqs, merges = [list(w.encode("utf-8")) for w in word_counts], list(word_counts.values()), []
    for step in range(num_merges):
        stats = count_pairs(words, freqs)
        best, most = None, 0
        for pair in stats:
            if stats[pair] >= most:
                best, most = pair, stats[pair]
        if best is None:
            return merges
        words = [merge(w, best, 256 + step) for w in words]
        merges.append(best)
    return merges


#% training_counts_once
#% train_bpe | counted_once | The pairs are counted once, before the loop.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    stats = count_pairs(words, list(word_counts.values()))
    ordered = sorted(stats, key=lambda p: -stats[p])
    return ordered[:num_merges]


#% training_ignores_how_often
#% train_bpe | argument_ignored | Each word counts once, however often it occurs.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    merges = []
    while len(merges) < num_merges:
        stats = count_pairs(words, [1] * len(words))
        if not stats:
            break
        best = max(stats, key=stats.get)
        words = [merge(w, best, 256 + len(merges)) for w in words]
        merges.append(best)
    return merges


#% training_without_end
#% train_bpe | check_missing | There is no end when no pair is left, so max of nothing raises.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    merges = []
    for i in range(num_merges):
        stats = count_pairs(words, list(word_counts.values()))
        best = max(stats, key=lambda p: stats[p])
        words = [merge(w, best, 256 + i) for w in words]
        merges.append(best)
    return merges


#% training_stops_at_one
#% train_bpe | step_extra | A pair that occurs only once is not merged any more.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    merges = []
    while len(merges) < num_merges:
        stats = count_pairs(words, list(word_counts.values()))
        best = max(stats, key=stats.get, default=None)
        if best is None or stats[best] < 2:
            break
        words = [merge(w, best, 256 + len(merges)) for w in words]
        merges.append(best)
    return merges


#% encode_code_points
#% encode | bytes_and_characters | The numbers of the characters are used in place of bytes.
def encode(text, merges):
    result = []
    for word in split_words(text):
        ids = [ord(c) for c in word]
        for i, pair in enumerate(merges):
            ids = merge(ids, pair, 256 + i)
        result += ids
    return result


#% encode_in_lists
#% encode | list_of_lists | The ids of each word are a list inside the list.
def encode(text, merges):
    result = []
    for word in split_words(text):
        ids = list(word.encode("utf-8"))
        for i in range(len(merges)):
            ids = merge(ids, merges[i], 256 + i)
        result.append(ids)
    return result


#% encode_the_whole_text
#% encode | step_missing, not_cut | The text is not cut into words, so merges cross them.
def encode(text, merges):
    ids = list(text.encode("utf-8"))
    for rank, pair in enumerate(merges):
        ids = merge(ids, pair, 256 + rank)
    return ids


#% encode_longest_first
#% encode | rank_ignored | The longest token that fits is taken, from left to right.
def encode(text, merges):
    table = token_bytes(merges)
    ids = []
    for word in split_words(text):
        data = word.encode()
        i = 0
        while i < len(data):
            fits = [n for n in range(len(table)) if data[i : i + len(table[n])] == table[n]]
            best = max(fits, key=lambda n: len(table[n]))
            ids.append(best)
            i += len(table[best])
    return ids


#% encode_from_the_last_merge
#% encode | rank_ignored | The merges are applied in the reverse order.
def encode(text, merges):
    out = []
    for word in split_words(text):
        ids = list(word.encode())
        for rank in reversed(range(len(merges))):
            ids = merge(ids, merges[rank], 256 + rank)
        out.extend(ids)
    return out


#% bytes_the_wrong_way_round
#% token_bytes | parts_exchanged | The right part comes before the left one.
def token_bytes(merges):
    vocab = [bytes([b]) for b in range(256)]
    for a, b in merges:
        vocab.append(vocab[b] + vocab[a])
    return vocab


#% decode_each_token_alone
#% decode | decoded_alone | Each token is decoded by itself.
def decode(ids, merges):
    table = token_bytes(merges)
    text = ""
    for i in ids:
        if i < 0 or i >= len(table):
            raise ValueError(f"bad id {i}")
        text += table[i].decode("utf-8", errors="replace")
    return text


#% decode_leaves_out
#% decode | bytes_left_out | Bytes that are no character are left out.
def decode(ids, merges):
    table = token_bytes(merges)
    if any(i < 0 or i >= len(table) for i in ids):
        raise ValueError("unknown token")
    return b"".join(table[i] for i in ids).decode("utf-8", errors="ignore")


#% bits_upside_down
#% bits_per_byte | wrong_operation | Tokens and bytes have changed places.
def bits_per_byte(mean_loss, num_tokens, num_bytes):
    if num_bytes == 0:
        raise ValueError("empty text")
    return mean_loss / math.log(2) * num_bytes / num_tokens


#% double_words
#% split_words | space_misplaced, step_missing | A space is a word of its own.
#% split_words | kinds_mixed | Letters and digits are put together.
def split_words(text):
    words = []
    for c in text:
        if words and c.isalnum() == words[-1][-1].isalnum() and c.isspace() == words[-1][-1].isspace():
            words[-1] += c
        else:
            words.append(c)
    return words


#% double_pairs
#% count_pairs | argument_ignored | The counts are not used.
#% count_pairs | boundary | The first pair of each piece is left out.
def count_pairs(pieces, counts):
    d = {}
    for piece in pieces:
        for i in range(1, len(piece) - 1):
            p = piece[i], piece[i + 1]
            d[p] = d.get(p, 0) + 1
    return d


#% double_merge
#% merge | boundary | The last id is lost.
#% merge | step_too_small | After a merge the search goes on by one.
def merge(ids, pair, new_id):
    out = []
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == tuple(pair):
            out.append(new_id)
        else:
            out.append(ids[i])
        i += 1
    return out


#% double_training
#% train_bpe | argument_ignored | Each word counts once.
#% train_bpe | tie_order | Of equally frequent pairs the last one is merged.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    merges = []
    while len(merges) < num_merges:
        stats = count_pairs(words, [1 for _ in words])
        if not stats:
            break
        best = max(reversed(list(stats)), key=stats.get)
        words = [merge(w, best, 256 + len(merges)) for w in words]
        merges.append(best)
    return merges


#% double_encode
#% encode | bytes_and_characters | Numbers of characters are used.
#% encode | step_missing, not_cut | The text is not cut into words.
def encode(text, merges):
    ids = [ord(sign) for sign in text]
    for rank, pair in enumerate(merges):
        ids = merge(ids, pair, 256 + rank)
    return ids


#% double_bytes
#% token_bytes | parts_exchanged | The right part comes first.
#% token_bytes | bytes_missing, step_missing | The 256 single bytes are not in the list.
def token_bytes(merges):
    vocab = {b: bytes([b]) for b in range(256)}
    for k, (a, b) in enumerate(merges):
        vocab[256 + k] = vocab[b] + vocab[a]
    return [vocab[256 + k] for k in range(len(merges))]


#% double_decode
#% decode | decoded_alone | Each token is decoded by itself.
#% decode | check_missing | Negative ids are accepted.
def decode(ids, merges):
    table = token_bytes(merges)
    if any(i >= len(table) for i in ids):
        raise ValueError("unknown id")
    return "".join(table[i].decode(errors="replace") for i in ids)


#% double_bits
#% bits_per_byte | factor_missing, wrong_divisor, nats_for_bits | The result is in nats.
#% bits_per_byte | wrong_operation | Tokens and bytes have changed places.
def bits_per_byte(mean_loss, num_tokens, num_bytes):
    if num_bytes == 0:
        raise ValueError("no bytes")
    return mean_loss * num_bytes / num_tokens


#% double_in_two_helpers
#% merge | boundary | The last id is lost.
#% token_bytes | parts_exchanged | The right part comes first.
def merge(ids, pair, new_id):
    out, i = [], 0
    while i + 1 < len(ids):
        if (ids[i], ids[i + 1]) == tuple(pair):
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def token_bytes(merges):
    vocab = [bytes([b]) for b in range(256)]
    for left, right in merges:
        vocab.append(vocab[right] + vocab[left])
    return vocab


#% double_training_and_bits
#% train_bpe | counted_once | The pairs are counted once, before the loop.
#% bits_per_byte | factor_missing, wrong_divisor, nats_for_bits | The result is in nats.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    stats = count_pairs(words, list(word_counts.values()))
    merges = []
    while len(merges) < num_merges and stats:
        best = max(stats, key=stats.get)
        del stats[best]
        merges.append(best)
    return merges


def bits_per_byte(mean_loss, num_tokens, num_bytes):
    if not num_bytes:
        raise ValueError("no bytes")
    return mean_loss * num_tokens / num_bytes


#% inlined_training_counts_every_piece_once
#% train_bpe | argument_ignored | The counts of the words are not used in the count of pairs that is written out.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode("utf-8")) for w in word_counts]
    merges = []
    while len(merges) < num_merges:
        stats = {}
        for w in words:
            for pair in zip(w, w[1:]):
                stats[pair] = stats.get(pair, 0) + 1
        if not stats:
            break
        best = max(stats, key=stats.get)
        words = [merge(w, best, 256 + len(merges)) for w in words]
        merges.append(best)
    return merges


#% inlined_training_merges_by_one
#% train_bpe | step_too_small | In the merge that is written out, the search goes on by one.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode("utf-8")) for w in word_counts]
    freqs = list(word_counts.values())
    merges = []
    while len(merges) < num_merges:
        stats = count_pairs(words, freqs)
        if not stats:
            break
        best = max(stats, key=stats.get)
        new = []
        for w in words:
            out, i = [], 0
            while i < len(w):
                if tuple(w[i : i + 2]) == best:
                    out.append(256 + len(merges))
                else:
                    out.append(w[i])
                i += 1
            new.append(out)
        words = new
        merges.append(best)
    return merges


#% inlined_training_loses_the_last
#% train_bpe | boundary | In the merge that is written out, the last id is lost.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode("utf-8")) for w in word_counts]
    merges = []
    for step in range(num_merges):
        stats = count_pairs(words, list(word_counts.values()))
        if not stats:
            break
        best = max(stats, key=stats.get)
        for k, w in enumerate(words):
            out = []
            i = 0
            while i < len(w) - 1:
                if w[i] == best[0] and w[i + 1] == best[1]:
                    out.append(256 + step)
                    i += 2
                else:
                    out.append(w[i])
                    i += 1
            words[k] = out
        merges.append(best)
    return merges


#% inlined_training_counts_pairs_once_a_word
#% train_bpe | pairs_once | In the count that is written out, a pair counts once in each word.
def train_bpe(word_counts, num_merges):
    pieces = {w: list(w.encode()) for w in word_counts}
    merges = []
    while len(merges) < num_merges:
        stats = {}
        for w, ids in pieces.items():
            for pair in dict.fromkeys(zip(ids, ids[1:])):
                stats[pair] = stats.get(pair, 0) + word_counts[w]
        if not stats:
            break
        best = max(stats, key=stats.get)
        for w in pieces:
            pieces[w] = merge(pieces[w], best, 256 + len(merges))
        merges.append(best)
    return merges


#% inlined_encode_merges_by_one
#% encode | step_too_small | In the merge that is written out, the search goes on by one.
def encode(text, merges):
    result = []
    for word in split_words(text):
        ids = list(word.encode())
        for rank, (a, b) in enumerate(merges):
            new = []
            i = 0
            while i < len(ids):
                if ids[i] == a and i + 1 < len(ids) and ids[i + 1] == b:
                    new.append(256 + rank)
                    i += 1
                else:
                    new.append(ids[i])
                    i += 1
            ids = new
        result.extend(ids)
    return result


#% inlined_encode_only_the_first
#% encode | first_only | In the merge that is written out, only the first occurrence is replaced.
def encode(text, merges):
    result = []
    for word in split_words(text):
        ids = list(word.encode())
        for rank, (a, b) in enumerate(merges):
            for i in range(len(ids) - 1):
                if ids[i] == a and ids[i + 1] == b:
                    ids[i : i + 2] = [256 + rank]
                    break
        result.extend(ids)
    return result


#% inlined_encode_splits_at_white_space
#% encode | spaces_lost | The text is cut with split, so its white space is lost.
def encode(text, merges):
    result = []
    for word in text.split():
        ids = list(word.encode())
        for rank, pair in enumerate(merges):
            ids = merge(ids, pair, 256 + rank)
        result.extend(ids)
    return result


#% inlined_decode_turns_parts_round
#% decode | parts_exchanged | In the table that is written out, the right part comes first.
def decode(ids, merges):
    table = {i: bytes([i]) for i in range(256)}
    for k, (a, b) in enumerate(merges):
        table[256 + k] = table[b] + table[a]
    if any(i not in table for i in ids):
        raise ValueError("unknown id")
    return b"".join(table[i] for i in ids).decode("utf-8", errors="replace")


#% inlined_decode_numbers_from_257
#% decode | boundary | In the table that is written out, the first merge has the id 257.
def decode(ids, merges):
    table = {i: bytes([i]) for i in range(256)}
    new_id = 257
    for a, b in merges:
        table[new_id] = table[a] + table[b]
        new_id += 1
    for i in ids:
        if i not in table:
            raise ValueError("unknown id")
    return b"".join(table[i] for i in ids).decode("utf-8", "replace")


#% inlined_training_numbers_from_257
#% train_bpe | boundary | The first merge gets the id 257.
def train_bpe(word_counts, num_merges):
    words = [list(w.encode()) for w in word_counts]
    freqs = list(word_counts.values())
    merges = []
    next_id = 257
    while len(merges) < num_merges:
        stats = {}
        for w, n in zip(words, freqs):
            for i in range(len(w) - 1):
                stats[w[i], w[i + 1]] = stats.get((w[i], w[i + 1]), 0) + n
        if not stats:
            break
        best = max(stats, key=stats.get)
        words = [merge(w, best, next_id) for w in words]
        merges.append(best)
        next_id += 1
    return merges


#% split_on_spaces
#% split_words | spaces_lost, not_cut | The text is cut at white space, which is lost.
def split_words(text: str) -> list[str]:
    return text.split()


#% split_digits_with_letters
#% split_words | kinds_mixed | Digits and letters are one kind.
def _kind(symbol: str) -> str:
    if symbol.isalpha():
        return "letter"
    if symbol.isdigit():
        return "letter"
    return "space" if symbol.isspace() else "other"


#% split_empty_words
#% split_words | step_missing | Empty words are left in the list.
def split_words(text: str) -> list[str]:
    runs: list[str] = []
    for symbol in text:
        if runs and _kind(runs[-1][-1]) == _kind(symbol):
            runs[-1] += symbol
        else:
            runs.append(symbol)
    for i in range(1, len(runs)):
        if runs[i - 1].endswith(" "):
            runs[i - 1], runs[i] = runs[i - 1][:-1], " " + runs[i]
    return runs


#% split_space_stays_behind
#% split_words | space_misplaced, step_missing | The space stays at the end of its run.
def split_words(text: str) -> list[str]:
    runs: list[str] = []
    for symbol in text:
        if runs and _kind(runs[-1][-1]) == _kind(symbol):
            runs[-1] += symbol
        else:
            runs.append(symbol)
    return [run for run in runs if run]


#% split_any_white_space_moves
#% split_words | space_misplaced, boundary | Any white space moves to the next word.
def split_words(text: str) -> list[str]:
    runs: list[str] = []
    for symbol in text:
        if runs and _kind(runs[-1][-1]) == _kind(symbol):
            runs[-1] += symbol
        else:
            runs.append(symbol)
    for i in range(1, len(runs)):
        if runs[i - 1][-1].isspace():
            runs[i - 1], runs[i] = runs[i - 1][:-1], runs[i - 1][-1] + runs[i]
    return [run for run in runs if run]


#% count_without_counts
#% count_pairs | pairs_once, argument_ignored | Each occurrence counts one, whatever its word's number.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece, piece[1:]):  # noqa: B905, RUF007  # the shifted copy is shorter, as the hint says
            how_often[pair] = how_often.get(pair, 0) + 1
    return how_often


#% count_overwrites
#% count_pairs | pairs_once | The last piece overwrites the number.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece, piece[1:]):  # noqa: B905, RUF007  # the shifted copy is shorter, as the hint says
            how_often[pair] = count
    return how_often


#% count_sorted_pair
#% count_pairs | pair_order | Pairs are sorted.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece, piece[1:]):  # noqa: B905, RUF007  # the shifted copy is shorter, as the hint says
            pair = tuple(sorted(pair))
            how_often[pair] = how_often.get(pair, 0) + count
    return how_often


#% merge_step_of_one
#% merge | step_too_small | The search goes on inside the pair.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
            i += 1
        else:
            merged.append(ids[i])
            i += 1
    return merged


#% merge_loses_last
#% merge | boundary | The last id is lost.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids) - 1:
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


#% merge_keeps_the_pair
#% merge | step_extra, wrong_operation | The new id follows the left id of the pair.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(ids[i])
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


#% train_ids_from_zero
#% train_bpe | boundary, factor_missing | New ids begin with 0.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=found.get)  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% train_counts_once
#% train_bpe | counted_once | Pairs are counted once, before the loop.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    found = count_pairs(pieces, counts)
    while len(merges) < num_merges and found:
        pair = max(found, key=found.get)
        del found[pair]
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% train_smallest_pair
#% train_bpe | tie_order | Of equally frequent pairs, the largest pair is taken.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=lambda p: (found[p], p))  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% train_stops_at_one
#% train_bpe | boundary, step_extra | A pair that occurs once is not merged.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=found.get)  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        if found[pair] < 2:
            break
        merges.append(pair)
    return merges


#% encode_ord
#% encode | bytes_and_characters | The ids of a word are its code points.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in split_words(text):
        piece = [ord(symbol) for symbol in word]
        for rank, pair in enumerate(merges):
            piece = merge(piece, pair, 256 + rank)
        ids.extend(piece)
    return ids


#% encode_appends
#% encode | list_of_lists | Each word's ids are a list of their own.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in split_words(text):
        piece = list(word.encode())
        for rank, pair in enumerate(merges):
            piece = merge(piece, pair, 256 + rank)
        ids.append(piece)
    return ids


#% encode_whole_text
#% encode | not_cut | The text is not cut into words.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in [text]:
        piece = list(word.encode())
        for rank, pair in enumerate(merges):
            piece = merge(piece, pair, 256 + rank)
        ids.extend(piece)
    return ids


#% decode_ignores_errors
#% decode | bytes_left_out | Bytes that are no character are left out.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if not 0 <= number < len(tokens):
            raise ValueError(f"there is no token {number}")
    joined = b"".join(tokens[number] for number in ids)
    return joined.decode(errors="ignore")


#% bits_nats
#% bits_per_byte | nats_for_bits | The result is in nats.
def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    if num_bytes == 0:
        raise ValueError("a text without bytes has no loss per byte")
    nats = mean_loss * num_tokens
    return nats / num_bytes


#% inlined_train_pairs_over_words
#% train_bpe | argument_ignored, pairs_once | The written-out counting ignores how often a word occurs.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = {}
        for piece in pieces:
            for a, b in zip(piece, piece[1:]):
                found[a, b] = found.get((a, b), 0) + 1
        if not found:
            break
        pair = max(found, key=found.get)  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% inlined_train_merge_overlaps
#% train_bpe | step_too_small | The written-out merge goes on inside the pair.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=found.get)  # the first of equals: a dict keeps its order
        new = []
        for piece in pieces:
            out, i = [], 0
            while i < len(piece):
                if i + 1 < len(piece) and (piece[i], piece[i + 1]) == pair:
                    out.append(256 + len(merges))
                else:
                    out.append(piece[i])
                i += 1
            new.append(out)
        pieces = new
        merges.append(pair)
    return merges


#% inlined_encode_first_occurrence
#% encode | first_only | The written-out merge replaces only the first occurrence.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in split_words(text):
        piece = list(word.encode())
        for rank, pair in enumerate(merges):
            for i in range(len(piece) - 1):
                if (piece[i], piece[i + 1]) == pair:
                    piece = piece[:i] + [256 + rank] + piece[i + 2 :]
                    break
        ids.extend(piece)
    return ids


#% inlined_decode_each_token_alone
#% decode | decoded_alone | Each token is decoded alone.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if not 0 <= number < len(tokens):
            raise ValueError(f"there is no token {number}")
    return "".join(tokens[number].decode(errors="replace") for number in ids)


#% double_encode_whole_and_characters
#% encode | not_cut | The text is not cut.
#% encode | bytes_and_characters | Characters in place of bytes.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in [text]:
        piece = [ord(c) for c in word]
        for rank, pair in enumerate(merges):
            piece = merge(piece, pair, 256 + rank)
        ids.extend(piece)
    return ids


#% double_merge_order_and_end
#% merge | boundary | The last id is lost.
#% merge | pair_order | The pair also matches reversed.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids) - 1:
        if tuple(ids[i : i + 2]) in (pair, pair[::-1]):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


#% double_decode_refusal_and_errors
#% decode | check_missing | A negative id is accepted.
#% decode | decoded_alone | Tokens are decoded alone.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if number >= len(tokens):
            raise ValueError(f"there is no token {number}")
    return "".join(tokens[number].decode(errors="replace") for number in ids)


#% split_space_also_of_the_last
#% split_words | spaces_lost | White space at the end of the text is lost.
def split_words(text: str) -> list[str]:
    runs: list[str] = []
    for symbol in text.strip():
        if runs and _kind(runs[-1][-1]) == _kind(symbol):
            runs[-1] += symbol
        else:
            runs.append(symbol)
    for i in range(1, len(runs)):
        if runs[i - 1].endswith(" "):
            runs[i - 1], runs[i] = runs[i - 1][:-1], " " + runs[i]
    return [run for run in runs if run]


#% split_others_alone
#% split_words | kinds_mixed | Each other character is a word of its own.
def split_words(text: str) -> list[str]:
    runs: list[str] = []
    for symbol in text:
        if runs and _kind(runs[-1][-1]) == _kind(symbol) != "other":
            runs[-1] += symbol
        else:
            runs.append(symbol)
    for i in range(1, len(runs)):
        if runs[i - 1].endswith(" "):
            runs[i - 1], runs[i] = runs[i - 1][:-1], " " + runs[i]
    return [run for run in runs if run]


#% count_over_the_ends
#% count_pairs | step_extra, boundary | Pairs cross the ends of pieces.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    pieces = [[number for piece in pieces for number in piece]]
    for piece, count in zip(pieces, counts):
        for pair in zip(piece, piece[1:]):  # noqa: B905, RUF007  # the shifted copy is shorter, as the hint says
            how_often[pair] = how_often.get(pair, 0) + count
    return how_often


#% count_every_second_pair
#% count_pairs | step_too_small, boundary | Pairs do not overlap.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece[::2], piece[1::2]):  # noqa: B905, RUF007  # the shifted copy is shorter, as the hint says
            how_often[pair] = how_often.get(pair, 0) + count
    return how_often


#% merge_from_the_right_again
#% merge | direction_reversed | The search goes from right to left.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == pair:
            merged.append(new_id)
            i -= 2
        else:
            merged.append(ids[i])
            i -= 1
    return merged[::-1]


#% train_one_merge_less
#% train_bpe | boundary | One merge is missing.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges - 1:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=found.get)  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% train_rarest_pair
#% train_bpe | wrong_operation | The rarest pair is merged.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = min(found, key=found.get)  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% train_without_an_end
#% train_bpe | check_missing, step_missing | Training does not end if no pair is left.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        pair = max(found, key=found.get)  # the first of equals: a dict keeps its order
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% encode_last_rank_first
#% encode | rank_ignored | The merges are applied from the last one.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in split_words(text):
        piece = list(word.encode())
        for rank, pair in reversed(list(enumerate(merges))):
            piece = merge(piece, pair, 256 + rank)
        ids.extend(piece)
    return ids


#% tokens_right_before_left
#% token_bytes | pair_order, parts_exchanged | The right token's bytes come first.
def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[right] + tokens[left])
    return tokens


#% decode_last_id_refused
#% decode | boundary, check_wrong | The last token is refused.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if not 0 <= number < len(tokens) - 1:
            raise ValueError(f"there is no token {number}")
    joined = b"".join(tokens[number] for number in ids)
    return joined.decode(errors="replace")


#% bits_per_token
#% bits_per_byte | wrong_divisor, argument_ignored | The loss is per token, not per byte.
def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    if num_bytes == 0:
        raise ValueError("a text without bytes has no loss per byte")
    nats = mean_loss * num_bytes
    return nats / math.log(2) / num_bytes


#% runs_counted_without_overlap
#% count_pairs | boundary, pairs_once | In a run of one id, every second pair is skipped.
def count_pairs(pieces, counts):
    found = {}
    for piece, count in zip(pieces, counts):
        i = 0
        while i < len(piece) - 1:
            pair = (piece[i], piece[i + 1])
            found[pair] = found.get(pair, 0) + count
            i += 2 if piece[i] == piece[i + 1] else 1
    return found


#% counts_ignored_and_overlapping_merges
#% count_pairs | argument_ignored, pairs_once | The counts have no effect.
#% merge | step_too_small | The search goes on inside of what it has merged.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece, piece[1:]):
            how_often[pair] = how_often.get(pair, 0) + 1
    return how_often


def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = ([], 0)
    while i < len(ids):
        if tuple(ids[i:i + 2]) == pair:
            merged.append(new_id)
            i += 1
        else:
            merged.append(ids[i])
            i += 1
    return merged


#% bytes_missing_and_decimal_logarithm
#% token_bytes | bytes_missing | The single bytes are missing.
#% bits_per_byte | wrong_operation, wrong_form | The logarithm of 10 stands for that of 2.
def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens[256:]


def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    if num_bytes == 0:
        raise ValueError('a text without bytes has no loss per byte')
    nats = mean_loss * num_tokens
    return nats / math.log(10) / num_bytes


#% reversed_ranks_and_nested_words
#% encode | direction_reversed, rank_ignored | The merges are applied from the last to the first.
#% encode | list_of_lists | Each word is a separate list.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in split_words(text):
        piece = list(word.encode())
        for rank, pair in reversed(list(enumerate(merges))):
            piece = merge(piece, pair, 256 + rank)
        ids.append(piece)
    return ids


#% inlined_counts_ignored
#% train_bpe | argument_ignored, pairs_once | The written-out count ignores how often a word occurs.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = {}
        for piece in pieces:
            for a, b in zip(piece, piece[1:]):
                found[a, b] = found.get((a, b), 0) + 1
        if not found:
            break
        pair = max(found, key=found.get)
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% words_without_a_space_and_empty
#% split_words | step_missing | Empty words stay.
#% split_words | spaces_lost | A space is lost.
def split_words(text: str) -> list[str]:
    runs: list[str] = []
    for symbol in text:
        if runs and _kind(runs[-1][-1]) == _kind(symbol):
            runs[-1] += symbol
        else:
            runs.append(symbol)
    for i in range(1, len(runs)):
        if runs[i - 1].endswith(' '):
            runs[i - 1], runs[i] = (runs[i - 1][:-1], runs[i])
    return runs


#% first_merge_and_largest_pair
#% merge | first_only | Only the first occurrence is merged.
#% train_bpe | tie_order | Of equals, the largest pair is taken.
def merge(ids, pair, new_id):
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == tuple(pair):
            return list(ids[:i]) + [new_id] + list(ids[i + 2:])
    return list(ids)


def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=lambda one: (found[one], one))
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% bytes_turned_and_decoded_alone
#% token_bytes | parts_exchanged | The right bytes come first.
#% decode | decoded_alone | Each token is decoded by itself.
def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[right] + tokens[left])
    return tokens


def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if not 0 <= number < len(tokens):
            raise ValueError(f'there is no token {number}')
    return ''.join((tokens[number].decode(errors='replace') for number in ids))


#% underscore_lost_s01_of_21
#% split_words | step_missing | split_words uses a regular expression in which no alternative matches '_', so underscores are lost.
def split_words(text: str) -> list[str]:
    import re
    pattern = ' ?[^\\W\\d_]+| ?\\d+| ?[^\\s\\w]+|\\s+(?= \\S)|\\s+'
    return re.findall(pattern, text)


#% all_white_moves_s02_of_21
#% split_words | space_misplaced | split_words moves the whole run of white space to the next word instead of only one space at its end.
def split_words(text: str) -> list[str]:

    def kind(c):
        return 0 if c.isalpha() else 1 if c.isdigit() else 2 if c.isspace() else 3
    from itertools import groupby
    groups = [''.join(g) for _, g in groupby(text, key=kind)]
    words, carry = ([], '')
    for g in groups:
        if g.isspace():
            carry = g
        else:
            words.append(carry + g)
            carry = ''
    if carry:
        words.append(carry)
    return words


#% alnum_s03_of_21
#% split_words | kinds_mixed | split_words puts letters and digits into one kind, so 'abc123' is one word.
def _kind(symbol: str) -> str:
    if symbol.isalnum():
        return 'letter'
    return 'space' if symbol.isspace() else 'other'


#% last_word_lost_s04_of_21
#% split_words | boundary | split_words never appends the last run, so the last word is lost.
def split_words(text: str) -> list[str]:
    words = []
    current = ''
    for c in text:
        if current and _kind(current[-1]) != _kind(c):
            words.append(current)
            current = ''
        current += c
    for i in range(1, len(words)):
        if words[i - 1][-1:] == ' ':
            words[i - 1] = words[i - 1][:-1]
            words[i] = ' ' + words[i]
    return [w for w in words if w != '']


#% counts_ignored_s05_of_21
#% count_pairs | argument_ignored | count_pairs ignores how often a piece occurs: adds 1 instead of counts[i].
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece, piece[1:]):
            how_often[pair] = how_often.get(pair, 0) + 1
    return how_often


#% no_overlap_s06_of_21
#% count_pairs | step_missing | count_pairs does not count overlapping pairs: in a, a, a the pair (a, a) counts once.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    from collections import defaultdict
    table = defaultdict(int)
    for n, ids in enumerate(pieces):
        k = 0
        while k + 1 < len(ids):
            a, b = (ids[k], ids[k + 1])
            table[a, b] += counts[n]
            if a == b and k + 2 < len(ids) and (ids[k + 2] == b):
                k += 2
            else:
                k += 1
    return dict(table)


#% across_pieces_s07_of_21
#% count_pairs | step_missing | count_pairs does not reset the previous id at the start of a piece, so it counts pairs across the border of two pieces.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    stats = {}
    previous = None
    for piece, count in zip(pieces, counts):
        for current in piece:
            if previous is not None:
                pair = (previous, current)
                stats[pair] = stats.get(pair, 0) + count
            previous = current
    return stats


#% second_id_kept_s08_of_21
#% merge | step_too_small | merge does not skip the second id of the pair: it stays after new_id.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    out = []
    for i, a in enumerate(ids):
        if i + 1 < len(ids) and (a, ids[i + 1]) == pair:
            out.append(new_id)
        else:
            out.append(a)
    return out


#% first_only_s09_of_21
#% merge | first_only | merge replaces only the first occurrence.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = ([], 0)
    while i < len(ids):
        if tuple(ids[i:i + 2]) == pair:
            return merged + [new_id] + list(ids[i + 2:])
        else:
            merged.append(ids[i])
            i += 1
    return merged


#% last_id_lost_s10_of_21
#% merge | boundary | merge loses the last id if it is not part of a pair (loop ends one too early).
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = []
    pos = 0
    while pos < len(ids) - 1:
        if ids[pos] == pair[0] and ids[pos + 1] == pair[1]:
            result += [new_id]
            pos += 2
        else:
            result += [ids[pos]]
            pos += 1
    return result


#% tie_largest_s11_of_21
#% train_bpe | tie_order | train_bpe breaks ties by the largest pair of ids instead of the first occurrence.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=lambda p: (found[p], p))
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% id_off_by_one_s12_of_21
#% train_bpe | boundary | train_bpe numbers the new tokens from 257 instead of 256 (length after the append).
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    vocabulary = {word: list(word.encode('utf-8')) for word in word_counts}
    learned = []
    for _ in range(num_merges):
        stats = count_pairs(list(vocabulary.values()), list(word_counts.values()))
        if len(stats) == 0:
            break
        best = max(stats, key=lambda p: stats[p])
        learned.append(best)
        number = 256 + len(learned)
        vocabulary = {w: merge(ids, best, number) for w, ids in vocabulary.items()}
    return learned


#% stops_at_one_s13_of_21
#% train_bpe | boundary | train_bpe stops when the most frequent pair occurs only once.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=found.get)
        if found[pair] < 2:
            break
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% no_words_s14_of_21
#% encode | not_cut | encode does not cut the text into words first, so merges cross words.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    piece = list(text.encode('utf-8'))
    for r, pair in enumerate(merges):
        piece = merge(piece, pair, r + 256)
    return piece


#% longest_match_s15_of_21
#% encode | rank_ignored | encode takes the longest matching token from the left instead of applying the merges in the order of their ranks.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    table = {b: i for i, b in enumerate(token_bytes(merges))}
    longest = max(map(len, table))
    result = []
    for word in split_words(text):
        data = word.encode()
        start = 0
        while start < len(data):
            for size in range(min(longest, len(data) - start), 0, -1):
                if data[start:start + size] in table:
                    result.append(table[data[start:start + size]])
                    start += size
                    break
    return result


#% right_left_s16_of_21
#% token_bytes | parts_exchanged | token_bytes joins the right token's bytes before the left's.
def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[right] + tokens[left])
    return tokens


#% decode_each_s17_of_21
#% decode | decoded_alone | decode reads each token as UTF-8 by itself instead of joining the bytes first.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    vocab = token_bytes(merges)
    text = ''
    for i in ids:
        if i < 0 or i >= len(vocab):
            raise ValueError(i)
        text += vocab[i].decode('utf-8', errors='replace')
    return text


#% negative_id_s18_of_21
#% decode | check_missing | decode accepts negative numbers as ids.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if number >= len(tokens):
            raise ValueError(f'there is no token {number}')
    joined = b''.join((tokens[number] for number in ids))
    return joined.decode(errors='replace')


#% bits_inverted_s19_of_21
#% bits_per_byte | wrong_operation | bits_per_byte multiplies by bytes per token instead of tokens per byte (inverted).
def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    if not num_bytes:
        raise ValueError('no bytes')
    bits = mean_loss / math.log(2)
    return bits * num_bytes / num_tokens


#% bits_no_ln2_s20_of_21
#% bits_per_byte | wrong_divisor, wrong_reduction | bits_per_byte stays in nats: does not divide by ln 2.
def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    if num_bytes == 0:
        raise ValueError('a text without bytes has no loss per byte')
    nats = mean_loss * num_tokens
    return nats / num_bytes


#% train_d1_of_21
#% train_bpe | tie_order | train_bpe takes the last of equally frequent pairs instead of the first.
#% train_bpe | boundary | train_bpe stops when the most frequent pair occurs only once.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = sorted(found, key=found.get)[-1]
        if found[pair] == 1:
            break
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% decode_d2_of_21
#% decode | check_missing | decode drops unknown ids instead of raising ValueError.
#% decode | bytes_left_out | decode drops bytes that are no character (errors='ignore') instead of replacing them by U+FFFD.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    vocab = dict(enumerate(token_bytes(merges)))
    data = b''.join((vocab.get(i, b'') for i in ids))
    return data.decode('utf-8', errors='ignore')


#% bits_d3_of_21
#% bits_per_byte | factor_missing, nats_for_bits | bits_per_byte multiplies by ln 2 instead of dividing.
#% bits_per_byte | check_missing | bits_per_byte raises no ValueError without bytes.
def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    return mean_loss * num_tokens * math.log(2) / max(num_bytes, 1)


#% merge_encode_d4_of_21
#% merge | first_only | merge replaces only the first occurrence.
#% encode | heads_mixed, rank_ignored | encode applies the merges in the reverse order of their ranks.
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = ([], 0)
    while i < len(ids):
        if tuple(ids[i:i + 2]) == pair:
            return merged + [new_id] + list(ids[i + 2:])
        else:
            merged.append(ids[i])
            i += 1
    return merged


def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    ids: list[int] = []
    for word in split_words(text):
        piece = list(word.encode())
        for rank, pair in reversed(list(enumerate(merges))):
            piece = merge(piece, pair, 256 + rank)
        ids.extend(piece)
    return ids


#% count_train_d5_of_21
#% count_pairs | argument_ignored | count_pairs ignores the counts of the pieces.
#% train_bpe | bytes_and_characters | train_bpe begins with the code points of the characters instead of their UTF-8 bytes.
def count_pairs(pieces: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    how_often: dict[tuple[int, int], int] = {}
    for piece, count in zip(pieces, counts, strict=True):
        for pair in zip(piece, piece[1:]):
            how_often[pair] = how_often.get(pair, 0) + 1
    return how_often


def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [[ord(symbol) for symbol in word] for word in word_counts]
    counts = list(word_counts.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < num_merges:
        found = count_pairs(pieces, counts)
        if not found:
            break
        pair = max(found, key=found.get)
        pieces = [merge(piece, pair, 256 + len(merges)) for piece in pieces]
        merges.append(pair)
    return merges


#% bytes_decode_d6_of_21
#% token_bytes | parts_exchanged | token_bytes joins right before left.
#% decode | decoded_alone | decode reads each token as UTF-8 by itself.
def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[right] + tokens[left])
    return tokens


def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if not 0 <= number < len(tokens):
            raise ValueError(f'there is no token {number}')
    return ''.join((tokens[number].decode(errors='replace') for number in ids))


#% train_merge_no_skip_i1_of_21
#% train_bpe | step_too_small | train_bpe (merge written out inside) does not skip the second id of the pair.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    pieces = [list(word.encode()) for word in word_counts]
    counts = list(word_counts.values())
    merges = []
    for rank in range(num_merges):
        found = count_pairs(pieces, counts)
        if not found:
            break
        best = max(found, key=found.get)
        changed = []
        for piece in pieces:
            new = []
            for k in range(len(piece)):
                if tuple(piece[k:k + 2]) == best:
                    new.append(256 + rank)
                else:
                    new.append(piece[k])
            changed.append(new)
        pieces = changed
        merges.append(best)
    return merges


#% encode_merge_first_only_i2_of_21
#% encode | first_only | encode (merge written out inside) replaces only the first occurrence of each pair in a word.
def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    out = []
    for word in split_words(text):
        piece = list(word.encode())
        for rank, (a, b) in enumerate(merges):
            for i in range(len(piece) - 1):
                if piece[i] == a and piece[i + 1] == b:
                    piece[i:i + 2] = [256 + rank]
                    break
        out += piece
    return out


#% train_count_ignored_i3_of_21
#% train_bpe | argument_ignored | train_bpe (counting written out inside) ignores how often each word occurs.
def train_bpe(word_counts: dict[str, int], num_merges: int) -> list[tuple[int, int]]:
    words = {w: list(w.encode()) for w in word_counts}
    merges = []
    while len(merges) < num_merges:
        stats = {}
        for w, ids in words.items():
            for left, right in zip(ids[:-1], ids[1:]):
                stats[left, right] = stats.get((left, right), 0) + 1
        if not stats:
            return merges
        top = max(stats, key=stats.get)
        for w in words:
            words[w] = merge(words[w], top, 256 + len(merges))
        merges.append(top)
    return merges


#% decode_expand_order_i4_of_21
#% decode | parts_exchanged | decode (token bytes written out inside) leaves out the right token's bytes when that token is itself a merge.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:

    def expand(number):
        if number < 0 or number >= 256 + len(merges):
            raise ValueError(f'no token {number}')
        if number < 256:
            return bytes([number])
        left, right = merges[number - 256]
        return expand(left) + bytes([right]) if right < 256 else expand(left)
    data = b''.join((expand(n) for n in ids))
    return data.decode(errors='replace')


#% negative_ids_and_numbers_swapped
#% decode | check_missing | Negative ids are accepted.
#% bits_per_byte | operand_repeated, wrong_operation | The loss is divided by the tokens and multiplied by the bytes.
def decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    tokens = token_bytes(merges)
    for number in ids:
        if number >= len(tokens):
            raise ValueError(f'there is no token {number}')
    joined = b''.join((tokens[number] for number in ids))
    return joined.decode(errors='replace')


def bits_per_byte(mean_loss: float, num_tokens: int, num_bytes: int) -> float:
    if num_bytes == 0:
        raise ValueError('a text without bytes has no loss per byte')
    return mean_loss / math.log(2) * num_bytes / num_tokens
