// A run's result in words and pictures. Whatever the engine says is shown as text.
import {element} from "./explorer/panels.js";
import {number, plural} from "./explorer/run.js";

const SVG = "http://www.w3.org/2000/svg";
const MOST_REPORTS = 12;

const HEADLINES = {
  race: "Race: an access is not ordered with another",
  convergence: "Convergence: an instruction that a whole warp must execute",
  deadlock: "Deadlock: the kernel makes no progress",
  fault: "Fault: the kernel ends with an error",
  wrong: "Wrong result",
  refused: "Refused: the device cannot run it",
  habit: "Right here, but not promised by the ISA",
  right: "Right",
};

const KINDS = {habit: "tolerated violation"};
const COLOURS = {habit: "doubtful", right: "right"};

function headline({kind, right}) {
  return kind === "right" && !right ? "It has run" : HEADLINES[kind] ?? kind;
}

function aboutResult({right, results, kind}) {
  if (right === null || right === undefined) return "The run ended before there was a result to compare.";
  if (kind === "habit" && right) return "The result equals that of the recorded run, but by an order that no rule gives it.";
  if (!right) {
    const wrong = results.reduce((sum, each) => sum + each.wrong.flat().filter(Boolean).length, 0);
    const all = results.reduce((sum, each) => sum + each.wrong.flat().length, 0);
    return `${number(wrong)} of ${plural(all, "tile")} of the result differ from the recorded run.`;
  }
  return kind === "race" ? "The result is right in this schedule. Hardware may order the accesses differently." :
                           "The result equals that of the recorded run, bit for bit.";
}

/** The tiles of a result: red where it differs. */
function map({name, rows, columns, wrong}) {
  const height = wrong.length;
  const width = wrong[0]?.length ?? 0;
  const bad = wrong.flat().filter(Boolean).length;
  if (!bad) return [];
  const make = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const picture = make("svg", {
    class: "map",
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${bad} of ${width * height} tiles of ${name} are wrong`
  });
  wrong.forEach((row, m) => row.forEach((is, n) => {
    const tile = make("rect", {x: n, y: m, width: 1, height: 1, class: is ? "bad" : "ok", "stroke-width": .06});
    const title = make("title", {});
    title.textContent = `tile (${m}, ${n}): ${is ? "wrong" : "right"}`;
    tile.append(title);
    picture.append(tile);
  }));
  return [element("p", {class: "soft"}, `Wrong tiles of ${name}, ${number(rows)} by ${number(columns)} elements:`), picture];
}

export class Answer {
  /** `file` is the kernel's source; `onRemove(ids)` removes sites. */
  constructor(panel, file, kernel, onRemove) {
    Object.assign(this, {panel, file, kernel, onRemove});
  }

  say(...sentences) {
    this.panel.replaceChildren(...sentences.map((sentence) => element("p", {}, sentence)));
    this.kernel.accuse([], []);
  }

  fail(sentence) {
    this.panel.replaceChildren(element("h3", {class: "wrong"}, "No result"), element("p", {}, sentence));
    this.kernel.accuse([], []);
  }

  /** Whether a place is in the kernel's own file, which may be named with its folder. */
  isHere({file}) {
    return file.split("/").at(-1) === this.file;
  }

  /** The lines of the kernel that an access comes from. */
  linesOf({frames}) {
    return (frames ?? []).filter((place) => this.isHere(place)).map(({line}) => line).slice(-1);
  }

  /** `changes` are removed or weakened sites; `lab` is the lab that has run, if one has. What the headline names comes
   * first; reports that the unmodified kernel gets, too, are folded. */
  show(result, changes, lab) {
    const reports = result.reports.filter(({usual}) => !usual);
    reports.sort((a, b) => (b.kind === result.kind) - (a.kind === result.kind));
    const usual = result.reports.filter((report) => report.usual);
    this.panel.replaceChildren(
        element("h3", {class: COLOURS[result.kind] ?? "wrong"}, headline(result)), element("p", {}, aboutResult(result)),
        ...result.results.flatMap(map), ...reports.slice(0, MOST_REPORTS).map((report) => this.report(report)),
        ...(reports.length > MOST_REPORTS ? [element("p", {class: "soft"}, `${plural(reports.length - MOST_REPORTS, "more report")}.`)] : []),
        ...(usual.length ? [element("details", {class: "usual"},
            element("summary", {}, `${plural(usual.length, "report")} that the unmodified kernel gets, too`),
            ...usual.slice(0, MOST_REPORTS).map((report) => this.report(report)))] : []),
        ...(lab ? [element("p", {class: "soft"}, `The lab's prediction: ${lab.expect}`)] : []), ...this.recorded(changes),
        element("p", {class: "soft"}, `Simulated in ${result.seconds.toFixed(2)} s.`),
        element("details", {}, element("summary", {}, "The full output of the simulated device"), element("pre", {}, result.text || "Nothing.")));
    const firsts = [];
    const seconds = [];
    for (const report of reports) {
      const sides = report.sides ?? [];
      sides.forEach((side, i) => (sides.length > 1 && i === 0 ? firsts : seconds).push(...this.linesOf(side)));
      for (const wait of report.waits ?? []) seconds.push(...this.linesOf(wait));
    }
    this.kernel.accuse(firsts, seconds);
    if (seconds.length || firsts.length) this.kernel.scrollTo(seconds[0] ?? firsts[0]);
  }

  report(report) {
    const {kind, rule, strict, sides = [], waits = [], what, memory, missing, count, text} = report;
    const times = Number(count) > 1 ? ` (${number(Number(count))} times)` : "";
    const parts = [element("h4", {}, `${KINDS[kind] ?? kind}${strict ? " in strict mode" : ""}${rule ? `: ${rule}` : ""}${times}`)];
    if (what) parts.push(element("p", {}, `${sides.length > 1 ? "The second " : ""}${what}${memory ? `, at ${memory}` : ""}.`));
    if (sides.length) parts.push(element("ol", {}, ...sides.map((side) => element("li", {}, ...this.access(side)))));
    if (waits.length) {
      parts.push(element("p", {}, kind === "deadlock" ? "Waiting warps:" : "At:"));
      parts.push(element("ul", {}, ...waits.map((wait) => element("li", {}, ...this.access(wait, wait.what)))));
    }
    if (missing.sentence) parts.push(element("p", {class: "missing"}, `Missing: ${missing.sentence}`));
    if (parts.length === 1) parts.push(element("pre", {}, text));
    return element("div", {class: "report", "data-kind": kind}, ...parts);
  }

  /** An instruction, the threads that execute it, and its source lines. */
  access({instruction, frames = [], ptx_line: line, noun, who: by}, does = "") {
    const who = [instruction.startsWith(noun) ? "" : noun, by, does].filter(Boolean).join(", ");
    const where = frames.map(
        (place) => this.isHere(place) ?
            element("button", {type: "button", class: "line", onclick: () => this.kernel.point(place.line)}, `line ${place.line}`) :
            `${place.file}:${place.line}`);
    const parts = [element("code", {}, instruction ?? "")];
    if (who) parts.push(` ${who}`);
    where.forEach((each, i) => parts.push(i ? ", called at " : ", ", each));
    if (!where.length && line) parts.push(`, PTX line ${line}`);
    return parts;
  }

  /** What is on record of a kernel without this line. */
  recorded(changes) {
    const said = [];
    if (changes.length !== 1) return said;
    const [{site, state}] = changes;
    if (state !== "removed") return said;
    const found = [site.found_by, site.orders].filter(Boolean).join("; ");
    if (site.partners?.length && found) {
      said.push(["On record: alone, this line is not missed", `${site.verdict}. With that gone, too: ${found}`]);
    } else if (site.verdict) {
      said.push(["On record for this line", [site.verdict, found].filter(Boolean).join("; ")]);
    }
    for (const {gpu, m, n, k, runs, wrong, note} of site.hardware ?? []) {
      said.push([
        "On hardware without this line",
        `${gpu}, ${m} x ${n} x ${k}: ${note || `${number(Number(wrong))} of ${number(Number(runs))} launches wrong`}`
      ]);
    }
    const shown = said.map(([title, text]) => element("p", {class: "soft recorded"}, `${title}: ${text}.`.replace("..", ".")));
    if (site.partners?.length) {
      const lines = [...new Set(site.partners.map((id) => id.split(":")[0]))];
      shown.push(element("button", {type: "button", class: "partners", onclick: () => this.onRemove(site.partners)},
                         `Remove line ${lines.join(" and ")}, too`));
    }
    return shown;
  }
}
