"""The Python environment of a framework's release: an interpreter that has it, made from PyPI where there is none.

    python3 tools/parity/environment.py paddle@3.3.1      prints the path of the interpreter"""
import os
import re
import subprocess
import sys

from cells import NotHereError, SetupError, UsageError

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
INSTALL_SECONDS = 1800
REQUIREMENTS = re.compile(r"requirements-(\w+)-([\w.]+)\.txt$")


def _requirements(name):
    return os.path.join(HERE, f"requirements-{name}.txt")


def known_frameworks():
    """["paddle@3.3.1", ...], by framework, the newest first: a release is known by its requirements file, a framework by
    the module that runs a rank on it."""
    found = [match.groups() for name in os.listdir(HERE) if (match := REQUIREMENTS.match(name))]
    found = [(name, version) for name, version in found
             if os.path.exists(os.path.join(HERE, "framework", f"{name}_rank.py"))]
    numbers = lambda version: [int(part) for part in version.split(".") if part.isdigit()]
    found.sort(key=lambda f: numbers(f[1]), reverse=True)
    return [f"{name}@{version}" for name, version in sorted(found, key=lambda f: f[0])]


def check_known(framework):
    if framework not in known_frameworks():
        raise UsageError(f"unknown framework '{framework}', known: {', '.join(known_frameworks())}")


def interpreter_for(framework, addition=""):
    """The interpreter of build/parity/FRAMEWORK[+ADDITION]; makes it, after saying so, where it isn't there. Errors:
    UsageError for an unknown framework, NotHereError where it can't be installed."""
    check_known(framework)
    names = [framework.replace("@", "-")] + ([addition] if addition else [])
    folder = os.path.join(ROOT, "build", "parity", "+".join(names))
    python = os.path.join(folder, "bin", "python")
    stamp = os.path.join(folder, "installed")  # written last: a half-made environment has none
    if os.path.exists(stamp):
        return python
    print(f"parity: installing {' and '.join(names)} from PyPI into {os.path.relpath(folder)}, once", file=sys.stderr)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands = [[sys.executable, "-m", "venv", "--clear", folder],
                pip + [word for name in names for word in ("-r", _requirements(name))]]
    without_dependencies = [path for name in names if os.path.exists(path := _requirements(f"{name}.no-deps"))]
    commands += [pip + ["--no-deps", "-r", path] for path in without_dependencies]
    for command in commands:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=INSTALL_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotHereError(f"can't install {names[-1]}: {' '.join(command)}: {error}") from None
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise NotHereError(f"can't install {names[-1]}: {' '.join(command)} failed: {' '.join(last)}\n"
                               "give an interpreter that has it with --python")
    with open(stamp, "w", encoding="utf-8"):
        pass
    return python


def find_culprit():
    """The newest `culprit` that was built here."""
    candidates = [os.path.join(ROOT, "build", preset, "bin", "culprit") for preset in ("", "release", "dev")]
    built = [path for path in candidates if os.access(path, os.X_OK)]
    if not built:
        raise SetupError("no culprit program in build/; build it with ./run_repro.sh --help, or name it with --culprit")
    return max(built, key=os.path.getmtime)


if __name__ == "__main__":
    try:
        print(interpreter_for(sys.argv[1]))
    except UsageError as error:
        sys.exit(f"parity: {error}")
    except NotHereError as error:
        print(f"parity: {error}", file=sys.stderr)
        sys.exit(77)
