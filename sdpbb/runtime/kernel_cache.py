"""Numba's cache of kernels on disk, from which machine code is loaded alone.

Before Numba loads a kernel from its cache, it loads what it needs to compile one: 70 modules and a
table of the functions that it knows, which takes a quarter of a second. With each kernel it reads a
second form of its code, for callers that are compiled later, and imports the modules of those of
its own functions that the kernel calls. Machine code needs none of that, and is loaded here
without. The rest is done as Numba does it, by parts that are not public: where one of them is not
as expected, Numba loads the kernel.
"""

from __future__ import annotations

import importlib
import pickle
from contextlib import suppress
from typing import Any

import llvmlite.binding
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]


class KernelCache(FunctionCache):
    """Cache of the machine code of one kernel, for each type of its arguments."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature; None if there is none."""
        with suppress(Exception):
            return self._load_machine_code(sig, target_context)
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of a class that is renamed since, or of a file that is cut short
            self.flush()
            return None

    def _load_machine_code(self, sig: Any, target_context: Any) -> Any:
        codegen = target_context.codegen()
        if not self._enabled:
            return None
        name = self._cache_file._load_index().get(self._index_key(sig, codegen))
        if name is None:
            return None
        with open(self._cache_file._data_path(name), "rb") as file:
            content = _Unpickler(file).load()
        (library_name, kind, code), description, environment, signature, *others = content
        object_mode, lifted, annotation, reload_init, environments = others
        machine_code, bitcode = code
        if kind != "object" or object_mode or b"numba_hashsecret" in machine_code:
            raise NotImplementedError
        for initialise in reload_init:
            initialise()
        _name_runtime()
        library = _Library(codegen, library_name, machine_code, bitcode)
        wrapper = description.llvm_cpython_wrapper_name
        if wrapper.encode() in machine_code:
            codegen._engine._defined_symbols.add(wrapper)
        entry_point = target_context.get_executable(library, description, environment)
        for each in environments:
            codegen.set_env(each.env_name, each)
        return compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=entry_point,
            fndesc=description,
            type_annotation=annotation,
            signature=signature,
            objectmode=object_mode,
            lifted=lifted,
            reload_init=reload_init,
            referenced_envs=environments,
        )


class _Library(JITCodeLibrary):
    """Machine code; its form for callers is read when one is compiled."""

    def __init__(self, codegen: Any, name: str, machine_code: bytes, bitcode: bytes) -> None:
        super().__init__(codegen, name)
        self._bitcode = bitcode
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvmlite.binding.parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()


class _Unpickler(pickle.Unpickler):
    """Unpickler that imports no module for an environment of a function of Numba's own."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """Return the environment of a function, of which compiled code uses the constants alone."""
    environment = lookup_environment(name)
    if environment is None:
        is_own = not module.startswith("numba.")
        names = vars(importlib.import_module(module)) if is_own else {"__name__": module}
        environment = Environment(names)
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment


def _name_runtime() -> None:
    """Name the functions of Numba's memory management, as `rtsys.initialize` does.

    It also compiles some of them for callers; machine code holds what it needs of these.
    """
    if not _named:
        for name, address in _nrt_python.c_helpers.items():
            known = name if name.startswith("_") else f"NRT_{name}"
            llvmlite.binding.add_symbol(known, address)
        _named.append(True)


_named: list[bool] = []
