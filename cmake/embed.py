#!/usr/bin/env python3
"""embed.py OUT.S NAME=FILE…: writes an assembler source that embeds files into a program.

Defines for each name, prefixed with the stem of OUT: NAME (the bytes), NAME_size, and NAME_tag (an ETag of the bytes).
"""
import hashlib
import pathlib
import sys

PART = """
\t.global {symbol}, {symbol}_size, {symbol}_tag
{symbol}:
{include}\t.byte 0
\t.balign 8
{symbol}_size:
\t.quad {size}
{symbol}_tag:
\t.asciz "\\"{tag}\\""
\t.balign 8
"""


def main(out, *pairs):
    out = pathlib.Path(out)
    text = '\t.section .note.GNU-stack,"",%progbits\n\t.section .rodata\n\t.balign 8\n'
    for name, _, file in (pair.partition("=") for pair in pairs):
        content = pathlib.Path(file).read_bytes()
        tag = hashlib.sha256(content).hexdigest()[:16]
        # The assembler cannot include an empty file such as /dev/null.
        include = f'\t.incbin "{pathlib.Path(file).resolve()}"\n' if content else ""
        text += PART.format(symbol=f"{out.stem}_{name}", include=include, size=len(content), tag=tag)
    out.write_text(text)


main(*sys.argv[1:])
