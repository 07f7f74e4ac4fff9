"""Clusters of this machine, with two workers, on the loopback address only."""

from __future__ import annotations

import os
import shutil
import sys

import pytest


@pytest.fixture(scope="session")
def ray_cluster():
    """A Ray cluster with two CPUs."""
    environment = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
        # Read when Ray is imported: else it takes the machine's own address for 127.0.0.1, and listens on all.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    ray = pytest.importorskip("ray", reason="ray is not installed")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=200_000_000,
        log_to_driver=False,
        logging_level="ERROR",
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(scope="session")
def spark_cluster():
    """A Spark session with two threads for tasks; a task that fails is run again."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("java is not installed; Debian: apt-get install default-jre-headless")
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    session = (
        sql.SparkSession.builder.master("local[2,4]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield session
    session.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
