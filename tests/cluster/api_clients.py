"""Clients that read and create links through the edge, and what they were answered."""

import time

from threads import Threads

PAUSE_S = 0.2


class ApiClients(Threads):
    """Requests within the context."""

    def __init__(self, user):
        super().__init__(1)
        self.user = user
        self.succeeded = 0
        self.failed = []

    def __str__(self):
        return f"{self.succeeded} API requests, failed {len(self.failed)}"

    def work(self, number):
        while not self.is_ending.is_set():
            self._expect(200, "GET", "/api/links?limit=1")
            self._expect(201, "POST", "/api/links", {"original_url": "https://example.com/rolling"})
            time.sleep(PAUSE_S)

    def _expect(self, status, *request):
        try:
            found = self.user.call(*request).status
        except OSError as error:
            found = type(error).__name__
        # A limit of the account is no failure.
        if found in (status, 429):
            self.succeeded += 1
        else:
            self.failed.append((found, request[0]))
