// What the viewer has chosen, and where they are.

import { systems, units } from "./data.js";

/**
 * What the list is narrowed to; an empty string chooses everything. `reason` is the name of a kind;
 * `differs` is "1" for any difference, or a place in the pair and an outcome that only this system keeps ("0/solved").
 */
export const filter = { search: "", scope: "", outcome: "", reason: "", which: "", differs: "" };

/** Return what is searched for: words in any order, or phrases in quotation marks. */
export function searched() {
  return Array.from(filter.search.matchAll(/"([^"]+)"?|[^\s"]+/g), ([word, phrase]) => phrase ?? word);
}

/**
 * The systems side by side, the units that pass the filter, the chosen place among these, and the
 * unit that is open: null for none, -1 for one that does not exist.
 */
export const state = {
  pair: systems.length > 1 ? [0, 1] : [0],
  shown: units.map((_, number) => number),
  cursor: -1,
  opened: null,
};
