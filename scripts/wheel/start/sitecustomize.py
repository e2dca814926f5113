"""`--triton` puts this folder on PYTHONPATH, so that every Python that the program starts loads this first."""
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def load(path):
    spec = importlib.util.spec_from_file_location(f"tensor_core_ladder_sim_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


load(HERE.parent / "triton.py")

# The one that this has hidden, if there is one.
sys.path[:] = [each for each in sys.path if Path(each).resolve() != HERE]
this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401
except ImportError:
    sys.modules["sitecustomize"] = this
