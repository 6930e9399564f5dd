"""A node with an empty folder fetches models from the others. Skipped without ONNX Runtime.

Covers: src/service/fetch.c src/fabric/file_proof.c src/service/offered_files.c src/server/files.c
"""

import hashlib
import hmac
import http.client
import http.server
import json
import pathlib
import shutil
import threading
import time
import unittest

from clustered import Cluster, infer, make_authority, sign
from operated import LIBRARY, LIMIT

ROUTE = "/v2/repository/files"


def code(secret, label, nonce, text):
    """What shows that one who knows @secret says @text."""
    whole = f"weft\n{label}\n{nonce}\n{text}"
    return hmac.new(secret.encode(), whole.encode(), hashlib.sha256).hexdigest()


class Impostor(http.server.BaseHTTPRequestHandler):
    """A member that lists the files of a repository and gives something else."""

    folder = None
    secret = None

    def do_GET(self):
        if self.path == f"{ROUTE}/challenge":
            self.give(b"0" * 32)
        else:
            self.give(self.forged())

    def forged(self):
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        sums = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in files}
        if self.path == ROUTE:
            listed = "".join(
                f"{key} {path.stat().st_size} {path.relative_to(self.folder)}\n"
                for key, path in sums.items()
            )
            return f"{listed}proof {code(self.secret, 'list', '0' * 32, listed)}\n".encode()
        key, offset = self.path.split("/")[-2:]
        return bytes(min(1 << 20, sums[key].stat().st_size - int(offset)))

    def give(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Files(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(self)
        self.empty = self.cluster.root / "empty"
        self.empty.mkdir()

    def launch_first(self):
        """Node 'a', until others can see where its clients are."""
        self.cluster.launch_all("a")
        members = pathlib.Path(self.cluster.directory[len("file:"):])
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            (held,) = members.glob("a.*.member")
            if json.loads(held.read_text())["http"]:
                return held
            time.sleep(0.1)
        raise AssertionError("it does not say where its clients are")

    def ask(self, path, secret, nonce=None, name="c"):
        nonce = nonce or self.get(f"{ROUTE}/challenge", {})[1].decode()
        return self.get(path, self.proof(path, secret, nonce, name))

    def proof(self, path, secret, nonce, name="c"):
        return {"x-weft-proof": f"{name} {code(secret, 'ask', nonce, f'{name} {path}')}"}

    def be_guest(self, name):
        """Be in the directory as one who is to be node @name, until the test has ended."""
        self.cluster.pretend(f"~{name}")

    def ask_until(self, status, path, **arguments):
        """Ask until the answer has @status: the node has to look at the directory first."""
        end = time.monotonic() + LIMIT
        got = self.ask(path, **arguments)
        while got[0] != status and time.monotonic() < end:
            time.sleep(0.1)
            got = self.ask(path, **arguments)
        self.assertEqual(got[0], status)
        return got

    def get(self, path, headers):
        connection = http.client.HTTPConnection(*self.cluster.nodes["a"].address, timeout=30)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def announce(self, folder, secret=None):
        """Let the directory say that there is a node 'b': an impostor."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Impostor)
        Impostor.folder = folder
        Impostor.secret = secret or self.cluster.secret.read_text()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        members = self.cluster.root / "members"
        members.mkdir(exist_ok=True)
        said = {
            "address": "127.0.0.1:1",
            "http": f"http://127.0.0.1:{server.server_address[1]}",
            "version": "0",
            "agreement": "0",
            "beat": 1,
        }
        (members / "b.1.member").write_text(json.dumps(said))

    def test_a_node_with_an_empty_folder_fetches_all_it_needs(self):
        self.cluster.launch_all("a")
        part = self.empty / (".fetch-" + hashlib.sha256(
            (self.cluster.folder / "deep/1/model.onnx").read_bytes()).hexdigest())  # fmt: skip
        part.write_bytes((self.cluster.folder / "deep/1/model.onnx").read_bytes()[:1000])
        c = self.cluster.launch("c", folder=self.empty)
        c.logged("event=fetched file=deep/1/model.onnx")
        self.cluster.nodes["a"].logged("event=member node=c ")
        self.assertEqual(infer(c.address, 1), infer(self.cluster.nodes["a"].address, 1))
        for name in ("deep/1/model.onnx", "twice.workflow.yaml", "weft.yaml"):
            self.assertEqual(
                (self.empty / name).read_bytes(), (self.cluster.folder / name).read_bytes()
            )
        self.assertEqual(list(self.empty.glob(".fetch-*")), [])

    def test_what_is_there_is_not_replaced_and_code_does_not_come(self):
        functions = self.cluster.folder / "functions"
        functions.mkdir()
        (functions / "idle.so").write_bytes(b"not used by any workflow")
        self.launch_first()
        shutil.copytree(self.cluster.folder, self.empty, dirs_exist_ok=True)
        shutil.rmtree(self.empty / "functions")
        (self.empty / "deep/1/model.onnx").unlink()
        own = (self.empty / "twice.workflow.yaml").read_text() + "# Mine.\n"
        (self.empty / "twice.workflow.yaml").write_text(own)
        c = self.cluster.launch("c", folder=self.empty)
        c.logged("event=fetched file=deep/1/model.onnx")
        self.cluster.nodes["a"].logged("event=member node=c ")
        self.assertEqual((self.empty / "twice.workflow.yaml").read_text(), own)
        self.assertFalse((self.empty / "functions").exists())

    def test_only_nodes_that_know_the_secret_may_fetch(self):
        self.cluster.launch_all("a")
        secret = self.cluster.secret.read_text()
        self.be_guest("c")
        _, listed = self.ask_until(200, ROUTE, secret=secret)
        *lines, proof = listed.decode().splitlines()
        self.assertRegex(proof, "^proof [0-9a-f]{64}$")
        lines = dict(reversed(line.split(" ", 1)) for line in lines)
        path = next(key for key in lines if key.endswith(" deep/1/model.onnx"))
        piece = f"{ROUTE}/{lines[path]}/"
        model = (self.cluster.folder / "deep/1/model.onnx").read_bytes()
        self.assertEqual(self.ask(piece + "10", secret), (200, model[10:][: 1 << 20]))
        self.assertEqual(self.ask(ROUTE, "another secret, just as long")[0], 403)
        self.assertEqual(self.ask(piece + "0", "another secret, just as long")[0], 403)
        self.assertEqual(self.ask(f"{ROUTE}/{'0' * 64}/0", secret)[0], 404)
        self.assertEqual(self.ask(f"{ROUTE}/../weft.yaml", secret)[0], 400)
        self.assertEqual(self.ask(ROUTE, secret, nonce="0" * 32)[0], 403)  # As one of before.
        nonce = self.get(f"{ROUTE}/challenge", {})[1].decode()
        proof = self.proof(ROUTE, secret, nonce)
        self.assertEqual(self.get(ROUTE, proof)[0], 200)
        self.assertEqual(self.get(piece + "0", proof)[0], 403)  # Of another path.

    def test_only_nodes_in_the_directory_may_fetch(self):
        self.cluster.launch_all("a")
        secret = self.cluster.secret.read_text()
        self.assertEqual(self.ask(ROUTE, secret, name="c")[0], 425)  # It knows the secret.
        self.be_guest("c")
        self.be_guest("stranger")
        self.ask_until(200, ROUTE, secret=secret, name="c")
        self.assertEqual(self.ask(ROUTE, secret, name="b")[0], 425)
        self.assertEqual(self.ask(ROUTE, secret, name="stranger")[0], 409)  # Not in weft.yaml.
        self.assertEqual(self.ask(ROUTE, "another secret, just as long", name="stranger")[0], 403)
        self.assertEqual(self.ask(ROUTE, secret, name="a")[0], 200)
        nonce = self.get(f"{ROUTE}/challenge", {})[1].decode()
        _, proof = self.proof(ROUTE, secret, nonce, name="b")["x-weft-proof"].split()
        self.assertEqual(self.get(ROUTE, {"x-weft-proof": f"c {proof}"})[0], 403)

    def test_a_node_that_is_no_member_is_told_so_once(self):
        """Not by one member after the other, and not as if it could still become known."""
        self.cluster.launch_all("a", "b")
        stranger = self.cluster.launch("stranger", folder=self.empty, wait=False)
        stranger.logged("no member of the cluster is called 'stranger'; '--node' says which")
        self.assertEqual(stranger.process.wait(timeout=LIMIT), 2)
        self.assertEqual(sum('event="cannot fetch"' in line for line in stranger.log), 1)
        self.assertEqual(list(self.empty.iterdir()), [])
        other = self.cluster.launch("other", wait=False)  # With the settings in its folder.
        other.logged("no member in weft.yaml is called 'other'")
        self.assertEqual(other.process.wait(timeout=LIMIT), 2)

    def test_a_certificate_fetches_for_its_own_node_alone(self):
        """With the certificate of b a process says that it is c, which is in the directory."""
        self.sign_all("ca", "a", "b", "c")
        self.launch_first()
        for end in ("pem", "key"):
            shutil.copy(self.cluster.root / f"b.{end}", self.cluster.root / f"c.{end}")
        c = self.cluster.launch("c", folder=self.empty, wait=False)
        c.logged('event="cannot fetch" node=a cause="it does not know this node: ')
        self.assertEqual(c.process.wait(timeout=LIMIT), 2)
        self.assertEqual(list(self.empty.iterdir()), [])

    def test_a_list_that_is_not_proven_is_not_believed(self):
        self.announce(self.cluster.folder, "another secret, just as long")
        c = self.cluster.launch("c", folder=self.empty, wait=False)
        c.logged('event="cannot fetch" node=b cause="its list of files is not proven"')
        self.assertEqual(c.process.wait(timeout=LIMIT), 2)
        self.assertEqual(list(self.empty.iterdir()), [])

    def sign_all(self, authority, *names):
        root = self.cluster.root
        make_authority(root, authority)
        for name in names:
            sign(root, authority, name)
        self.cluster.has_certificates = True

    def test_nodes_with_certificates_fetch_from_each_other(self):
        self.sign_all("ca", "a", "c")
        self.cluster.launch_all("a")
        c = self.cluster.launch("c", folder=self.empty)
        c.logged("event=fetched file=deep/1/model.onnx")
        self.cluster.nodes["a"].logged("event=member node=c ")
        self.assertEqual(infer(c.address, 1), infer(self.cluster.nodes["a"].address, 1))
        self.assertEqual(self.get(ROUTE, {"x-weft-proof": "c QUJD QUJD"})[0], 403)
        self.assertEqual(self.get(ROUTE, {"x-weft-proof": "QUJD"})[0], 403)
        self.assertEqual(self.get(ROUTE, {})[0], 403)

    def test_a_certificate_of_another_authority_fetches_nothing(self):
        self.sign_all("ca", "a")
        self.cluster.launch_all("a")
        root = self.cluster.root
        (root / "other").mkdir()
        make_authority(root / "other", "ca")
        sign(root / "other", "ca", "c")
        for name in ("ca.pem", "c.pem", "c.key"):
            shutil.copy(root / "other" / name, root / name)
        c = self.cluster.launch("c", folder=self.empty, wait=False)
        c.logged('event="cannot fetch" node=a cause="it does not know this node: ')
        self.assertEqual(c.process.wait(timeout=LIMIT), 2)
        self.assertEqual(list(self.empty.iterdir()), [])

    def test_a_member_must_be_who_it_says_it_is(self):
        """The certificate of another member does not make a list that of 'a'."""
        self.sign_all("ca", "b", "c")
        for end in ("pem", "key"):
            shutil.copy(self.cluster.root / f"b.{end}", self.cluster.root / f"a.{end}")
        self.cluster.launch_all("a")
        c = self.cluster.launch("c", folder=self.empty, wait=False)
        c.logged('event="cannot fetch" node=a cause="its list of files is not proven"')
        self.assertEqual(c.process.wait(timeout=LIMIT), 2)

    def test_contents_that_differ_are_refused(self):
        self.announce(self.cluster.folder)
        c = self.cluster.launch("c", folder=self.empty, wait=False)
        c.logged('event="cannot fetch" node=b cause="deep/1/model.onnx: its contents differ')
        self.assertEqual(c.process.wait(timeout=LIMIT), 2)
        self.assertIn("its contents differ from its sum", "".join(c.log))
        self.assertEqual(list(self.empty.iterdir()), [])

    def test_another_member_is_asked_if_one_gives_something_wrong(self):
        held = self.launch_first()
        a, members = self.cluster.nodes["a"], held.parent
        self.announce(self.cluster.folder)
        listed = held.read_text()
        said = json.loads((members / "b.1.member").read_text())
        said["agreement"] = json.loads(listed)["agreement"]
        (members / "b.1.member").write_text(json.dumps(said))
        (members / "b.1.member").rename(members / "A.1.member")  # It comes before 'a'.
        c = self.cluster.launch("c", folder=self.empty)
        c.logged('event="cannot fetch" node=A')
        c.logged("event=fetched file=deep/1/model.onnx")
        self.assertEqual(infer(c.address, 2), infer(a.address, 2))


if __name__ == "__main__":
    unittest.main()
