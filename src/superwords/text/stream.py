"""From texts to one long stream of integers: the candidate words of every sentence of every document."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, groupby, islice
from typing import Any, NamedTuple

import numpy as np

from superwords.cluster import current, spread
from superwords.errors import InputError
from superwords.text.files import TextStream, batches
from superwords.text.phrases import CAN_END, CAN_START, NEW_RUN, TAGGED, Candidate, Method, find_candidates
from superwords.text.sentences import LONGEST_TOKEN, clean_text, sentence_spans, tokens

CHUNK_CHARACTERS = 400_000
CHUNKS_WORTH_WORKERS = 4  # below that, starting worker processes takes longer than the work
OPENING_ITEMS = 5
LONG_TOKENS = " long"  # what `form_count` counts skipped tokens under; no form begins with a space

ReadingProgress = Callable[[int, int], None]


class TokenStream(NamedTuple):
    """Candidate tokens in order."""

    types: list[tuple[str, str, str]]  # surface, key and label; tokens of one key are one word, however spelled
    token_type: np.ndarray
    token_flags: np.ndarray
    token_sentence: np.ndarray
    sentence_document: np.ndarray
    sentence_span: np.ndarray
    sentence_opening: np.ndarray  # a fingerprint of how it begins; 0: not known
    document_words: np.ndarray
    form_count: Counter[str]  # of every lower-case form, candidate or not

    @property
    def n_documents(self) -> int:
        return len(self.document_words)


ARRAYS = dict(zip(TokenStream._fields[1:-1], "iBiiiqi"))  # and their types


def stream_texts(
    texts: Sequence[str] | TextStream,
    languages: Iterable[str],
    method: Method,
    n_jobs: int = 1,
    progress: ReadingProgress | None = None,
) -> TokenStream:
    """Return all candidates of all texts, found by all cores or the cluster; how the work is cut changes no bit."""
    codes = iter(languages)
    parts: Any = texts.pieces if isinstance(texts, TextStream) else ()
    if len(parts) < CHUNKS_WORTH_WORKERS:  # else workers read them by themselves
        parts = batches(_checked(texts), len, CHUNK_CHARACTERS)
    work = ((part, list(islice(codes, len(part)))) for part in parts)
    first = list(islice(work, CHUNKS_WORTH_WORKERS))
    is_alone = len(first) < CHUNKS_WORTH_WORKERS or (n_jobs == 1 and current() is None)
    read, every = partial(read_chunk, method=method), chain(first, work)
    stream = _join(map(read, every) if is_alone else spread(read, every, n_jobs), len(texts), progress)
    if method.words != "plain" or method.lemmas is not None:
        return stream
    # A plain word is called by its lemma only if it occurs in the texts; a dictionary's mistakes never do.
    written: dict[str, set[str]] = defaultdict(set)
    for surface, key, _ in stream.types:
        written[key].add(surface.lower())
    types = [
        (surface, key, label if label != label.lower() or label in written[key] else surface)
        for surface, key, label in stream.types
    ]
    return stream._replace(types=types)


def _checked(texts: Iterable[Any]) -> Iterator[str]:
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            are_tokens = isinstance(text, list | tuple)
            hint = "use Corpus.from_tokens for lists of tokens" if are_tokens else "give strings"
            raise InputError(f"Document {n} is of type {type(text).__name__}, not text; {hint}.")
        yield text


def stream_tokens(documents: Sequence[Sequence[Sequence[str]]]) -> TokenStream:
    """Read ready tokens as words; a document is a list of sentences, each a list of tokens."""
    sentences = list(chain.from_iterable(documents))
    sizes = np.array(list(map(len, sentences)), np.int32)
    sentence_document = np.repeat(np.arange(len(documents), dtype=np.int32), list(map(len, documents)))
    types: dict[str, int] = {}
    token_type = [types.setdefault(token, len(types)) for sentence in sentences for token in sentence]
    return TokenStream(
        [(token, token, token) for token in types],
        np.array(token_type, np.int32),
        np.full(len(token_type), NEW_RUN | CAN_START | CAN_END, np.uint8),
        np.repeat(np.arange(len(sentences), dtype=np.int32), sizes),
        sentence_document,
        np.zeros((len(sentences), 2), np.int32),
        np.zeros(len(sentences), np.int64),
        np.bincount(sentence_document, sizes, len(documents)).astype(np.int32),
        Counter(),
    )


def read_chunk(chunk: tuple[Iterable[str], Iterable[str]], method: Method) -> TokenStream:
    """Return the candidates of a few documents, given as their texts and their languages."""
    types: dict[tuple[str, str, str], int] = {}
    own = {name: array(kind) for name, kind in ARRAYS.items()}
    form_count: Counter[str] = Counter()
    for d, (text, language) in enumerate(zip(*chunk, strict=True)):
        n_words = 0
        text = clean_text(text)
        for start, end in sentence_spans(text, language):
            sentence = tokens(text[start:end], language, method.tokenizer)
            if n_long := sum(len(token) > LONGEST_TOKEN for token in sentence):
                form_count[LONG_TOKENS] += n_long
                sentence = [token for token in sentence if len(token) <= LONGEST_TOKEN]
            n_words += sum(token[0].isalpha() for token in sentence)
            form_count.update(token.lower() for token in sentence)
            candidates = list(find_candidates(sentence, language, method)) if sentence else []
            for surface, key, label, flags, _ in candidates:
                own["token_type"].append(types.setdefault((surface, key, label), len(types)))
                own["token_flags"].append(flags)
                own["token_sentence"].append(len(own["sentence_document"]))
            own["sentence_document"].append(d)
            own["sentence_span"].extend((start, end))
            own["sentence_opening"].append(_opening(sentence, candidates if method.words in TAGGED else []))
        own["document_words"].append(n_words)
    arrays = {name: np.array(values) for name, values in own.items()}
    arrays["sentence_span"] = arrays["sentence_span"].reshape(-1, 2)
    return TokenStream(list(types), **arrays, form_count=form_count)


def _opening(sentence: list[str], phrases: list[Candidate]) -> int:
    """Return a fingerprint of the first few items of a sentence, where a noun phrase is one item."""
    runs = accumulate(candidate.flags & NEW_RUN for candidate in phrases)
    run_of = {candidate.position: run for candidate, run in zip(phrases, runs)}
    words = ((n, token.lower()) for n, token in enumerate(sentence) if token[0].isalnum())
    groups = groupby(words, key=lambda word: run_of.get(word[0], -word[0]))
    items = [" ".join(token for _, token in group) for _, group in islice(groups, OPENING_ITEMS)]
    digest = hashlib.blake2b("\n".join(items).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) if items else 0


def _join(parts: Iterable[TokenStream], n_documents: int, progress: ReadingProgress | None) -> TokenStream:
    types: dict[tuple[str, str, str], int] = {}
    form_count: Counter[str] = Counter()
    pieces: list[TokenStream] = []
    n_sentences = n_read = 0
    for part in parts:
        renumber = np.array([types.setdefault(t, len(types)) for t in part.types], np.int32)
        form_count.update(part.form_count)
        piece = part._replace(
            types=[],
            token_type=renumber[part.token_type],
            token_sentence=part.token_sentence + np.int32(n_sentences),
            sentence_document=part.sentence_document + np.int32(n_read),
            form_count=Counter(),
        )
        pieces.append(piece)
        n_sentences += len(part.sentence_document)
        n_read += part.n_documents
        if progress is not None:
            progress(n_read, n_documents)
    joined = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in ARRAYS}
    return TokenStream(list(types), **joined, form_count=form_count)
