"""What a run will need is told beforehand, and what cannot fit is refused with a sentence that says what would."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from chains_for_tests import blocks
from superwords import ConceptModel
from superwords.errors import InputError
from superwords.fitting import forecast
from superwords.fitting.forecast import (
    Forecast,
    disk_of_draw,
    memory_of_chain,
    memory_of_summary,
    sweeps_in_turn,
    words_on,
)
from superwords.machine import available_memory, free_disk, peak_memory, temporary_folder
from superwords.progress import Progress, Watcher
from superwords.storage.draws import pack_draw


class Saying(Watcher):
    def __init__(self):
        self.lines, self.swept = [], []
        self.say = self.lines.append

    def __call__(self, progress):
        self.swept.append(progress.sweep)


def fitted(watcher=False, **options):
    options = {"n_chains": 2, "n_sweeps": 6, "n_burn_in": 0, "random_state": 1, "n_jobs": 2} | options
    return ConceptModel(progress=watcher, **options).fit(blocks()[:80], features=None)


def test_the_machine_knows_what_it_has():
    assert 1 < peak_memory() < 1e6
    assert free_disk(temporary_folder()) > 0
    free = available_memory()
    if sys.platform == "linux":
        assert free is not None
        assert free > 1e6


def test_chains_take_turns():
    assert sweeps_in_turn([150] * 4, 2) == 300
    assert sweeps_in_turn([150] * 3, 2) == 300
    assert sweeps_in_turn([150, 20, 20], 2) == 150
    assert sweeps_in_turn([10], 3) == 10


def test_a_draw_takes_about_as_much_disk_as_foreseen():
    model = fitted(n_sweeps=20)
    chain = model.chains_[0]
    kept = model.kept_[0][-1]
    real = len(pack_draw(kept).data)
    assert disk_of_draw([chain]) == pytest.approx(real, rel=0.35)


def test_a_start_with_every_word_on_does_not_stand_for_the_draws_to_come():
    model = ConceptModel(init="single", n_chains=1, n_sweeps=20, n_burn_in=0, random_state=1, progress=False)
    model.start(blocks()[:80], features=None)
    n_on = len(model.chains_[0].state.word)
    foreseen = words_on(model.chains_)
    assert foreseen < n_on
    assert memory_of_summary(model.chains_, model.schedule_) < 20 * n_on * forecast._PER_SUMMED
    for _ in range(20):
        model.chains_[0].step()
    assert len(model.chains_[0].state.word) <= foreseen


def test_time_memory_and_disk_are_told_after_a_few_sweeps(monkeypatch):
    monkeypatch.setattr(forecast, "_WORTH_TELLING", 0.0)
    seen = Saying()
    fitted(seen, n_chains=4)
    (line,) = [one for one in seen.lines if "a sweep" in one]
    assert line.startswith("4 chains of 6 sweeps, 2 at a time: about ")
    assert "of memory" in line
    assert "of disk" in line
    assert sorted(seen.swept) == sorted([1, 2, 3, 4, 5, 6] * 4)


def test_a_short_run_is_not_told_of():
    seen = Saying()
    fitted(seen)
    assert not any("a sweep" in line for line in seen.lines)


def test_the_time_told_is_that_of_the_later_sweeps(monkeypatch):
    class Model:
        chains_ = fitted().chains_
        kept_ = fitted().kept_
        schedule_ = fitted().schedule_._replace(n_sweeps=1006)

    seen = Saying()
    watched = Forecast(seen.say, 2, 0.0)
    with watched.watching(Model):
        for sweep, seconds in ((7, 100.0), (8, 103.0), (9, 106.0), (10, 109.0)):
            for chain in range(2):
                watched(Progress(chain, sweep, 1006, 5, np.nan, seconds))
    (line,) = seen.lines
    assert "2 chains of 1,000 sweeps: about 50 minutes at 3 s a sweep" in line


def test_too_little_memory_is_refused_with_what_would_fit(monkeypatch):
    model = fitted()
    monkeypatch.setattr(forecast, "_PER_SUMMED", 0)
    each = max(memory_of_chain(one) for one in model.chains_)
    monkeypatch.setattr(forecast, "available_memory", lambda: 1.5 * each)
    with pytest.raises(InputError, match=r"2 chains at a time would need .*n_jobs=1"):
        fitted()
    fitted(n_jobs=1)
    monkeypatch.setattr(forecast, "available_memory", lambda: 0.5 * each)
    with pytest.raises(InputError, match="min_df"):
        fitted(n_jobs=1)
    monkeypatch.setattr(forecast, "available_memory", lambda: None)
    fitted()


def test_draws_that_could_not_be_summed_up_are_refused(monkeypatch):
    model = fitted()
    monkeypatch.setattr(forecast, "_PER_SUMMED", 10_000)
    need = memory_of_summary(model.chains_, model.schedule_)
    assert need == 12 * max(len(one.state.word) for one in model.chains_) * 10_000
    monkeypatch.setattr(forecast, "available_memory", lambda: need / 2)
    with pytest.raises(InputError, match=r"Summing up the draws would need .*min_df"):
        fitted()


def test_too_little_disk_is_refused_with_what_would_fit(monkeypatch):
    each = disk_of_draw(fitted().chains_)
    monkeypatch.setattr(forecast, "free_disk", lambda folder: 9 * each)
    with pytest.raises(InputError, match=r"draws to be kept would need .*thin=3"):
        fitted(n_sweeps=16)
    fitted(n_sweeps=16, thin=4)
    monkeypatch.setattr(forecast, "free_disk", lambda folder: 0.1 * each)
    with pytest.raises(InputError, match="fewer chains"):
        fitted()
