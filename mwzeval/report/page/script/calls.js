// Functions that a system called in a turn: a line each, which opens to what it was given and returned.

import { callsOf } from "./data.js";
import { badge, element, textElement } from "./elements.js";

const INDENT = 2;

/** JSON with line breaks; other text as it is. */
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, INDENT);
  } catch {
    return text;
  }
}

function callNode(call) {
  return element("details", { class: `call${call.failed ? " failed" : ""}` },
    element("summary", {}, textElement("code", {}, call.name), " ", textElement("code", { class: "muted" }, call.args),
      call.failed ? element("span", { class: "call-failed" }, " failed") : null),
    textElement("pre", { tabindex: "0" }, readable(call.result)));
}

/** Return the line of a turn with the calls of each system, null where there are none. */
export function callLine(number, columns) {
  const called = columns.map(({ explanation }) => callsOf(explanation?.turns[number]));
  if (!called.some((calls) => calls.length)) return null;
  const node = element("div", { class: "line calls" }, element("div", { class: "head" },
    element("span", { class: "label" }, "calls")));
  columns.forEach(({ system, explanation }, index) => {
    if (!explanation) return;
    node.append(element("div", { class: `cell ${columns.length > 1 ? system.colour : "span"}` },
      columns.length > 1 ? badge(system) : null,
      element("div", { class: "call-list" }, ...called[index].map(callNode))));
  });
  return node;
}
