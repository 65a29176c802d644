#!/usr/bin/env python3
"""A server on loopback for part-55-egress.sh: prints its two ports, then serves until it is killed.

HTTP: GET /N gives N bytes of a pattern, GET /slow/N the same at 1 MB/s, /drip/N at 20 kB/s, POST gives the SHA-256 of what came.
TCP: reads to the end of what comes, then answers with its SHA-256: that needs a half-close on the whole way.
"""
import hashlib
import http.server
import socketserver
import sys
import threading
import time

BLOCK = bytes(range(256)) * 256


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        words = self.path.partition("?")[0].strip("/").split("/")
        left = int(words[-1] or 0)
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        try:
            while left:
                size = min(left, 4096 if words[0] == "drip" else len(BLOCK))
                self.wfile.write(BLOCK[:size])
                left -= size
                time.sleep({"slow": size / 1e6, "drip": size / 2e4}.get(words[0], 0))
        except OSError:
            self.close_connection = True

    def do_POST(self):
        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
        while left:
            data = self.rfile.read(min(left, 65536))
            if not data:
                return
            digest.update(data)
            left -= len(data)
        body = digest.hexdigest().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST


class Digest(socketserver.BaseRequestHandler):
    def handle(self):
        digest = hashlib.sha256()
        while data := self.request.recv(65536):
            digest.update(data)
        self.request.sendall(digest.hexdigest().encode())


class Web(http.server.ThreadingHTTPServer):
    request_queue_size = 512


class Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True


web, tcp = Web(("127.0.0.1", 0), Handler), Tcp(("127.0.0.1", 0), Digest)
print(web.server_address[1], tcp.server_address[1], flush=True)
threading.Thread(target=tcp.serve_forever, daemon=True).start()
try:
    web.serve_forever()
except KeyboardInterrupt:
    sys.exit(0)
