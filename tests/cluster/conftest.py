"""Clusters of this machine, with two workers, on the loopback address only.

They end with the file that uses them: a cluster without work takes a twelfth of a core.
"""

from __future__ import annotations

import pytest

from support.clusters import RAY_ENVIRONMENT, SPARK_ENVIRONMENT, start_ray, start_spark
from support.machine import need_program


@pytest.fixture(scope="module")
def ray_cluster():
    """A Ray cluster with two CPUs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in RAY_ENVIRONMENT.items():
            patch.setenv(name, value)
        pytest.importorskip("ray", reason="ray is not installed")
        ray = start_ray()
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module")
def spark_cluster():
    """A Spark session with two threads for tasks; a task that fails is run again."""
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    need_program("java", "Debian: apt-get install default-jre-headless")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SPARK_ENVIRONMENT.items():
            patch.setenv(name, value)
        session = start_spark()
        yield session
        session.stop()
