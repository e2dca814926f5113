// Judges a kernel that a reader writes, as far as a page can: what the grader of the course asks of a step.
import {number, plural} from "./explorer/run.js";

const OTHERS = ["latest", {seed: 1}, {seed: 2}];  // schedules, beside the default one under the order checker
const FASTER = 0.975;  // of the cycles of the level before, at most

/** A counter of a launch, or of the accesses of one kind (scripts/ladder/levels/lab.py says how they are written). */
function counted(what, launch) {
  const [space, instruction, quantity] = what.split(" ");
  if (what === "threads") return launch.block.reduce((product, extent) => product * extent, 1);
  if (quantity === undefined) return launch[what];
  const chosen = launch[space].filter((access) => access.instruction.startsWith(instruction));
  const sum = (name) => chosen.reduce((total, access) => total + access[name], 0);
  return sum("warp_accesses") ? sum(quantity) / sum("warp_accesses") : 0;
}

/** As a ratio: there is more than one way to be right. */
const distance = (one, other) => Math.abs(Math.log(Math.max(one, .01) / Math.max(other, .01)));
const isRight = ({kind, right}) => right && ["right", "habit"].includes(kind);

/** One claim after the other: {holds, words}, and `result` of a run that fails. Later claims are about a kernel that is
 * right, so that a wrong one ends the list. `run(request)` has the kernel's PTX; `request(shape)` is a run of a shape. */
export async function* verdicts(step, shapes, run, request, predict) {
  for (const [words, kinds] of [["D is right, and every access is ordered after those it conflicts with", [{schedule: "default", check: "on"}]],
                                ["D is right in other schedules", OTHERS.map((schedule) => ({schedule, check: "off"}))]]) {
    let runs = 0;
    for (const shape of shapes) {
      for (const kind of kinds) {
        const result = await run({...request(shape), ...kind, discount: false});
        ++runs;
        if (!isRight(result)) {
          yield {holds: false, words: `${words}: not at ${shape.label}`, result};
          return;
        }
      }
    }
    yield {holds: true, words: `${words}: ${plural(runs, "run")}`};
  }
  for (const {what, before, after} of step.counts) {
    const {counters} = await run({...request(shapes[0]), check: "off", counters: true, discount: false});
    const found = counted(what, counters.launches[0]);
    yield {
      holds: distance(found, after) < distance(found, before),
      words: `what the step promises is counted, ${what}: ${number(found)}; before the step it was ${number(before)}, after it ${number(after)} is expected`
    };
  }
  if (step.faster_than) {
    const [mine, others] = await predict();
    yield {
      holds: mine <= FASTER * others,
      words: `the timing model predicts fewer cycles than for the level before: ${number(mine)}, and ${number(others)} there`
    };
  }
}
