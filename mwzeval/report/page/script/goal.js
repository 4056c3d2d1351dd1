// The goal of a unit: its lines, and where it is known, the turn from which on each is met.

import { capital, badge, button, element, textElement } from "./elements.js";
import { factOf, words } from "./data.js";
import { factLines, head } from "./lines.js";

const UNMARKED = new Map([[-2, "could not be met"], [-3, "not judged"]]);

function tick(turn, jump) {
  if (UNMARKED.has(turn)) {
    return element("span", { class: "tick" }, element("span", { class: "sign unasked", "aria-hidden": "true" }, "–"), UNMARKED.get(turn));
  }
  return turn < 0
    ? element("span", { class: "tick" }, element("span", { class: "sign lost", "aria-hidden": "true" }, "✗"), "never")
    : element("span", { class: "tick" }, element("span", { class: "sign kept", "aria-hidden": "true" }, "✓"),
      button(`turn ${turn}`, { class: "jump" }, () => jump(turn)));
}

/** Return the nodes of the goal of several systems' unit; `jump` goes to a turn. */
export function goalNodes(columns, jump) {
  const present = columns.filter(({ explanation }) => explanation);
  const goals = columns.map(({ explanation }) => (explanation?.goal ?? []).map(factOf));
  if (!goals.some((goal) => goal.length)) return [];
  const title = element("h3", {}, capital(words.goal));
  if (!present.some(({ explanation }) => explanation.reached)) {
    return [title, element("div", { class: `lines goal columns-${present.length}` }, ...factLines(goals, columns, null))];
  }
  const longest = goals.reduce((most, goal) => (goal.length > most.length ? goal : most));
  const list = element("ul", { class: "ticks" });
  longest.forEach((fact, index) => {
    const ticks = present.map(({ system, explanation }) => element("span", { class: "ticked" },
      present.length > 1 ? badge(system) : null, tick(explanation.reached?.[index] ?? -1, jump)));
    list.append(element("li", {}, head(fact.scope, fact.label),
      textElement("span", { class: "text" }, fact.value), element("span", { class: "tick-marks" }, ...ticks)));
  });
  return [title, list];
}

/** Return what is met of the goal from a turn on, null where nothing is. */
export function metLine(number, columns) {
  const met = columns.map(({ explanation }) => (explanation?.reached ?? [])
    .flatMap((turn, index) => (turn === number ? [factOf(explanation.goal[index])] : [])));
  if (!met.some((facts) => facts.length)) return null;
  const node = element("div", { class: "line met" }, element("div", { class: "head" },
    element("span", { class: "label" }, "met")));
  columns.forEach(({ system, explanation }, index) => {
    if (!explanation) return;
    const cell = element("div", { class: `cell ${columns.length > 1 ? system.colour : "span"}` },
      columns.length > 1 ? badge(system) : null);
    const items = met[index].map((fact) => element("li", {},
      element("span", { class: "sign kept", "aria-hidden": "true" }, "✓"),
      textElement("span", {}, `${fact.scope === null ? "" : `${fact.scope} · `}${fact.label}: ${fact.value}`)));
    cell.append(element("ul", { class: "met-lines" }, ...items));
    node.append(cell);
  });
  return node;
}
