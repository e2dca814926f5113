"""What mutants are made of: texts of the levels, and lines of instructions in a kernel that declares all they name."""
from __future__ import annotations

import re
from pathlib import Path

from ladder import files
from ladder.command import Failure

DATA = files.ROOT / "common" / "tests" / "sim" / "data"

# A register of every type, and a variable of every space. `LAB` is a label, `fun` a function.
PREAMBLE = """\
.reg .pred p, q, p2, p3;
.reg .b8 byte, byte2; .reg .u8 u8a; .reg .s8 s8a;
.reg .b16 h, h1, h2, h3; .reg .u16 uh, uh1; .reg .s16 sh, sh1; .reg .f16 e, e1, e2;
.reg .b32 a, b, c, d, r0, r1, r2, r3, r4, r5, r6, r7; .reg .u32 ua, ub; .reg .s32 sa, sb;
.reg .f32 f0, f1, f2, f3, f4, f5, f6, f7; .reg .f16x2 ee, ee1, ee2;
.reg .b64 x, y, z, w; .reg .u64 ux, uy; .reg .s64 sx, sy; .reg .f64 d0, d1, d2, d3, d4;
.reg .b128 o, o1;
.reg .pred %p<100>; .reg .b16 %rs<100>; .reg .b32 %r<2000>; .reg .b64 %rd<500>; .reg .f32 %f<500>; .reg .f64 %fd<50>;
.shared .align 16 .b8 sm[1024];
.local .align 16 .b8 lo[64];
.param .b32 cp0; .param .b32 cr0;
T0: .branchtargets LAB;
"""
HEAD = """\
.version {version}
.target {target}
.address_size 64
.global .align 16 .b8 gl[1024];
.const .align 16 .b8 co[64];
.func (.param .b32 ret) fun(.param .b32 arg) {{ .reg .b32 t; ld.param.b32 t, [arg]; st.param.b32 [ret], t; ret; }}
"""
PARAMETERS = ".param .b64 pa, .param .align 64 .b8 tm[128]"


def kernel(line: str, name: str = "k") -> str:
    return f".entry {name}({PARAMETERS}) {{\n{PREAMBLE}{line}\nLAB: ret; }}\n"


def whole(line: str, target: str, version: str = "9.0") -> str:
    """A text with this line alone."""
    return HEAD.format(version=version, target=target) + kernel(line)


def lines(target: str) -> list[str]:
    """Instructions of every kind that ptxas accepts for this target (data/ptx_instructions_*.txt)."""
    path = DATA / f"ptx_instructions_{target}.txt"
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")]


def embedded_text(program: Path) -> str:
    """The PTX inside a level's executable, which is embedded as it is."""
    data = program.read_bytes()
    start = data.find(b"\n.version ") + 1
    if start == 0:
        raise Failure(f"{program} holds no PTX.")
    return data[start:data.index(b"\0", start)].decode()


def texts(build: Path) -> dict[str, str]:
    """The kernels of all levels, by program; each text without comments and line information, which have no effect.
    Of a level with many kernels, the first two."""
    found = {}
    for program in sorted((build / "bin").glob("level0*_sm*")):
        if re.fullmatch(r"level\d\d_[a-z_]+_sm\d+", program.name):
            found[program.name] = shorten(embedded_text(program))
    if not found:
        raise Failure(f"{build / 'bin'} holds no level: scripts/build.sh builds them.")
    return found


def shorten(text: str, kernels: int = 2) -> str:
    text = re.sub(r"//[^\n]*|^[ \t]*\.loc\s[^\n]*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\.section\s+\.debug\w*\s*\{[^}]*\}", "", text)
    depth, ends = 0, []
    for brace in re.finditer(r"[{}]", text):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0 and brace[0] == "}" and text[brace.start() - 1] == "\n":  # no initialiser: the end of a body
            ends.append(brace.end())
    if len(ends) > kernels:
        text = text[:ends[kernels - 1]]
    return re.sub(r"\n\s*\n+", "\n", text) + "\n"
