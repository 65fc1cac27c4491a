"""Runs the Python blocks of a page in one interpreter, and compares what each prints with the text block behind it.

`python page.py PAGE`; with `--print` it prints instead.
"""

import contextlib
import io
import re
import sys

page = open(sys.argv[1]).read()
blocks = re.findall(r"^```(python|text)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
names, printed, run = {}, "", 0
for kind, text in blocks:
    if kind == "python":
        assert not printed, f"the page does not show what a block prints:\n{printed}"
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(text, sys.argv[1], "exec"), names)
        printed, run = output.getvalue(), run + 1
        if "--print" in sys.argv:
            print(printed)
            printed = ""
    elif printed:
        assert text == printed, f"the page shows\n{text}\nand it prints\n{printed}"
        printed = ""
assert run >= 7 and not printed, "the last block has its text"
