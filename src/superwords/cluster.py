"""Run work on processes and machines through Ray: start, join or leave a cluster.

Work inside `with joined("auto"):` runs on the cluster where possible. A process is in at most one cluster at a time, as
Ray requires.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from superwords.errors import ClusterError, InputError
from superwords.machine import n_workers
from superwords.storage.model_file import code_digest

AUTO = "auto"
ANSWER_WITHIN = 10.0  # seconds in which an address must respond
_ADDRESS = re.compile(r"[^\s:/]+:\d{1,5}")
_STORE_BYTES = 256 * 2**20
_LOOK_EVERY, _LOOKS = 1.0, 3  # seconds between two checks of the head, and how many must fail
_LEAVE_WITHIN = 15.0
_AHEAD = 2  # items per core that wait for a free one
# First bytes of a client and a server of HTTP/2, which Ray uses.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = b"\x04"
_REMEDY = "give the HOST:PORT that 'ray start --head' printed there"
_MARK = "SUPERWORDS_CLUSTER"  # in the environment of every process of a cluster started here
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Longer than ours, so that a busy machine does not count as lost and Ray does not end this process.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_raylet_start_wait_time_s": "120",
}

# Waits for a process to end; reports if it ended without a final message and the head does not respond.
_LAST_WORDS = """
import socket, sys
_, host, port, sentence = sys.argv
if not sys.stdin.read(1):
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        print(sentence, file=sys.stderr)
"""

Say = Callable[[str], None]
Result = TypeVar("Result")

# Values travel pickled, since Ray's shared arrays are read-only, for which kernels would be compiled again.
packed: Callable[[Any], bytes] = partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL)
unpacked = pickle.loads


class Cluster:
    """A cluster that this process is in.

    Every call of Ray is made inside `watched`: most of them block for ever when the head is silent.
    """

    def __init__(self, name: str, head: str, folder: Path | None = None):
        self.name = name
        self.folder = folder  # of a cluster that was started here
        self.head = head
        self._next_look, self._failed = 0.0, 0
        self._looking = threading.Lock()

    @property
    def n_cores(self) -> int:
        return max(1, int(self.watched(lambda: ray().cluster_resources()).get("CPU", 1)))

    @property
    def n_machines(self) -> int:
        return sum(bool(node["Alive"]) for node in self.watched(lambda: ray().nodes()))

    def check(self) -> None:
        """Raise `ClusterError` if the head did not respond several times; cheap.

        A head whose process or network is frozen may still accept connections, so a reply is required.
        """
        is_due = self._failed < _LOOKS and monotonic() >= self._next_look
        if is_due and self._looking.acquire(blocking=False):
            try:
                self._failed = 0 if _first_bytes(self.head, 2 * _LOOK_EVERY) else self._failed + 1
            except OSError:
                self._failed += 1
            finally:  # also where Ctrl-C interrupts the look
                self._next_look = monotonic() + _LOOK_EVERY
                self._looking.release()
        if self._failed >= _LOOKS:
            raise ClusterError(f"{self.name} has gone away: its head no longer answers.")

    def watched(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`; raise `ClusterError` if the head is lost.

        The work runs in a separate thread, which is abandoned if it does not end.
        """
        return self.wait_for(in_thread(work))

    def wait_for(self, done: Future[Result]) -> Result:
        """Return a result of `in_thread`, as `watched` does."""
        while not wait([done], _LOOK_EVERY).done:
            self.check()
        return done.result()

    def spread(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield `function` of each item in order; items of lost workers are repeated.

        `function` is sent once, items one by one, a few ahead of the requested results.
        """
        share = self.watched(lambda: ray().put(packed(function)))
        call = ray().remote(num_cpus=1, max_retries=3, scheduling_strategy="SPREAD")(_call)
        waiting: deque[Any] = deque()
        at_once, rest = _AHEAD * self.n_cores, iter(items)
        try:
            while True:
                for item in islice(rest, at_once - len(waiting)):
                    waiting.append(self.watched(partial(call.remote, share, packed(item), code_digest())))
                if not waiting:
                    return
                yield self.watched(partial(fetched, waiting.popleft()))
        finally:
            with suppress(Exception):
                self.watched(lambda: [ray().cancel(one, force=True) for one in waiting])


def in_thread(work: Callable[[], Result]) -> Future[Result]:
    """Start work in a thread that does not keep the process from ending."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done


def fetched(reference: Any) -> Any:
    """Return what a worker sent, or raise in this process what it raised there."""
    errors = importlib.import_module("ray.exceptions")
    try:
        return unpacked(ray().get(reference))
    except errors.RayTaskError as error:
        raise error.cause from None
    except errors.WorkerCrashedError as error:
        raise InputError("A worker of the cluster died several times, perhaps because it ran out of memory.") from error


def _call(function: bytes, item: bytes, version: str) -> bytes:
    """Compute one item in a worker."""
    check_version(version)
    with threadpool_limits(1):
        return packed(unpacked(function)(unpacked(item)))


def check_version(version: str) -> None:
    if version != code_digest():
        problem = f"The machine {socket.gethostname()} of the cluster has another version of superwords"
        raise InputError(f"{problem}; install the same on all of them.")


def ray() -> Any:
    """Import Ray when it is needed, and return it."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    return importlib.import_module("ray")


def check_cluster(cluster: Any) -> None:
    """Raise if this cannot be the address of a cluster, or if Ray is not installed."""
    if cluster is None:
        return
    if cluster != AUTO and (not isinstance(cluster, str) or not _ADDRESS.fullmatch(cluster)):
        remedy = "give 'auto' for one on this machine, or HOST:PORT of a head that 'ray start --head' started"
        raise InputError("is not an address", "cluster", cluster, remedy)
    if find_spec("ray") is None:
        problem, remedy = "needs Ray, which is not installed", "install the extra superwords[cluster]"
        raise InputError(problem, "cluster", cluster, remedy)


_now: Cluster | None = None


def current() -> Cluster | None:
    """Return the cluster that this process is in, if any."""
    return _now


@contextmanager
def joined(cluster: str | None, n_jobs: int | None = None, say: Say | None = None) -> Iterator[Cluster | None]:
    """Start a cluster on this machine ("auto"), or join one at an address.

    None keeps the cluster that the process is in, if any; so does a `with joined` inside another. `n_jobs` is the
    number of cores of a cluster that is started here.
    """
    global _now
    check_cluster(cluster)
    if cluster is None or _now is not None:
        yield _now
        return
    is_in_one = bool(ray().is_initialized())  # by the user's own ray.init
    # Ray sets its own handler, whose messages are not needed here.
    before = signal.getsignal(signal.SIGTERM)
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        if is_in_one:
            _now = Cluster("The cluster of this process", ray().get_runtime_context().gcs_address)
        else:
            _now = _start(n_workers(n_jobs)) if cluster == AUTO else _join(cluster)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
        if say is not None:
            machines = "1 machine" if _now.n_machines == 1 else f"{_now.n_machines} machines"
            say(f"{_now.name}: {machines}, {_now.n_cores} cores.")
        # Let another process report a lost cluster, since Ray then ends this process.
        sentence = f"superwords: {_now.name} has gone away; run the same command again (a fit with --resume)."
        program = [sys.executable, "-I", "-S", "-c", _LAST_WORDS, *_now.head.rsplit(":", 1), sentence]
        speaker = subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True)
        try:
            yield _now
        finally:
            with suppress(OSError):
                speaker.communicate(b"farewell")
    finally:
        left, _now = _now, None
        if left is not None and not is_in_one:
            _leave(left.folder)


def spread(function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None = None) -> Iterator[Any]:
    """Yield `function` of each item in order, by the cluster or local processes."""
    if _now is not None:
        return _now.spread(function, items)
    from joblib import Parallel, delayed

    workers = Parallel(n_jobs=n_workers(n_jobs), return_as="generator", pre_dispatch="2*n_jobs")
    return iter(workers(delayed(function)(item) for item in items))


def _start(n_cores: int) -> Cluster:
    # Not in TMPDIR, since paths of sockets must be short.
    folder = Path(tempfile.mkdtemp(prefix="superwords-", dir="/tmp" if Path("/tmp").is_dir() else None))
    os.environ[_MARK] = folder.name
    try:
        context = ray().init(
            address="local",
            num_cpus=n_cores,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=_STORE_BYTES,
            _temp_dir=str(folder),
            log_to_driver=False,
            configure_logging=False,
        )
    except BaseException as error:
        _leave(folder)
        if isinstance(error, Exception):
            raise InputError(f"Ray cannot be started on this machine: {_first_line(error)}.") from error
        raise
    finally:
        del os.environ[_MARK]
    return Cluster("A cluster on this machine", context.address_info["gcs_address"], folder)


def _join(address: str) -> Cluster:
    check_answer(address)
    there = Cluster(f"The cluster at {address}", address)
    try:
        there.watched(lambda: ray().init(address=address, log_to_driver=False, configure_logging=False))
    except ClusterError:
        _leave(None)
        raise
    except Exception as error:
        problem = f"The cluster at {address} cannot be joined from this machine ({_first_line(error)})"
        remedy = (
            f"start Ray here too (ray start --address={address}) and, if it asks for a token, set RAY_AUTH_MODE=token"
        )
        raise InputError(f"{problem}; {remedy}.") from error
    return there


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def check_answer(address: str) -> None:
    """Raise in good time where nothing answers, or something that is not Ray."""
    try:
        answer = _first_bytes(address, ANSWER_WITHIN)
    except OSError as error:
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or error
        problem = f"No cluster can be reached at {address} within {ANSWER_WITHIN:.0f} seconds ({reason})"
        raise InputError(f"{problem}; {_REMEDY}, or 'auto' for a cluster on this machine.") from None
    if answer[3:4] != _SETTINGS:
        raise InputError(f"What answers at {address} is not Ray; {_REMEDY}.")


def _first_bytes(address: str, seconds: float) -> bytes:
    """Return the first bytes that a server sends to a client of HTTP/2."""
    until = monotonic() + seconds
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as talk:
        talk.settimeout(max(1.0, until - monotonic()))
        talk.sendall(_HELLO)
        return talk.recv(9)


def _leave(folder: Path | None) -> None:
    """Leave the cluster; shut it down with its files if it was started here."""

    def end_at_once() -> None:  # Ray crashes at exit with open calls
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)

    shutdown = ray().shutdown
    if not wait([in_thread(shutdown)], _LEAVE_WITHIN).done:
        atexit.unregister(shutdown)  # it would wait for the lost head again
        atexit.register(end_at_once)
    if folder is not None:
        remove(folder)


def leave_at_once() -> None:
    """Remove everything that this process started, before it ends by force."""
    if _now is not None and _now.folder is not None:
        remove(_now.folder, wait=0.0)


def remove(folder: Path, wait: float = 2.0) -> None:
    """Wait for the processes of a cluster, end those that stay, and remove its folder."""
    until = monotonic() + wait
    while left := processes_of(folder.name):
        for one in left if monotonic() >= until else ():
            with suppress(Exception):  # it has ended meanwhile
                one.kill()
        sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


def processes_of(mark: str | None = None) -> list[Any]:
    """Return the processes of a cluster started here, or with None of all of them."""
    import psutil  # of the extra

    return [
        one
        for one in psutil.process_iter(["environ", "status"])
        if (found := (one.info["environ"] or {}).get(_MARK)) is not None
        and mark in (None, found)
        and one.info["status"] != psutil.STATUS_ZOMBIE
    ]
