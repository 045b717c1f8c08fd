"""A process of the framework's own Python environment: cells in on stdin, what they came to out on stdout, a JSON
object a line. Started by ../workers.py."""
import functools
import gc
import importlib
import json
import os
import sys


def main():
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever the framework prints is not an answer
    # The folder above this one, to import this folder as a package.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    framework, scenario = (importlib.import_module(f"framework.{name}") for name in sys.argv[1:])
    from framework.hub import Hub

    framework.prepare()
    gc.collect()
    gc.freeze()  # forked ranks then share these pages instead of copying them at the first collection
    hub = Hub(scenario.model, functools.partial(framework.run_rank, scenario))
    print(json.dumps({"ready": f"{framework.NAME}@{framework.VERSION}"}), file=out)
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps({"id": order["id"], "result": hub.run(order["cell"], order["fresh"])}), file=out)


if __name__ == "__main__":
    main()
