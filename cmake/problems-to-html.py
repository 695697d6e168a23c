#!/usr/bin/env python3
"""problems-to-html.py IN.md OUT: renders each section of docs/api/problems.md as an HTML page.

OUT holds the pages one after the other, each below a line "## KIND"; the first one, below "## ", lists all.
It renders what that document uses: paragraphs, `code`, [links](…) and tables.
"""
import html
import pathlib
import re
import sys

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


def inline(text):
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(" ".join(text.split()), quote=False))
    return re.sub(r"\[([^\]]+)\]\(#([a-z-]+)\)", r'<a href="/problems/\2">\1</a>', text)


def row(line, tag):
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    return "<tr>" + "".join(f"<{tag}>{inline(cell)}</{tag}>" for cell in cells) + "</tr>"


def block(text):
    if not text.startswith("|"):
        return f"<p>{inline(text)}</p>"
    head, _, *rows = text.split("\n")
    return f"<table>{row(head, 'th')}" + "\n".join(row(each, "td") for each in rows) + "</table>"


def render(text):
    return "\n".join(block(each) for each in text.strip().split("\n\n"))


def main(source, out):
    intro, *sections = re.split(r"^## ", pathlib.Path(source).read_text(), flags=re.MULTILINE)
    sections = [each.split("\n", 1) for each in sections]
    names = "".join(f'<li><a href="/problems/{kind}">{kind}</a> {text.split("·")[0].strip()}</li>\n' for kind, text in sorted(sections))
    pages = [("", PAGE.format(title="Problems", body=f"{render(intro.split(chr(10), 1)[1])}\n<ul>\n{names}</ul>"))]
    pages += [(kind, PAGE.format(title=kind, body=f'{render(text)}\n<p><a href="/problems">All problems</a></p>')) for kind, text in sections]
    pathlib.Path(out).write_text("".join(f"\n## {kind}\n{page}" for kind, page in pages))


main(*sys.argv[1:])
