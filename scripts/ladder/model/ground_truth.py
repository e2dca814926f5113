"""The ground truth of the timing model: what the levels' kernels note of themselves on the GPU of this machine.

scripts/maintain/cycles/ makes three programs of each level: cycles_LEVEL_smNN notes the time, waits_LEVEL_smNN how long
its warps wait and where, plain_LEVEL_smNN is the level as it is.
"""
from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder import files
from ladder.levels import names
from ladder.levels.shapes import Shape, shape_text
from ladder.model import calibration
from ladder.model.calibration import ExperimentFailed
from ladder.results import measure
from ladder.results.data import Fields

SIZES = "4096,6144,8192,10240,12288"
NOTED = ("level", "arch", "config", "m", "n", "k", "mode", "period_us", "period_cycles", "mhz", "busy_cycles", "ctas",
         "stages", "first_stage", "stage", "stage_low", "stage_high", "tile", "tile_low", "tile_high", "spread",
         "spread_low", "spread_high", "power_w", "temperature_c")
COUNTED = {"dram_read_bytes": "dram__bytes_read.sum", "dram_write_bytes": "dram__bytes_write.sum",
           "l2_read_sectors": "lts__t_sectors_op_read.sum", "counted_cycles": "sm__cycles_elapsed.max"}
COLUMNS = (*NOTED, "plain_us", *COUNTED, "kind", "gpu", "driver", "cuda", "power_cap_w", "date", "commit")
WAITED = (*NOTED[:6], "mode", "period_us", "mhz", "warp", "site", "count", "cycles")
WAITS_COLUMNS = (*NOTED[:6], "mode", "warps", "wait", "site", "count", "cycles", "share", "cost", "kind", "gpu", "date",
                 "commit")
KEY = ("level", "arch", "config", "m", "n", "k", "mode", "gpu")
TIMEOUT_S = 120  # after which a program counts as hung; most take a few seconds


@dataclass
class Recording(measure.Run):
    """Which programs say what, of which sizes, and where that goes."""

    build: Path
    arch: int
    output: Path
    sizes: Sequence[Shape]
    waits: bool = False  # how long warps wait, in place of when CTAs begin and tiles end

    def program(self, level: str) -> Path:
        return self.build / "bin" / f"cycles_{names.target(level, self.arch)}"

    def waits_program(self, level: str) -> Path:
        return self.build / "bin" / f"waits_{names.target(level, self.arch)}"

    def plain_program(self, level: str) -> Path:
        return self.build / "bin" / f"plain_{names.target(level, self.arch)}"

    def command(self, program: Path, *arguments: str) -> list[str]:
        return [str(program), *arguments, "--sizes", ",".join(map(shape_text, self.sizes))]

    def rows(self, program: Path, columns: Sequence[str] = NOTED) -> list[Fields]:
        """What a program says. Raises ExperimentFailed."""
        printed = calibration.run(self.command(program), TIMEOUT_S)
        return calibration.read_printed(printed, columns, self.date, self.commit)

    def measure(self, level: str) -> list[Fields]:
        """Its rows. Raises ExperimentFailed."""
        found = self.rows(self.program(level))
        plain = {row_key(row): row["period_us"] for row in self.rows(self.plain_program(level))}
        counted = self.count(level)
        for row in found:
            row["plain_us"] = plain.get(row_key(row), "")
            row.update(counted.get((int(row["m"]), int(row["n"]), int(row["k"])), dict.fromkeys(COUNTED, "")))
        return found

    def measure_waits(self, level: str) -> list[Fields]:
        """Rows of how long each role waits at each line: `count` and `cycles` of a warp in one product, `share` of the
        product's time, `cost` of the notes, as a part of the time of the level as it is. Raises ExperimentFailed."""
        plain = {row_key(row): float(row["period_us"]) for row in self.rows(self.plain_program(level))}
        return by_role(self.rows(self.waits_program(level), WAITED), wait_sites(level, self.arch), plain)

    def count(self, level: str) -> dict[Shape, Fields]:
        """What Nsight Compute counts in the second of two products of each size; nothing where there is none."""
        profiler = shutil.which("ncu")
        if profiler is None:
            return {}
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ncu.csv"
            metrics = tuple(COUNTED.values())
            once = self.command(self.plain_program(level), "--once")
            command = calibration.profiled(profiler, "gemm", metrics, log, once)
            try:
                calibration.run(command, TIMEOUT_S)
                launches = calibration.read_profile(log.read_text(errors="replace"), metrics,
                                                    ("Kernel Name", "Grid Size"))
                return dict(zip(self.sizes, list(second_products(launches, len(self.sizes)))))
            except (OSError, ValueError, ExperimentFailed) as problem:
                print(f"{level}: nothing was counted: {problem}", flush=True)
                return {}


_WAIT = re.compile(r"ptx::((?:\w+_)?(?:wait|wait_group|wait_group_read|bar_sync))\b")


def wait_site(name: str, line: int) -> int:
    """The number of a source line, as record.cuh's wait_site makes it of a file's name."""
    digest = 2166136261
    for byte in name.encode():
        digest = (digest ^ byte) * 16777619 & 0xFFFFFFFF
    return (digest >> 16) % 4 * 1024 + line % 1024


def wait_sites(level: str, arch: int) -> dict[int, tuple[str, str]]:
    """Of each wait of a level's kernel: the wrapper and the statement, by its number."""
    found: dict[int, tuple[str, str]] = {}
    for path in names.kernel_parts(names.kernel_path(files.ROOT, level, arch)):
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = _WAIT.search(text)
            if match is None:
                continue
            site = wait_site(path.name, line)
            if site in found:
                raise ExperimentFailed(f"{path.name}:{line} and another wait share a number")
            found[site] = (match[1], text.split("//")[0].strip())
    return found


def by_role(rows: Sequence[Fields], sites: dict[int, tuple[str, str]], plain: dict[tuple[str, ...], float]
            ) -> list[Fields]:
    """The mean over the warps of a role: those that wait at the same lines."""
    found: list[Fields] = []
    for key in dict.fromkeys(row_key(row) for row in rows):
        mine = [row for row in rows if row_key(row) == key]
        where = {warp: frozenset(row["site"] for row in mine if row["warp"] == warp)
                 for warp in dict.fromkeys(row["warp"] for row in mine)}
        for lines in dict.fromkeys(where.values()):
            warps = [warp for warp, its in where.items() if its == lines]
            for site in sorted(lines, key=int):
                if int(site) not in sites:
                    raise ExperimentFailed(f"NO RESULT: a wait that the sources do not have, number {site}")
                one = [row for row in mine if row["site"] == site and row["warp"] in warps]
                cycles = sum(float(row["cycles"]) for row in one) / len(one)
                period = float(one[0]["period_us"])
                wait, statement = sites[int(site)]
                found.append({**{column: one[0].get(column, "") for column in WAITS_COLUMNS},
                              "warps": " ".join(warps), "wait": wait, "site": statement,
                              "count": f"{sum(float(row['count']) for row in one) / len(one):.1f}",
                              "cycles": f"{cycles:.0f}", "share": f"{cycles / period / float(one[0]['mhz']):.4f}",
                              "cost": f"{period / plain[key] - 1:.4f}" if key in plain else ""})
    return found


def row_key(row: Fields) -> tuple[str, ...]:
    return tuple(row[column] for column in KEY)


def second_products(launches: Sequence[dict[str, str]], sizes: int) -> Iterator[Fields]:
    """What was counted in the second product of each size. A product is one launch or several, and each is made twice:
    the shortest row of launches that is there again at once. Raises ValueError."""
    at = 0
    for _ in range(sizes):
        for length in range(1, (len(launches) - at) // 2 + 1):
            first, second = launches[at:at + length], launches[at + length:at + 2 * length]
            if all(a[c] == b[c] for a, b in zip(first, second) for c in ("Kernel Name", "Grid Size")):
                yield {name: f"{sum(float(launch[metric]) for launch in second):.0f}"
                       for name, metric in COUNTED.items()}
                at += 2 * length
                break
        else:
            raise ValueError("the launches do not come in pairs")
    if at != len(launches):
        raise ValueError("there are more launches than products")


def perform(recording: Recording, levels: Sequence[str]) -> int:
    """All of them; what fails leaves no rows. Returns the exit code that says so."""
    def one(level: str) -> None:
        if recording.waits:
            rows = recording.measure_waits(level)
            measure.replace_rows(recording.output, WAITS_COLUMNS, rows, KEY)
            print(f"      {len(rows)} rows", flush=True)
            return
        for row in recording.measure(level):
            measure.merge(recording.output, COLUMNS, row, KEY)
            print(f"      {row['m']}x{row['n']}x{row['k']} {row['mode']}: {float(row['period_us']):.1f} us, "
                  f"{float(row['period_cycles'] or 0):,.0f} cycles at {row['mhz']} MHz", flush=True)

    return calibration.perform_each(recording, levels, "levels", one, recording.output)
