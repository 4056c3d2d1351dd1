// What the marks of a unit mean: those that it has.

import { VERDICTS } from "./claims.js";
import { claimsOf, meanings } from "./data.js";
import { element, textElement } from "./elements.js";

/** Labels of facts that tell what is wrong with a prediction, their signs, and what they mean. */
const WRONGS = new Map([
  ["missing", ["−", "annotated, and not predicted"]],
  ["spurious", ["+", "predicted, and not annotated"]],
  ["wrong", ["≠", "predicted with another value than annotated"]],
]);

/** Return the sign of a fact of such a label, null of any other. */
export function wrongSign(label) {
  const found = WRONGS.get(label.split(", ").at(-1));
  return found ? element("span", { class: "wrong-sign", "aria-hidden": "true" }, found[0]) : null;
}

export const kindOfCode = (code) => code.split(":")[0];

function item(shown, meaning) {
  return element("li", {}, shown, `: ${meaning}`);
}

/** Return what the marks of the systems' turns mean, and, folded, their reasons; nothing where there are none. */
export function legend(columns, labels) {
  const explanations = columns.map(({ explanation }) => explanation).filter(Boolean);
  const items = [];
  for (const [label, [sign, meaning]] of WRONGS) {
    if ([...labels].some((each) => each.split(", ").at(-1) === label)) {
      items.push(item(element("span", {}, element("span", { class: "wrong-sign" }, sign), label), meaning));
    }
  }
  if (explanations.some(({ turns }) => turns.some((turn) => claimsOf(turn).length))) {
    items.push(...[...VERDICTS].map(([verdict, meaning]) =>
      item(element("span", { class: `claim ${verdict}` }, verdict), meaning)));
  }
  if (columns.length > 1) {
    items.push(item(element("span", { class: "own" }, "underlined"), "what the other system has not"));
  }
  const nodes = items.length ? [element("ul", { class: "claims small", "aria-label": "Marks" }, ...items)] : [];
  const kinds = new Set(explanations.flatMap(({ reasons }) => reasons.map(({ code }) => kindOfCode(code))));
  const told = [...kinds].filter((kind) => meanings.has(kind));
  if (!told.length) return nodes;
  const list = element("dl", { class: "meanings small" },
    ...told.flatMap((kind) => [textElement("dt", {}, kind), textElement("dd", {}, meanings.get(kind))]));
  nodes.push(element("details", { class: "legend-reasons" },
    element("summary", { class: "small" }, "What the reasons mean"), list));
  return nodes;
}
