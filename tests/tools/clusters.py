"""Dask workers on this computer, one thread each."""

from contextlib import contextmanager

import pytest


@contextmanager
def workers(count):
    """Start processes as workers, and give a client of theirs; its `cluster` starts more."""
    distributed = pytest.importorskip("distributed")
    options = {"dashboard_address": ":0", "silence_logs": 50, "threads_per_worker": 1}
    with (
        distributed.LocalCluster(n_workers=count, processes=True, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
