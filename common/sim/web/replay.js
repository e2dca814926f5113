// Replays recordings with the engine in WebAssembly, in a worker or under node. README.md describes requests and
// results.
"use strict";

(function (scope) {

  class RequestError extends Error {
    constructor(code, sentence) {
      super(sentence);
      this.code = code;
    }
  }

  /// The bytes, decompressed if they are in gzip's format.
  async function plain(bytes) {
    const view = new Uint8Array(bytes);
    if (view[0] !== 0x1f || view[1] !== 0x8b) return view;
    if (typeof DecompressionStream === "undefined")
      throw new RequestError("no-webassembly",
        "This browser cannot decompress the engine: it has no DecompressionStream.");
    try {
      const stream = new Blob([view]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Uint8Array(await new Response(stream).arrayBuffer());
    } catch {
      throw new RequestError("damaged", "A compressed file is damaged or incomplete.");
    }
  }

  /// Makes the engine from the bytes of sim.wasm or sim.wasm.gz, and the function that sim.js defines.
  async function load(bytes, loadSim) {
    if (typeof WebAssembly === "undefined")
      throw new RequestError("no-webassembly", "This browser has no WebAssembly, so it cannot run the simulated device.");
    let module;
    try {
      module = await WebAssembly.compile(await plain(bytes));
    } catch (error) {
      if (error instanceof RequestError) throw error;
      throw new RequestError("no-webassembly", `This browser cannot run the engine (${error.message}).`);
    }
    return {module, loadSim};
  }

  // --- kinds of results --------------------------------------------------------------------------------------------

  /// From the worst to none, as scripts/ladder/levels/verdict.py has them.
  const KINDS = ["race", "convergence", "deadlock", "fault", "refused", "wrong", "habit", "right"];

  /// What a report is about, whichever warps made its accesses.
  function keyOf({kind, rule, sides}) {
    const isKernel = ({file}) => /kernel_sm\d+\.cuh$/.test(file);
    const line = ({frames}) => (frames.find(isKernel) ?? frames.at(-1))?.line ?? 0;
    return JSON.stringify([kind, rule, ...sides.map(line)]);
  }

  /// The first of KINDS that applies. Reports that also occur in `usual`, those of the unchanged kernel, do not count,
  /// except for those that end the run.
  function kindOf({reports, right}, usual = []) {
    const known = new Set(usual.map(keyOf));
    const found = reports.filter((report) => ["deadlock", "fault"].includes(report.kind) || !known.has(keyOf(report)));
    const kinds = [...found.map(({kind}) => kind), right === false ? "wrong" : "right"];
    return KINDS.find((kind) => kinds.includes(kind));
  }

  // --- running -----------------------------------------------------------------------------------------------------

  const FILES = {counters: "/counters.json", trace: "/trace.json", prediction: "/prediction.json"};

  /// The variables of runtime/options.h.
  function variables(request) {
    const found = {LADDER_SIM_ARITH: "exact", LADDER_SIM_THREADS: "1", LADDER_SIM_PATIENCE: request.patience ?? 20};
    const {schedule = "default", check = "on"} = request;
    if (schedule === "latest") found.LADDER_SIM_LATEST = "1";
    else if (typeof schedule === "object" && schedule !== null) found.LADDER_SIM_SEED = schedule.seed;
    else if (schedule !== "default") throw new RequestError("request", `There is no schedule '${schedule}'.`);
    if (check === "on") found.LADDER_SIM_CHECK = "1";
    else if (check === "strict") found.LADDER_SIM_CHECK = "strict";
    else if (check !== "off") throw new RequestError("request", `check is "off", "on" or "strict", not '${check}'.`);
    if (request.sms) found.LADDER_SIM_SMS = request.sms;
    if (request.tolerate) found.LADDER_SIM_TOLERATE = request.tolerate;
    if (request.counters) found.LADDER_SIM_COUNTERS = FILES.counters;
    if (request.trace) found.LADDER_SIM_TRACE = FILES.trace;
    if (request.contents) found.LADDER_SIM_CONTENTS = request.contents;
    if (request.tile !== undefined) found.TILE = request.tile;
    if (request.threads) found.THREADS = request.threads;
    if (request.dynamic_smem) found.DYNAMIC_SMEM = request.dynamic_smem;
    if (request.gpu) found.LADDER_SIM_GPU = request.gpu;
    if (request.prediction) Object.assign(found, {LADDER_SIM_TIMING: "1", LADDER_SIM_PREDICTIONS: FILES.prediction});
    return Object.entries(found).map(([name, value]) => `${name}=${String(value).replaceAll("\n", " ")}`).join("\n");
  }

  function editLines(edits = []) {
    return edits.map(({unit = 0, line, text}) => {
      if (!Number.isInteger(unit) || !Number.isInteger(line) || typeof text !== "string" || text.includes("\n"))
        throw new RequestError("request", "An edit has a unit, a line and a text of one line.");
      return `${unit} ${line} ${text}`;
    }).join("\n");
  }

  /// Runs a recording (bytes) according to the request. `progress` receives {launch, launches, kernel, clusters, of}.
  /// Reports on the unchanged kernel do not count for the kind unless `discount` is false, so it runs first, once for
  /// each recording and set of options.
  async function replay(engine, recording, request = {}, progress = () => {}) {
    const bytes = await plain(recording);
    const answer = await once(engine, bytes, request, progress);
    const isChanged = request.edits?.length > 0 || typeof request.ptx === "string";
    const options = {...request, edits: [], ptx: null, trace: false, counters: false};
    const key = JSON.stringify([new TextDecoder().decode(bytes.subarray(0, 80)), variables(options)]);
    engine.usual ??= new Map();
    if (!isChanged) engine.usual.set(key, answer.reports);
    const {discount = true} = request;
    if (discount && answer.reports.length > 0 && !engine.usual.has(key))
      engine.usual.set(key, (await once(engine, bytes, options, progress)).reports);
    const usual = discount && engine.usual.get(key) || [];
    const known = new Set(usual.map(keyOf));
    for (const report of answer.reports) report.usual = known.has(keyOf(report));
    answer.kind = kindOf(answer, usual);
    return answer;
  }

  /// Each run has an instance of its own, so that no state is left from earlier runs.
  async function once(engine, bytes, request, progress) {
    const settings = variables(request), edits = editLines(request.edits);
    const state = {launch: 0, launches: 0, kernel: "", clusters: 0, of: 0};
    const printed = [];
    const options = {
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(engine.module, imports).then((instance) => done(instance, engine.module));
        return {};
      },
      print: (line) => printed.push(line),
      printErr: () => {},
      onLaunch(launch, launches, kernel) {
        Object.assign(state, {launch, launches, kernel, clusters: 0, of: 0});
        progress({...state});
      },
      onProgress(clusters, of) {
        Object.assign(state, {clusters, of});
        progress({...state});
      },
    };
    const sim = await engine.loadSim(options);
    const keep = (data) => {
      const at = sim._malloc(data.length + 1);
      if (at === 0) throw new RequestError("memory", "There is not enough memory for this run.");
      sim.HEAPU8.set(data, at);
      sim.HEAPU8[at + data.length] = 0;
      return at;
    };
    const text = (value) => keep(new TextEncoder().encode(value));
    const start = performance.now();
    let answer;
    try {
      answer = JSON.parse(sim.UTF8ToString(sim._sim_replay(
        keep(bytes), bytes.length, text(settings), text(edits),
        typeof request.ptx === "string" ? text(request.ptx) : 0)));
    } catch (error) {
      if (error instanceof RequestError) throw error;
      const sentence = error instanceof RangeError || /memory/i.test(error.message)
        ? "There is not enough memory for this run." : `The engine has stopped (${error.message}).`;
      throw new RequestError(/memory/i.test(error.message) ? "memory" : "internal", sentence);
    }
    if (answer.code) throw new RequestError(answer.code, answer.sentence);
    answer.seconds = (performance.now() - start) / 1000;
    answer.output = printed.join("\n");
    for (const [name, file] of Object.entries(FILES)) {
      if (!request[name]) continue;
      const text = sim.FS.readFile(file, {encoding: "utf8"});
      answer[name] = name === "prediction" ? text.trim().split("\n").map((line) => JSON.parse(line)) : JSON.parse(text);
    }
    return answer;
  }

  const api = {load, replay, plain, kindOf, keyOf, RequestError};
  if (typeof module !== "undefined" && module.exports) module.exports = api;
  else scope.SimulatedDevice = api;
})(globalThis);
