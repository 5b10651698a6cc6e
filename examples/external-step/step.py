#!/usr/bin/env python3
"""A step of runtime.provision, served over HTTP: it gives the new runtime a motto and a secret.

Start it with the secret that the engine has too:

    openssl rand -hex 32 > secret.txt
    python3 step.py --port 8770 --secret-file secret.txt
"""

import argparse
import hashlib
import hmac
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BODY_BYTES_MAX = 1024 * 1024
# A recorded call that is sent again is refused when it is older than this.
AGE_SECONDS_MAX = 300


def sign(secret: bytes, timestamp: str, body: bytes) -> str:
    digest = hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256)
    return "v1=" + digest.hexdigest()


def is_ours(secret: bytes, timestamp: str, signature: str, body: bytes) -> bool:
    expected = sign(secret, timestamp, body)
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return False
    # The signature is right, so this is a number that the engine wrote.
    return abs(time.time() - int(timestamp)) <= AGE_SECONDS_MAX


def answer(secret: bytes, call: dict) -> dict:
    """The same answer for the same token, however often the engine calls, also after a restart."""
    token = call["operation"]["token"]
    key = hmac.new(secret, b"motto " + token.encode(), hashlib.sha256).hexdigest()
    shoot = call["instance"]["shoot"]
    return {
        "outcome": "done",
        "facts": {"motto_of": shoot},
        "overrides": [
            {"component": "hello", "key": "motto", "value": f"{shoot} will do"},
            {"component": "hello", "key": "motto.key", "value": key, "secret": True},
        ],
    }


class Step(BaseHTTPRequestHandler):
    secret = b""

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if not 0 < length <= BODY_BYTES_MAX:
            return self.reply(413, {"reason": "the body is empty or too long"})
        body = self.rfile.read(length)
        timestamp = self.headers.get("Provision-Engine-Timestamp", "")
        signature = self.headers.get("Provision-Engine-Signature", "")
        if not is_ours(self.secret, timestamp, signature, body):
            return self.reply(401, {"reason": "the signature is wrong or too old"})
        call = json.loads(body)
        if call["version"] != 1:
            return self.reply(400, {"reason": "this service speaks version 1"})
        return self.reply(200, answer(self.secret, call))

    def reply(self, status: int, body: dict):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8770, help="0 takes any free port")
    parser.add_argument("--secret-file", type=Path, default=Path("secret.txt"))
    options = parser.parse_args()
    Step.secret = options.secret_file.read_bytes().rstrip(b"\r\n")
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Step)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
