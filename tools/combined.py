"""The workloads of scenarios/combined, as studies take them."""

import pathlib
import subprocess
import sys

import usage
import yaml

GENERATOR = pathlib.Path(__file__).resolve().parent.parent / "scenarios/combined/generate.py"


def make(folder, seed, *which):
    """Write the workloads of @seed into @folder, or others by a word of the generator."""
    subprocess.run([sys.executable, "-B", GENERATOR, folder, str(seed), *which], check=True)


def make_named(folder, seed, names, document):
    """As make(); ends a script that says @document if there are not all workloads @names."""
    make(folder, seed)
    for name in names:
        if not pathlib.Path(folder, f"{name}.yaml").exists():
            usage.fail(document, f"there is no workload '{name}'")


def at_share(path, share):
    """The scenario at @path, at @share of the rate that it names; and that rate."""
    scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
    rate = share * float(scenario["arrivals"]["rate"].removesuffix("/s"))
    scenario["arrivals"]["rate"] = f"{rate:.3f}/s"
    return scenario, rate
