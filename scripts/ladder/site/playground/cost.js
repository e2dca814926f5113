// What a change costs: the time that the timing model predicts with it and without, and where the time of the tensor
// cores goes.
import {element} from "./explorer/panels.js";

const LEAST = 0.5;  // percent of the time: a part that is smaller in both runs is not shown

/** Of a call's launches, one after the other: its time, and the parts in percent of it. */
function whole(launches) {
  const us = launches.reduce((sum, launch) => sum + launch.us, 0);
  const parts = {};
  for (const launch of launches)
    for (const [part, share] of Object.entries(launch.account)) parts[part] = (parts[part] ?? 0) + 100 * share * launch.us / us;
  return {us, parts, limit: launches[0].limit};
}

/** A sentence and a table. `now` and `before` are predictions of the worker; `now` is null for the unmodified kernel.
 * `names`: of the parts, by key. */
export function costs(label, now, before, names) {
  const [gpu, sms] = [before[0].gpu, before[0].sms];
  const [changed, usual] = [now && whole(now), whole(before)];
  const time = ({us}) => `${us.toPrecision(3)} µs`;
  const percent = changed && 100 * (changed.us / usual.us - 1);
  const compared = changed ? `${time(changed)}; unmodified ${time(usual)} (${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(1)} %)` : time(usual);
  const share = (run, part) => (run?.parts[part] ?? 0);
  const shown = Object.keys({...usual.parts, ...changed?.parts})
      .filter((part) => Math.max(share(usual, part), share(changed, part)) >= LEAST)
      .sort((a, b) => share(changed ?? usual, b) - share(changed ?? usual, a));
  const row = (tag, ...cells) => element("tr", {}, ...cells.filter((cell) => cell !== null).map((cell) => element(tag, {}, cell)));
  const cell = (run, part) => run && `${share(run, part).toFixed(1)} %`;
  return [
    element("h4", {}, "Predicted time"), element("p", {}, `${label} on ${gpu}, ${sms} SMs (modelled): ${compared}.`),
    element("table", {class: "cost"}, row("th", "tensor cores' time", changed && "changed", "unmodified"),
            ...shown.map((part) => row("td", names[part] ?? part, cell(changed, part), cell(usual, part)))),
    element("p", {class: "soft"}, `Limit: ${(changed ?? usual).limit}.`)
  ];
}
