"""Clients that read and create links through the edge, and what they were answered."""

import threading
import time

PAUSE_S = 0.2


class ApiClients:
    """Requests within the context."""

    def __init__(self, user):
        self.user = user
        self.succeeded = 0
        self.failed = []
        self.is_ending = threading.Event()
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.is_ending.set()
        self.thread.join()

    def __str__(self):
        return f"{self.succeeded} API requests, failed {len(self.failed)}"

    def _work(self):
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
