#!/usr/bin/env python3
"""Writes the first inputs of the corpora of guard's parsers: make_guard_seeds.py FOLDER. record_hello.py makes those of the ClientHello."""
import os, struct, sys


def save(folder, target, seeds):
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    for name, data in seeds.items():
        with open(os.path.join(folder, target, name), "wb") as file:
            file.write(data)


def turns(flags, *parts):
    """Bytes of the client as they are; ("s", bytes) for the server."""
    out = bytes([flags])
    for part in parts:
        server = isinstance(part, tuple)
        data = part[1] if server else part
        out += struct.pack(">H", len(data) | (0x8000 if server else 0)) + data
    return out


GET = b"GET /%s HTTP/1.1\r\nHost: good.test\r\n%s\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"4;x=y\r\nabcd\r\n0\r\nTrailer: t\r\n\r\n"
WEBSOCKET = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
http = {
    "plain": turns(0, GET % (b"", b""), ("s", OK)),
    "pipelined": turns(0, GET % (b"a/../b", b"") + GET % (b"no", b""), ("s", OK)),
    "another-host": turns(0, GET % (b"", b"") + b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", ("s", OK)),
    "absolute": turns(2, b"GET http://good.test:80/%41?q HTTP/1.1\r\nHost: good.test\r\n\r\n", ("s", OK)),
    "chunked": turns(0, b"POST /%2e HTTP/1.1\r\nHost: good.test\r\n" + CHUNKED + b"\r\n" + CHUNKS,
                     ("s", b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"\r\n" + CHUNKS)),
    "length-and-chunked": turns(0, GET % (b"", b"Content-Length: 1\r\n" + CHUNKED)),
    "continue": turns(0, b"POST / HTTP/1.1\r\nHost: good.test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
                      ("s", b"HTTP/1.1 100 Continue\r\n\r\n"), b"ab", ("s", OK)),
    "websocket": turns(1, GET % (b"", WEBSOCKET) + b"\x81\0", ("s", SWITCHED + b"\x81\0"), b"\x88\0"),
    "websocket-refused": turns(0, GET % (b"", WEBSOCKET)),
    "h2c": turns(1, GET % (b"", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n")
                 + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "head": turns(0, b"HEAD / HTTP/1.1\r\nHost: good.test\r\n\r\n" + GET % (b"", b""),
                  ("s", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + OK)),
    "until-close": turns(0, GET % (b"", b""), ("s", b"HTTP/1.0 200 OK\r\n\r\nall of it")),
    "hop-by-hop": turns(0, GET % (b"", b"Connection: x-a, close\r\nX_A: 1\r\nTE: trailers\r\nKeep.Alive: 1\r\n"), ("s", OK)),
    "options": turns(0, b"OPTIONS * HTTP/1.1\r\nHost: good.test\r\n\r\n", ("s", b"HTTP/1.1 204 No Content\r\n\r\n")),
    "bad-response": turns(0, GET % (b"", b""), ("s", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx")),
}


def query(name, kind, count=1, opt=b""):
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b".") if label) + b"\0"
    return struct.pack(">HHHHHH", 0x1234, 0x0100, count, 0, 0, 1 if opt else 0) + labels + struct.pack(">HH", kind, 1) + opt


OPT = b"\0\0\x29\x04\xd0\0\0\x80\0\0\x0c\0\x0a\0\x08abcdefgh"
dns = {
    "a": query(b"www.good.test", 1), "aaaa": query(b"good.test", 28), "https": query(b"good.test", 65, opt=OPT),
    "any": query(b"good.test", 255), "axfr": query(b"good.test", 252), "edns": query(b"good.test", 1, opt=OPT),
    "two": query(b"good.test", 1, 2), "root": query(b"", 2), "badvers": query(b"good.test", 1, opt=OPT[:6] + b"\1" + OPT[7:]),
    "pointer": query(b"", 1)[:12] + b"\xc0\x0c\0\1\0\1", "long": query(b".".join([b"a" * 63] * 3 + [b"b" * 61]), 1),
}
METHOD = b"\5\1\0"
proxy = {
    "socks-name": METHOD + b"\5\1\0\3\x09good.test\1\xbbhello", "socks-v4": METHOD + b"\5\1\0\1\xc0\0\2\1\0\x50",
    "socks-v6": METHOD + b"\5\1\0\4" + b"\x20\1\x0d\xb8" + bytes(11) + b"\1\0\x16", "socks-nul": METHOD + b"\5\1\0\3\3a\0b\0\x50",
    "socks-bind": METHOD + b"\5\2\0\1", "socks-auth": b"\5\1\2", "socks4": b"\4\1\0\x50\1\2\3\4",
    "connect": b"CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\n\r\n\x16\3\1",
    "connect-v6": b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n", "connect-bad": b"CONNECT evil.test:443.good.test HTTP/1.1\r\n\r\n",
    "absolute": b"GET http://good.test/x HTTP/1.1\r\nHost: good.test\r\n\r\n", "origin": GET % (b"", b""),
}
save(sys.argv[1], "http_guard", http)
save(sys.argv[1], "dns", dns)
save(sys.argv[1], "proxy", proxy)
