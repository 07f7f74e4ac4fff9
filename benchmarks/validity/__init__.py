"""Is a verdict right, and is a number what it claims to be?"""
