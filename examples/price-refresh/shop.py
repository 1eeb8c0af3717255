"""A shop on this machine, to try it with: each article has the price of its number."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        sku = urlsplit(self.path).path.rpartition("/")[2]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"price": f"{sku}.50"}).encode())


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", 8768), Shop).serve_forever()
