class ClusterError(Exception):
    """A message for the user."""
