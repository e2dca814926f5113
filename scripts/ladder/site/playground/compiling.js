// Compiles kernels in a worker: {id, unit, source, text, arch} becomes {type: "result", id, ptx, messages}, where
// `messages` has {file, line, severity, text}. A program's main is the host's, and is left out. LLVM keeps state, so
// that each compilation has an instance of its own of the module, which is compiled once.
"use strict";

importScripts("sim/replay.js", "compiler.js");

const PLACE = /^(?:.*\/)?([^/:]+):(\d+):\d+: (?:fatal )?(error|warning|note): (.*)$/;

async function fetched(name) {
  const response = await fetch(new URL(name, self.location));
  if (!response.ok) throw new Error(`${name} cannot be loaded (status ${response.status}).`);
  return response;
}

async function load() {
  const [packed, headers] = await Promise.all([fetched("compiler.wasm.gz"), fetched("headers.json")]);
  const module = await WebAssembly.compile(await SimulatedDevice.plain(await packed.arrayBuffer()));
  return {module, headers: await headers.json()};
}
let loaded = null;

async function compile({unit, source, text, arch}) {
  const {module, headers} = await (loaded ??= load());
  const lines = [];
  const {FS, callMain} = await loadCompiler({
    print: (line) => lines.push(line),
    printErr: (line) => lines.push(line),
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(module, imports).then((instance) => done(instance, module));
      return {};
    }
  });
  const device = text.replace(/^int main\([^]*/m, "");
  for (const [name, content] of Object.entries({...headers, [source]: device, "unit.cu": unit})) {
    FS.mkdirTree(`/src/${name}`.replace(/\/[^/]*$/, ""));
    FS.writeFile(`/src/${name}`, content);
  }
  let code = null;
  try {
    code = callMain(["/src/unit.cu", "/out.ptx", String(arch), "/src"]);
  } catch (error) {
    const isDeep = /call stack|recursion/.test(error.message);
    if (error.name === "ExitStatus") code = error.status;
    else lines.push(isDeep ? "The text is nested more deeply than this browser's stack allows." : `The compiler has ended: ${error.message ?? error}`);
  }
  const messages = lines.map((line) => PLACE.exec(line)).filter(Boolean).map(
      ([, file, line, severity, said]) => ({file, line: Number(line), severity, text: said}));
  if (code !== 0 && !messages.some(({severity}) => severity === "error"))
    messages.push({file: "", line: 0, severity: "error", text: lines.join("\n") || "the compiler has ended without a word"});
  return {ptx: code === 0 ? FS.readFile("/out.ptx", {encoding: "utf8"}) : null, messages};
}

async function handle({type, id, ...request}) {
  try {
    if (type === "load") await compile(request);  // browsers compile a module's functions when they are called first
    else postMessage({type: "result", id, ...await compile(request)});
  } catch (error) {
    loaded = null;  // the next request tries again
    postMessage({type: "error", id, sentence: error.message});
  }
}

let last = Promise.resolve();
onmessage = ({data}) => { last = last.then(() => handle(data)); };
