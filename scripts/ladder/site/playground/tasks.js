// Tasks that the page judges: find the line that it has removed unseen; restore all lines from nothing; and of a step,
// write its kernel, from the one before.
import {element} from "./explorer/panels.js";
import {plural} from "./explorer/run.js";
import {verdicts} from "./judge.js";
import {difference, tasksOf} from "./settings.js";
import {CompileError} from "./source.js";

const TITLES = {find: "Find the missing line", restore: "Restore all lines from nothing", write: "Write this step"};
const TRIES = 3;  // before the line can be shown
/** A text with code between backticks. */
const marked = (text) => text.split("`").map((part, i) => i % 2 ? element("code", {}, part) : part);
const isWhole = (site) => !site.is_half;
const labelOf = (site) => site.label ?? site.instruction;
const lineOf = (site) => `line ${site.line}, ${site.source || labelOf(site)}`;

export class Tasks {
  constructor(panel, page) {
    Object.assign(this, {panel, page, task: null, hidden: null});
  }

  /** What the address asks for. Nothing runs yet. */
  begin(task) {
    Object.assign(this, {task, hidden: null, hasRun: false, tries: 0});
    document.documentElement.dataset.task = task ?? "none";
    if (task === "find") return this.hide();
    if (task === "restore") return this.clear();
    if (task === "write") return this.write();
    return this.say("", ...tasksOf(this.page.program).map((one) => [TITLES[one], () => this.choose(one)]));
  }

  choose(task) {
    const {page} = this;
    Object.assign(page.settings, {task, lab: null, patch: null, source: null});
    page.settings.states.clear();
    page.stopEditing();
    page.changed();
    page.answer.say(task ? "Press Run." : "Remove a mark, then press Run.");
    this.begin(task);
  }

  say(sentence, ...buttons) {
    if (this.task) buttons.push(["End the task", () => this.choose(null)]);
    this.panel.replaceChildren(
        element("p", {}, sentence),
        element("div", {class: "fields"}, ...buttons.map(([text, onclick]) => element("button", {type: "button", onclick}, text))));
  }

  // --- find the missing line ----------------------------------------------------------------------------------------

  /** Removes a line of which something is on record; where nothing is, any line. */
  hide() {
    const known = this.page.sites.filter((site) => isWhole(site) && site.found_by && !site.partners.length);
    const from = known.length ? known : this.page.sites.filter(isWhole);
    Object.assign(this, {hidden: from[Math.floor(Math.random() * from.length)], hasRun: false, tries: 0});
    this.page.kernel.accuse([], []);
    this.say("One line of this kernel, still shown, does not run. Press Run, read what is reported, and click the line's mark.");
  }

  /** A click on a mark; false if it is not an answer. */
  guess(site) {
    if (this.task === "restore") return this.putBack(site);
    if (this.task !== "find" || !this.hidden) return false;
    if (!this.hasRun) {
      this.say("Press Run first.");
    } else if (site.line === this.hidden.line) {
      this.reveal(`Yes, with ${plural(this.tries + 1, "click")}:`);
    } else {
      ++this.tries;
      this.say(`No: ${lineOf(site)}, does run.`, ...(this.tries < TRIES ? [] : [["Show it", () => this.reveal("It is")]]));
    }
    return true;
  }

  reveal(words) {
    const {hidden} = this;
    this.page.kernel.point(hidden.line);
    this.hidden = null;
    const found = [hidden.found_by, hidden.orders].filter(Boolean).join("; ");
    this.say(`${words} ${lineOf(hidden)}.${found ? ` On record without it: ${found}.` : ""}`, ["Another one", () => this.hide()]);
  }

  // --- restore all lines from nothing -------------------------------------------------------------------------------

  clear() {
    const {page} = this;
    for (const site of page.sites.filter(isWhole)) page.settings.states.set(site.id, "removed");
    page.changed();
    this.offer("All marked lines are gone, and their text is hidden. Choose an instruction, then click a mark where it belongs.");
  }

  get gone() {
    return this.page.changes.filter(({site}) => isWhole(site)).map(({site}) => site);
  }

  offer(sentence) {
    const {gone} = this;
    const before = this.panel.querySelector("select")?.value;
    const labels = [...new Set(gone.map(labelOf))].sort();
    this.say(sentence, ["Put one back", () => this.restore(gone.find((site) => site.verdict?.startsWith("required")) ?? gone[0])]);
    const choice = element("select", {"aria-label": "Instruction"}, ...labels.map((label) => element("option", {value: label}, label)));
    if (labels.includes(before)) choice.value = before;
    this.panel.lastChild.prepend(choice);
  }

  putBack(site) {
    const chosen = this.panel.querySelector("select")?.value;
    if (this.page.stateOf(site) === "kept") {
      this.offer(`Line ${site.line} is back already.`);
    } else if (labelOf(site) === chosen) {
      this.restore(site);
    } else {
      ++this.tries;
      this.offer(`No: ${chosen} does not belong in line ${site.line}. ${plural(this.tries, "wrong place")} so far.`);
    }
    return true;
  }

  restore(site) {
    if (!site) return;
    this.page.set(site, "kept");
    this.offer(`Line ${site.line} is back. ${plural(this.gone.length, "line")} to go; Run says whether they are missed.`);
  }

  // --- write a step's kernel -----------------------------------------------------------------------------------------

  /** What the reader has written already, or the kernel before the step. */
  write() {
    const {page} = this;
    if (!page.source) return this.say("This page has no compiler, so that nothing can be written here.");
    page.settings.source ??= page.source.kept ?? difference(page.page.text, page.page.step.before);
    page.changed();
    page.startEditing(1);
    return this.sayStep();
  }

  sayStep(...found) {
    const {page} = this;
    const {step} = page.page;
    this.say("", ["Judge", () => this.judgeStep()], ["Hint", () => this.sayStep(element("p", {class: "hint"}, "Hint: ", ...marked(step.hint)))],
             ["Start again", () => this.startAgain()]);
    this.panel.firstChild.replaceWith(
        element("p", {}, element("b", {}, "Why: "), ...marked(step.why)),
        element("p", {}, element("b", {}, "What should be seen: "), ...marked(step.seen)),
        element("p", {class: "soft"}, "The text is the kernel before the step. Change it, then let it be judged; Run runs it with the settings above. " +
                "The end of the task shows the course's own kernel." +
                (step.is_seen ? "" : " The text fulfils all that a page judges as it is: Judge says whether your change breaks something, not whether it is made.")),
        ...found);
  }

  startAgain() {
    this.page.settings.source = difference(this.page.page.text, this.page.page.step.before);
    this.page.startEditing(1);
  }

  judgeStep() {
    const {page} = this;
    const {step} = page.page;
    const list = element("ul", {class: "claims"});
    const claim = (holds, words) => list.append(element("li", {class: holds ? "right" : "wrong"}, `${holds ? "holds" : "FAILS"}: ${words}`));
    const run = async (program) => {
      const cycles = async (...asked) => (await page.predict(...asked)).reduce((sum, launch) => sum + launch.cycles, 0);
      let holds = true;
      for await (const verdict of verdicts(
          step, page.program.shapes, (request) => page.machine.run({...request, ...program}),
          ({recording}) => ({recording: page.address(recording)}),
          async () => [await cycles(page.program.timed.recording, program), await cycles(step.faster_than)])) {
        holds &&= verdict.holds;
        claim(verdict.holds, verdict.words);
        if (verdict.result) page.answer.show(verdict.result, [], null);
      }
      return holds;
    };
    return page.alone(async () => {
      this.sayStep(list);
      page.answer.say("Judging.");
      try {
        const program = await page.changedProgram();
        claim(true, "it compiles");
        const holds = await run(program);
        if (!holds) list.append(element("li", {class: "hint"}, "Hint: ", ...marked(step.hint)));
        const rest = step.rest.length ? ` The grader on your machine judges more, such as: ${step.rest.join("; ")}.` : "";
        list.after(element("p", {}, `${holds ? "All that a page can judge holds." : ""}${rest} `, element("code", {}, step.command)));
        if (holds) page.answer.say("The kernel is right in all of these runs.");
      } catch (error) {
        if (!(error instanceof CompileError)) throw error;
        claim(false, "it compiles");
        page.showErrors(error);
      }
    });
  }

  // --- all of them ---------------------------------------------------------------------------------------------------

  /** After a run. */
  judge({kind}) {
    if (this.task === "find" && this.hidden) {
      this.hasRun = true;
      if (kind === "right") return this.hide();  // not missed with these settings
      this.say("Which line does not run? Click its mark.");
    }
    if (this.task === "restore") {
      const {gone} = this;
      const missed = gone.filter((site) => site.verdict?.startsWith("required")).length;
      const back = `${plural(this.tries, "wrong place")}, ${plural(gone.length, "line")} still gone`;
      this.offer(kind !== "right" ? "Not yet: the report says what is missing next." :
                 missed ? `Right with these settings; other settings miss ${plural(missed, "line")} more: ${back}.` :
                          `The kernel is restored${gone.length ? "; lines that are still gone are not missed" : ""}: ${back}.`);
    }
    return undefined;
  }
}
