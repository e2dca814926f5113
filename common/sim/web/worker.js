// Runs recordings one after the other. README.md describes the messages.
"use strict";

importScripts("replay.js", "sim.js");

const {load, replay, RequestError} = SimulatedDevice;
let engine = null;

async function fetched(address) {
  let response;
  try {
    response = await fetch(address);
  } catch {
    throw new RequestError("unreachable", `${address} cannot be loaded.`);
  }
  if (!response.ok) throw new RequestError("unreachable", `${address} cannot be loaded (status ${response.status}).`);
  return response.arrayBuffer();
}

const loaded = () => (engine ??= fetched(new URL("sim.wasm.gz", self.location)).then((bytes) => load(bytes, loadSim)));

async function run({id, recording, ...request}) {
  const isContent = recording instanceof ArrayBuffer || ArrayBuffer.isView(recording);
  const bytes = isContent ? recording : await fetched(recording);
  const result = await replay(await loaded(), bytes, request, (state) => postMessage({type: "progress", id, ...state}));
  postMessage({type: "result", id, ...result});
}

async function handle(message) {
  try {
    if (message.type === "load") {
      await loaded();
      postMessage({type: "ready"});
    } else if (message.type === "run") {
      await run(message);
    } else {
      throw new RequestError("request", `There is no message '${message.type}'.`);
    }
  } catch (error) {
    if (["unreachable", "no-webassembly"].includes(error.code)) engine = null;  // the next request tries again
    postMessage({type: "error", id: message.id ?? null, code: error.code ?? "internal", sentence: error.message});
  }
}

let last = Promise.resolve();
onmessage = ({data}) => { last = last.then(() => handle(data)); };
