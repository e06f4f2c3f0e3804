"""Shared by all tests: linear algebra on one thread, as in a fit; kernels compiled before workers start."""

import pytest
from threadpoolctl import threadpool_limits

from superwords.sampler.compiling import await_kernels, compile_ahead


def pytest_configure(config):
    starts_workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if starts_workers:
        compile_ahead()
        await_kernels()


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with threadpool_limits(1):
        yield
