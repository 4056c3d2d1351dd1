// Lines that compare: one cell where the systems agree, and a cell each where they do not.

import { claimedText } from "./claims.js";
import { badge, element, textElement } from "./elements.js";
import { wrongSign } from "./legend.js";

const SEPARATOR = ", ";
/** Labels of facts that repeat a response in another form, so that a difference in them is no finding. */
const REPEATED = new Set(["scored as"]);

/** Line up lists of things with the same key; a key that comes twice is paired in order. */
export function aligned(lists, keyOf) {
  const lines = new Map();
  const order = [];
  lists.forEach((list, column) => {
    const seen = new Map();
    let after = -1;
    for (const item of list) {
      const base = keyOf(item);
      const count = seen.get(base) ?? 0;
      seen.set(base, count + 1);
      const key = JSON.stringify([base, count]);
      if (!lines.has(key)) {
        lines.set(key, { item, cells: lists.map(() => null) });
        order.splice(after + 1, 0, key);
      }
      lines.get(key).cells[column] = item;
      after = order.indexOf(key);
    }
  });
  return order.map((key) => lines.get(key));
}

/** A value with the parts marked that the others lack, if they share any; commas part them. */
function apart(value, others) {
  const known = new Set(others.flatMap((other) => other?.split(SEPARATOR) ?? []));
  const parts = value.split(SEPARATOR);
  if (!parts.some((part) => known.has(part))) return textElement("span", { class: "text" }, value);
  const node = element("span", { class: "text", dir: "auto" });
  parts.forEach((part, index) => {
    if (index) node.append(SEPARATOR);
    node.append(textElement("span", { class: known.has(part) ? null : "own" }, part));
  });
  return node;
}

const textOf = (item) => (item?.claims?.length
  ? claimedText(item.value, item.claims)
  : textElement("span", { class: "text" }, item?.value ?? ""));

/** What two cells share where they are shown as one. */
const shownOf = (item) => item && JSON.stringify([item.value, item.claims]);

export function line(kind, head, cells, columns, carried) {
  const present = columns.map((column, index) => (column.explanation ? index : -1)).filter((index) => index >= 0);
  const values = present.map((index) => shownOf(cells[index]));
  const same = values.every((value) => value === values[0]);
  const classes = ["line", kind, same ? "same" : "differs", carried ? "carried" : ""].filter(Boolean);
  const node = element("div", { class: classes.join(" ") }, head);
  if (same) {
    node.append(element("div", { class: "cell span" }, textOf(cells[present[0]])));
    return node;
  }
  for (const index of present) {
    const { system } = columns[index];
    const value = cells[index]?.value;
    let text = element("span", { class: "muted" }, "–");
    if (value !== undefined) {
      const others = present.filter((other) => other !== index).map((other) => cells[other]?.value);
      text = kind.startsWith("fact") ? apart(value, others) : textOf(cells[index]);
    }
    node.append(element("div", { class: `cell ${system.colour}` }, badge(system), text));
  }
  return node;
}

export function head(scope, label) {
  return element("div", { class: "head" },
    ...(scope === null ? [] : [textElement("span", { class: "scope" }, scope), " "]),
    wrongSign(label),
    textElement("span", { class: "label" }, label));
}

export const keyOfFact = (fact) => JSON.stringify([fact.scope, fact.label]);

export function factLines(lists, columns, before) {
  return aligned(lists, keyOfFact).map(({ item, cells }) => {
    const carried = before !== null && cells.every((cell, index) =>
      cell === null ? !before[index].has(keyOfFact(item)) : before[index].get(keyOfFact(cell)) === cell.value);
    const kind = REPEATED.has(item.label) ? "fact words" : "fact";
    return line(kind, head(item.scope, item.label), cells, columns, carried);
  });
}
