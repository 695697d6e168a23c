"""Parts of test_destinations.py: addresses, a network namespace, and the servers in it."""
