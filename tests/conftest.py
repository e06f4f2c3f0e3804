"""Shared by all tests: linear algebra on one thread, as in a fit; kernels compiled before workers start."""

from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from superwords.sampler.jit import cache_folder
from warm import warm_in_two_processes


def pytest_configure(config):
    starts_workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    folder = cache_folder()
    if starts_workers and folder and not any(Path(folder).iterdir()):
        warm_in_two_processes()


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with threadpool_limits(1):
        yield
