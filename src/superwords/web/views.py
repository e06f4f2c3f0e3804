"""Tables and parts that the explorer's pages request, with the decisions made so far."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

from starlette.responses import Response

from superwords.fitting.estimator import ConceptModel
from superwords.search.discovery import taste_views
from superwords.search.index import search_index
from superwords.tabular import records
from superwords.web.bounded import BoundedModel
from superwords.web.catalog import Catalog
from superwords.web.cloud_pictures import cloud_words
from superwords.web.documents import DocumentPages
from superwords.web.finding import SearchPages, TextIndex, WordPages
from superwords.web.json_tables import Table
from superwords.web.relations import ChainPages, Landscape, RelationPages

ANSWER_BYTES, ANSWERS_BYTES = 2**20, 2**26  # of one cached answer, and of all
# Rows: of more, the index of a search takes minutes and gigabytes, and is made if somebody searches.
_MOST_INDEXED = 20_000
WITH_NAMES = ("verdict", "_themes", "document_map")  # properties that are computed anew for other names


class Answers:
    """Cache the latest answers by address, up to a number of bytes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Response, int]] = OrderedDict()
        self._size = 0
        self._turn = threading.Lock()

    def get(self, address: str) -> Response | None:
        """Return the cached answer to an address, or None."""
        with self._turn:
            if address not in self._known:
                return None
            self._known.move_to_end(address)
            return self._known[address][0]

    def put(self, address: str, answer: Response) -> None:
        """Cache an answer, and evict the least recently used ones."""
        size = len(answer.body) + len(address) + 1_000
        if size > ANSWER_BYTES:
            return
        with self._turn:
            _, before = self._known.pop(address, (answer, 0))
            self._known[address] = answer, size
            self._size += size - before
            while self._size > ANSWERS_BYTES:
                self._size -= self._known.popitem(last=False)[1][1]


class Views:
    """Map names in an address to tables and parts; immutable, a decision makes new ones."""

    def __init__(self, catalog: Catalog, index: TextIndex, bounded: BoundedModel | None = None) -> None:
        self.catalog = catalog
        self.index = index
        self.bounded = bounded
        self.documents = DocumentPages(catalog)
        self.words = WordPages(catalog)
        self.chains = ChainPages(catalog)
        self.relations = RelationPages(catalog, bounded)
        self.answers = Answers()
        self._connect()

    def _connect(self) -> None:
        catalog, documents, relations = self.catalog, self.documents, self.relations
        finder, words = SearchPages(catalog, self.index), self.words
        # A function's parameters are read from the address (`json_tables.call`).
        self.tables: dict[str, Callable[..., Table]] = {
            "concepts": catalog.concepts,
            "concept-words": catalog.concept_words,
            "concept-documents": catalog.concept_documents,
            "concept-groups": catalog.concept_groups,
            "documents": documents.documents,
            "document-concepts": documents.whole_concepts,
            "document-passages": documents.document_passages,
            "rows": documents.rows,
            "row-concepts": documents.concepts,
            "said": finder.said,
            "said-by": finder.said_by,
            "words": words.words,
            "word-concepts": words.concepts,
            "word-neighbours": words.neighbours,
            "words-beside": words.beside,
            "group-differences": catalog.group_differences,
            "trends": relations.trend_table,
            "word-changes": relations.change_table,
            "effects": relations.effect_table,
            "themes": relations.theme_list,
            "convergence": catalog.convergence,
            "agreement": self.chains.agreement,
            "others": self.chains.others,
            "moves": self.chains.moves,
            "nearest": lambda: self.landscape.nearest(),
            "quality": lambda: self.landscape.quality(),
        }
        self.parts: dict[str, Callable[..., Any]] = {
            "concept": catalog.concept,
            "document": documents.document,
            "row": documents.row,
            "text": documents.text,
            "word": words.word,
            "names": lambda: {"prompt": catalog.model.name_prompt()},
            "map": lambda: {"points": self.landscape.points()},
            "document-map": lambda: self.landscape.document_map,
            "quality": lambda: records(self.landscape.quality().rows),
            "predicted": relations.predicted_page,
            "tree": relations.tree_page,
            "time": relations.time,
            "effects": relations.effect_page,
            "cloud": self._cloud,
            "search": finder.search,
            "diverse": finder.diverse,
            "recommend": finder.recommend,
        }

    def renamed(self, model: ConceptModel) -> Views:
        """Return a copy with other names and themes that shares what was computed."""
        other = copy.copy(self)
        other.answers = Answers()
        other.catalog = _with(self.catalog, model=model)
        other.documents, other.words, other.chains, other.relations = (
            _with(part, catalog=other.catalog)
            for part in (self.documents, self.words, self.chains, self.relations)
        )
        if "landscape" in self.__dict__:
            other.landscape = _with(self.landscape, catalog=other.catalog)
        other._connect()
        return other

    @cached_property
    def landscape(self) -> Landscape:
        return Landscape(self.catalog)

    def steps(self) -> Iterator[Callable[[], Any]]:
        """Return what takes long and is asked for again and again, what is looked at first coming first."""
        catalog, documents, relations = self.catalog, self.documents, self.relations
        columns = list(catalog.group_columns)
        yield catalog.concepts
        yield lambda: catalog.holders(1)
        yield documents.documents
        yield documents.rows
        yield self.words.words
        yield lambda: documents.text(0, 1)
        for name in columns:
            yield partial(catalog.by_group, catalog.column(name))
            yield partial(catalog.group_differences, name, *catalog.group_columns[name][:2])
        yield lambda: self.landscape
        yield self.index.make
        for name in catalog.time_columns:
            yield partial(relations.time, {"column": name})
        yield lambda: relations.tree
        yield relations.theme_list
        if catalog.model.corpus_.n_documents <= _MOST_INDEXED:
            yield lambda: search_index(catalog.model.result_)
            yield lambda: taste_views(catalog.model.result_)

    def _cloud(
        self, concept: int, column: str | None = None, first: str = "", second: str = ""
    ) -> dict[str, Any]:
        if column is not None:
            clouds = shares = [self.catalog.group_shares(concept, column, one) for one in (first, second)]
        else:
            words = self.catalog.words_of(concept)
            clouds = [self.catalog.scores(concept)]
            shares = [dict(zip(words["word"], words["share_used"].astype(float)))]
        return cloud_words(clouds, shares=shares)


def _with(part: Any, **changed: Any) -> Any:
    """Return a copy with other attributes, and with what it has computed unless names are in it."""
    other = copy.copy(part)
    for name in WITH_NAMES:
        other.__dict__.pop(name, None)
    other.__dict__.update(changed)
    return other
