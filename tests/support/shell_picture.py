"""Takes the picture of the shell in README: a real session behind a pseudo-terminal, as SVG.

pip install pyte && sqlpriv demo
python tests/support/shell_picture.py sqlpriv-demo/people.duckdb docs/pictures/shell.svg
"""

import io
import re
import sys
import tempfile

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text
from test_terminal import Terminal

LINES, COLUMNS = 40, 100
ENTRIES = (
    ("SET privacy_epsilon = 0.2;\r", r"\sprivacy_epsilon = 0\.2\s(?s:.*)people ε"),
    ("SELECT SEX, COUNT(*) AS n, AVG(PINCP) AS income\r", "…"),
    ("FROM people WHERE WKHP > 40 STRATIFY BY SEX;\r", r"Run\? \[y/N\]"),
    ("y\r", r"spent\s(?s:.*)people ε"),
    ("SELECT AGEP FROM people;\r", r"Hint(?s:.*)people ε"),
)


def main(vault, picture):
    """Types the entries and draws the screen as it is then."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    with tempfile.TemporaryDirectory() as home:
        colours = {
            "NO_COLOR": "",
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_COLOR_DEPTH": "DEPTH_8_BIT",
        }
        terminal = Terminal(vault, home, **colours)
        terminal.wait_for("people ε")
        stream.feed(terminal.raw)
        for keys, awaited in ENTRIES:
            terminal.type(keys)
            terminal.wait_for(awaited)
            stream.feed(terminal.raw)
        terminal.close()
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in drawn(screen):
        console.print(line, no_wrap=True)
    svg = console.export_svg(title="sqlpriv shell", theme=MONOKAI, unique_id="sqlpriv")
    # Fonts from the network are not shown in a page anyway.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    with open(picture, "w") as out:
        out.write(svg.replace("Fira Code", "monospace"))


def drawn(screen):
    """The lines of the screen up to the last that is not empty."""
    lines = [line(screen.buffer[row]) for row in range(LINES)]
    while not lines[-1].plain.strip():
        lines.pop()
    return lines


def line(cells):
    text = Text()
    for column in range(COLUMNS):
        cell = cells[column]
        text.append(cell.data, Style(color=colour(cell.fg), bold=cell.bold, italic=cell.italics))
    text.rstrip()
    return text


def colour(name):
    """A colour of pyte as rich names it."""
    if re.fullmatch("[0-9a-f]{6}", name):
        return f"#{name}"
    return {"default": None, "brown": "yellow"}.get(name, name.replace("bright", "bright_"))


if __name__ == "__main__":
    main(*sys.argv[1:])
