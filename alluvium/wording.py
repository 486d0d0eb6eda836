"""Words for a terminal."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the singular for one: ``1 file``, ``2 files``.

    Args:
        number: how many.
        noun: what, in the singular.
        plural: its plural where that is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
