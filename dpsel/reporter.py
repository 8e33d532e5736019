"""Where the data's holder hears how things go."""

from typing import Protocol


class Reporter(Protocol):
    """Where the data's holder hears how things go; nothing of it is for release."""

    def note(self, message: str) -> None:
        """Say something the holder should know."""
        ...

    def warn(self, message: str) -> None:
        """Say something that the holder must know, and cannot ask to be spared."""
        ...

    def size(self, file_bytes: int) -> None:
        """Say that files of so many bytes are read now, from their start; 0 if that is unknown."""
        ...

    def progress(self, done: float) -> None:
        """Say which share of the table has been read."""
        ...
