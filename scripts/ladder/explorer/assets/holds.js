// Holders of memory: the states of each stage of a ring and each accumulator, from operations and their ranges.

export const END_OF_RUN = Infinity;

/** Buffers that the kernel names; of one that says nothing of itself, whatever its TMA instructions name. */
export function buffers(ctas, description, operations) {
  const found = [];
  for (const cta of ctas) {
    if (description) {
      for (const region of description.smem) {
        for (let i = 0; region.kind === "data" && i < region.count; ++i) {
          const first = region.offset + i * region.bytes;
          found.push({name: region.name + (region.count > 1 ? `[${i}]` : ""), cta, first, end: first + region.bytes});
        }
      }
      continue;
    }
    const moved = new Map();
    for (const {coordinates, places} of operations) {
      for (const {cta: of, first, count} of coordinates?.length ? places : [])
        if (of === cta) moved.set(`${first} ${count}`, [first, count]);
    }
    for (const [first, count] of [...moved.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]))
      found.push({name: `shared +${first.toLocaleString("en")}`, cta, first, end: first + count});
  }
  return found;
}

const isIn = ({space, cta, first}, buffer) =>
    space === "shared" && cta === buffer.cta && buffer.first <= first && first < buffer.end;

export const isUsed = (buffer, operations) => operations.some(({places}) => places.some((place) => isIn(place, buffer)));

/** "A" or "B" of a stage; empty if the kernel does not say. */
export function partOf(description, {first}) {
  for (const region of description?.smem ?? []) {
    const inside = first - region.offset;
    if (region.kind !== "data" || inside < 0 || inside >= region.count * region.bytes) continue;
    const at = inside % region.bytes;
    const part = (region.parts ?? []).find(({offset, bytes}) => offset <= at && at < offset + bytes);
    if (part) return part.name;
  }
  return "";
}

function useOf(operation, place) {
  const {begin, issued, seen, number} = operation;
  if (place.written) return {how: "TMA fills it", begin: issued, end: seen, number};
  const stores = operation.name.startsWith("TMA store") || operation.name.startsWith("bulk store");
  return {how: stores ? "TMA stores it" : "MMAs read it", begin, end: seen, number};
}

const BETWEEN = {
  "TMA fills it, MMAs read it": "full",
  "TMA fills it, ": "full",
  "MMAs read it, TMA stores it": "left to the warps",
  "TMA stores it, TMA stores it": "left to the warps"
};

/** Filled, full, read, free, and so on; what warps do to it with loads and stores of their own is not known. */
export function ofBuffer(buffer, operations) {
  const uses = operations.flatMap(
      (operation) =>
          operation.places.filter((place) => isIn(place, buffer)).map((place) => useOf(operation, place)));
  return fill(merged(uses), BETWEEN);
}

/** Equal uses that follow one another are one; stores, if they overlap: warps write between them. */
function merged(uses) {
  const found = [];
  for (const use of [...uses].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    const last = found.at(-1);
    if (last?.how === use.how && (use.how !== "TMA stores it" || use.begin <= last.end))
      last.end = Math.max(last.end, use.end);
    else
      found.push({...use});
  }
  return found;
}

/** The uses, and what lies between them. */
function fill(uses, between) {
  const holds = [];
  let before = "";
  let now = 0;
  let cause = uses[0]?.number ?? 0;
  for (const {how, begin: wanted, end, number} of uses) {
    const begin = Math.max(now, wanted);
    if (begin > now) holds.push({state: between[`${before}, ${how}`] ?? "free", begin: now, end: begin, cause});
    if (end > begin) holds.push({state: how, begin, end, cause: number});
    [before, now, cause] = [how, Math.max(begin, end), number];
  }
  if (uses.length) holds.push({state: between[`${before}, `] ?? "free", begin: now, end: END_OF_RUN, cause});
  return holds;
}

// --- accumulators
// -----------------------------------------------------------------------------------------------------

/** Those that MMAs write. */
export function accumulators(ctas, operations) {
  const found = new Map();
  for (const {name, places} of operations) {
    if (name.startsWith("tcgen05.st")) continue;
    for (const {cta, space, first, count, written} of places) {
      if (written && space !== "shared" && ctas.includes(cta))
        found.set(`${cta} ${space} ${first} ${count}`, {cta, space, first, count});
    }
  }
  return [...found.values()]
      .sort((a, b) => a.cta - b.cta || (a.space < b.space ? -1 : a.space > b.space ? 1 : 0) || a.first - b.first ||
                a.count - b.count)
      .map((each) => ({
             name: each.space === "tensor" ? `TMEM ${each.first}..${each.first + each.count - 1}` :
                                             `registers, warps ${each.first}..${each.first + each.count - 1}`,
             ...each
           }));
}

const READ_LATER = {
  "MMAs add to it, epilogue reads it": "complete",
  "MMAs add to it, ": "complete",
  "MMAs add to it, MMAs add to it": "complete"
};

/** Added to, complete, read, free. Of registers, no operation says when they are read for the last time. */
export function ofAccumulator(accumulator, operations) {
  const tiles = [[]];
  let allAdded = 0;  // when the last MMA so far ends
  for (const {name, begin, issued, seen, number, overwrites, places} of operations) {
    for (const {cta, space, first, written} of places) {
      if (cta !== accumulator.cta || space !== accumulator.space || first < accumulator.first ||
          first >= accumulator.first + accumulator.count)
        continue;
      if (name.startsWith("tcgen05.ld")) {
        tiles.at(-1).push({how: "epilogue reads it", begin: issued, end: seen, number});
      } else if (written) {
        // A tile begins where an MMA that overwrites is issued after all earlier ones have ended.
        if (overwrites && issued >= allAdded) tiles.push([]);
        tiles.at(-1).push({how: "MMAs add to it", begin, end: seen, number});
        allAdded = Math.max(allAdded, seen);
      }
    }
  }
  return fill(tiles.flatMap(merged), READ_LATER);
}
