// What the viewer has chosen, and where they are.

import { systems, units } from "./data.js";

/** What the list is narrowed to; an empty string chooses everything. */
export const filter = { search: "", scope: "", outcome: "", kind: "", which: "", differs: false };

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
