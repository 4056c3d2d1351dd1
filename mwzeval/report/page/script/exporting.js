// The units that pass the filter as a file: JSON, one a line.

import { KEPT, LOST, systems, units, words } from "./data.js";
import { byId } from "./document.js";
import { element } from "./elements.js";
import { state } from "./state.js";

const VALUES = new Map([[KEPT, true], [LOST, false]]);

function lineOf(unit) {
  const found = {};
  for (const { name, explanations } of state.pair.map((index) => systems[index])) {
    const explanation = explanations[unit];
    found[name] = explanation && {
      outcomes: Object.fromEntries(Array.from(explanation.outcomes, ([scope, named]) =>
        [scope, Object.fromEntries(Array.from(named, ([outcome, value]) => [outcome, VALUES.get(value) ?? null]))])),
      reasons: explanation.reasons.map(({ code, outcome, scope, turn, text }) => ({ code, outcome, scope, turn, text })),
    };
  }
  return `${JSON.stringify({ [words.unit]: units[unit], systems: found })}\n`;
}

/** Hand the viewer a file with the units that pass the filter. */
function save() {
  const address = URL.createObjectURL(new Blob(state.shown.map(lineOf), { type: "application/jsonl" }));
  element("a", { href: address, download: `${words.units}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address));
}

export function connectExport() {
  byId("export").addEventListener("click", save);
}
