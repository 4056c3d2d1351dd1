// One unit: its outcomes, what was lost and why, its goal and its turns.

import { callLine } from "./calls.js";
import { claimsOf, factOf, meanings, outcomes, systems, units, utteranceOf, whole, words } from "./data.js";
import { byId } from "./document.js";
import { badge, button, element, labelOf, mark, textElement } from "./elements.js";
import { goalNodes, metLine } from "./goal.js";
import { kindOfCode, legend } from "./legend.js";
import { aligned, factLines, head, keyOfFact, line } from "./lines.js";
import { state } from "./state.js";

function reasonMark(reason, jump = null) {
  return element("li", { class: "lost-mark" },
    element("span", { class: "sign lost", "aria-hidden": "true" }, "✗"),
    element("div", {},
      element("div", { class: "lost-head" },
        element("span", { class: "lost-what" }, `${labelOf(reason.outcome)} lost`,
          ...(reason.scope === whole ? [] : [" · ", textElement("span", {}, reason.scope)])),
        jump,
        textElement("span", { class: "lost-code", title: meanings.get(kindOfCode(reason.code)) }, reason.code)),
      textElement("p", { class: "lost-text" }, reason.text)));
}

function turnOf(number, columns, before) {
  const turns = columns.map(({ explanation }) => explanation?.turns[number] ?? [[], []]);
  const said = turns.map((turn) => turn[0].map(utteranceOf).map((spoken) =>
    (spoken.label === "system" ? { ...spoken, claims: claimsOf(turn) } : spoken)));
  const stated = turns.map(([, numbers_]) => numbers_.map(factOf));
  const losses = columns.map(({ explanation }) =>
    (explanation?.reasons ?? []).filter((reason) => reason.turn === number));
  const lost = losses.some((list) => list.length);
  const section = element("section",
    { class: `turn${lost ? " lost-here" : ""}`, id: `page-turn-${number}`, "aria-label": `Turn ${number}`, tabindex: "-1" },
    element("h4", { class: "turn-number" }, element("span", { class: "muted" }, "turn "), String(number)));
  let calls = callLine(number, columns);
  for (const { item, cells } of aligned(said, (u) => u.label)) {
    const speaker = ["user", "system", "reference"].includes(item.label) ? item.label : "other";
    if (speaker === "system" && calls) {
      section.append(calls);
      calls = null;
    }
    section.append(line(`said ${speaker}`, head(null, item.label), cells, columns, false));
  }
  section.append(...[calls, metLine(number, columns)].filter((node) => node !== null));
  if (lost) {
    const node = element("div", { class: "line losses" }, element("div", { class: "head" }));
    losses.forEach((list, index) => {
      const { system, explanation } = columns[index];
      if (!explanation) return;
      const cell = element("div", { class: "cell" });
      if (list.length) {
        if (columns.length > 1) cell.append(badge(system));
        cell.append(element("ul", { class: "lost-marks" }, ...list.map((reason) => reasonMark(reason))));
      }
      node.append(cell);
    });
    section.append(node);
  }
  section.append(...factLines(stated, columns, before));
  const now = stated.map((list) => new Map(list.map((fact) => [keyOfFact(fact), fact.value])));
  return [section, now];
}

function outcomeTable(columns) {
  const parts = [whole];
  for (const { explanation } of columns) {
    explanation?.outcomes.forEach((_, scope) => parts.includes(scope) || parts.push(scope));
  }
  const names = [...outcomes];
  const table = element("table", { class: "outcomes" },
    element("caption", { class: "sr" }, "Outcomes"),
    element("thead", {},
      element("tr", {}, element("td", {}), ...names.map((name) =>
        element("th", { scope: "colgroup", colspan: columns.length }, labelOf(name)))),
      columns.length > 1 ? element("tr", {}, element("td", {}), ...names.flatMap(() =>
        columns.map(({ system }) => element("th", { scope: "col" }, badge(system))))) : null));
  const body = element("tbody", {});
  for (const scope of parts) {
    const row = element("tr", { class: scope === whole ? "whole" : null }, textElement("th", { scope: "row" }, scope));
    for (const name of names) {
      const values = columns.map(({ explanation }) => explanation?.outcomes.get(scope)?.get(name));
      const differs = values.some((value) => value !== values[0]);
      for (const value of values) row.append(element("td", { class: differs ? "differs" : null }, mark(value, name)));
    }
    body.append(row);
  }
  table.append(body);
  return table;
}

/** Return reasons that differ in more than their turn, each with the turns that it has. */
function lasting(reasons) {
  const found = new Map();
  for (const reason of reasons) {
    const key = JSON.stringify([reason.code, reason.outcome, reason.scope, reason.text]);
    if (!found.has(key)) found.set(key, { reason, turns: [] });
    if (reason.turn !== null) found.get(key).turns.push(reason.turn);
  }
  return [...found.values()];
}

function reasonList({ system, explanation }, several) {
  const box = element("div", { class: "reasons-box" },
    several ? element("h3", {}, badge(system), " ", textElement("span", {}, system.name)) : null);
  if (!explanation) box.append(element("p", { class: "muted" }, `This ${words.unit} is missing here.`));
  else if (!explanation.reasons.length) box.append(element("p", { class: "nothing-lost" }, "✓ nothing lost"));
  else {
    box.append(element("ul", { class: "lost-marks" }, ...lasting(explanation.reasons).map(({ reason, turns }) => {
      if (!turns.length) return reasonMark(reason);
      const more = turns.length > 1 ? ` and ${turns.length - 1} more, to ${turns.at(-1)}` : "";
      return reasonMark(reason, button(`turn ${turns[0]}${more}`, { class: "jump" }, () => jumpTo(turns[0])));
    })));
  }
  return box;
}

function jumpTo(turn) {
  const node = byId(`turn-${turn}`);
  node?.scrollIntoView({ block: "start" });
  node?.focus({ preventScroll: true });
}

/** Go to the next turn in which something was lost, after the last one to the first. */
export function jumpToNextLoss() {
  const lost = [...document.querySelectorAll(".turn.lost-here")];
  if (!lost.length) return;
  const at = lost.indexOf(document.activeElement?.closest?.(".turn.lost-here"));
  const node = lost[(at + 1) % lost.length];
  node.scrollIntoView({ block: "start" });
  node.focus({ preventScroll: true });
}

/** Return the nodes that show a unit; its buttons call `leave` and, with -1 or 1, `step`. */
export function unitNodes(unit, { leave, step }) {
  const columns = state.pair.map((index) =>
    ({ system: systems[index], explanation: systems[index].explanations[unit] }));
  const several = columns.length > 1;
  const present = columns.filter(({ explanation }) => explanation).length;
  const back = button("‹ Back", { class: "quiet back", "aria-keyshortcuts": "Escape" }, leave);
  const previous = button("↑", { class: "quiet", "aria-label": `Previous ${words.unit}`, "aria-keyshortcuts": "k" },
    () => step(-1));
  const next = button("↓", { class: "quiet", "aria-label": `Next ${words.unit}`, "aria-keyshortcuts": "j" },
    () => step(1));
  const nodes = [
    element("div", { class: "dialogue-head" }, back,
      textElement("h2", { tabindex: "-1" }, units[unit]),
      element("div", { class: "dialogue-steps" },
        element("span", { class: "muted", id: "page-position" }), previous, next)),
    element("div", { class: "verdict" },
      outcomeTable(columns),
      element("div", { class: `verdict-reasons columns-${columns.length}` },
        ...columns.map((column) => reasonList(column, several)))),
  ];
  const aim = goalNodes(columns, jumpTo);
  const talk = [];
  const count = Math.max(0, ...columns.map(({ explanation }) => explanation?.turns.length ?? 0));
  if (count) {
    const lines = element("div", { class: `lines columns-${present}` });
    if (several) {
      lines.append(element("div", { class: "line legend", "aria-hidden": "true" }, element("div", { class: "head" }),
        ...columns.filter(({ explanation }) => explanation).map(({ system }) =>
          element("div", { class: "cell" }, badge(system), textElement("span", {}, system.name)))));
    }
    const labels = new Set();
    let before = null;
    for (let number = 0; number < count; number += 1) {
      const [section, now] = turnOf(number, columns, before);
      lines.append(section);
      for (const facts of now) for (const key of facts.keys()) labels.add(JSON.parse(key)[1]);
      before = now;
    }
    talk.push(element("h3", {}, "Turns"));
    talk.push(...legend(columns, labels), lines);
  }
  const isTicked = columns.some(({ explanation }) => explanation?.reached);
  if (isTicked) nodes.push(element("div", { class: "talk" }, element("div", { class: "aim" }, ...aim), element("div", {}, ...talk)));
  else nodes.push(...aim, ...talk);
  return nodes;
}

/** Say which of the units that pass the filter is open. */
export function paintPosition() {
  const node = byId("position");
  if (!node || state.opened === null) return;
  const position = state.shown.indexOf(state.opened);
  const [place, count] = [position + 1, state.shown.length].map((number) => number.toLocaleString("en"));
  node.textContent = position < 0 ? "" : `${place} of ${count}`;
}
