"""The settings of every method, each in the file of its name.

They are apart from the methods' own code, which imports torch, because Snakemake reads them at
every parse. A file that is put here is found; nothing lists it.
"""

from importlib import import_module
from pkgutil import iter_modules

from simt.settings.methods.base import METHOD_SETTINGS, KnobRange, MethodSettings, Work

__all__ = ["METHOD_SETTINGS", "KnobRange", "MethodSettings", "Work"]

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
