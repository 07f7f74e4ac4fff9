"""How much time, memory, requests and tokens does it take?"""
