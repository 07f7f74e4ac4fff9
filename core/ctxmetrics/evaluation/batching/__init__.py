"""The requests of a run as a provider's batches: an answer within a day, for many at half the price."""
