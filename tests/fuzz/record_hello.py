#!/usr/bin/env python3
"""Records what real TLS clients send first: record_hello.py FOLDER writes one file for each client of this host.

Each client connects to a socket on loopback that never answers; what came within a moment is its ClientHello."""
import os, socket, subprocess, sys

BIG = 1400  # protocols of ALPN: a ClientHello of 20 KiB


def record(folder, name, command):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        port = str(server.getsockname()[1])
        child = subprocess.Popen([word.replace("PORT", port) for word in command], stdin=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client, _ = server.accept()
            client.settimeout(0.5)
            data = b""
            try:
                while piece := client.recv(65536):
                    data += piece
            except TimeoutError:
                pass
        finally:
            child.kill()
            child.wait()
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    print(name, len(data))


def node(options):
    return ["node", "-e", "require('tls').connect({host:'127.0.0.1',port:PORT,servername:'good.test',%s})" % options]


def main(folder):
    record(folder, "openssl", ["openssl", "s_client", "-connect", "127.0.0.1:PORT", "-servername", "good.test"])
    record(folder, "openssl-tls12", ["openssl", "s_client", "-tls1_2", "-connect", "127.0.0.1:PORT", "-servername", "GOOD.test",
                                     "-alpn", "http/1.1"])
    record(folder, "openssl-no-name", ["openssl", "s_client", "-connect", "127.0.0.1:PORT", "-noservername"])
    record(folder, "openssl-split", ["openssl", "s_client", "-connect", "127.0.0.1:PORT", "-servername", "good.test",
                                     "-max_send_frag", "512", "-alpn", ",".join("protocol-%d" % i for i in range(60))])
    record(folder, "curl", ["curl", "-s", "--http2", "--resolve", "good.test:PORT:127.0.0.1", "https://good.test:PORT/"])
    record(folder, "node", node("ALPNProtocols:['h2','http/1.1']"))
    record(folder, "node-20k", node("ALPNProtocols:Array.from({length:%d},(_, i)=>'protocol-'+(10000+i))" % BIG))
    record(folder, "python", [sys.executable, "-c", "import socket,ssl\nc=ssl._create_unverified_context()\n"
                              "c.wrap_socket(socket.create_connection(('127.0.0.1',PORT)),server_hostname='good.test')"])


main(sys.argv[1])
