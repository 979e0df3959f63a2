# SPDX-License-Identifier: BSL-1.0
"""One call of a `ServiceExecutor`: its files, and the program that performs it as a job."""
import os
import pickle
import runpy
import sys
import traceback
import types

_MAIN = "__ration_main__"  # the name of the main script where it is loaded for its functions


def write(path, function, arguments, keywords):
    """Writes a call. The surroundings come first: the call can be read only within them."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    surroundings = {"path": sys.path, "main": os.path.abspath(main) if main else None, "module": spec.name if spec else None}
    with open(path, "wb") as file:
        pickle.dump(surroundings, file)
        pickle.dump((function, arguments, keywords), file)


def read_result(path):
    """Whether the call returned, and its value or exception."""
    with open(path + ".result", "rb") as file:
        return pickle.load(file)


def _load_main(surroundings):
    if surroundings["module"] is not None:
        content = runpy.run_module(surroundings["module"], run_name=_MAIN)
    elif surroundings["main"] is not None:
        content = runpy.run_path(surroundings["main"], run_name=_MAIN)
    else:
        return
    module = types.ModuleType(_MAIN)
    module.__dict__.update(content)
    sys.modules["__main__"] = sys.modules[_MAIN] = module


def _perform(path):
    with open(path, "rb") as file:
        surroundings = pickle.load(file)
        sys.path[:] = surroundings["path"]
        _load_main(surroundings)
        function, arguments, keywords = pickle.load(file)
    try:
        return True, function(*arguments, **keywords)
    except Exception as error:
        traceback.print_exc()
        return False, error


def _pickled(outcome):
    try:
        return pickle.dumps(outcome)
    except Exception as error:  # the value decides what its pickling raises
        return pickle.dumps((False, TypeError(f"the outcome of the call cannot be pickled: {error}")))


def main(path):
    text = _pickled(_perform(path))
    with open(path + ".part", "wb") as file:
        file.write(text)
    os.replace(path + ".part", path + ".result")


if __name__ == "__main__":
    main(sys.argv[1])
