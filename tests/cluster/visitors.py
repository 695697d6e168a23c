"""Visitors who follow a link through the edge, each click with a mark of its own (utm_campaign), and what was counted of them."""

import collections
import http.client
import secrets
import threading
import time

from clients import CHROME
from network_namespace import ask
from threads import Threads
from waiting import wait_until

THREADS = 4
PAUSE_S = 0.05
COUNT_TIMEOUT_S = 900


class Visitors(Threads):
    """Clicks within the context."""

    def __init__(self, cluster, link):
        super().__init__(THREADS)
        self.cluster = cluster
        self.link = link
        self.prefix = secrets.token_hex(4)
        self.answered = set()
        self.unclear = collections.Counter()  # no 302, by the reason: such a click may be counted or not
        self.unclear_marks = set()
        self.lock = threading.Lock()

    def work(self, number):
        count = 0
        while not self.is_ending.is_set():
            count += 1
            mark = f"{self.prefix}-{number}-{count}"
            result = self._click(mark)
            with self.lock:
                if result == 302:
                    self.answered.add(mark)
                else:
                    self.unclear[result] += 1
                    self.unclear_marks.add(mark)
            time.sleep(PAUSE_S)

    def _click(self, mark):
        headers = {"Host": self.cluster.redirect_host, "User-Agent": CHROME, "Accept": "text/html"}
        try:
            return ask(self.cluster.node.pid, self.cluster.edge, "GET", f"/{self.link['slug']}?utm_campaign={mark}", headers).status
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__

    def wait_for_clicks(self, count):
        """Waits until so many more clicks are answered."""
        wanted = len(self.answered) + count
        wait_until(lambda: len(self.answered) >= wanted, f"{count} clicks", seconds=COUNT_TIMEOUT_S)

    def counted(self):
        rows = self.cluster.sql(f"SELECT utm_campaign, count(*) FROM visit_log WHERE link_id = {self.link['id']} AND utm_campaign LIKE '{self.prefix}-%' GROUP BY 1")
        return {mark: int(count) for mark, count in rows}

    def expect_each_counted_once(self):
        """Answered = counted: none lost, none twice, and none that nobody made."""
        def all_counted():
            counted = self.counted()
            return counted if self.answered <= set(counted) else None

        try:
            counted = wait_until(all_counted, "all answered clicks counted", seconds=COUNT_TIMEOUT_S)
        except AssertionError:
            lost = self.answered - set(self.counted())
            raise AssertionError(f"{len(lost)} of {len(self.answered)} answered clicks are lost: {sorted(lost)[:5]}") from None
        assert [mark for mark, count in counted.items() if count != 1] == []
        assert set(counted) - self.answered - self.unclear_marks == set()
        return f"answered {len(self.answered)}, lost 0, double 0; unclear {dict(self.unclear)}, of which counted {len(set(counted) - self.answered)}"
