"""An old system on this machine: it takes two requests at a time, and needs 50 ms for each."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class OldSystem(BaseHTTPRequestHandler):
    slots = threading.Semaphore(2)

    def do_POST(self) -> None:
        device = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["device"]
        if not self.slots.acquire(blocking=False):
            self.send_error(503)
            return
        time.sleep(0.05)
        self.slots.release()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"checked": device}).encode())

    def log_message(self, *_: object) -> None:
        pass


def at(port: int) -> ThreadingHTTPServer:
    return ThreadingHTTPServer(("127.0.0.1", port), OldSystem)


if __name__ == "__main__":
    at(8767).serve_forever()
