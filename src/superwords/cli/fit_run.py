"""What `superwords fit` adds to `superwords.fit`: names of options, checkpoints, and a clean stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from superwords.cli.common import say
from superwords.cli.inputs import PARAMETERS, wrong_use
from superwords.cluster import ClusterLostError, leave_at_once
from superwords.container import is_ours
from superwords.corpus.fingerprint import digest
from superwords.corpus.reading import check_groups
from superwords.errors import InputError
from superwords.features.specs import split_features
from superwords.progress import Progress, Watcher, make_watcher

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel
    from superwords.fitting.store import Checkpoint

_CONTENT = " (content)"
# Options that are the command's own.
_OWN = ("file", "more", "output", "save_draws", "checkpoint_every", "resume", "quiet", "as_json")
# Options that do not change what is sampled: they may differ when a run is resumed.
FREE = {*_OWN, "jobs", "cluster", "groups", "keep_texts", "cache"}


def how_to_go_on(checkpoint: Path) -> str:
    return f"run the same command with --resume to continue (from {checkpoint})."


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """What `superwords.fit` is asked for; what was not given is left to its defaults."""
    return {
        PARAMETERS.get(option, option): value
        for option, value in given.items()
        if option not in _OWN and value not in (None, ())
    }


def check_asked(asked: Mapping[str, Any]) -> None:
    """Options that are wrong are wrong use, said before any text is read."""
    from superwords.fitting.fit import checked

    with wrong_use():
        checked({name: value for name, value in asked.items() if name not in ("text", "id", "groups")})


def check_replaced(output: Path, file: str, resume: bool, quiet: bool) -> None:
    """Say that a model is replaced; documents are not."""
    if not output.exists():
        return
    if Path(file).exists() and output.samefile(file):
        raise InputError(f"{output} holds the documents; give another name for the model.")
    if not resume:
        what = "model in" if is_ours(output) else "file"
        say(f"Replaces the {what} {output}.", quiet)


def say_replaced_checkpoint(checkpoint: Path, quiet: bool) -> None:
    if checkpoint.exists():
        say(
            f"{checkpoint} of an earlier, unfinished run will be replaced (--resume would continue it).",
            quiet,
        )


def resumed(checkpoint: Path, key: Mapping[str, Any], given: Mapping[str, Any]) -> ConceptModel:
    """The model of an interrupted run, if this run is its continuation."""
    from superwords.fitting import store
    from superwords.fitting.estimator import restored

    if not checkpoint.exists():
        raise InputError(
            f"There is no checkpoint {str(checkpoint)!r} to resume from; a finished run leaves none. "
            "To continue a finished model: superwords fit --more 1000 MODEL."
        )
    stored = store.read(checkpoint)
    earlier = stored.run
    if earlier is None:
        raise InputError(f"{str(checkpoint)!r} is a finished model, not a checkpoint to resume from.")
    for name in sorted({*key, *earlier}):
        now, then = key.get(name), earlier.get(name)
        if now == then:
            continue
        if name.endswith(_CONTENT):
            raise InputError(
                f"{name.removesuffix(_CONTENT)} has changed since {checkpoint} was written; "
                "start again without --resume."
            )
        if name == "superwords":
            raise InputError(
                f"{checkpoint} was written by superwords {then}, and this is {now}; "
                "start again without --resume."
            )
        raise InputError(
            f"--resume needs the options of the interrupted run, but {name} is {now!r} and was {then!r}; "
            "give it as it was, or start again without --resume."
        )
    model = restored(stored, str(checkpoint))
    check_groups(given["groups"], model.corpus_.metadata)
    first, last = (end(chain.sweep for chain in model.chains_) for end in (min, max))
    done = f"{last:,}" if first == last else f"{first:,} to {last:,}"
    say(f"Continuing from {checkpoint}, after {done} of {model.schedule_.n_sweeps:,} sweeps.", given["quiet"])
    return model.set_params(n_jobs=given["jobs"], cluster=given["cluster"])


def run_key(given: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the bits of a run: its options, its input files, and the version of the sampler."""
    from superwords import __version__

    options = {f"--{name.replace('_', '-')}": value for name, value in given.items() if name not in FREE}
    key = {name: _plain(value) for name, value in options.items()}
    key["superwords"] = __version__
    # By content, not by name: the same file may be named from another folder.
    key[f"The input{_CONTENT}"] = digest(given["file"])
    sources = [one.partition(":")[2] for one in split_features(given["features"] or None)]
    for source in filter(None, [*sources, given["drop"] and str(given["drop"])]):
        key[f"{source}{_CONTENT}"] = digest(source)
    return key


def model_key(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same for sampling on from a model: its file, and how far to go."""
    from superwords import __version__

    return {"--more": given["more"], "superwords": __version__, f"The model{_CONTENT}": digest(given["file"])}


def _plain(value: Any) -> Any:
    """As it comes back from JSON."""
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return value if isinstance(value, bool | int | float | None) else str(value)


class CheckpointedRun(Watcher):
    """Shows how far a run is, writes its checkpoint, and lets Ctrl-C end it between two sweeps.

    A run that is resumed goes on in the checkpoint that is there; another begins a new one. An approximation has none.
    """

    def __init__(self, checkpoint: Path, key: Mapping[str, Any], given: Mapping[str, Any]):
        self._display = make_watcher(not given["quiet"])
        self._path, self._key, self._is_resumed = checkpoint, key, given["resume"]
        self._has_checkpoint = given.get("approximate") is None
        self.every = given["checkpoint_every"]
        self._checkpoint: Checkpoint
        self.is_interrupted = False
        self.say, self.reading = self._display.say, self._display.reading  # type: ignore[method-assign]

    @contextmanager
    def watching(self, model: ConceptModel) -> Iterator[None]:
        from superwords.fitting import store
        from superwords.fitting.saving import parts_of

        if not self._has_checkpoint:
            with self._display.watching(model):
                yield
            return
        is_begun = False
        try:
            with _stopped_softly(say):
                if not self._is_resumed:
                    store.write(self._path, parts_of(model), model.kept_, model.choices_, self._key)
                self._checkpoint = store.Checkpoint(self._path, self.every, say)
                with self._checkpoint.watching(model), self._display.watching(model):
                    is_begun = True
                    yield
        except KeyboardInterrupt:
            if not is_begun:
                how = f"; {how_to_go_on(self._path)}" if self._path.exists() else "."
                raise InputError(f"Stopped before the first sweep{how}") from None
            self.is_interrupted = True
            self._checkpoint.write()
        except ClusterLostError as error:
            self._checkpoint.write()
            raise InputError(f"{str(error).rstrip('.')}; {how_to_go_on(self._path)}") from None

    def see(self, swept: Any) -> None:
        if self._has_checkpoint:
            self._checkpoint.see(swept)

    def __call__(self, progress: Progress) -> None:
        self._display(progress)

    def end(self) -> None:
        """Nothing is left to go on from."""
        if self._has_checkpoint:
            self._checkpoint.close()
            self._path.unlink(missing_ok=True)


@contextmanager
def _stopped_softly(tell: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) raises KeyboardInterrupt, the second ends the process."""

    def stop_now(number: int, frame: FrameType | None) -> None:
        # Chains still run in their threads, so nothing they hold may be saved; the checkpoint is always whole.
        leave_at_once()
        os._exit(1)

    def stop(number: int, frame: FrameType | None) -> None:
        for one in signals:
            signal.signal(one, stop_now)
        tell("Stopping after this sweep (press Ctrl-C again to stop at once; the last checkpoint stays).")
        raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, stop) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
