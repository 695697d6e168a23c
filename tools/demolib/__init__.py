"""tools/demo: scenario has the steps, demo_stack starts and stops the stack, http_client sends requests, console prints."""
