// The kernel's source with a mark at every site, and the lines that a report is about.
import {element} from "./explorer/panels.js";

const KEYWORDS = new Set(
    ("alignas auto bool break case char class concept const constexpr continue default do else enum extern false float for if " +
     "inline int int32_t int64_t namespace nullptr operator requires return short signed sizeof static static_assert struct " +
     "switch template true typedef typename uint16_t uint32_t uint64_t uint8_t union unsigned using void while __device__ " +
     "__forceinline__ __global__ __grid_constant__ __launch_bounds__ __cluster_dims__ __shared__ __syncthreads __host__")
        .split(" "));
const TOKEN = /(\/\/.*)|("(?:[^"\\]|\\.)*"|\b(?:0x[\da-fA-F']+|\d[\d.']*)\w*)|(#\s*\w+|[A-Za-z_]\w*)/g;

/** A line of C++ as text and coloured spans. */
function coloured(line) {
  const parts = [];
  let at = 0;
  for (const match of line.matchAll(TOKEN)) {
    const [text, comment, literal, word] = match;
    const kind = comment ? "comment" : literal ? "literal" : KEYWORDS.has(word) || word.startsWith("#") ? "keyword" : null;
    if (!kind) continue;
    parts.push(line.slice(at, match.index), element("span", {class: kind}, text));
    at = match.index + text.length;
  }
  parts.push(line.slice(at));
  return parts;
}

const SIGNS = {kept: "●", removed: "✕", weakened: "◐"};

/** What the next click does: a state, which is "kept", "removed", or the number of one of the site's ways. */
export function next(site, state) {
  const way = state === "kept" ? "removed" : state === "removed" ? 0 : state + 1;
  return way === "removed" || way < site.ways.length ? way : "kept";
}
/** What a state is in the page's styles. */
const styleOf = (state) => typeof state === "number" ? "weakened" : state;
const VERBS = {kept: "restores it", removed: "removes it", weakened: "changes it"};
/** The state in words: "removed", "the other parity". */
export const wordsOf = (site, state) => typeof state === "number" ? site.ways[state].way : state;

export class Kernel {
  /** `onChange(site)` is called for a click on a site's mark, `onLine(number)` for one on a line's number. */
  constructor(listing, text, sites, onChange, onLine) {
    this.listing = listing;
    const lines = text.split("\n");
    this.sites = sites.filter(({line}) => line >= 1 && line <= lines.length);
    const byLine = new Map();
    for (const site of this.sites) byLine.set(site.line, [...(byLine.get(site.line) ?? []), site]);
    listing.style.setProperty("--marks", Math.max(1, ...[...byLine.values()].map((list) => list.length)));
    this.buttons = new Map();
    this.rows = lines.map((line, i) => {
      const marks = (byLine.get(i + 1) ?? []).map((site) => {
        const button = element("button", {type: "button", class: "mark", onclick: () => onChange(site)});
        this.buttons.set(site.id, button);
        return button;
      });
      return element(
          "div", {class: "code", "data-line": i + 1},
          element("span", {class: "number", onclick: () => onLine(i + 1)}, String(i + 1)),
          element("span", {class: "gutter"}, ...marks), element("span", {class: "text"}, ...coloured(line)));
    });
    listing.replaceChildren(...this.rows);
  }

  /** Shows which sites are removed or weakened, by `stateOf(site)`. */
  update(stateOf) {
    for (const row of this.rows) row.classList.remove("removed", "weakened");
    for (const site of this.sites) {
      const state = stateOf(site);
      const button = this.buttons.get(site.id);
      const style = styleOf(state);
      button.dataset.state = style;
      button.textContent = SIGNS[style];
      const isHidden = state === "removed" && document.documentElement.dataset.task === "restore";
      const name = `Line ${site.line}: ${isHidden ? "hidden" : site.label ?? site.instruction}${state === "kept" ? "" : `, ${wordsOf(site, state)}`}. Enter ${VERBS[styleOf(next(site, state))]}.`;
      button.title = name;
      button.setAttribute("aria-label", name);
      if (state !== "kept") this.rows[site.line - 1]?.classList.add(style);
    }
  }

  /** Marks the lines of a report: the earlier access and the one at which it was found. */
  accuse(first, second) {
    for (const row of this.rows) row.classList.remove("first", "second");
    for (const line of first) this.rows[line - 1]?.classList.add("first");
    for (const line of second) this.rows[line - 1]?.classList.add("second");
  }

  /** Highlights lines without moving the page. */
  point(from, to = from) {
    for (const row of this.rows) row.classList.remove("here");
    for (let line = from; line <= to; ++line) this.rows[line - 1]?.classList.add("here");
    this.scrollTo(from);
  }

  scrollTo(line) {
    const row = this.rows[line - 1];
    if (row) this.listing.scrollTop = row.offsetTop - this.listing.clientHeight / 2;
  }

  /** Moves the focus to the next mark of the listing, or the one before. */
  focus(direction) {
    const buttons = [...this.listing.querySelectorAll(".mark")];
    const at = buttons.indexOf(document.activeElement);
    const to = at < 0 ? (direction > 0 ? 0 : buttons.length - 1) : (at + direction + buttons.length) % buttons.length;
    buttons[to]?.focus({preventScroll: true});
    if (buttons[to]) this.scrollTo(Number(buttons[to].closest(".code").dataset.line));
  }
}
