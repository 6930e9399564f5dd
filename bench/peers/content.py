"""What is served: models that are made here, the models and workflows of the demo, repositories."""

import pathlib
import random
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("test/integration", "tools"):
    sys.path.insert(0, str(ROOT / folder))

import demo_repository  # noqa: E402
import onnx_models  # noqa: E402

ZOO = [f"zoo{k}" for k in range(8)]
ZOO_WIDTH, ZOO_LAYERS = 1024, 8
MB_FOR_FOUR = 80  # Of each of two workers: two models of 34 MB and what a run needs.
WORKFLOWS = ("picture", "ocr", "speech")
CHAIN = """workflow: chain
inputs: {x: {dtype: FP32, shape: [-1, 4]}}
tasks:
  first: {model: step1, in: {x: inputs.x}}
  second: {model: step2, in: {x: first.y}}
  third: {model: step3, in: {x: second.y}}
outputs: {y: third.y}
"""
MLSERVER = '{"name": "identity", "implementation": "mlserver_app.Identity"}\n'


def weights(draw, width):
    """@width squared values: rows are pieces of one long row, which is quicker than drawing all."""
    scale = (6 / width) ** 0.5  # Of a width whose relu neither grows nor fades.
    values = [draw.uniform(-scale, scale) for _ in range(8 * width)]
    square = []
    for _ in range(width):
        at = draw.randrange(7 * width)
        square += values[at : at + width]
    return square


def layers(seed):
    """Eight matrix products with relu: 34 MB of weights."""
    draw = random.Random(seed)
    nodes, squares, shape = [], [], ["N", ZOO_WIDTH]
    for i in range(ZOO_LAYERS):
        square = weights(draw, ZOO_WIDTH)
        squares.append(onnx_models.weight(f"w{i}", [ZOO_WIDTH, ZOO_WIDTH], square))
        first, last = i == 0, i == ZOO_LAYERS - 1
        nodes.append(onnx_models.node("MatMul", ["x" if first else f"r{i - 1}", f"w{i}"], f"m{i}"))
        nodes.append(onnx_models.node("Relu", [f"m{i}"], "y" if last else f"r{i}"))
    tensors = [onnx_models.value_info(name, shape) for name in "xy"]
    return onnx_models.model(nodes, tensors[:1], tensors[1:], squares)


def make_models(folder, works):
    """The models of @works under @folder, those of the demo by links; what is there stays."""
    trivial = ("identity", "step1", "step2", "step3")
    made = {name: lambda: onnx_models.same(["N", 4], onnx_models.FLOAT) for name in trivial}
    if "all" in works or "four" in works:
        made |= {name: lambda seed=seed: layers(seed) for seed, name in enumerate(ZOO)}
    for name, make in made.items():
        path = folder / name / "1/model.onnx"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(make())
    for source in demo_repository.MODELS.glob("*/1/model.onnx"):
        link = folder / source.parts[-3]
        if not link.exists():
            link.symlink_to(source.parents[1])


def put_models(models, names, folder):
    for name in names:
        demo_repository.put(models / name / "1/model.onnx", folder / name / "1/model.onnx")


def settings(folder, text):
    demo_repository.write(folder / "weft.yaml", text)


def weft_identity(models, folder):
    put_models(models, ["identity", "step1", "step2", "step3"], folder)
    demo_repository.write(folder / "chain.workflow.yaml", CHAIN)


def weft_zoo(models, folder, memory=None):
    put_models(models, ZOO, folder)
    if memory:
        settings(folder, f"weft: zoo\nmemory: {memory}\n")


def models_of(workflow):
    text = (demo_repository.DEMO / f"{workflow}.workflow.yaml").read_text(encoding="utf-8")
    names = [path.parts[-3] for path in demo_repository.MODELS.glob("*/1/model.onnx")]
    return [name for name in names if f"model: {name}," in text or f"models: [{name}]" in text]


def weft_workflow(models, folder, workflow, demo):
    """One workflow of the demo with its models, functions and samples; settings are the default."""
    put_models(models, models_of(workflow), folder)
    name = f"{workflow}.workflow.yaml"
    demo_repository.put(demo_repository.DEMO / name, folder / name)
    for source in [*demo.glob("functions/*"), *demo.glob(f"inputs/{workflow}/*")]:
        demo_repository.put(source, folder / source.relative_to(demo))
    if workflow == "speech":  # Its first extent is time, not items.
        settings(folder, "weft: speech\nmodels: {silero-vad: {batch: 1}}\n")


def samples(demo, workflow):
    """Files to ask for, in a fixed order."""
    files = sorted((demo / "inputs" / workflow).iterdir())
    return [path for path in files if path.suffix not in (".txt", ".yaml")]


def make_demo(build, folder):
    """Weft's demo, from what was built and fetched."""
    command = [sys.executable, ROOT / "tools/demo_repository.py", build, folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise FileNotFoundError(done.stderr.strip())


def mlserver(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model-settings.json").write_text(MLSERVER, encoding="ascii")


def clear(folder):
    shutil.rmtree(folder, ignore_errors=True)
    return folder
