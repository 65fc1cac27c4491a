"""Exceptions. Their text is a sentence that says what to do."""


class Error(OSError):
    """A bus cannot be joined or read. `kind` is a word of `touchline.names.ERROR`."""

    kind = "system"


class BusNotFound(Error):
    """There is no bus of this name."""


class NotYours(Error, PermissionError):
    """The bus belongs to another user, or others may write to it."""


class Incompatible(Error):
    """This client cannot read the format of the bus."""


class NotReady(Error, TimeoutError):
    """Books were missing at the end of the time."""


class InstrumentNotFound(Error, KeyError):
    """The bus has no such instrument."""

    __str__ = Error.__str__


class EngineNotFound(Error):
    """No trading engine publishes on the bus."""


class Refused(Error):
    """The trading engine refused the command: `reason` is a word for programs, `cause` is for people and may be empty."""

    reason = ""
    cause = ""


class NoAnswer(Error, TimeoutError):
    """The trading engine has not answered yet: whether the command was executed is in its journal.

    `parent` is the name of an order that was sent: sent again with `id=error.parent`, it is not executed twice. After Ctrl-C in a wait for an
    answer this is the `__cause__` of the `KeyboardInterrupt`; a cause of another class says that nothing was sent.
    """

    parent = None


class Forked(Error):
    """The bus was joined, with a name or as a lossless reader, by the process that forked this one."""


CLASSES = {
    "no_bus": BusNotFound,
    "not_yours": NotYours,
    "incompatible": Incompatible,
    "not_ready": NotReady,
    "no_instrument": InstrumentNotFound,
    "no_engine": EngineNotFound,
    "refused": Refused,
    "no_answer": NoAnswer,
    "forked": Forked,
}
