"""What each fence, wait, arrival and barrier of a kernel is for: what the simulated device says without it, and what an
H200 did."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names, verdict
from ladder.levels.names import ARCH_NAMES
from ladder.mutants import labels, sentences, study, weaken
from ladder.mutants.labels import Labels
from ladder.mutants.sites import key_of
from ladder.pages.blocks.on_hardware import NEEDED, by_site, read, read_without
from ladder.pages.blocks.options import Options, take_archs, take_level
from ladder.results.data import Fields
from ladder.results.numbers import NOTHING

WEAKENED = RESULTS / weaken.OUTPUT.name
MOST_ORDERS = 3


def table(context: Context, options: Options) -> str:
    """level=N [arch=sm90]: every site of the level's kernels, what it orders, and what is found without it, all
    configurations in one table."""
    level = take_level(context, options)
    parts = []
    for arch in take_archs(options, list(ARCH_NAMES)):
        rows = [row for row in read(context, NEEDED) if (row["level"], row["arch"]) == (level, str(arch))]
        if not rows:
            raise ValueError(f"{level} is not in docs/results/needed.csv for sm{arch}: run scripts/maintain/needed.py")
        parts.append(_folded(f"{ARCH_NAMES[arch]}: every fence, wait, arrival and barrier, and what happens without it",
                             _sites(context, level, arch, [row for row in rows if not study.is_half(row)])))
    return "\n".join(parts)


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n</details>\n"


def _sites(context: Context, level: str, arch: int, rows: Sequence[Fields]) -> str:
    """A row for the sites of one instruction that have the same kind of outcome, in the same configurations."""
    measured = by_site(read_without(context))
    now = labels.of_kernel(context.root, level, arch)
    kernel = context.link(names.kernel_path(Path(), level, arch))
    gpu = next((found.gpu for key, found in measured.items() if key[:2] == (level, str(arch))), "")
    configs = sorted({row["config"] for row in rows})
    alike: dict[tuple[int, str, str], list[Fields]] = {}
    for row in rows:
        line = now.line(row["site"])
        # What is not executed here is in the table with another configuration; needed.py reports lines that are gone.
        if line and _outcome_of(row) != study.NOT_EXECUTED:
            alike.setdefault((line, row["instruction"], _without(row, now)[0]), []).append(row)
    lines: dict[tuple[str, ...], list[tuple[int, str, str]]] = {}
    silent: list[str] = []
    for (line, instruction, word), some in sorted(alike.items()):
        found = {row["config"]: measured[key_of(row)] for row in some if key_of(row) in measured}
        if some[0]["verdict"] == study.REQUIRED and found and not any(any(one.wrong) for one in found.values()):
            silent.append(str(line))
        details = [some[0]["fault"]] if word == verdict.FAULT else sorted(
            {detail for row in some for detail in _without(row, now)[1]})
        shared = [f"`{instruction}`", study.outcome_of(some[0])]
        if len(configs) > 1:
            shared.append(_which([row["config"] for row in some], configs))
        if gpu:
            shared.append(_words({config: one.word for config, one in found.items()}))
        lines.setdefault(tuple(shared), []).append(
            (line, _orders(some, now), f"{word} ({', '.join(details)})" if details else word))
    heads = ["line", "instruction", "orders", "without it", *(["in"] if len(configs) > 1 else []),
             *([f"wrong on {gpu}"] if gpu else [])]
    missed = (f"\nRequired, and yet no launch on {gpu} was wrong without them: lines {', '.join(silent)}. "
              "Testing would not reveal that these are missing.\n")
    rows_of_page = [[", ".join(f"[{line}]({kernel}#L{line})" for line, _, _ in sites), instruction,
                     _each((line, orders) for line, orders, _ in sites),
                     _each((line, words) for line, _, words in sites),
                     *others] for (instruction, _, *others), sites in lines.items()]
    return markdown.table(heads, rows_of_page, "r") + (missed if silent else "")


def _each(sites: Iterable[tuple[int, str]]) -> str:
    """What sites of one instruction have in common, or each behind its line."""
    texts: dict[str, list[str]] = {}
    for line, text in sites:
        texts.setdefault(text, []).append(f":{line}")
    return next(iter(texts)) if len(texts) == 1 else "<br>".join(
        f"{', '.join(lines)} {text}" for text, lines in texts.items())


def _without(row: Fields, now: Labels) -> tuple[str, list[str]]:
    """What happens, and the rules, which can differ from configuration to configuration."""
    if row["verdict"] != study.REQUIRED:
        return sentences.outcome(row, now), []
    return row["found_by"], row["rules"].split("; ") if row["rules"] else []


def _orders(rows: Sequence[Fields], now: Labels) -> str:
    """What is ordered in any of these configurations: the first few, and how many more."""
    if rows[0]["found_by"] == verdict.FAULT:
        return NOTHING
    places = [sentences.pairs(row) for row in rows]
    first = list(dict.fromkeys(sentences.pair(sides, now) for found in places for sides in found))
    if rows[0]["found_by"] == verdict.DEADLOCK:
        lines = sorted(now.line(label) or 0 for label in {label for found in places for (_, label), _ in found})
        return f"what is waited for at {', '.join(f':{line}' for line in lines)}" if lines else NOTHING
    count = max([len(first), *(int(row["findings"] or 0) for row in rows)])
    shown = first[:MOST_ORDERS]
    return "; ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "") or NOTHING


def _which(some: Sequence[str], configs: Sequence[str]) -> str:
    """The shorter way to say which of the configurations."""
    rest = [config for config in configs if config not in some]
    if not rest:
        return "all"
    return ", ".join(f"`{config}`" for config in some) if len(some) <= len(rest) else (
        "all but " + ", ".join(f"`{config}`" for config in rest))


def _words(words: Mapping[str, str]) -> str:
    """What a GPU did, which was asked with some of the configurations."""
    by_word: dict[str, list[str]] = {}
    for config, word in words.items():
        by_word.setdefault(word, []).append(config)
    if len(by_word) < 2:
        return next(iter(by_word), NOTHING)
    return "; ".join(f"{word} ({', '.join(configs)})" for word, configs in sorted(by_word.items()))


# --- the score --------------------------------------------------------------------------------------------------------

KINDS = (verdict.RACE, verdict.CONVERGENCE, verdict.DEADLOCK, verdict.FAULT, verdict.WRONG, verdict.HABIT)
REST = (study.REDUNDANT, study.OTHER, study.NOT_EXECUTED, study.UNPROVEN)


def score(context: Context) -> str:
    """How many mutants of all kernels are reported, and by what, by kind of instruction."""
    rows = read(context, NEEDED)
    if not rows:
        raise ValueError("there is no docs/results/needed.csv: run scripts/maintain/needed.py")
    by_kind: dict[str, list[Fields]] = {}
    for row in rows:
        by_kind.setdefault(row["instruction"], []).append(row)
    lines = [_counts(f"`{kind}`", some) for kind, some in sorted(by_kind.items())]
    lines.append([f"**{cell}**" for cell in _counts("together", rows)])
    heads = ["without", "made", *KINDS, "redundant, proven", "not about order", "not executed here", "open"]
    return markdown.table(heads, lines, "l" + "r" * 11) + "\n" + _sentences(rows)


def _counts(title: str, rows: Sequence[Fields]) -> list[str]:
    found = Counter(map(_outcome_of, rows))
    return [title, *map(str, [len(rows), *(found[one] for one in (*KINDS, *REST))])]


def _outcome_of(row: Fields) -> str:
    """One of KINDS or REST."""
    return study.UNPROVEN if study.is_open(row) else study.outcome_of(row)


def _sentences(rows: Sequence[Fields]) -> str:
    """The score: how many of those that count are reported or redundant, and how many reports name the line."""
    found = Counter(map(_outcome_of, rows))
    reported = [row for row in rows if row["verdict"] == study.REQUIRED and not row["options"]]
    leading = sum(row["named"] == "yes" for row in reported)
    count = len(rows) - found[study.OTHER] - found[study.NOT_EXECUTED]
    kernels = len({(row["level"], row["arch"]) for row in rows})
    habits, redundant = found[verdict.HABIT], found[study.REDUNDANT]
    return (f"{len(rows)} mutants of {kernels} kernels, {count} of which lack something that is executed and is about "
            f"order. {len(reported)} of these are reported by one run with `--check`, {habits} of them as a habit "
            f"only; {redundant} are proven redundant, and {count - len(reported) - redundant} are open. {leading} of "
            f"the {len(reported)} reports name the kind of instruction that is missing, and its line, or one next to "
            "which no other of its kind stands.\n")


# --- less than there should be ----------------------------------------------------------------------------------------


def weakened(context: Context) -> str:
    """How many weakened sites of all kernels are reported, by the way in which they are weaker, and why others are
    not."""
    rows = read(context, WEAKENED)
    if not rows:
        raise ValueError("there is no docs/results/weakened.csv: run scripts/maintain/needed.py --weaken")
    ways: dict[str, list[Fields]] = {}
    for row in rows:
        ways.setdefault(row["way"], []).append(row)
    lines = [_weakened_counts(way, ", ".join(f"`{one}`" for one in sorted({row["instruction"] for row in some})), some)
             for way, some in sorted(ways.items())]
    lines.append([f"**{cell}**" if cell else "" for cell in _weakened_counts("together", "", rows)])
    reasons = Counter(_reason(row) for row in rows if row["verdict"] == weaken.ENOUGH)
    return (markdown.table(["less", "of", "made", "reported", "enough", "open"], lines, "llrrrr")
            + f"\nWhy less was enough, of {sum(reasons.values())}:\n\n"
            + "".join(f"- {count}: {reason}.\n" for reason, count in reasons.most_common()))


def _weakened_counts(way: str, instructions: str, rows: Sequence[Fields]) -> list[str]:
    found = Counter(row["verdict"] for row in rows)
    return [way, instructions, str(len(rows)),
            *(str(found[one]) for one in (weaken.REPORTED, weaken.ENOUGH, weaken.OPEN))]


def _reason(row: Fields) -> str:
    """The same for all sites that are redundant."""
    if row["proof"] in sentences.REDUNDANCY:
        return "redundant altogether"
    return ("no order: " if row["proof"] in sentences.NO_ORDER else "") + sentences.PROOFS[row["proof"]]
