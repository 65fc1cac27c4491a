"""Runs a notebook in the current folder and writes its pictures there: `python notebook.py NOTEBOOK`."""

import base64
import sys

import nbclient
import nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
code = [cell for cell in notebook.cells if cell.cell_type == "code"]
assert not any(cell.outputs or cell.execution_count for cell in code), "it is kept without outputs"
nbclient.NotebookClient(notebook, timeout=120).execute()
pictures = 0
for output in (output for cell in code for output in cell.outputs):
    assert output.get("name") != "stderr", output.text
    if "text" in output:
        print(output.text, end="")
    if "image/png" in output.get("data", {}):
        pictures += 1
        with open(f"picture-{pictures}.png", "wb") as file:
            file.write(base64.b64decode(output.data["image/png"]))
assert pictures == 3, f"{pictures} pictures"
