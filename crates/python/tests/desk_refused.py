"""Prints why a trading engine refuses each of these, with the word for programs. The system tests compare it with the command."""

import subprocess
import sys

import little_memory
import touchline

WITHOUT_MEMORY = """
kept = []
try:
    for _ in range(8):
        kept.append(touchline.Desk("fx-run"))
        kept.append([kept[-1].parents, kept[-1].fills, kept[-1].positions, kept[-1].poll()])
except (MemoryError, touchline.Error) as error:
    print(type(error).__name__, error)
"""


def refused(act):
    try:
        act()
    except touchline.Refused as error:
        assert error.kind == "refused" and error.reason and str(error).startswith(f"refused: {error.reason}")
        print(error)
    else:
        raise AssertionError("it is not refused")


with touchline.Desk("fx-run") as desk, touchline.Desk("fx-run", client="guest") as guest:
    refused(lambda: desk.send("EUR/USD", "buy", 1_001, id="P9"))
    refused(lambda: desk.send("EUR/CHF", "buy", 1_000, id="P9"))
    refused(lambda: desk.send("EUR/USD", "buy", 1_000, id="P9", limit=1.100001))
    refused(lambda: guest.send("EUR/USD", "buy", 6_000, id="P9"))
    refused(lambda: guest.cancel("P1"))
    refused(guest.kill)
    refused(lambda: desk.cancel("P77"))
    try:
        desk.send("EUR/USD", "hold", 1_000)
    except ValueError as error:
        assert str(error) == 'side "hold" is unknown: give buy, sell', error
    else:
        raise AssertionError("there is no such side")
    assert desk.parents and desk.orders == []
    # In an address space with so many MiB more a desk is there or refused; nothing is aborted.
    said = []
    for mib in (0, 1, 3, 40, 80, 150):
        command = [sys.executable, "-c", little_memory.program(WITHOUT_MEMORY), str(mib)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        assert (done.returncode, done.stderr) == (0, ""), (mib, done)
        said.append(done.stdout)
    assert any(line.startswith("MemoryError no memory for the state of an engine") for line in said), said
try:
    touchline.Desk("nope")
except touchline.EngineNotFound as error:
    assert "no engine on bus nope" in str(error), error
else:
    raise AssertionError("there is no such bus")
