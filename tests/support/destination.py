"""Where links lead: a server on this machine that keeps what it is asked."""

import contextlib
import http.server
import threading

PAGE = b"<!doctype html><title>Landing</title><h1>Landing</h1>"


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path, self.headers, body))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(PAGE)

    do_GET = do_POST = do_HEAD = answer

    def log_message(self, *words):
        pass


@contextlib.contextmanager
def serve():
    """The server; seen: (method, path, headers, body) of each request."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
