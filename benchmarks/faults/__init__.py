"""What becomes of a faulty reply, a failing server, an unusual client?"""
