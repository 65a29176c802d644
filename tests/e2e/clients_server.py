#!/usr/bin/env python3
"""Servers on loopback for part-56-clients.sh: clients_server.py FOLDER CERTIFICATE KEY

Prints two ports, then serves until it is killed: HTTPS and HTTP of the folder's files. GET /echo with Upgrade: websocket,
on either, becomes a WebSocket (RFC 6455) that answers each short text with the same.
"""
import base64
import functools
import hashlib
import http.server
import ssl
import sys
import threading

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        if self.path != "/echo":
            return super().do_GET()
        key = self.headers["Sec-WebSocket-Key"].encode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key + GUID).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while (head := self.rfile.read(2)) and head[0] & 15 == 1:
            size = head[1] & 127  # masked, shorter than 126
            mask = self.rfile.read(4)
            text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
            self.wfile.write(bytes([0x81, size]) + text)


folder, certificate, key = sys.argv[1:]
handler = functools.partial(Handler, directory=folder)
tls, plain = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
tls.socket = context.wrap_socket(tls.socket, server_side=True, do_handshake_on_connect=False)
print(tls.server_address[1], plain.server_address[1], flush=True)
threading.Thread(target=tls.serve_forever, daemon=True).start()
plain.serve_forever()
