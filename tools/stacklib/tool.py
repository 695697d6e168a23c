"""Runs a program of the stack to its end. The program dies with the supervisor."""

import asyncio
import os
import shutil

from .errors import StackError

# The kernel kills a child when this process ends, even by SIGKILL.
DIE_WITH_SUPERVISOR = ["setpriv", "--pdeathsig", "KILL"]


async def run(argv, *, environment=None, stdin=None, log=None, launch=()):
    """Returns the output and appends it to the file log. Raises StackError with the output if the program fails."""
    if shutil.which(argv[0]) is None:
        raise StackError(f"{argv[0]} is missing: run {'make build' if os.path.isabs(argv[0]) else 'tools/setup'}")
    process = await asyncio.create_subprocess_exec(
        *(launch or DIE_WITH_SUPERVISOR),
        *argv,
        env=environment,
        stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate(stdin.encode() if stdin is not None else None)
    except asyncio.CancelledError:  # the stack is stopping
        process.kill()
        await process.communicate()
        raise
    text = output.decode(errors="replace")
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(text)
    if process.returncode != 0:
        raise StackError(f"{argv[0]} failed with status {process.returncode}:\n{text.strip()}")
    return text
