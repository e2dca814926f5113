// The kernel's source as text that a reader edits: kept over a reload, compiled in the page, refused where the recorded
// launch does not fit it any more.
import {element} from "./explorer/panels.js";
import {Machine} from "./machine.js";
import {difference, patched} from "./settings.js";

const LONGEST = 300000;  // characters
const CONSTANT = /^\s*(?:\.visible )?\.global \.align 4 \.u32 launch_(\w+?)_(\w+)(?: = (\d+))?;/gm;

/** The constants that a launch is made from, as the PTX of a unit has them. */
function constants(ptx) {
  return new Map([...ptx.matchAll(CONSTANT)].map(([, owner, name, value]) => [`${owner}::${name}`, Number(value ?? 0)]));
}

/** What a launch follows: its member in a request to the simulated device. Grid and boxes are the host's own. */
const followed = (name) => name.endsWith("::NUM_THREADS") ? "threads" : name.endsWith("BYTES") ? "dynamic_smem" : null;

export class CompileError extends Error {
  constructor(messages) {
    super("The source cannot be compiled.");
    this.messages = messages;
  }
}

/** A part of the editor, once. Throws Error with a sentence. */
function load(tag, attributes) {
  return new Promise((done, failed) => document.head.append(element(
      tag, {...attributes, onload: done, onerror: () => failed(new Error(`The editor cannot be loaded (${attributes.src ?? attributes.href}).`))})));
}
let library = null;
async function loadEditor() {
  await Promise.all([load("script", {src: "codemirror.js"}), load("link", {rel: "stylesheet", href: "codemirror.css"})]);
  await Promise.all(["clike.js", "matchbrackets.js"].map((src) => load("script", {src})));
}

export class Source {
  /** `page` is the page's data; `place` the editor's element; `onEdit()` is called for each change by the reader. */
  constructor(name, page, arch, place, onEdit) {
    Object.assign(this, {page, arch, place, onEdit, key: `ladder-source-${name}`, done: new Map(), text: page.text});
    this.compiler = new Machine(new URL("compiling.js", document.baseURI), () => {}, "compiler");
  }

  /** Loads the compiler, and lets it warm up. */
  prepare() {
    this.compiler.prepare({...this.page.compiler, text: this.page.text, arch: this.arch});
  }

  /** Shows a text in the editor, at a line. Throws Error with a sentence. */
  async open(text, line) {
    await (library ??= loadEditor());
    this.text = text;
    this.editor ??= this.makeEditor();
    this.place.hidden = false;
    if (this.editor.getValue() !== text) this.editor.setValue(text);
    this.editor.refresh();
    this.editor.setCursor(line - 1, 0);
    this.editor.scrollIntoView(null, this.place.clientHeight / 2);
    this.editor.focus();
  }
  close() {
    this.place.hidden = true;
  }
  get isOpen() {
    return !this.place.hidden;
  }
  makeEditor() {
    const editor = globalThis.CodeMirror(this.place, {
      mode: "text/x-c++src",
      lineNumbers: true,
      matchBrackets: true,
      indentUnit: 2,
      screenReaderLabel: "Source, to edit",
      extraKeys: {
        Tab: (it) => it.somethingSelected() ? it.indentSelection("add") : it.replaceSelection("  "),
        Esc: (it) => it.getInputField().blur()
      }
    });
    editor.on("change", () => {
      if (editor.getValue() === this.text) return;
      this.text = editor.getValue();
      this.onEdit();
    });
    return editor;
  }

  /** How the text differs from the kernel's; it is kept, too. */
  get edit() {
    const found = difference(this.page.text, this.text);
    try {
      if (found) localStorage.setItem(this.key, JSON.stringify(found));
      else localStorage.removeItem(this.key);
    } catch { /* no storage: the address has it */ }
    return found;
  }
  get kept() {
    try {
      const {from, count, text} = JSON.parse(localStorage.getItem(this.key));
      return Number.isInteger(from) && Number.isInteger(count) && typeof text === "string" ? {from, count, text} : null;
    } catch {
      return null;
    }
  }
  textOf(edit) {
    return edit ? patched(this.page.text, edit) : this.page.text;
  }

  /** {ptx, messages, launch} of a text: warnings, and what its launches have other than the recorded ones. Throws
   * CompileError, or Error with a sentence. */
  async compile(text) {
    if (text.length > LONGEST) throw new Error(`The source has ${text.length} characters; at most ${LONGEST} are compiled here.`);
    const usual = constants((await this.once(this.page.text)).ptx);
    const found = await this.once(text);
    const now = constants(found.ptx);
    const launch = {};
    for (const [name, recorded] of usual) {
      if (now.get(name) === recorded) continue;
      if (!followed(name)) throw new Error(this.refusal(name, now.get(name), recorded));
      launch[followed(name)] = now.get(name);
    }
    return {...found, launch};
  }
  refusal(name, now, recorded) {
    const {compiler: {source}, step} = this.page;
    const fact = `${name} is ${now} now, but the launch that this page repeats is made for ${recorded}`;
    return step ?
        `${fact}, as it is after the step. On your machine launch and kernel change together: ${step.command} judges your file.` :
        `${fact}: a program of the host chooses the grid and the boxes of tensor maps by it. On your machine both follow: ` +
            `put the text into ${source}, then scripts/run.sh --levels ${Number(source.match(/level(\d+)/)?.[1])}.`;
  }

  /** Each text is compiled once. */
  async once(text) {
    const {unit, source} = this.page.compiler;
    if (!this.done.has(text)) {
      const {ptx, messages} = await this.compiler.run({unit, source, text, arch: this.arch});
      if (ptx === null) throw new CompileError(messages.map((each) => each.file === "unit.cu" ? {
        ...each, file: "", text: `the launch that this page repeats needs what the text does not have: ${each.text}`} : each));
      this.done.set(text, {ptx, messages});
    }
    return this.done.get(text);
  }
}

/** What the compiler says, as a list; `onLine(number)` shows a line of the kernel's file. */
export function said(messages, file, onLine) {
  return element("ul", {class: "said"}, ...messages.map(({file: at, line, severity, text}) => element(
      "li", {class: severity}, ...(at === file ? [element("button", {type: "button", class: "line", onclick: () => onLine(line)}, `line ${line}`), ": "] :
                                   at ? [`${at}:${line}: `] : []), `${severity}: ${text}`)));
}
