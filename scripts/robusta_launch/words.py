"""Numbers with their nouns."""


def counted(number, noun):
    """1 host, 2 hosts"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
