"""Probes of Blackwell alone: tensor memory and tcgen05."""
from __future__ import annotations

from ladder.contact.probe import Probe


def probes() -> list[Probe]:
    return []
