"""A fitted model as the parts of its file, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from superwords.container import Choice
from superwords.draws import ChainDraws, traced
from superwords.fitting.fitted_model import FittedModel
from superwords.fitting.parts import Findings, ModelParts
from superwords.fitting.settings import plain_settings
from superwords.sampler.chain import Chain
from superwords.sampler.model import Model, make_data


def parts_of(model: FittedModel, texts: bool = True, findings: bool = True) -> ModelParts:
    """What a file holds of the model; its findings are computed if they are not yet."""
    first = model.chains_[0].model
    result, found = model.sampled_, None
    if findings and result.has_concepts:
        posterior = result.trace["posterior"].to_dataset()
        trace = {str(name): posterior[name].values for name in posterior.data_vars}
        draws = result.best_draw, result.consensus_draw
        found = Findings(*draws, result.summary, result.word_sets, trace)
    return ModelParts(
        plain_settings(model.get_params()),
        model.seed_,
        model.schedule_,
        model.order_,
        model.corpus_ if texts else replace(model.corpus_, texts=None),
        np.where(first.data.known[:, None], first.data.Y, np.nan),
        first.affinity,
        first.steps,
        [chain.position() for chain in model.chains_],
        found,
    )


def restore(
    model: FittedModel, parts: ModelParts, draws: list[ChainDraws], choices: Sequence[Choice] = ()
) -> None:
    """Inverse of `parts_of`: a model of the same settings is as it was when it was saved."""
    model.corpus_, model.order_ = parts.corpus, parts.order
    model.seed_, model.schedule_ = parts.seed, parts.schedule
    counts = sparse.csr_array(parts.corpus.counts[parts.order])
    data = make_data(counts, parts.features)
    model.chains_ = []
    for c, position in enumerate(parts.chains):
        whole = Model(position.prior, data, parts.affinity, parts.steps)
        chain = Chain(whole, position.state, parts.seed, c)
        chain.go_to(position)
        model.chains_.append(chain)
    model.kept_, model.choices_ = draws, list(choices)
    if parts.findings is not None:
        found = parts.findings._asdict()
        trace = traced(found.pop("trace"))
        model.sampled_.remember(**found, trace=trace)
