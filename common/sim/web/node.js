// Replays recordings under node: node node.js FOLDER < REQUESTS. FOLDER contains sim.js, sim.wasm.gz and replay.js;
// each line of REQUESTS is the JSON of a request whose `recording` is a file. Prints a line of JSON for each: the
// result, or {code, sentence}.
"use strict";

const fs = require("fs");
const path = require("path");

async function main(folder) {
  const file = (name) => path.resolve(folder, name);
  const {load, replay} = require(file("replay.js"));
  const engine = await load(fs.readFileSync(file("sim.wasm.gz")), require(file("sim.js")));
  for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const {recording, ...request} = JSON.parse(line);
    let answer;
    try {
      answer = await replay(engine, fs.readFileSync(recording), request);
    } catch (error) {
      answer = {code: error.code ?? "internal", sentence: error.message};
    }
    console.log(JSON.stringify(answer));
  }
}

main(process.argv[2]);
