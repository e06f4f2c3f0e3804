"""More processes and machines by way of Ray: a cluster is started here or joined, and left with nothing behind.

Whatever is done inside `with joined("auto"):` hands its work to the cluster where it can. A process is in one cluster
at a time, since Ray allows no more.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import pickle
import re
import shutil
import signal
import socket
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from threadpoolctl import threadpool_limits

from superwords.errors import InputError
from superwords.jobs import n_workers

AUTO = "auto"
ANSWER_WITHIN = 10.0  # seconds in which an address must answer
_ADDRESS = re.compile(r"(?P<host>[^\s:/]+):(?P<port>\d{1,5})")
_STORE_BYTES = 256 * 2**20
_LOOK_EVERY, _LOOKS = 1.0, 3  # seconds between two looks at the head, and how many must fail
_LEAVE_WITHIN = 15.0
_AHEAD = 2  # items per core that wait for a free one
# What a client and a server of HTTP/2, which Ray speaks, say first.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4
_MARK = "SUPERWORDS_CLUSTER"  # in the environment of every process of a cluster that was started here
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Longer than ours, so that a busy machine is not taken for a lost one and Ray does not end this process.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_raylet_start_wait_time_s": "120",
}

Say = Callable[[str], None]


class ClusterLostError(InputError):
    """The cluster's head does not answer any more."""


class Cluster:
    """A cluster that this process is in."""

    def __init__(self, name: str, head: str, folder: Path | None = None):
        self.name = name
        self.folder = folder  # of a cluster that was started here
        self._head = _parsed(head)
        self._next_look, self._failed = 0.0, 0

    @property
    def n_cores(self) -> int:
        return max(1, int(ray().cluster_resources().get("CPU", 1)))

    @property
    def n_machines(self) -> int:
        return sum(bool(node["Alive"]) for node in ray().nodes())

    def check(self) -> None:
        """Raise `ClusterLostError` if the head has not answered several times; cheap to call often."""
        if monotonic() < self._next_look:
            return
        try:
            socket.create_connection(self._head, timeout=2 * _LOOK_EVERY).close()
            self._failed = 0
        except OSError:
            self._failed += 1
        self._next_look = monotonic() + _LOOK_EVERY
        if self._failed >= _LOOKS:
            raise ClusterLostError(f"{self.name} has gone away: its head no longer answers.")

    def spread(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """What `function` gives for each item, in the order of the items; a lost worker's item is done again.

        `function` travels once, items one by one, a few ahead of what was asked for.
        """
        share = ray().put(packed(function))
        call = ray().remote(num_cpus=1, max_retries=3, scheduling_strategy="SPREAD")(_call)
        waiting: deque[Any] = deque()
        at_once = _AHEAD * self.n_cores
        try:
            for item in items:
                waiting.append(call.remote(share, packed(item), code_version()))
                if len(waiting) >= at_once:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            for one in waiting:
                with suppress(Exception):
                    ray().cancel(one, force=True)

    def _result(self, reference: Any) -> Any:
        while not ray().wait([reference], timeout=_LOOK_EVERY)[0]:
            self.check()
        with causes_said():
            return unpacked(ray().get(reference))


@contextmanager
def causes_said() -> Iterator[None]:
    """What went wrong in a worker is raised here as it was there."""
    errors = importlib.import_module("ray.exceptions")
    try:
        yield
    except errors.RayTaskError as error:
        raise error.cause from None
    except errors.WorkerCrashedError as error:
        raise InputError(
            "A worker of the cluster died several times, perhaps because it ran out of memory."
        ) from error


def packed(value: Any) -> bytes:
    """In one piece: arrays that Ray shares are read-only, for which kernels would be compiled anew."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpacked(content: bytes) -> Any:
    return pickle.loads(content)


def _call(function: bytes, item: bytes, version: str) -> bytes:
    """In a worker."""
    check_version(version)
    with threadpool_limits(1):
        return packed(unpacked(function)(unpacked(item)))


@cache
def code_version() -> str:
    """A fingerprint of this package's code: other code could give other bits."""
    found = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(source.read_bytes())
    return found.hexdigest()


def check_version(version: str) -> None:
    if version != code_version():
        raise InputError(
            f"The machine {socket.gethostname()} of the cluster has another version of superwords; "
            "install the same on all of them."
        )


def ray() -> Any:
    """The module, which is loaded when it is needed."""
    os.environ.update({name: value for name, value in _ENVIRONMENT.items() if name not in os.environ})
    return importlib.import_module("ray")


def check_cluster(cluster: Any) -> None:
    """Refuse what cannot be the address of a cluster, and any where Ray is not installed."""
    if cluster is None:
        return
    if cluster != AUTO and (not isinstance(cluster, str) or not _ADDRESS.fullmatch(cluster)):
        raise InputError(
            f"cluster={cluster!r} is not an address; give 'auto' for one on this machine, or HOST:PORT of a head "
            "that 'ray start --head' started."
        )
    if find_spec("ray") is None:
        raise InputError(
            f"cluster={cluster!r} needs Ray, which is not installed; install the extra superwords[cluster]."
        )


_now: Cluster | None = None


def current() -> Cluster | None:
    """The cluster that work is handed to, if this process is in one."""
    return _now


@contextmanager
def joined(
    cluster: str | None, n_jobs: int | None = None, say: Say | None = None
) -> Iterator[Cluster | None]:
    """Be in a cluster: one that is started on this machine ("auto"), or one at an address.

    None stands for the cluster that the process is in already, or for none; inside another `with joined`, the cluster
    stays that one. `n_jobs` are the cores of a cluster that is started here.
    """
    global _now
    check_cluster(cluster)
    if cluster is None or _now is not None:
        yield _now
        return
    is_in_one = bool(ray().is_initialized())  # by the person's own ray.init
    # Ray sets a handler of its own, and says on the way what is of no use here.
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
        yield _now
    finally:
        left, _now = _now, None
        if left is not None and not is_in_one:
            _leave(left.folder)


def spread(function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None = None) -> Iterator[Any]:
    """What `function` gives for each item, in their order: by the cluster, or by processes of this machine."""
    if _now is not None:
        return _now.spread(function, items)
    from joblib import Parallel, delayed

    workers = Parallel(n_jobs=n_workers(n_jobs), return_as="generator", pre_dispatch="2*n_jobs")
    return iter(workers(delayed(function)(item) for item in items))


def _start(n_cores: int) -> Cluster:
    # Not where TMPDIR says: names of sockets may not be long.
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
        if not isinstance(error, Exception):
            raise
        raise InputError(f"Ray cannot be started on this machine: {_first_line(error)}.") from error
    finally:
        del os.environ[_MARK]
    return Cluster("A cluster on this machine", context.address_info["gcs_address"], folder)


def _join(address: str) -> Cluster:
    _check_answer(address)
    try:
        context = ray().init(address=address, log_to_driver=False, configure_logging=False)
    except Exception as error:
        raise InputError(
            f"The cluster at {address} cannot be joined from this machine ({_first_line(error)}); start Ray here "
            f"too (ray start --address={address}) and, if it asks for a token, set RAY_AUTH_MODE=token."
        ) from error
    return Cluster(f"The cluster at {address}", context.address_info["gcs_address"])


def _check_answer(address: str) -> None:
    """One sentence, in good time, where nothing answers or something that is not Ray."""
    until = monotonic() + ANSWER_WITHIN
    try:
        with socket.create_connection(_parsed(address), timeout=ANSWER_WITHIN) as talk:
            talk.settimeout(max(1.0, until - monotonic()))
            talk.sendall(_HELLO)
            answer = talk.recv(9)
    except OSError as error:
        told = "no answer" if isinstance(error, TimeoutError) else error.strerror or error
        raise InputError(
            f"No cluster can be reached at {address} within {ANSWER_WITHIN:.0f} seconds ({told}); give the HOST:PORT "
            "that 'ray start --head' printed there, or 'auto' for a cluster on this machine."
        ) from None
    if len(answer) < 4 or answer[3] != _SETTINGS:
        raise InputError(
            f"What answers at {address} is not Ray; give the HOST:PORT that 'ray start --head' printed there."
        )


def _leave(folder: Path | None) -> None:
    """Leave the cluster; one that was started here ends, with all its processes and files."""
    module = ray()
    leaving = threading.Thread(target=module.shutdown, daemon=True)
    leaving.start()
    leaving.join(_LEAVE_WITHIN)
    if folder is not None:
        _end_processes(folder)
        shutil.rmtree(folder, ignore_errors=True)


def leave_at_once() -> None:
    """For a process that is about to end by force: nothing of a cluster that it started may stay."""
    if _now is not None and _now.folder is not None:
        _end_processes(_now.folder, wait=0.0)
        shutil.rmtree(_now.folder, ignore_errors=True)


def _end_processes(folder: Path, wait: float = 2.0) -> None:
    """Wait for the processes of a cluster, and end those that stay."""
    until = monotonic() + wait
    while left := [pid for pid in _process_ids() if _mark_of(pid) == folder.name]:
        if monotonic() >= until:
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        sleep(0.05)


def _process_ids() -> list[int]:
    return [int(one.name) for one in Path("/proc").glob("[0-9]*")]


def _mark_of(pid: int) -> str:
    """The cluster that a process belongs to; "" of one that is none of ours."""
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return ""
    marks = [entry for entry in content.split(b"\0") if entry.startswith(f"{_MARK}=".encode())]
    return marks[0].partition(b"=")[2].decode() if marks else ""


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
