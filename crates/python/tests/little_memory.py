"""Programs in an address space with little room, for an interpreter of their own."""

import textwrap

BEGIN = """
import os, resource, sys, threading, numpy, touchline

def act():
    pages = int(open("/proc/self/statm").read().split()[0])
    room = pages * resource.getpagesize() + (int(sys.argv[1]) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
"""
# The stack of a thread is there before: that of the process grows, and without room for it the system ends the process.
END = """
threading.stack_size(8 << 20)
thread = threading.Thread(target=act)
thread.start()
thread.join()
"""


def program(body):
    """Text of a program that does this with as much room, in MiB, as its argument says."""
    return BEGIN + textwrap.indent(textwrap.dedent(body), "    ") + END
