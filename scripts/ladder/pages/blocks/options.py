"""Options that several blocks have."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ladder.command import UsageError
from ladder.context import Context
from ladder.levels import names

Options = dict[str, str]


def take_level(context: Context, options: Options) -> str:
    """level=N or level=production: its name."""
    if "level" not in options:
        raise UsageError("level=N must name a level")
    return names.find_level(options.pop("level"), names.all_names(context.root))


def take_archs(options: Options, default: Optional[Sequence[int]] = None) -> Sequence[int]:
    """arch=sm90|sm100; without it the default."""
    if "arch" in options:
        return [names.parse_arch(options.pop("arch"))]
    if default is None:
        raise ValueError("arch=sm90 or arch=sm100 is needed")
    return default


def arch_title(arch: int) -> str:
    return f"{names.ARCH_NAMES[arch]} (sm{arch})"
