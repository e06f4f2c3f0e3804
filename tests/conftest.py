"""Fixtures of all tests: one thread for linear algebra, kernels compiled before workers start, a browser."""

import gc
import shutil

import pytest
from threadpoolctl import threadpool_limits

from superwords.sampler.compiling import await_kernels, compile_ahead

# Debian's Chromium, or the Chrome of a forge's machines.
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def pytest_configure(config):
    starts_workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if starts_workers:
        compile_ahead()
        await_kernels()


def pytest_collection_modifyitems(items):
    # The longest tests, which have a time limit of their own, first: no worker waits for another's at the end.
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
    if CHROMIUM is None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason="needs Chromium"))


def pytest_collection_finish():
    """Exclude all that is imported from garbage collection, which many tests ask for."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Keep summaries of the tests' models out of the user's cache folder."""
    folder = tmp_path_factory.mktemp("cache")
    patch = pytest.MonkeyPatch()
    patch.setattr("superwords.storage.cache.cache_folder", lambda: folder)
    yield folder
    patch.undo()


@pytest.fixture(scope="module")  # not longer: Playwright's event loop would run during other modules' tests
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
