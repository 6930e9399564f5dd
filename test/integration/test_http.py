"""HTTP/1.1 of the server: a client that is slow, large or wrong loses only its connection."""

import asyncio
import json
import re
import select
import socket
import time
import unittest

from echoing import Server, ask, binary, fp32, receive

HEAD = "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\n"


class Protocol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("body=3000000")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def say(self, text):
        """The reply to @text on a connection of its own, which the server ends."""
        with self.server.raw() as sock:
            sock.sendall(text if isinstance(text, bytes) else text.encode())
            return receive(sock).decode()

    def test_a_connection_is_used_again_and_again(self):
        connection = self.server.connect()
        for number in range(50):
            body = json.dumps({"inputs": [fp32("x", [number])]})
            status, _, reply = ask(connection, "POST", "/v2/models/echo/infer", body)
            self.assertEqual(status, 200)
            self.assertEqual(json.loads(reply)["outputs"][0]["data"], [number])
            self.assertEqual(ask(connection, "GET", "/v2/models/nobody")[0], 404)
        connection.close()

    def test_requests_sent_ahead_are_answered_in_order(self):
        body = '{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[%d]}]}'
        text = ""
        for number in range(100):
            data = body % number
            text += f"{HEAD}Content-Length: {len(data)}\r\n\r\n{data}"
        text += "GET /v2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        reply = self.say(text)
        self.assertEqual(re.findall(r'"data":\[(\d+)\]', reply), [str(n) for n in range(100)])
        self.assertTrue(reply.endswith("]}"))

    def test_a_long_head_may_be_sent_ahead(self):
        body = json.dumps({"inputs": [fp32("x", [1])]})
        slow = HEAD.replace("echo", "slow")
        long = f"GET /v2 HTTP/1.1\r\nHost: h\r\nA: {'a' * 9000}\r\nConnection: close\r\n\r\n"
        reply = self.say(f"{slow}Content-Length: {len(body)}\r\n\r\n{body}{long}")
        self.assertEqual(re.findall(r"HTTP/1.1 (\d+)", reply), ["200", "200"])
        self.assertIn('"name":"weft"', reply)

    def test_old_clients_hear_that_they_are_kept(self):
        with self.server.raw() as sock:
            for _ in range(2):
                sock.sendall(b"GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                self.assertIn(b"\r\nConnection: keep-alive\r\n", sock.recv(1000))

    def test_a_body_may_come_in_chunks(self):
        body = json.dumps({"inputs": [fp32("x", list(range(500)))]}).encode()
        pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
        connection = self.server.connect()
        connection.request(
            "POST", "/v2/models/echo/infer", iter(pieces), encode_chunked=True,
            headers={"Transfer-Encoding": "chunked"},
        )  # fmt: skip
        reply = json.loads(connection.getresponse().read())
        self.assertEqual(reply["outputs"][0]["data"], list(range(500)))
        connection.close()

    def test_a_client_may_wait_for_100_continue(self):
        body = '{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[8]}]}'
        with self.server.raw() as sock:
            head = f"{HEAD}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n"
            sock.sendall(f"{head}Connection: close\r\n\r\n".encode())
            self.assertEqual(sock.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            sock.sendall(body.encode())
            self.assertIn(b'"data":[8]', receive(sock))
        with self.server.raw() as sock:  # Who is refused need not send the body.
            head = "POST /v2/nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n"
            sock.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
            self.assertTrue(receive(sock).startswith(b"HTTP/1.1 413 "))

    def test_what_is_wrong_is_refused_and_no_other_client_notices(self):
        close = "Connection: close\r\n\r\n"
        cases = [
            ("GET /v2 HTTP/1.1\nHost: h\n\n", 400),
            ("\x16\x03\x01\x02\x00\x01\x00\n\n", 400),
            ("GET /v2 HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400),
            ("GET /v2 HTTP/3.0\r\nHost: h\r\n\r\n", 505),
            (f"{HEAD}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}", 400),
            (f"{HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (f"{HEAD}Transfer-Encoding: identity\r\n\r\n", 501),
            (f"{HEAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
            (f"{HEAD}Content-Length: 3000001\r\n\r\n", 413),
            (f"{HEAD}Transfer-Encoding: chunked\r\n\r\n" + "F0000\r\n" + "a" * 0xF0000 + "\r\n"
             + "F0000\r\n" + "a" * 0xF0000 + "\r\n" + "F0000\r\n" + "a" * 0xF0000 + "\r\n"
             + "F0000\r\n", 413),
            (f"{HEAD}{close}", 411),
            (f"{HEAD}Content-Encoding: gzip\r\nContent-Length: 1\r\n{close}x", 415),
            (f"{HEAD}Content-Type: multipart/form-data\r\nContent-Length: 1\r\n{close}x", 415),
            ("GET /" + "a" * 20000 + " HTTP/1.1\r\nHost: h\r\n\r\n", 414),
            ("GET /v2 HTTP/1.1\r\nHost: h\r\nA: " + "a" * 20000 + "\r\n\r\n", 431),
            ("GET /v2 HTTP/1.1\r\nHost: h\r\n" + "A: b\r\n" * 100 + "\r\n", 431),
            (f"GET /v2/models/../v2 HTTP/1.1\r\nHost: h\r\n{close}", 400),
            (f"GET /v2/models/echo%2fready HTTP/1.1\r\nHost: h\r\n{close}", 400),
            (f"GET /v2/models/echo%00 HTTP/1.1\r\nHost: h\r\n{close}", 400),
            (f"GET /v2//models/echo HTTP/1.1\r\nHost: h\r\n{close}", 404),
            (f"GET /etc/passwd HTTP/1.1\r\nHost: h\r\n{close}", 404),
            (f"PUT /v2 HTTP/1.1\r\nHost: h\r\n{close}", 405),
            (f"{HEAD}x-slo-ms: soon\r\nContent-Length: 2\r\n{close}{{}}", 400),
        ]  # fmt: skip
        for text, status in cases:
            reply = self.say(text)
            self.assertTrue(reply.startswith(f"HTTP/1.1 {status} "), (text[:80], reply[:200]))
            self.assertIn('{"error":"', reply)
            self.assertTrue(self.server.is_well())

    def test_the_second_request_of_a_smuggler_is_never_seen(self):
        inner = "GET /v2/models/nobody HTTP/1.1\r\nHost: h\r\n\r\n"
        for framing in (
            f"Content-Length: {len(inner)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
            f"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{inner}",
            f"Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{inner}",
            f"Content-Length: 0\r\nContent-Length: {len(inner)}\r\n\r\n{inner}",
            f"Content-Length: 0\n\r\n{inner}",
        ):
            reply = self.say(HEAD + framing)
            self.assertEqual(reply.count("HTTP/1.1 "), 1, reply)
            self.assertTrue(reply.startswith("HTTP/1.1 400 "), reply)

    def test_head_has_the_headers_of_get_and_no_body(self):
        got = self.server.ask("GET", "/v2/models/types")
        head = self.server.ask("HEAD", "/v2/models/types")
        self.assertEqual(head[0], 200)
        self.assertEqual(head[1]["Content-Length"], got[1]["Content-Length"])
        self.assertEqual(head[2], b"")

    def test_half_requests_are_forgotten(self):
        for text in (b"", b"GET /v2 HT", HEAD.encode() + b"Content-Length: 100\r\n\r\n{"):
            with self.server.raw() as sock:
                sock.sendall(text)
        self.assertTrue(self.server.is_well())

    def test_a_thousand_clients_at_once(self):
        body = json.dumps({"inputs": [fp32("x", [4])]})
        text = f"{HEAD}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()

        async def one(gate):
            reader, writer = await asyncio.open_connection(*self.server.address)
            await gate.wait()
            writer.write(text)
            reply = await reader.read()
            writer.close()
            return b'"data":[4]' in reply

        async def all_of_them():
            gate = asyncio.Event()
            clients = [asyncio.create_task(one(gate)) for _ in range(1000)]
            await asyncio.sleep(0)
            gate.set()
            return await asyncio.wait_for(asyncio.gather(*clients), 60)

        self.assertEqual(asyncio.run(all_of_them()).count(True), 1000)


class Bounds(unittest.TestCase):
    def test_a_slow_head_ends_with_408(self):
        with Server("head_ms=300") as server, server.raw() as sock:
            sock.sendall(b"GET /v2 HTTP/1.1\r\nHost")
            self.assertTrue(server.is_well())
            self.assertTrue(receive(sock).startswith(b"HTTP/1.1 408 "))
            with server.raw() as silent:
                self.assertEqual(receive(silent), b"")
            self.assertRegex(server.metrics(), r"\nweft_http_connections_slow_total 2\n")

    def test_a_dripping_body_is_cut_off(self):
        with Server("grace_ms=300", "rate=1000000") as server, server.raw() as sock:
            sock.sendall((HEAD + "Content-Length: 1000\r\n\r\n").encode())
            with self.assertRaises(OSError):
                for _ in range(900):  # Fewer than bytes were announced.
                    sock.sendall(b" ")
                    time.sleep(0.02)
            self.assertTrue(server.is_well())

    def test_who_does_not_listen_is_cut_off(self):
        data = bytes(16000000)
        request = {
            "parameters": {"binary_data_output": True},
            "inputs": [
                {"name": "x", "shape": [4000000], "datatype": "FP32",
                 "parameters": {"binary_data_size": len(data)}}
            ],
        }  # fmt: skip
        body, headers = binary(request, data)
        with Server("grace_ms=500", "rate=1000000000") as server:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(30)
            sock.connect(server.address)
            text = HEAD + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            sock.sendall(f"{text}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            for _ in range(600):
                self.assertTrue(server.is_well())
                if re.search(r"\nweft_http_connections_slow_total 1\n", server.metrics()):
                    break
                time.sleep(0.1)
            else:
                self.fail("still there")
            sock.close()

    def test_all_bodies_together_have_a_bound(self):
        with Server("held=3000000", "address_held=3000000") as server:
            held = [server.raw() for _ in range(2)]
            for sock in held:
                sock.sendall((HEAD + "Content-Length: 2000000\r\n\r\n").encode())
            held[0].sendall(b" " * 1900000)
            self.assertTrue(server.is_well())
            held[1].sendall(b" " * 1900000)
            [refused] = select.select(held, [], [], 30)[0]  # The one that is read last.
            self.assertTrue(receive(refused).startswith(b"HTTP/1.1 503 "))
            self.assertTrue(server.is_well())
            for sock in held:
                sock.close()

    def test_health_is_told_when_descriptors_are_few(self):
        with Server(descriptors=100) as server:
            held = []
            for _ in range(200):
                sock = socket.socket()
                sock.settimeout(30)
                sock.bind(("127.0.0.2", 0))
                sock.connect(server.address)
                held.append(sock)
            for path in ("/v2/health/live", "/v2"):  # Neither is hindered by the other client.
                with server.raw() as sock:
                    sock.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                    self.assertIn(b" 200 ", receive(sock))
            for sock in held:
                sock.close()

    def test_idle_connections_are_closed(self):
        with Server("idle_ms=300") as server:
            connection = server.connect()
            ask(connection, "GET", "/v2/health/live")
            self.assertEqual(connection.sock.recv(10), b"")
            connection.close()

    def test_connections_have_a_limit(self):
        with Server("connections=5", "address_connections=5") as server:
            held = [server.raw() for _ in range(5)]
            for sock in held:
                sock.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n")
                self.assertIn(b" 200 ", sock.recv(1000))
            for path, status in (("/v2", b" 503 "), ("/v2/health/ready", b" 200 ")):
                with server.raw() as sock:
                    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
                    self.assertIn(status, receive(sock))
            held.pop().close()
            for _ in range(1200):
                with server.raw() as sock:
                    sock.sendall(b"GET /v2 HTTP/1.0\r\n\r\n")
                    if b" 200 " in receive(sock):
                        break
                time.sleep(0.05)
            else:
                self.fail("no connection became free")
            for sock in held:
                sock.close()


if __name__ == "__main__":
    unittest.main()
