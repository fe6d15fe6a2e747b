"""Exceptions, named by who has to act. What the system refuses is an ``OSError``."""


class Error(Exception):
    """Any failure of fdconvert but those of the operating system."""

    __module__ = "fdconvert"


class UsageError(Error, ValueError):
    """The request is impossible: fix the arguments."""

    __module__ = "fdconvert"


class DeviceError(Error, RuntimeError):
    """There is no GPU or driver, or it refused."""

    __module__ = "fdconvert"


class DataError(Error):
    """A file or a sample is damaged, of an unknown version, or over a limit."""

    __module__ = "fdconvert"
