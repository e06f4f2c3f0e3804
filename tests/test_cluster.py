"""Work on a cluster: the bits of a run without one, and nothing left behind, whatever happens in between."""

import operator
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import superwords
from cli_for_tests import assert_same_bits, fit_arguments, loaded, model_file, run, start, write_documents
from superwords import ConceptModel, cluster
from superwords.cluster import current, joined, spread
from superwords.errors import ClusterError, InputError
from superwords.text.checks import passage_length
from superwords.text.read import read_documents
from superwords.text.sources import open_documents

needs_ray = [
    pytest.mark.cluster,
    pytest.mark.skipif(cluster.find_spec("ray") is None, reason="Ray is not installed (superwords[cluster])"),
    # Ray leaves sockets and files to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
SETTINGS = {"n_chains": 3, "n_burn_in": 10, "thin": 10, "random_state": 5}


def some_counts(n_documents=60):
    rng = np.random.default_rng(3)
    rate = np.where((np.arange(n_documents)[:, None] % 3) == (np.arange(24)[None, :] % 3), 2.0, 0.1)
    return sparse.csr_array(rng.poisson(rate))


@contextmanager
def answering(first_words):
    """A server that is not Ray, at an address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    talk, _ = server.accept()
                except OSError:
                    return
                open_talks.append(talk)
                talk.sendall(first_words)

        open_talks = []
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        for talk in open_talks:
            talk.close()


def test_without_ray_one_sentence_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"^cluster='auto' needs Ray, .*install the extra superwords\[cluster\]\.$"):
        superwords.fit(["Milk and sugar."], cluster="auto")
    source = write_documents(tmp_path)
    for command in (fit_arguments(source, tmp_path / "m.sw"), ["compare", source, "-o", tmp_path / "out"]):
        told = run(capsys, *command, "--cluster", "auto")
        assert told.code == 2
        assert "--cluster 'auto' needs Ray, which is not installed; install the extra" in told.err


@pytest.mark.parametrize("address", ["anywhere", "ray://10.0.0.1:10001", "host:port", 6379])
def test_what_is_no_address_is_refused_before_anything_is_read(address):
    with pytest.raises(InputError, match=r"is not an address; give 'auto'"):
        superwords.fit("nowhere.csv", cluster=address)


@pytest.mark.skipif(cluster.find_spec("ray") is None, reason="Ray is not installed (superwords[cluster])")
@pytest.mark.parametrize(
    ("first_words", "said"),
    [
        (None, "No cluster can be reached at .* within 2 seconds"),
        (b"", "No cluster can be reached at .* within 2 seconds"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "What answers at .* is not Ray"),
    ],
)
def test_a_wrong_address_is_one_sentence_in_good_time(monkeypatch, first_words, said):
    monkeypatch.setattr(cluster, "ANSWER_WITHIN", 2.0)
    begin = time.monotonic()
    with answering(first_words or b"") as address:
        if first_words is None:
            with socket.create_server(("127.0.0.1", 0)) as free:
                address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(InputError, match=said), joined(address):
            pass
    assert current() is None
    assert time.monotonic() - begin < 30


def test_a_head_that_accepts_and_says_nothing_is_lost(monkeypatch):
    """A frozen machine or a cut network: connections open, and nobody speaks."""
    monkeypatch.setattr(cluster, "_LOOK_EVERY", 0.05)
    with answering(b"") as address:
        silent = cluster.Cluster("The cluster of this test", address)
        with pytest.raises(ClusterError, match="has gone away"):
            look_often(silent)


def look_often(machines, times=100):
    for _ in range(times):
        machines.check()
        time.sleep(0.06)


@pytest.fixture(scope="module")
def two_workers():
    """A cluster of two worker processes on this machine."""
    with joined("auto", n_jobs=2) as machines:
        yield machines


@pytest.mark.usefixtures("two_workers")
class TestTwoWorkers:
    pytestmark = needs_ray

    def test_chains_have_the_bits_of_a_run_without_a_cluster_and_one_view_shows_them_all(self):
        seen = []
        there = ConceptModel(n_sweeps=60, progress=seen.append, **SETTINGS).fit(some_counts())
        here = alone(60)
        assert_same_bits(there, here)
        assert {one.chain for one in seen} == {0, 1, 2}
        for c in range(3):
            assert [one.sweep for one in seen if one.chain == c] == list(range(1, 61))
        # And both can go on alike.
        assert_same_bits(there.advance(5), here.advance(5))

    def test_a_worker_that_is_killed_is_replaced_and_no_bit_changes(self, monkeypatch):
        from superwords.fitting import running

        monkeypatch.setattr(running, "_POSITION_EVERY", 0.05)
        killed, said = [], []

        def kill_one(progress):
            if progress.sweep == 30 and not killed:
                killed.append(chain_worker())
                os.kill(killed[0], signal.SIGKILL)

        watcher = cluster_watcher(kill_one, said)
        model = ConceptModel(n_sweeps=300, progress=watcher, **SETTINGS).fit(some_counts())
        assert killed
        assert any("has lost its worker and continues in another, after sweep" in line for line in said)
        assert_same_bits(model, alone(300))

    def test_what_goes_wrong_in_a_worker_is_said_as_it_was_there(self):
        with pytest.raises(InputError, match=r"^unit='pages:2' "):
            list(spread(passage_length, ["passages:2", "pages:2"]))

    def test_a_worker_with_other_code_is_one_sentence(self, monkeypatch):
        from superwords.fitting import running

        monkeypatch.setattr(running, "code_digest", lambda: "another")
        with pytest.raises(InputError, match="has another version of superwords"):
            ConceptModel(n_sweeps=60, progress=False, **SETTINGS).fit(some_counts())

    def test_work_is_spread_over_both_and_comes_back_in_order(self, two_workers):
        assert list(spread(operator.neg, range(50))) == [-n for n in range(50)]
        assert os.getpid() not in set(spread(eval, ["__import__('os').getpid()"] * 20))
        assert (two_workers.n_machines, two_workers.n_cores) == (1, 2)

    def test_row_groups_and_files_are_read_by_the_workers_with_the_same_words(self, tmp_path):
        words = ["dog", "cat", "horse", "garden", "river", "engine", "wheel", "brake", "doctor", "nurse"]
        rng = np.random.default_rng(1)
        texts = [" ".join(f"The {w} saw a {v}." for w, v in rng.choice(words, (6, 2))) for _ in range(80)]
        table = pd.DataFrame({"id": [f"d{n}" for n in range(80)], "text": texts, "year": 2000})
        table.to_parquet(tmp_path / "texts.parquet", row_group_size=16)
        (tmp_path / "folder").mkdir()
        for n, text in enumerate(texts):
            (tmp_path / "folder" / f"d{n:03}.txt").write_text(text * 120)
        for source in (tmp_path / "texts.parquet", tmp_path / "folder"):
            assert len(open_documents(source).texts.pieces) >= 4
            there = read_documents(source, min_df=2, unit="document")
            with not_in_a_cluster():
                here = read_documents(source, min_df=2, unit="document", n_jobs=1)
            assert there.vocabulary == here.vocabulary
            assert (there.counts != here.counts).nnz == 0
            assert (there.sentences != here.sentences).nnz == 0
            assert there.ids == here.ids

    def test_shards_have_the_bits_of_a_run_without_a_cluster(self):
        settings = SETTINGS | {"n_chains": 2, "thin": 5, "approximate": "shards:2x30"}
        there = ConceptModel(n_sweeps=20, progress=False, **settings).fit(some_counts(90))
        with not_in_a_cluster():
            here = ConceptModel(n_sweeps=20, progress=False, **settings).fit(some_counts(90))
        assert_same_bits(there, here)

    def test_parts_are_written_by_the_workers_with_the_same_bits(self, tmp_path, capsys):
        source = write_documents(tmp_path, 40)
        pd.read_csv(source).to_parquet(tmp_path / "new.parquet", row_group_size=10)
        columns = ["--text", "speech", "--id", "name", "--quiet"]
        command = ["transform", model_file(tmp_path), tmp_path / "new.parquet", *columns]
        assert run(capsys, *command, "--parts", tmp_path / "there").code == 0
        with not_in_a_cluster():
            assert run(capsys, *command, "--jobs", "1", "--parts", tmp_path / "here").code == 0
        parts = sorted(path.name for path in (tmp_path / "here").glob("*.parquet"))
        assert len(parts) == 4
        for name in parts:
            there, here = (pd.read_parquet(tmp_path / folder / name) for folder in ("there", "here"))
            pd.testing.assert_frame_equal(there, here, check_exact=True)

    def test_workers_killed_while_parts_are_written_change_no_bit(self, tmp_path, capsys):
        source = write_documents(tmp_path, 80)
        pd.read_csv(source).to_parquet(tmp_path / "new.parquet", row_group_size=10)
        columns = ["--text", "speech", "--id", "name", "--quiet"]
        command = ["transform", model_file(tmp_path), tmp_path / "new.parquet", *columns]
        killed = []
        ended = threading.Event()
        killer = threading.Thread(target=kill_now_and_then, args=(killed, ended, 2), daemon=True)
        killer.start()
        try:
            assert run(capsys, *command, "--parts", tmp_path / "there").code == 0
        finally:
            ended.set()
            killer.join()
        assert killed
        with not_in_a_cluster():
            assert run(capsys, *command, "--jobs", "1", "--parts", tmp_path / "here").code == 0
        assert {one.name for one in (tmp_path / "there").iterdir()} == {
            one.name for one in (tmp_path / "here").iterdir()
        }
        for one in (tmp_path / "here").glob("*.parquet"):
            there = pd.read_parquet(tmp_path / "there" / one.name)
            pd.testing.assert_frame_equal(there, pd.read_parquet(one), check_exact=True)

    def test_workers_killed_at_random_moments_of_a_fit_change_no_bit(self, monkeypatch):
        from superwords.fitting import running

        monkeypatch.setattr(running, "_POSITION_EVERY", 0.05)
        killed, ended = [], threading.Event()
        killer = threading.Thread(target=kill_now_and_then, args=(killed, ended, 3, "_ChainWorker"), daemon=True)
        killer.start()
        try:
            model = ConceptModel(n_sweeps=600, progress=False, **SETTINGS).fit(some_counts())
        finally:
            ended.set()
            killer.join()
        assert killed
        assert_same_bits(model, alone(600))

    def test_new_documents_are_folded_in_with_the_same_bits(self):
        model, many = alone(60), some_counts(2500)
        there = model.transform(many, n_sweeps=6, return_inclusion=True)
        with not_in_a_cluster():
            here = model.transform(many, n_sweeps=6, return_inclusion=True)
        assert all(np.array_equal(a, b) for a, b in zip(there, here))


def alone(n_sweeps):
    """The same fit without a cluster."""
    with not_in_a_cluster():
        return ConceptModel(n_sweeps=n_sweeps, progress=False, **SETTINGS).fit(some_counts())


@contextmanager
def not_in_a_cluster():
    kept, cluster._now = cluster._now, None
    try:
        yield
    finally:
        cluster._now = kept


def cluster_watcher(report, said):
    watcher = superwords.progress.make_watcher(report)
    watcher.say = said.append
    return watcher


def processes(mark=None):
    """Processes of clusters that were started here, or of one of them."""
    return {one.pid for one in cluster.processes_of(mark)}


def kill_now_and_then(killed, ended, times, name="ray::_call"):
    """Kill a worker of this process's cluster at random moments."""
    rng = np.random.default_rng(7)
    folder = current().folder.name
    while len(killed) < times and not ended.wait(float(rng.uniform(0.3, 1.5))):
        for one in cluster.processes_of(folder):
            with suppress(Exception):
                told = " ".join(one.cmdline())
                if name in told and "IDLE" not in told:
                    one.kill()
                    killed.append(told)
                    break


def chain_worker():
    """A process of this process's cluster that runs a chain."""
    for pid in processes(current().folder.name):
        if b"_ChainWorker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError("no chain is run by any process")


def wait_for(said, process, within=200.0):
    """Read what a command says until some words are there."""
    lines, until = [], time.monotonic() + within
    for line in process.stderr:
        lines.append(line)
        if said in line:
            return lines
        assert time.monotonic() < until, lines
    raise AssertionError(lines)


LONG = ["--sweeps", "2000", "--burn-in", "1000", "--thin", "500", "--checkpoint-every", "0.2"]


class TestCommands:
    pytestmark = needs_ray

    def test_ctrl_c_keeps_what_was_sampled_and_leaves_nothing_else(self, tmp_path):
        folders, running = set(Path("/tmp").glob("superwords-*")), processes()
        output = tmp_path / "model.sw"
        command = fit_arguments(write_documents(tmp_path, 200), output, *LONG, "--cluster", "auto")
        with start(*command, start_new_session=True) as process:
            lines = wait_for("chain ", process)
            assert any("A cluster on this machine: 1 machine" in line for line in lines)
            assert processes() > running
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the command
            _, told = process.communicate(timeout=200)
        assert process.returncode == 1
        assert "Stopped " in told.splitlines()[-1]
        assert "--resume" in told.splitlines()[-1]
        assert processes() == running
        assert set(Path("/tmp").glob("superwords-*")) == folders
        kept = {"speeches.csv", "model.sw.checkpoint"} | ({"model.sw"} if "are made of" in told else set())
        assert {path.name for path in tmp_path.iterdir()} - {"model.sw"} == kept - {"model.sw"}
        assert loaded(tmp_path / "model.sw.checkpoint").chains_[0].sweep > 0

    @pytest.mark.parametrize("parts", ["gcs_server", ""], ids=["head process", "whole machine"])
    def test_a_silent_head_is_one_sentence_though_its_port_still_opens(self, tmp_path, parts):
        """A suspended process stands for a cut network: connections open, and nobody speaks."""
        source, output = write_documents(tmp_path, 200), tmp_path / "model.sw"
        ways_in = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        with a_head(ways_in) as (_, address):
            command = fit_arguments(source, output, *LONG, "--sweeps", "9000")  # not done before it is noticed
            with start(*command, "--cluster", address, env=ways_in) as process:
                wait_for("chain ", process)
                frozen = suspend(f"head-{address.rpartition(':')[2]}", parts)
                assert frozen
                _, told = process.communicate(timeout=200)
        assert process.returncode == 1
        assert told.splitlines()[-1].startswith(f"superwords: The cluster at {address} has gone away")
        assert "Traceback" not in told
        assert loaded(tmp_path / "model.sw.checkpoint").chains_[0].sweep > 0

    def test_a_head_that_goes_away_is_one_sentence_and_a_store_that_resumes(self, tmp_path, capsys):
        source, output = write_documents(tmp_path, 200), tmp_path / "model.sw"
        # A token of its own, as Ray wants one of whoever joins.
        ways_in = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        with a_head(ways_in) as (head, address):
            command = fit_arguments(source, output, *LONG)
            with start(*command, "--cluster", address, env=ways_in) as process:
                wait_for("chain ", process)
                os.killpg(head.pid, signal.SIGKILL)
                _, told = process.communicate(timeout=200)
        assert process.returncode == 1
        last = told.splitlines()[-1]
        assert last.startswith(f"superwords: The cluster at {address} has gone away")
        assert "run the same command with --resume to continue" in last
        assert "Traceback" not in told
        assert run(capsys, *command, "--resume", "--quiet").code == 0
        whole = tmp_path / "whole.sw"
        assert run(capsys, *fit_arguments(source, whole, *LONG, "--quiet")).code == 0
        assert_same_bits(loaded(output), loaded(whole))

    @pytest.mark.slow  # a quick machine may finish the transform before its head is killed
    def test_heads_killed_at_random_moments_cost_no_bit_and_leave_nothing(self, tmp_path, capsys):
        """Of a fit, continued with --resume, and of transform --parts, run again."""
        source, output = write_documents(tmp_path, 200), tmp_path / "model.sw"
        folders, rng = set(Path("/tmp").glob("superwords-*")), np.random.default_rng(11)
        fit = fit_arguments(source, output, *LONG)
        for _ in range(2):
            again = ["--resume"] if (tmp_path / "model.sw.checkpoint").exists() else []
            killed_head_says([*fit, *again], "chain ", float(rng.uniform(0, 4)))
        assert run(capsys, *fit, "--resume", "--quiet").code == 0
        assert run(capsys, *fit_arguments(source, tmp_path / "whole.sw", *LONG, "--quiet")).code == 0
        assert_same_bits(loaded(output), loaded(tmp_path / "whole.sw"))
        pd.read_csv(source).to_parquet(tmp_path / "new.parquet", row_group_size=25)
        columns = ["--text", "speech", "--id", "name"]
        transform = ["transform", output, tmp_path / "new.parquet", *columns, "--parts"]
        killed_head_says([*transform, tmp_path / "there"], "The cluster at ", float(rng.uniform(0, 2)))
        for folder in ("there", "here"):
            assert run(capsys, *transform, tmp_path / folder, "--quiet").code == 0
        there, here = (
            {one.name: one.read_bytes() for one in (tmp_path / folder).iterdir()} for folder in ("there", "here")
        )
        assert there == here
        assert set(Path("/tmp").glob("superwords-*")) == folders
        kept = {"speeches.csv", "model.sw", "whole.sw", "new.parquet", "there", "here"}
        assert {one.name for one in tmp_path.iterdir()} == kept


def killed_head_says(command, said, seconds):
    """Kill the head some seconds after a command on its cluster has said something; one sentence is the answer."""
    ways_in = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with a_head(ways_in) as (head, address):
        with start(*command, "--cluster", address, env=ways_in) as process:
            wait_for(said, process)
            time.sleep(seconds)
            os.killpg(head.pid, signal.SIGKILL)
            _, told = process.communicate(timeout=200)
        assert process.returncode == 1, told
        assert told.splitlines()[-1].startswith(f"superwords: The cluster at {address} has gone away")
        assert "Traceback" not in told


def suspend(mark, name):
    """Suspend the processes of a head that have this in their name; return them."""
    found = [one for one in cluster.processes_of(mark) if name in one.name()]
    for one in found:
        with suppress(Exception):
            one.suspend()
    return found


@contextmanager
def a_head(environment):
    """A head node as somebody else would start it, in a session of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    program = ["start", "--head", "--block", "--node-ip-address=127.0.0.1", f"--port={port}", "--num-cpus=2"]
    program += ["--include-dashboard=false", "--object-store-memory=100000000", "--disable-usage-stats"]
    with subprocess.Popen(
        [Path(sys.executable).with_name("ray"), *program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**environment, cluster._MARK: f"head-{port}"},
    ) as head:
        try:
            for _ in range(600):
                try:
                    cluster.check_answer(address)
                    break
                except InputError:
                    assert head.poll() is None
                    time.sleep(0.2)
            yield head, address
        finally:
            cluster.remove(Path(f"head-{port}"), wait=0.0)
