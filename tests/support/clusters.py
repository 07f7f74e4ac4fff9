"""Ray and Spark on this machine, with two workers, on the loopback address only: for tests and benchmarks."""

from __future__ import annotations

import logging
import sys
from typing import Any

WORKERS = 2
# Read when Ray is imported, and when Spark starts.
RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    # Else Ray takes the machine's own address for 127.0.0.1, and listens on all.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
SPARK_ENVIRONMENT = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def start_ray() -> Any:
    """Start a Ray cluster; return the module."""
    import ray

    ray.init(
        num_cpus=WORKERS,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=200_000_000,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


def start_spark() -> Any:
    """Start a Spark session with a thread for each worker; a task that fails is run again."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(f"local[{WORKERS},4]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
