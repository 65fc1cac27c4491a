"""Ctrl-C while the trading engine does not answer. The system tests stop the engine, or hold the ring, and name the phase."""

import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

import touchline

# 50 ms at most on a quiet host; a loud one delays a thread by more, and not each time.
SOON = 0.1
BEFORE = 0.2


def interrupted(act):
    """What act raises after Ctrl-C, soon, in one of a few attempts; each gets its number."""
    for attempt in range(5):
        timer = threading.Timer(BEFORE, os.kill, (os.getpid(), signal.SIGINT))
        started = time.monotonic()
        try:
            timer.start()
            act(attempt)
        except KeyboardInterrupt as error:
            if time.monotonic() - started < BEFORE + SOON:
                return error.__cause__
        else:
            raise AssertionError("it waits for an answer")
    raise AssertionError("it does not end soon")


def joins():
    with tempfile.TemporaryDirectory() as journal:
        # A long segment, without a page on the disk: to read it takes seconds.
        (pathlib.Path(journal) / "0000000001.tlj").touch()
        os.truncate(pathlib.Path(journal) / "0000000001.tlj", 512 << 20)
        assert interrupted(lambda _: touchline.Desk("fx-run", journal=journal)) is None


def commands(desk):
    sent = interrupted(lambda attempt: desk.send("EUR/USD", "buy", 1_000, id=f"I{attempt}"))
    assert isinstance(sent, touchline.NoAnswer) and sent.kind == "no_answer"
    assert str(sent).startswith("interrupted after the command was sent")
    assert str(sent).endswith(f"the order is {sent.parent}")
    canceled = interrupted(lambda _: desk.cancel(sent.parent))
    assert isinstance(canceled, touchline.NoAnswer) and canceled.parent is None
    print(sent.parent)


def kill(desk):
    killed = interrupted(lambda _: desk.kill())
    assert isinstance(killed, touchline.NoAnswer)
    assert str(killed).startswith("the kill is written, and no engine")
    # In a handler, while the desk waits for another answer.
    signal.signal(signal.SIGINT, lambda *_: desk.kill())
    threading.Timer(BEFORE, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        desk.send("EUR/USD", "buy", 1_000)
    except touchline.NoAnswer as error:
        assert str(error) == str(killed)
        assert str(error.__cause__).startswith("interrupted after the command was sent")
    else:
        raise AssertionError("the handler raises")


def ring(desk):
    unsent = interrupted(lambda _: desk.send("EUR/USD", "buy", 1_000))
    assert isinstance(unsent, touchline.Error) and not isinstance(unsent, touchline.NoAnswer)
    assert str(unsent) == "interrupted before the command was sent: it is not executed"
    ends(desk)


def ends(desk):
    """Another thread ends the loop; a command that waits is ended by close(), which says so."""
    loop = threading.Thread(target=lambda: list(desk))
    loop.start()
    time.sleep(BEFORE)
    desk.stop()
    loop.join(5)
    assert not loop.is_alive() and desk.stopped
    threading.Timer(BEFORE, desk.close).start()
    try:
        desk.send("EUR/USD", "buy", 1_000)
    except touchline.Error as error:
        assert str(error) == "interrupted before the command was sent: it is not executed"
    else:
        raise AssertionError("the ring is held")
    try:
        desk.poll()
    except ValueError as error:
        assert str(error) == "bus fx-run is closed"
    else:
        raise AssertionError("it is closed")


# A shell ignores the signal in what it starts in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
phase = sys.argv[1]
if phase == "joins":
    joins()
else:
    with touchline.Desk("fx-run") as desk:
        {"commands": commands, "kill": kill, "ring": ring}[phase](desk)
