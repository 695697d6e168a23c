"""The output of the demo: numbered steps, requests and responses, with colours on a terminal."""

import json
import sys

COLOURS = {"bold": "1", "dim": "2", "green": "32", "cyan": "36", "red": "31"}


class Console:
    def __init__(self, out=sys.stdout):
        self._out = out
        out.reconfigure(errors="replace")  # a terminal without arrows still shows the rest
        self._step = 0

    def _paint(self, colour, text):
        return f"\033[{COLOURS[colour]}m{text}\033[0m" if self._out.isatty() else text

    def _print(self, text=""):
        print(text, file=self._out, flush=True)

    def title(self, text):
        self._print("\n" + self._paint("bold", text))

    def step(self, text):
        self._step += 1
        self._print(f"\n{self._paint('cyan', f'{self._step:2}')}  {self._paint('bold', text)}\n")

    def request(self, method, url, body=None):
        sent = "  " + json.dumps(body, ensure_ascii=False) if body else ""
        self._print(f"    {self._paint('bold', method)} {url}{sent}")

    def response(self, status, shown):
        """shown is the part of the response to print. Long values are truncated."""
        lines = json.dumps(_truncate(shown), indent=2, ensure_ascii=False).splitlines()
        self._print(f"    {self._paint('green', status)}")
        self._print(self._paint("dim", "\n".join("    " + line for line in lines)))

    def row(self, *cells):
        widths = (20, 26, 5)
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths)] + list(cells[len(widths) :])
        self._print("    " + " ".join(padded).rstrip())

    def line(self, text):
        self._print(f"    {text}")

    def success(self, text):
        self._print(f"    {self._paint('green', '✓')} {text}")

    def failure(self, text):
        self._print(f"\n    {self._paint('red', '✗')} {text}")


def _truncate(value, limit=72):
    if isinstance(value, dict):
        return {name: _truncate(inner) for name, inner in value.items()}
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:24]}… ({len(value)} characters)"
    return value
