"""What the tests of the destination checks are made of: addresses, a network of their own, and the servers in it."""
