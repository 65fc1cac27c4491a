"""Reader of the bench: obeys words on standard input."""

import sys
import time

import touchline


def read(bus):
    events = 0
    while batch := bus.read(timeout=0):
        events += len(batch)
    return events


def iterate(bus):
    events = 0
    while bus.poll() is not None:
        events += 1
    return events


def fields(bus):
    events = 0
    while (event := bus.poll()) is not None:
        events += 1
        event.kind, event.bid, event.ask
    return events


def latency(bus, way, packets):
    times = []
    while len(times) < packets:
        if way == "read":
            tops = bus.read(timeout=None).tops
            now = time.time_ns()
            times.extend(now - receive for receive in tops["receive_ns"].tolist())
        elif (event := bus.next()).kind == "top":
            times.append(time.time_ns() - event.receive_ns)
    print(*times[:packets], flush=True)


def main(way, name, directory):
    bus = touchline.Bus(name, directory=directory, idle="yield")
    drain = {"read": read, "iterate": iterate, "fields": fields}[way]
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "latency":
            latency(bus, way, int(words[1]))
        elif words[0] == "slow":
            for _ in range(2_000):
                bus.read(limit=1)
                time.sleep(0.001)
        elif words[0] == "keep":
            while True:
                bus.read(timeout=1.0)
        else:
            start = time.perf_counter_ns()
            events = drain(bus)
            print(events, time.perf_counter_ns() - start, flush=True)


main(*sys.argv[1:])
