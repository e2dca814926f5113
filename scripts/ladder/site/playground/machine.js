// The simulated device, or the compiler, in a worker: requests, results, progress, stop. common/sim/web/README.md has
// the messages.

/** The text of a file, decompressed if its bytes are (a server may have done that). Throws Error with a sentence. */
export async function plainText(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} cannot be loaded (status ${response.status}).`);
  const bytes = await response.blob();
  const [first, second] = new Uint8Array(await bytes.slice(0, 2).arrayBuffer());
  if (first !== 0x1f || second !== 0x8b) return bytes.text();
  if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot decompress it (it has no DecompressionStream).");
  return new Response(bytes.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

export class Machine {
  /** `script` is the worker's address; `onProgress` gets {launch, launches, done, of}. */
  constructor(script, onProgress, name = "simulated device") {
    Object.assign(this, {script, onProgress, name, worker: null, pending: null, id: 0});
  }

  /** Loads it ahead of the first run; the compiler compiles a request's text, too. */
  prepare(request = {}) {
    this.start();
    this.worker.postMessage({type: "load", ...request});
  }

  start() {
    if (this.worker) return;
    this.worker = new Worker(this.script);
    this.worker.addEventListener("message", ({data}) => this.hear(data));
    this.worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.end(`The ${this.name} cannot be loaded${event.message ? ` (${event.message})` : ""}.`);
    });
  }

  /** The result of a request. Throws Error with a sentence: what is wrong, or that the run was stopped. */
  run(request) {
    this.start();
    const id = ++this.id;
    return new Promise((done, failed) => {
      this.pending = {id, done, failed};
      this.worker.postMessage({type: "run", id, ...request});
    });
  }

  stop() {
    this.end("The run was stopped.");
  }

  /** Ends the worker, and the run with a sentence; the next run starts another worker. */
  end(sentence) {
    this.worker?.terminate();
    this.worker = null;
    const {pending} = this;
    this.pending = null;
    pending?.failed(new Error(sentence));
  }

  hear(message) {
    const {pending} = this;
    if (!pending || message.id !== pending.id) return;
    if (message.type === "progress") {
      const {launch, launches, of} = message;
      this.onProgress({launch, launches, of, done: message.clusters ?? message.ctas ?? 0});
      return;
    }
    this.pending = null;
    if (message.type === "result")
      pending.done(message);
    else
      pending.failed(new Error(message.sentence));
  }
}
