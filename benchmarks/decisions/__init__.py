"""Do intervals, corrections and gates lead to the right decision?"""
