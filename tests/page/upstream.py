"""A server that serves the page's folder under the policy of page_routes.cpp, and scripted answers.

The last user message picks the answer from `answers`: pieces of text, or dicts as whole deltas. The word `hold` in
place of a piece waits until the client goes away.
"""

import http.server
import json
import pathlib
import re
import threading
import time

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
METRICS = """sinter_inter_token_latency_seconds_count{{model="fake"}} {tokens}
sinter_decode_steps_total{{model="fake",gives="text"}} {steps}
sinter_sequences_running{{model="fake",gives="text"}} 1
sinter_model_bytes{{model="fake",gives="text"}} 1000
"""
ROOFLINE = {"bytes_per_second": 1e9, "models": [{"model": "fake", "weight_bytes": 1e7}]}
# What Ollama's pull says, a line each.
PULL = [{"status": "pulling manifest"}, {"status": "pulling 0a", "digest": "sha256:0a", "total": 3000, "completed": 1000},
        {"status": "pulling 0b", "digest": "sha256:0b", "total": 1000, "completed": 500}, "hold",
        {"status": "pulling 0a", "digest": "sha256:0a", "total": 3000, "completed": 3000}, {"status": "success"}]


def policy(folder):
    """The value of Content-Security-Policy, as the server sends it."""
    found = re.search(r'kPolicy =((?:\s*"[^"]*")+);', (folder / "page_routes.cpp").read_text(encoding="utf-8"))
    return "".join(re.findall(r'"([^"]*)"', found.group(1)))


class Upstream:
    def __init__(self, folder, answers, key=None):
        self.requests, self.gone = [], 0  # bodies of requests for answers; how many went before their end
        self.models, self.looks = ["fake", "gone"], 0
        self.pulls = threading.Event()  # let a pull go on
        self.has_store = True
        self.key = key
        upstream, folder = self, pathlib.Path(folder)
        head = {"Content-Security-Policy": policy(folder), "Cache-Control": "no-cache"}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, kind, data, extra=()):
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": len(data), **dict(extra)}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(data)

            def refuse(self, status, message):
                self.answer(status, "application/json", json.dumps({"error": {"message": message}}).encode())

            def is_let_in(self):
                return not upstream.key or self.headers.get("Authorization") == "Bearer " + upstream.key

            def do_GET(self):
                file = folder / (self.path.strip("/") or "index.html")
                if file.suffix in TYPES and file.is_file():
                    self.answer(200, TYPES[file.suffix] + "; charset=utf-8", file.read_bytes(), head)
                elif not self.is_let_in():
                    self.refuse(401, "this server asks for a key")
                elif self.path == "/v1/models":
                    self.json({"data": [{"id": name} for name in upstream.models]})
                elif self.path == "/api/tags":
                    self.json({"models": [{"name": name, "size": 144_000_000, "details": {"quantization_level": "Q8_0"}}
                                          for name in upstream.models]})
                elif self.path == "/roofline":
                    self.json(ROOFLINE)
                elif self.path == "/metrics":
                    upstream.looks += 1  # 20 steps of two sequences each time
                    self.answer(200, "text/plain", METRICS.format(tokens=40 * upstream.looks, steps=20 * upstream.looks).encode())
                else:
                    self.refuse(404, "no such route")

            def json(self, value):
                self.answer(200, "application/json", json.dumps(value).encode())

            def body(self):
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

            def do_DELETE(self):
                name = self.body()["model"]
                if not upstream.has_store:
                    self.answer(501, "application/json", b'{"error": "there is no store of models"}')
                else:
                    upstream.models.remove(name)
                    self.answer(200, "text/plain", b"")

            def pull(self, name):
                if not upstream.has_store:
                    return self.answer(501, "application/json", b'{"error": "there is no store of models"}')
                self.begin("application/x-ndjson")
                for line in PULL:
                    if line == "hold":
                        upstream.pulls.wait(30)
                    elif name == "broken" and line == PULL[-1]:
                        self.line({"error": "the digest is another"})
                    else:
                        self.line(line)
                upstream.models += [] if name == "broken" else [name]

            def line(self, value):
                self.wfile.write(json.dumps(value).encode() + b"\n")
                self.wfile.flush()

            def do_POST(self):
                request = self.body()
                if self.path == "/api/pull":
                    return self.pull(request["model"])
                upstream.requests.append(request)
                if not self.is_let_in():
                    self.refuse(401, "this server asks for a key")
                elif request["model"] != "fake":
                    self.refuse(404, f"no model '{request['model']}'")
                else:
                    self.stream(answers.get(request["messages"][-1]["content"], ["an answer"]))

            def begin(self, kind):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Connection", "close")
                self.end_headers()

            def stream(self, pieces):
                self.begin("text/event-stream")
                try:
                    for number, piece in enumerate(pieces, 1):
                        while piece == "hold":
                            self.event({"choices": []})
                            time.sleep(0.02)
                        self.event({"choices": [{"delta": piece if isinstance(piece, dict) else {"content": piece}}],
                                    "usage": {"prompt_tokens": 3, "completion_tokens": number}})
                    self.event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
                    self.event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": len(pieces)}})
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    upstream.gone += 1

            def event(self, value):
                self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
                self.wfile.flush()

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
