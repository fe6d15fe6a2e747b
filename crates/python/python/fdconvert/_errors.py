"""Exceptions, named by who has to act. Errors of the operating system are ``OSError``."""


class Error(Exception):
    """Base of all exceptions of fdconvert."""

    __module__ = "fdconvert"


class UsageError(Error, ValueError):
    """The arguments are wrong or do not fit together."""

    __module__ = "fdconvert"


class DeviceError(Error, RuntimeError):
    """The GPU or its driver is missing or failed."""

    __module__ = "fdconvert"


class DataError(Error):
    """A file or sample is damaged, has an unknown version, or exceeds a limit."""

    __module__ = "fdconvert"
