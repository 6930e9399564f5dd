"""New versions of functions reach all nodes, and every answer is of one.

Covers: src/service/local_change.c src/service/preparation.c src/service/edition.c
        src/function/pool.c src/onnx/local_run.c src/document/repository_scan.c
"""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from clustered import Cluster
from operated import LIMIT, WEFT
from test_cluster_versions import SETTINGS, TASKS, WIDTH, Clients, ask, call

CODE = """
#include <weft/function.h>

static enum weft_status times(const struct weft_call *call)
{
    const struct weft_tensor *in = weft_call_input(call, "x");
    float *out = weft_call_output(call, "y", in->dtype, in->rank, in->shape);
    for (uint64_t i = 0; i < in->bytes / sizeof(float); i++) {
        out[i] = FACTOR * ((const float *)in->data)[i];
    }
    return WEFT_OK;
}

#if NAMED == 2
WEFT_FUNCTIONS({"times", times}, {"again", times});
#else
WEFT_FUNCTIONS({"times", times});
#endif
"""
WORKFLOW = f"""workflow: thrice
inputs: {{x: {{dtype: FP32, shape: [-1, {WIDTH}]}}}}
tasks:
  one: {{function: scale.times, in: {{x: inputs.x}}}}
  two: {{function: scale.again, in: {{x: one.y}}}}
  three: {{function: scale.times, in: {{x: two.y}}}}
outputs: {{y: three.y}}
"""


def build(root, factor, named=2):
    """A shared object whose functions multiply by @factor."""
    source, built = root / "scale.c", root / f"scale-{factor}-{named}.so"
    source.write_text(CODE, encoding="utf-8")
    if not built.exists():
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", f"-DFACTOR={factor}", f"-DNAMED={named}", "-Iinclude",
             str(source), "-o", str(built)],
            cwd=pathlib.Path(__file__).resolve().parents[2], check=True,
        )  # fmt: skip
    return built


def put(built, path):
    """Bring it to @path, whole from the moment that it can be seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.parent / ".beside"
    shutil.copy(built, beside)
    beside.rename(path)


class Folders(Cluster):
    """Each node has a repository of its own, with version 1."""

    def __init__(self, test):
        super().__init__(test)
        shutil.rmtree(self.folder)
        for name in "abc":
            self.put(name, 1)
            folder = self.folder_of(name)
            (folder / "thrice.workflow.yaml").write_text(WORKFLOW, encoding="utf-8")
            (folder / "weft.yaml").write_text(SETTINGS, encoding="utf-8")

    def folder_of(self, name):
        return self.root / f"repository-{name}"

    def put(self, name, factor, version=1, named=2):
        where = "functions" if version == 1 else f"functions/{version}"
        put(build(self.root, factor, named), self.folder_of(name) / where / "scale.so")

    def launch(self, name, *more, **options):
        return super().launch(name, *more, folder=self.folder_of(name), **options)


class Functions(unittest.TestCase):
    def setUp(self):
        self.cluster = Folders(self)
        self.nodes = self.cluster.nodes

    def launch_all(self, *more):
        for name in "abc":
            self.cluster.launch(name, *more)
        for name in "abc":
            for other in "abc":
                if other != name:
                    self.nodes[name].logged(f"event=member node={other} ")

    def load(self, node):
        return call(self.nodes[node], "/v2/repository/models/scale.times/load")

    def check_order(self, clients, *values):
        for got in clients.stop():
            changes = [one for i, one in enumerate(got) if i == 0 or got[i - 1] != one]
            self.assertEqual(changes, list(values))

    def test_a_version_on_one_node_comes_to_all_under_load(self):
        self.launch_all("--fetch", "all")
        clients = Clients(self.nodes.values())
        clients.wait_for(1)
        self.cluster.put("b", 2, version=2)
        status, text = self.load("b")
        self.assertEqual(status, 200, text)
        self.assertEqual(
            json.loads(text),
            {"edition": 1, "members": [{"node": "a", "holds": 1}, {"node": "c", "holds": 1}]},
        )
        clients.wait_for(2**TASKS)  # scale.again has come with scale.times.
        self.cluster.put("c", 3, version=7)
        self.nodes["c"].process.send_signal(signal.SIGHUP)
        clients.wait_for(3**TASKS)
        end = time.monotonic() + LIMIT
        while self.processes_with("functions/2/scale.so"):  # No job names it any more.
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertNotEqual(self.processes_with("functions/7/scale.so"), [])
        self.check_order(clients, 1, 2**TASKS, 3**TASKS)

    def processes_with(self, path):
        """Processes that have loaded @path of one of the folders."""
        found = []
        for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
            try:
                text = maps.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if any(f"{self.cluster.folder_of(name)}/{path}" in text for name in "abc"):
                found.append(maps.parent.name)
        return found

    def test_code_comes_only_to_those_that_want_it(self):
        self.launch_all()
        self.cluster.put("a", 2, version=2)
        status, text = self.load("a")
        self.assertEqual(status, 400, text)
        self.assertRegex(
            text,
            "node '[bc]': model 'scale.[a-z]+': no member gives functions/2/scale.so; it is code, "
            "which comes with '--fetch all' alone",
        )
        self.assertEqual(ask(self.nodes["a"]), 1)
        for name in "bc":
            self.cluster.put(name, 2, version=2)
        end = time.monotonic() + LIMIT
        while self.load("a")[0] != 200:  # They look again every two seconds.
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertEqual(ask(self.nodes["a"]), 2**TASKS)

    def test_a_shared_object_without_the_function_is_refused(self):
        self.launch_all("--fetch", "all")
        self.cluster.put("a", 2, version=2, named=1)
        status, text = self.load("a")
        self.assertEqual(status, 400, text)
        self.assertIn("no function 'again' in it", text)
        self.cluster.put("c", 3, version=2)
        status, text = self.load("c")
        self.assertEqual(status, 400, text)
        self.assertIn(
            "node 'a': model 'scale.times': functions/2/scale.so is another file than in the", text
        )
        self.assertEqual(ask(self.nodes["b"]), 1)

    def test_nodes_with_other_code_under_one_version_do_not_work_together(self):
        self.cluster.put("c", 5)
        for name in "ab":
            self.cluster.launch(name)
        other = self.cluster.launch("c", wait=False)
        other.process.wait(timeout=LIMIT)
        text = "\n".join(other.ended()[2])
        self.assertRegex(text, "functions/scale.so is another file than in the cluster")

    def test_versions_change_where_functions_share_the_process_of_the_server(self):
        settings = self.cluster.folder_of("a") / "weft.yaml"
        settings.write_text(SETTINGS + "isolate: false\n", encoding="utf-8")
        server = self.cluster.launch("a")
        self.cluster.put("a", 2, version=2, named=1)
        status, text = self.load("a")
        self.assertEqual(status, 400, text)
        self.assertIn("no function 'again' in it", text)
        self.cluster.put("a", 3, version=3)
        self.assertEqual(self.load("a")[0], 200)
        self.assertEqual(ask(server), 3**TASKS)

    def test_versions_change_where_only_functions_have_processes(self):
        settings = self.cluster.folder_of("a") / "weft.yaml"
        settings.write_text(SETTINGS + "isolate: functions\n", encoding="utf-8")
        server = self.cluster.launch("a")
        self.cluster.put("a", 2, version=2)
        self.assertEqual(self.load("a")[0], 200)
        self.assertEqual(ask(server), 2**TASKS)

    def test_a_file_that_is_replaced_is_run_after_a_load(self):
        server = self.cluster.launch("a")
        self.assertEqual(ask(server), 1)
        self.cluster.put("a", 4)
        self.assertEqual(ask(server), 1)
        status, text = self.load("a")
        self.assertEqual(status, 200, text)
        self.assertEqual(ask(server), 4**TASKS)

    def test_the_newest_version_is_served_from_the_start(self):
        self.cluster.put("a", 2, version=2)
        self.cluster.put("a", 3, version=12)
        server = self.cluster.launch("a")
        self.assertEqual(ask(server), 3**TASKS)
        told = subprocess.run([WEFT, "check", str(self.cluster.folder_of("a"))],
                              check=True, capture_output=True, text=True).stdout  # fmt: skip
        self.assertTrue(re.search(r"function +scale.times: \S+/functions/12/scale.so", told), told)


if __name__ == "__main__":
    unittest.main()
