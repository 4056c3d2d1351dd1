// Elements of the document. Texts may come from anybody: they enter it as text nodes and nowhere else.

import { KEPT, LOST, UNASKED, labels } from "./data.js";
import { searched } from "./state.js";

const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

const SIGN = new Map([[KEPT, "✓"], [LOST, "✗"], [UNASKED, "–"]]);
const NAMED = new Map([[KEPT, "kept"], [LOST, "lost"], [UNASKED, "not asked for"]]);
const CLASS = new Map([[KEPT, "kept"], [LOST, "lost"], [UNASKED, "unasked"]]);

/** Return an element; attributes and children that are null are left out. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Return a button that does something when it is pressed. */
export function button(text, attributes, pressed) {
  const node = element("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", pressed);
  return node;
}

/** Return a text with what cannot be seen, or would turn its neighbours around, spelled out. */
export function plain(text) {
  return text.replace(INVISIBLE, (char) => `\\x${char.codePointAt(0).toString(16).padStart(2, "0")}`);
}

/** Return an element that holds a text of unknown origin, with the searched words marked. */
export function textElement(tag, attributes, text) {
  const node = element(tag, { dir: "auto", ...attributes });
  const shown = plain(text);
  const words = searched();
  const hay = words.length ? shown.toLowerCase() : "";
  if (!words.length || hay.length !== shown.length) {
    node.append(shown);
    return node;
  }
  // The longest first, so that no word is marked in part.
  const literal = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const needle = new RegExp(literal.sort((a, b) => b.length - a.length).join("|"), "g");
  let from = 0;
  for (const found of hay.matchAll(needle)) {
    const to = found.index + found[0].length;
    node.append(shown.slice(from, found.index), element("mark", {}, shown.slice(found.index, to)));
    from = to;
  }
  node.append(shown.slice(from));
  return node;
}

/** Return the letter of a system in its colour. */
export function badge({ colour, name, letter }) {
  return element("span", { class: `badge ${colour}`, title: plain(name) }, letter);
}

export const labelOf = (outcome) => plain(labels.get(outcome) ?? capital(outcome));
export const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** Return the sign of an outcome, as text too for those who do not see it. */
export function mark(value, outcome) {
  const label = labelOf(outcome);
  const name = NAMED.get(value) ?? "none";
  return element("span", { class: `sign ${CLASS.get(value) ?? "absent"}`, title: `${label}: ${name}` },
    element("span", { "aria-hidden": "true" }, SIGN.get(value) ?? "·"),
    element("span", { class: "sr" }, `${label} ${name}`));
}
