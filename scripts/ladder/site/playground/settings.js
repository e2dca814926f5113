// The settings of a run, and their address: #without=SITE,...&weak=SITE,...&shape=ID&sms=N&schedule=latest&
// check=strict&lab=NAME&source=FROM,COUNT,TEXT&ptx=FROM,COUNT,TEXT&line=SITE&task=find. A SITE is the name of a line's
// call, as in sites.json, or L and the line's number; weak=SITE~2 is the third of its ways. An address may come from a
// stranger: each part is compared with the values that this page has, and an unknown one is reported as text; source
// and PTX are shown as text. Reading an address runs nothing.

export const CHECKS = ["on", "strict", "off"];
/** The tasks that a page has: a step's is to write its kernel, others are about marks. */
export const tasksOf = ({step}) => step ? ["write"] : ["find", "restore"];
export const MOST_PTX = 6000;  // characters of an edit in an address
const MOST_SEED = 2 ** 32 - 1;

/** Of a page just opened. */
export function defaults(program) {
  return {
    shape: program.shapes[0].id,
    sms: null,
    schedule: "default",
    check: "on",
    states: new Map(),
    lab: null,
    source: null,  // an edit of the source: {from, count, text}: count lines from line `from` on become text
    patch: null,   // of the PTX
    line: null,  // to show
    task: null
  };
}

function wholeNumber(text, most) {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  return value <= most ? value : null;
}

/** A schedule of the worker's requests from "default", "latest" or "seed:7"; null for anything else. */
export function scheduleOf(text) {
  if (text === "default" || text === "latest") return text;
  const seed = text.startsWith("seed:") ? wholeNumber(text.slice(5), MOST_SEED) : null;
  return seed === null ? null : {seed};
}
export const scheduleText = (schedule) => typeof schedule === "string" ? schedule : `seed:${schedule.seed}`;

/** The most SMs that a program's GPU has. */
export const mostSms = ({arch}) => arch === 90 ? 132 : 148;

/** Sites that a part of the address names: by id, or by name or L12 those of a line: of a barrier the whole of it. */
export function sitesOf(name, sites) {
  const line = /^L(\d{1,6})$/.exec(name);
  const found = sites.filter((site) => line ? site.line === Number(line[1]) : site.name === name);
  const whole = found.filter((site) => !site.is_half);
  return whole.length ? whole : found.length ? found : sites.filter((site) => site.id === name);
}

/** An edit of PTX, from the text of an address; null for anything else. */
function patchOf(text) {
  const match = /^(\d{1,7}),(\d{1,7}),([^]*)$/.exec(text);
  return match && text.length <= MOST_PTX ? {from: Number(match[1]), count: Number(match[2]), text: match[3].replace(/([^\n])$/, "$1\n")} : null;
}

/** The one range of lines in which two texts differ; `text` has a newline after each line. */
export function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let from = 0, end = 0;
  while (from < Math.min(old.length, now.length) && old[from] === now[from]) ++from;
  while (end < Math.min(old.length, now.length) - from && old.at(-1 - end) === now.at(-1 - end)) ++end;
  return before === after ? null :
                            {from: from + 1, count: old.length - end - from, text: now.slice(from, now.length - end).map((line) => line + "\n").join("")};
}
export function patched(text, {from, count, text: put}) {
  const lines = text.split("\n");
  lines.splice(from - 1, count, ...put.split("\n").slice(0, -1));
  return lines.join("\n");
}

/** Settings from the part of an address behind #, and sentences about what this page does not have. */
export function parse(hash, program, sites) {
  const settings = defaults(program);
  const problems = [];
  const refuse = (what, text) => problems.push(`The address asks for ${what} “${text.slice(0, 80)}”, which this page does not have.`);
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    switch (name) {
      case "shape":
        if (program.shapes.some(({id}) => id === value))
          settings.shape = value;
        else
          refuse("the shape", value);
        break;
      case "sms": {
        const sms = wholeNumber(value, mostSms(program));
        if (sms)
          settings.sms = sms;
        else
          refuse("a number of SMs", value);
        break;
      }
      case "schedule": {
        const schedule = scheduleOf(value);
        if (schedule)
          settings.schedule = schedule;
        else
          refuse("the schedule", value);
        break;
      }
      case "check":
        if (CHECKS.includes(value))
          settings.check = value;
        else
          refuse("the check", value);
        break;
      case "lab":
        if ((program.labs ?? []).some(({id}) => id === value))
          settings.lab = value;
        else
          refuse("the lab", value);
        break;
      case "source":
        settings.source = patchOf(value);
        if (!settings.source) refuse("the source", value);
        break;
      case "ptx":
        settings.patch = patchOf(value);
        if (!settings.patch) refuse("the PTX", value);
        break;
      case "task":
        if (tasksOf(program).includes(value))
          settings.task = value;
        else
          refuse("the task", value);
        break;
      case "line": {
        const [site] = sitesOf(value, sites);
        settings.line = site?.line ?? wholeNumber(value.replace(/^L/, ""), 99999);
        if (settings.line === null) refuse("the line", value);
        break;
      }
      case "without":
      case "weak":
        for (const part of value.split(",")) {
          const [, of, way] = /^(.*?)(?:~(\d{1,2}))?$/.exec(part);
          const state = name === "without" ? "removed" : Number(way ?? 0);
          const found = sitesOf(of, sites).filter((site) => state === "removed" || site.ways[state]);
          for (const site of found) settings.states.set(site.id, state);
          if (!found.length) refuse("the line", part);
        }
        break;
      default:
        refuse("the setting", name);
    }
  }
  const combined = [settings.source, settings.patch, settings.lab, settings.states.size].filter(Boolean).length > 1;
  if (combined) problems.push("An edited source, edited PTX, a lab and marks cannot be combined: the first of these four counts.");
  if (settings.source) settings.patch = null;
  if (settings.source || settings.patch) settings.lab = null;
  if (settings.source || settings.patch || settings.lab) settings.states.clear();
  return {settings, problems};
}

/** The part of an address behind # that says these settings; empty for the defaults. */
export function format(settings, program, sites) {
  const parts = new URLSearchParams();
  const usual = defaults(program);
  const name = (id) => {
    const site = sites.find((each) => each.id === id);
    return sitesOf(site.name, sites).length === 1 && sitesOf(site.name, sites)[0] === site ? site.name : id;
  };
  const states = [...settings.states];
  const removed = states.filter(([, state]) => state === "removed").map(([id]) => name(id));
  const weak = states.filter(([, state]) => state !== "removed").map(([id, way]) => name(id) + (way ? `~${way}` : ""));
  if (settings.task) parts.set("task", settings.task);
  if (removed.length && !settings.task) parts.set("without", removed.join(","));
  if (weak.length) parts.set("weak", weak.join(","));
  if (settings.lab) parts.set("lab", settings.lab);
  if (settings.shape !== usual.shape) parts.set("shape", settings.shape);
  if (settings.sms) parts.set("sms", settings.sms);
  if (settings.schedule !== "default") parts.set("schedule", scheduleText(settings.schedule));
  if (settings.check !== "on") parts.set("check", settings.check);
  for (const [key, patch] of [["source", settings.source], ["ptx", settings.patch]]) {
    const edit = patch && `${patch.from},${patch.count},${patch.text}`;
    if (edit && edit.length <= MOST_PTX) parts.set(key, edit);
  }
  return parts.toString().replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%7E", "~");
}
