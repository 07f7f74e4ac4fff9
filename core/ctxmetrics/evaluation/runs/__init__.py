"""Many samples: the engine, the sources of samples, the results and their files."""
