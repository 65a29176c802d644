#!/usr/bin/env python3
"""A model for part-56-clients.sh: the Messages API on loopback, as far as one prompt with one tool call needs it.

Prints its port, then a line for each request: method, path, number of tools, "tool" or "text" for what it answered.
What has tools and no result of one yet is told to write the file that argv[1] names; all else gets a sentence.
"""
import http.server
import json
import sys

WANTED = sys.argv[1]
WORDS = "The file is written."


def content(request):
    """The one block of the answer."""
    results = [b for m in request.get("messages", []) if isinstance(m.get("content"), list)
               for b in m["content"] if b.get("type") == "tool_result"]
    if request.get("tools") and not results:
        return {"type": "tool_use", "id": "toolu_1", "name": "Bash",
                "input": {"command": f"echo written >{WANTED}", "description": "Write the file"}}
    return {"type": "text", "text": WORDS}


def events(request, block):
    """The answer as the pieces of a stream."""
    tool = block["type"] == "tool_use"
    yield "message_start", {"message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model", "m"), "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    yield "content_block_start", {"index": 0, "content_block":
                                  dict(block, input={}) if tool else {"type": "text", "text": ""}}
    if tool:
        text = json.dumps(block["input"])
        for half in (text[:9], text[9:]):
            yield "content_block_delta", {"index": 0, "delta": {"type": "input_json_delta", "partial_json": half}}
    else:
        for word in block["text"].split(" "):
            yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word + " "}}
    yield "content_block_stop", {"index": 0}
    yield "message_delta", {"delta": {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None},
                            "usage": {"output_tokens": 9}}
    yield "message_stop", {}


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, *words):
        print(self.command, self.path, *words, flush=True)

    def whole(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.say()
        self.whole(200, {})

    def do_GET(self):
        self.say()
        self.whole(404, {"type": "error", "error": {"type": "not_found_error", "message": "no such thing"}})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self.say()
            return self.whole(200, {"input_tokens": 1})
        if path != "/v1/messages":
            return self.do_GET()
        block = content(request)
        self.say(len(request.get("tools") or []), "tool" if block["type"] == "tool_use" else "text")
        if not request.get("stream"):
            return self.whole(200, {
                "id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model", "m"),
                "content": [block], "stop_reason": "end_turn" if block["type"] == "text" else "tool_use",
                "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 9}})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, data in events(request, block):
            piece = f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Model)
print(server.server_address[1], flush=True)
server.serve_forever()
