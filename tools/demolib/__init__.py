"""tools/demo: story is what happens, stage starts and ends the stack, web asks, page prints."""
