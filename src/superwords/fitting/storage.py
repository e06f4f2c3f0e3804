"""One portable file for a fitted model: a zip of plain arrays (.npy) and JSON, with no pickle in it.

`superwords.json` holds the format number, the package's version and a tree that names everything else. The
file always holds the corpus, the settings, the last state of every chain (so that sampling can go on with the
same bits), the most probable and the consensus draw, the traces, and the summaries all tables are made of;
with draws="all" also every kept draw.
"""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arviz_base
import numpy as np
from scipy import sparse

from superwords.corpus.corpus import Corpus
from superwords.draws import ChainDraws
from superwords.errors import InputError
from superwords.files import whole_file
from superwords.fitting.archive import DAMAGE, Reader, Writer
from superwords.fitting.renaming import NAMES, read_names
from superwords.sampler.chain import Chain
from superwords.sampler.model import Model, make_data

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

FORMAT = 1
# From a format number to the function that turns such a tree into one of the next format.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

_HEAD = "superwords.json"


def save(model: ConceptModel, path: str | Path, draws: str = "best", texts: bool = True) -> Path:
    """Write a fitted model to one file, whole or not at all; `draws` is "best" or "all"."""
    if draws not in ("best", "all"):
        raise InputError(f"draws={draws!r} is not known; give 'best' or 'all'.")
    has_draws = len(model.draws_) > 0
    if draws == "all" and not has_draws and model.result_.has_concepts:
        raise InputError(
            "The model was loaded without its draws, so they cannot be saved; give draws='best'."
        )
    out = Path(path)
    if not out.parent.is_dir():
        raise InputError(f"There is no folder {str(out.parent)!r} to save the model in.")
    try:
        with whole_file(out) as file:
            _write(file, model, draws == "all" and has_draws, texts)
    except OSError as error:
        raise InputError(
            f"The model cannot be written to {str(out)!r}: {error.strerror or error}."
        ) from error
    return out


def load(path: str | Path) -> ConceptModel:
    """A model that `save` wrote: same attributes, same tables, and `advance` goes on with the same bits."""
    name = str(path)
    if not Path(path).exists():
        raise InputError(f"There is no file {name!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            model, _ = read_model(archive, name)
            model.sampled_.names = read_names(archive)
            return model
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(f"{name!r} is not a superwords model, or it is damaged: {error}.") from error


def read_model(archive: zipfile.ZipFile, name: str) -> tuple[ConceptModel, dict[str, Any]]:
    """What `write_model` wrote, and the head it stands in; `name` is the file's, for messages."""
    reader = Reader(archive)
    head = _migrated(reader.json(_HEAD), name)
    return _restore(reader, head), head


def _migrated(head: dict[str, Any], name: str) -> dict[str, Any]:
    number = head["format"]
    if number > FORMAT:
        raise InputError(
            f"{name!r} was written by superwords {head['version']} in format {number}, "
            f"and this version reads formats up to {FORMAT}; install a newer superwords."
        )
    for old in range(number, FORMAT):
        head = MIGRATIONS[old](head)
    return head


def _write(file: Any, model: ConceptModel, all_draws: bool, texts: bool) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        writer = Writer(archive)
        if model.sampled_.names:
            writer.json(NAMES, model.sampled_.names)
        write_model(writer, model, model.kept_ if all_draws else [], texts)


def write_model(
    writer: Writer, model: Any, draws: Sequence[ChainDraws], texts: bool = True, **more: Any
) -> None:
    """A model, the draws of its chains, and what else belongs into the head."""
    from superwords import __version__

    tree = {name: writer.node(name, value) for name, value in _parts(model, texts).items()}
    for c, chain in enumerate(draws):
        tree[f"kept_{c}"] = writer.rows(f"kept_{c}", chain.kept)
        tree[f"kept_trace_{c}"] = writer.node(f"kept_trace_{c}", chain.trace)
    writer.json(_HEAD, {"format": FORMAT, "version": __version__, "model": tree, **more})


def _parts(model: ConceptModel, texts: bool) -> dict[str, Any]:
    """What a file holds, by name."""
    first = model.chains_[0].model
    corpus = model.corpus_ if texts else dataclasses.replace(model.corpus_, texts=None)
    parts: dict[str, Any] = {
        "settings": _settings(model),
        "seed": model.seed_,
        "schedule": model.schedule_,
        "order": model.order_,
        "corpus": {one.name: getattr(corpus, one.name) for one in dataclasses.fields(corpus)},
        "features": np.where(first.data.known[:, None], first.data.Y, np.nan),
        "affinity": first.affinity,
        "steps": first.steps,
        "chains": {
            str(c): {"sweep": one.sweep, "prior": one.model.prior, "state": one.state, "tokens": one.tokens}
            for c, one in enumerate(model.chains_)
        },
    }
    if model.result_.has_concepts:
        posterior = model.trace_["posterior"].to_dataset()
        parts |= {
            "best_draw_": model.best_draw_,
            "consensus_draw_": model.consensus_draw_,
            "summary_": model.sampled_.summary,
            "word_sets_": model.sampled_.word_sets,
            "trace": {str(name): posterior[name].values for name in posterior.data_vars},
        }
    return parts


def _settings(model: ConceptModel) -> dict[str, Any]:
    """The constructor's parameters, but for those that only make sense where they were given."""
    given = model.get_params()
    given.pop("progress")
    if not isinstance(given["random_state"], int | np.integer):
        given["random_state"] = None
    plain = (str, int, float, np.generic, type(None))
    return {name: value if isinstance(value, plain) else np.asarray(value) for name, value in given.items()}


def _restore(reader: Reader, head: dict[str, Any]) -> ConceptModel:
    from superwords.fitting.estimator import ConceptModel

    tree = head["model"]
    part = {name: reader.value(node) for name, node in tree.items() if not name.startswith("kept_")}
    model = ConceptModel(**part["settings"])
    model.corpus_ = Corpus(**part["corpus"])
    model.seed_, model.schedule_, model.order_ = part["seed"], part["schedule"], part["order"]
    if sorted(model.order_.tolist()) != list(range(model.corpus_.n_documents)):
        raise ValueError("its documents are not in any order")
    counts = sparse.csr_array(model.corpus_.counts[model.order_])
    data = make_data(counts, part["features"])
    model.chains_, model.choices_ = [], []
    for c in range(len(part["chains"])):
        stored = part["chains"][str(c)]
        of_chain = Model(stored["prior"], data, part["affinity"], part["steps"])
        chain = Chain(of_chain, stored["state"], model.seed_, c, stored["sweep"])
        chain.tokens = stored["tokens"]
        model.chains_.append(chain)
    model.kept_ = [ChainDraws() for _ in model.chains_]
    for c, kept in enumerate(model.kept_):
        if f"kept_{c}" in tree:
            kept.kept = reader.rows(tree[f"kept_{c}"])
            kept.trace = reader.value(tree[f"kept_trace_{c}"])
    for name in ("best_draw_", "consensus_draw_", "summary_", "word_sets_"):
        if name in part:
            model.sampled_.remember(**{name.removesuffix("_"): part[name]})
    if "trace" in part:
        model.sampled_.remember(
            trace=arviz_base.from_dict({"posterior": part["trace"]}, check_conventions=False)
        )
    return model
