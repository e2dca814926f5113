// The settings of a run, and their address: #without=SITE,...&weak=SITE,...&shape=ID&sms=N&schedule=latest&
// check=strict&lab=NAME. An address may come from a stranger: each part is compared with the values that this page has,
// and an unknown one is reported as text. Reading an address runs nothing.

export const CHECKS = ["on", "strict", "off"];
const MOST_SMS = 1024;
const MOST_SEED = 2 ** 32 - 1;

/** Of a page just opened. */
export function defaults(program) {
  return {shape: program.shapes[0].id, sms: null, schedule: "default", check: "on", states: new Map(), lab: null};
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

/** Sites that a part of the address names: by id, or L12 for all sites of line 12. */
function sitesOf(name, sites) {
  const line = /^L(\d{1,6})$/.exec(name);
  return sites.filter((site) => line ? site.line === Number(line[1]) : String(site.id) === name);
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
        const sms = wholeNumber(value, MOST_SMS);
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
      case "without":
      case "weak":
        for (const part of value.split(",")) {
          const found = sitesOf(part, sites).filter((site) => name === "without" || site.weakened);
          for (const site of found) settings.states.set(site.id, name === "without" ? "removed" : "weakened");
          if (!found.length) refuse("the line", part);
        }
        break;
      default:
        refuse("the setting", name);
    }
  }
  return {settings, problems};
}

/** The part of an address behind # that says these settings; empty for the defaults. */
export function format(settings, program) {
  const parts = new URLSearchParams();
  const usual = defaults(program);
  const of = (state) => [...settings.states].filter(([, value]) => value === state).map(([id]) => id).join(",");
  if (of("removed")) parts.set("without", of("removed"));
  if (of("weakened")) parts.set("weak", of("weakened"));
  if (settings.lab) parts.set("lab", settings.lab);
  if (settings.shape !== usual.shape) parts.set("shape", settings.shape);
  if (settings.sms) parts.set("sms", settings.sms);
  if (settings.schedule !== "default") parts.set("schedule", scheduleText(settings.schedule));
  if (settings.check !== "on") parts.set("check", settings.check);
  return parts.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
}
