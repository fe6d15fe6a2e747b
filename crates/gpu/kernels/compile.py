"""Compiles the kernels to PTX with NVRTC, which needs no GPU and no driver.

    python3 compile.py LIBNVRTC FOLDER ARCHITECTURE > fdconvert.ptx

`cargo xtask ptx` fetches the one version of NVRTC whose output is kept in the repository, and
calls this. The same sources and version give the same bytes.
"""

import ctypes
import pathlib
import sys

OPTIONS = ["-std=c++17", "--fmad=false", "--prec-div=true", "--ftz=false"]


class Nvrtc:
    """The functions of NVRTC that a compilation needs."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: object) -> int:
        return getattr(self.library, name)(*arguments)

    def check(self, name: str, *arguments: object) -> None:
        code = self.call(name, *arguments)
        if code != 0:
            sys.exit(f"{name}: {self.library.nvrtcGetErrorString(code).decode()}")

    def text(self, program: ctypes.c_void_p, what: str) -> str:
        n_bytes = ctypes.c_size_t()
        self.check(f"nvrtcGet{what}Size", program, ctypes.byref(n_bytes))
        text = ctypes.create_string_buffer(n_bytes.value)
        self.check(f"nvrtcGet{what}", program, text)
        return text.value.decode()

    def compile(self, folder: pathlib.Path, architecture: str) -> str:
        main = folder / "fdconvert.cu"
        parts = sorted(it for it in folder.iterdir() if it.suffix in (".cu", ".cuh") and it != main)
        sources = (ctypes.c_char_p * len(parts))(*[it.read_bytes() for it in parts])
        names = (ctypes.c_char_p * len(parts))(*[it.name.encode() for it in parts])
        program = ctypes.c_void_p()
        self.check(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            main.read_bytes(),
            b"fdconvert.cu",
            len(parts),
            sources,
            names,
        )
        options = [f"--gpu-architecture={architecture}", *OPTIONS]
        given = (ctypes.c_char_p * len(options))(*[it.encode() for it in options])
        code = self.call("nvrtcCompileProgram", program, len(options), given)
        log = self.text(program, "ProgramLog").strip()
        if log:
            print(log, file=sys.stderr)
        if code != 0:
            sys.exit(1)
        return self.text(program, "PTX")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.stdout.write(Nvrtc(sys.argv[1]).compile(pathlib.Path(sys.argv[2]), sys.argv[3]))
