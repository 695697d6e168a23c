"""Threads that work within a context."""

import threading


class Threads:
    """work(number) in each of them; it returns soon once is_ending is set. The end of the context waits for that."""

    def __init__(self, count):
        self.is_ending = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(number,)) for number in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.is_ending.set()
        for thread in self.threads:
            thread.join()

    def work(self, number):
        raise NotImplementedError
