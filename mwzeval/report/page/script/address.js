// Addresses: `#name` is a unit, `#?…` the overview under a filter.

import { folded, numbers, units } from "./data.js";
import { filter } from "./state.js";

/** Return the address of a unit. */
export function hashOf(unit) {
  try {
    if (units[unit]) return `#${encodeURIComponent(units[unit])}`;
  } catch { /* a name that is not proper Unicode */ }
  return `#@${unit}`;
}

/** Return the unit that the address names: null where it names none, undefined if there is no such. */
export function unitOfHash() {
  const raw = location.hash.slice(1);
  if (!raw || raw.startsWith("?")) return null;
  // Nothing but digits: a list has more than its items ("length").
  if (raw.startsWith("@")) return /^@\d+$/.test(raw) && units[raw.slice(1)] !== undefined ? Number(raw.slice(1)) : undefined;
  let name = raw;
  try {
    name = decodeURIComponent(raw);
  } catch { /* a stray percent sign: taken as it stands */ }
  return numbers.get(name) ?? folded.get(name.toLowerCase().replace(/\.json$/, ""));
}

/** Return the filter as an address, so that a filtered list can be passed on too. */
export function filterHash() {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(filter)) if (value) parts.set(key, value);
  const text = parts.toString();
  return text ? `#?${text}` : "";
}

/** Return the filter that the address says, null where it says none. */
export function filterOfHash() {
  if (!location.hash.startsWith("#?")) return null;
  const parts = new URLSearchParams(location.hash.slice(2));
  return Object.fromEntries(Object.keys(filter).map((key) => [key, parts.get(key) ?? ""]));
}
