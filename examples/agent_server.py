"""An agent behind HTTP, for `tightrope run … --agent http://127.0.0.1:8000/`. Any language can do the same.

Usage: python agent_server.py [PORT]. It balances CartPole by the angle and the speed of the pole.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

AGENT = {"protocol": "tightrope-agent/1", "name": "leaning", "fingerprint": "leaning-1", "deterministic": True}


def act(observation):
    return 1 if observation[2] + 0.5 * observation[3] > 0 else 0


class Server(BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", -1  # keeps connections open, and sends an answer in one piece

    def do_GET(self):
        self.answer(AGENT)

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        actions = [act(observation) for observation in question["observations"]]
        self.answer({"actions": actions, "fingerprint": AGENT["fingerprint"]})

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Server).serve_forever()
