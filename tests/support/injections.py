"""The texts of a sample that injections are put beside: of three sentences one is supported, by the source alone."""

UNITS = (
    "The zeppelin hangar burned down in 1923.",
    "Ostriches guard its vault.",
    "A marzipan recipe was saved.",
)
SOURCE = "Fire destroyed the hangar of the zeppelin: it burned down in 1923. No animal was hurt."
JUNK = "Pigeons roost upon the gable. Sparrows squabble underneath."
