// One item: its outcomes, why they were lost, its goal and its turns, of the systems that are chosen side by side.

/** Labels of facts about errors of a prediction, with their signs and meanings. */
const ERRORS = new Map([
  ["missing", ["−", "annotated but not predicted"]],
  ["spurious", ["+", "predicted but not annotated"]],
  ["wrong", ["≠", "predicted with a different value than annotated"]],
]);

/** Verdicts on claims, the worst first, with their meanings. */
const VERDICTS = new Map([
  ["unknown", "not in the database"],
  ["inconsistent", "of another venue, or different from the results of tools"],
  ["right", "agrees with the database and the results of tools"],
  ["unjudged", "cannot be compared with anything"],
]);

/** Labels of facts that repeat a response in another form, so that a difference in them is no finding. */
const REPEATED = new Set(["scored as"]);

/** What stands in place of a turn for a line of the goal without one. */
const UNMARKED = new Map([[-2, "could not be met"], [-3, "not judged"]]);

const errorOf = (label) => label.split(", ").at(-1);

/** Align lists of things with the same key; a key that comes twice is paired in order. */
function aligned(lists, keyOf) {
  const lines = new Map();
  const order = [];
  lists.forEach((list, column) => {
    const seen = new Map();
    let after = -1;
    for (const thing of list) {
      const base = keyOf(thing);
      const count = seen.get(base) ?? 0;
      seen.set(base, count + 1);
      const key = JSON.stringify([base, count]);
      if (!lines.has(key)) {
        lines.set(key, { first: thing, cells: lists.map(() => null) });
        order.splice(after + 1, 0, key);
      }
      lines.get(key).cells[column] = thing;
      after = order.indexOf(key);
    }
  });
  return order.map((key) => lines.get(key));
}

/** Return a value in which the parts between commas are marked that the others lack, if they share any. */
function comparedValue(value, others) {
  const known = new Set(others.flatMap((other) => other?.split(", ") ?? []));
  const parts = value.split(", ");
  if (!parts.some((part) => known.has(part))) return textElement("span", { class: "text" }, value);
  const node = element("span", { class: "text", dir: "auto" });
  parts.forEach((part, place) => node.append(place ? ", " : "",
    textElement("span", { class: known.has(part) ? null : "own" }, part)));
  return node;
}

/** Return a response with its claims; where several overlap, the worst gives the colour. */
function claimedText(text, claims) {
  const characters = Array.from(text); // places count characters, not UTF-16 units
  const bounds = new Set([0, characters.length, ...claims.flatMap(({ start, end }) => [start, end])]);
  const places = [...bounds].sort((a, b) => a - b);
  const order = [...VERDICTS.keys()];
  const node = element("span", { class: "text", dir: "auto" });
  places.slice(0, -1).forEach((from, place) => {
    const to = places[place + 1];
    const here = claims.filter(({ start, end }) => start <= from && to <= end)
      .sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
    const title = here.map((claim) => `${claim.verdict}: ${claim.text}`).join("\n");
    const attributes = here.length ? { class: `claim ${here[0].verdict}`, title: plain(title) } : {};
    node.append(textElement("span", attributes, characters.slice(from, to).join("")));
  });
  return node;
}

function head(scope, label) {
  const error = ERRORS.get(errorOf(label));
  return element("div", { class: "head" },
    ...(scope === null ? [] : [textElement("span", { class: "scope" }, scope), " "]),
    error ? element("span", { class: "wrong-sign", "aria-hidden": "true" }, error[0]) : null,
    textElement("span", { class: "label" }, label));
}

/** Return a line with a cell for each system, or one for all; a cell is null or has a value and perhaps claims. */
function comparingLine(kind, heading, cells, columns) {
  const nodeOf = ({ value, claims }) => (claims?.length
    ? claimedText(value, claims)
    : textElement("span", { class: "text" }, value));
  const shown = cells.map((cell) => JSON.stringify(cell && [cell.value, cell.claims]));
  if (shown.every((text) => text === shown[0])) {
    return element("div", { class: `line ${kind} same` }, heading,
      element("div", { class: "cell span" }, nodeOf(cells[0])));
  }
  return element("div", { class: `line ${kind} differs` }, heading, ...columns.map(({ system }, place) => {
    const cell = cells[place];
    const others = cells.filter((_, other) => other !== place).map((other) => other?.value);
    let node = element("span", { class: "muted" }, "–");
    if (cell) node = kind.startsWith("fact") ? comparedValue(cell.value, others) : nodeOf(cell);
    return element("div", { class: `cell ${system.colour}` }, badge(system), node);
  }));
}

/** Return a line with a cell for each system, whatever is in it; null where no system has anything. */
function separateLine(kind, label, columns, lists) {
  if (!lists.some((list) => list.childNodes.length)) return null;
  return element("div", { class: `line ${kind}` },
    element("div", { class: "head" }, element("span", { class: "label" }, label)),
    ...columns.map(({ system }, place) => element("div", { class: `cell ${isPair() ? system.colour : "span"}` },
      isPair() ? badge(system) : null, lists[place])));
}

/** Return lines of facts, [label, value, scope]; those that were the same in the turn before are paler. */
function factLines(lists, columns, before = null) {
  const keyOf = ([label, , scope]) => JSON.stringify([scope, label]);
  const known = before?.map((facts) => new Map(facts.map((fact) => [keyOf(fact), fact[1]])));
  return aligned(lists, keyOf).map(({ first, cells }) => {
    const [label, , scope] = first;
    const carried = known?.every((values, place) => values.get(keyOf(first)) === cells[place]?.[1]);
    const kind = `fact${REPEATED.has(label) ? " words" : ""}${carried ? " carried" : ""}`;
    return comparingLine(kind, head(scope, label), cells.map((cell) => cell && { value: cell[1] }), columns);
  });
}

function turnButton(turn, more = "") {
  return button(`turn ${turn}${more}`, { class: "jump" }, () => jumpTo(byId(`turn-${turn}`)));
}

function tick(turn) {
  if (UNMARKED.has(turn)) return element("span", { class: "tick" }, signOf(null), UNMARKED.get(turn));
  if (turn === null) return element("span", { class: "tick" }, signOf(false), "never");
  return element("span", { class: "tick" }, signOf(true), turnButton(turn));
}

/** Return the goal: its lines, and where it is known, the turns from which on they are met. */
function goalNodes(columns) {
  const goals = columns.map(({ explanation }) => explanation.goal);
  if (!goals.some((goal) => goal.length)) return [];
  const title = element("h3", {}, capital(words.goal));
  if (!columns.some(({ explanation }) => explanation.reached)) {
    return [title, element("div", { class: `lines goal columns-${columns.length}` }, ...factLines(goals, columns))];
  }
  const longest = goals.reduce((most, goal) => (goal.length > most.length ? goal : most));
  return [title, element("ul", { class: "ticks" }, ...longest.map(([label, value, scope], place) =>
    element("li", {}, head(scope, label), textElement("span", { class: "text" }, value),
      element("span", { class: "tick-marks" }, ...columns.map(({ system, explanation }) =>
        element("span", { class: "ticked" }, columns.length > 1 ? badge(system) : null,
          tick(explanation.reached?.[place] ?? null)))))))];
}

/** Return what is met of the goal from a turn on. */
function metLine(number, columns) {
  return separateLine("met", "met", columns, columns.map(({ explanation: { goal, reached } }) =>
    element("ul", { class: "met-lines" }, ...goal.filter((_, place) => reached?.[place] === number)
      .map(([label, value, scope]) => element("li", {}, signOf(true),
        textElement("span", {}, `${scope === null ? "" : `${scope} · `}${label}: ${value}`))))));
}

/** Return JSON with line breaks; other text as it is. */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function callLine(turns, columns) {
  return separateLine("calls", "calls", columns, turns.map(([, , , calls]) =>
    element("div", { class: "call-list" }, ...calls.map((call) =>
      element("details", { class: `call${call.has_failed ? " failed" : ""}` },
        element("summary", {}, textElement("code", {}, call.name), " ",
          textElement("code", { class: "muted" }, call.arguments),
          call.has_failed ? element("span", { class: "call-failed" }, " failed") : null),
        textElement("pre", { tabindex: "0" }, indented(call.result)))))));
}

function reasonMark({ outcome, scope, code, text }, jump = null) {
  return element("li", { class: "lost-mark" }, signOf(false),
    element("div", {},
      element("div", { class: "lost-head" },
        element("span", { class: "lost-what" }, `${labelOf(outcome)} failed`,
          ...(scope === whole ? [] : [" · ", textElement("span", {}, scope)])),
        jump,
        textElement("span", { class: "lost-code", title: meanings.get(familyOf(code)) }, code)),
      textElement("p", { class: "lost-text" }, text)));
}

function reasonLine(reasons, columns) {
  return element("div", { class: "line losses" }, element("div", { class: "head" }),
    ...columns.map(({ system }, place) => (reasons[place].length
      ? element("div", { class: "cell" }, isPair() ? badge(system) : null,
        element("ul", { class: "lost-marks" }, ...reasons[place].map((reason) => reasonMark(reason))))
      : element("div", { class: "cell" }))));
}

const NO_TURN = [[], [], [], []];

function turnNode(number, columns) {
  const turns = columns.map(({ explanation }) => explanation.turns[number] ?? NO_TURN);
  const factsOf = (turn) => columns.map(({ explanation }) => (explanation.turns[turn] ?? NO_TURN)[1]);
  const reasons = columns.map(({ explanation }) => explanation.reasons.filter(({ turn }) => turn === number));
  const lost = reasons.some((list) => list.length);
  const section = element("section",
    { class: `turn${lost ? " lost-here" : ""}`, id: `page-turn-${number}`, "aria-label": `Turn ${number}`, tabindex: "-1" },
    element("h4", { class: "turn-number" }, element("span", { class: "muted" }, "turn "), String(number)));
  let calls = callLine(turns, columns);
  const said = turns.map(([utterances, , claims]) => utterances.map(([speaker, value]) =>
    ({ speaker, value, claims: speaker === "system" ? claims : [] })));
  for (const { first: { speaker }, cells } of aligned(said, (utterance) => utterance.speaker)) {
    if (speaker === "system" && calls) {
      section.append(calls);
      calls = null;
    }
    const kind = ["user", "system", "reference"].includes(speaker) ? speaker : "other";
    section.append(comparingLine(`said ${kind}`, head(null, speaker), cells, columns));
  }
  const lines = [calls, metLine(number, columns), lost ? reasonLine(reasons, columns) : null,
    ...factLines(factsOf(number), columns, number ? factsOf(number - 1) : null)];
  section.append(...lines.filter((node) => node !== null));
  return section;
}

/** Return what the marks in the turns mean, and, folded, what the reasons mean. */
function legend(columns) {
  const turns = columns.flatMap(({ explanation }) => explanation.turns);
  const errors = new Set(turns.flatMap(([, facts]) => facts.map(([label]) => errorOf(label))));
  const marks = [...ERRORS].filter(([label]) => errors.has(label)).map(([label, [sign, meaning]]) =>
    [element("span", {}, element("span", { class: "wrong-sign" }, sign), label), meaning]);
  if (turns.some(([, , claims]) => claims.length)) {
    for (const [verdict, meaning] of VERDICTS) {
      marks.push([element("span", { class: `claim ${verdict}` }, verdict), meaning]);
    }
  }
  if (isPair()) marks.push([element("span", { class: "own" }, "underlined"), "only in this system"]);
  const families = new Set(columns.flatMap(({ explanation }) => explanation.reasons.map(({ code }) => familyOf(code))));
  const explained = [...families].filter((family) => meanings.has(family));
  const list = element("ul", { class: "claims small", "aria-label": "Marks" },
    ...marks.map(([mark, meaning]) => element("li", {}, mark, `: ${meaning}`)));
  const details = element("details", { class: "legend-reasons" },
    element("summary", { class: "small" }, "What the reasons mean"),
    element("dl", { class: "meanings small" }, ...explained.flatMap((family) =>
      [textElement("dt", {}, family), textElement("dd", {}, meanings.get(family))])));
  return [...(marks.length ? [list] : []), ...(explained.length ? [details] : [])];
}

function turnNodes(columns) {
  const count = Math.max(0, ...columns.map(({ explanation }) => explanation.turns.length));
  if (!count) return [];
  const lines = element("div", { class: `lines columns-${columns.length}` });
  if (isPair()) {
    lines.append(element("div", { class: "line legend", "aria-hidden": "true" }, element("div", { class: "head" }),
      ...columns.map(({ system }) =>
        element("div", { class: "cell" }, badge(system), textElement("span", {}, system.name)))));
  }
  for (let number = 0; number < count; number += 1) lines.append(turnNode(number, columns));
  return [element("h3", {}, "Turns"), ...legend(columns), lines];
}

function outcomeTable(columns) {
  const scopesHere = new Set([whole, ...columns.flatMap(({ explanation }) => [...(explanation?.outcomes.keys() ?? [])])]);
  const names = [...outcomes];
  const rowsOfScopes = Array.from(scopesHere, (scope) =>
    element("tr", { class: scope === whole ? "whole" : null }, textElement("th", { scope: "row" }, scope),
      ...names.flatMap((name) => {
        const results = columns.map(({ explanation }) => resultOf(explanation, scope, name));
        const differs = results.some((result) => result !== results[0]);
        return results.map((result) => element("td", { class: differs ? "differs" : null }, outcomeSign(result, name)));
      })));
  return element("table", { class: "outcomes" },
    element("caption", { class: "sr" }, "Outcomes"),
    element("thead", {},
      element("tr", {}, element("td", {}), ...names.map((name) =>
        element("th", { scope: "colgroup", colspan: columns.length }, labelOf(name)))),
      isPair() ? element("tr", {}, element("td", {}), ...names.flatMap(() =>
        columns.map(({ system }) => element("th", { scope: "col" }, badge(system))))) : null),
    element("tbody", {}, ...rowsOfScopes));
}

/** Return the reasons of a system; those that differ in nothing but their turn are one mark. */
function reasonBox({ system, explanation }) {
  const box = element("div", { class: "reasons-box" },
    isPair() ? element("h3", {}, badge(system), " ", textElement("span", {}, system.name)) : null);
  const lasting = Map.groupBy(explanation?.reasons ?? [], ({ turn, ...reason }) => JSON.stringify(reason));
  const marks = Array.from(lasting.values(), (reasons) => {
    const [first, ...others] = reasons.map(({ turn }) => turn).filter((turn) => turn !== null);
    const more = others.length ? ` and ${others.length} more, to ${others.at(-1)}` : "";
    return reasonMark(reasons[0], first === undefined ? null : turnButton(first, more));
  });
  if (!explanation) box.append(element("p", { class: "muted" }, `This ${words.unit} is missing here.`));
  else if (!marks.length) box.append(element("p", { class: "nothing-lost" }, "✓ nothing failed"));
  else box.append(element("ul", { class: "lost-marks" }, ...marks));
  return box;
}

/** Return the nodes that show an item. */
function itemNodes(item) {
  const columns = state.pair.map((place) => ({ system: systems[place], explanation: explanations[item][place] }));
  const present = columns.filter(({ explanation }) => explanation);
  const nodes = [
    element("div", { class: "dialogue-head" },
      button("‹ Back", { class: "quiet back", "aria-keyshortcuts": "Escape" }, goBack),
      textElement("h2", { tabindex: "-1" }, names[item]),
      element("div", { class: "dialogue-steps" },
        element("span", { class: "muted", id: "page-position" }),
        button("↑", { class: "quiet", "aria-label": `Previous ${words.unit}`, "aria-keyshortcuts": "k" }, () => moveCursor(-1)),
        button("↓", { class: "quiet", "aria-label": `Next ${words.unit}`, "aria-keyshortcuts": "j" }, () => moveCursor(1)))),
    element("div", { class: "verdict" },
      outcomeTable(columns),
      element("div", { class: `verdict-reasons columns-${columns.length}` }, ...columns.map(reasonBox))),
  ];
  const [goal, turns] = [goalNodes(present), turnNodes(present)];
  if (!present.some(({ explanation }) => explanation.reached)) return [...nodes, ...goal, ...turns];
  return [...nodes, element("div", { class: "talk" }, element("div", { class: "aim" }, ...goal), element("div", {}, ...turns))];
}

/** Show the place of the open item among those that pass the filter. */
function paintPosition() {
  const node = byId("position");
  if (!node || state.opened === null) return;
  const position = state.shown.indexOf(state.opened);
  node.textContent = position < 0 ? "" : `${withCommas(position + 1)} of ${withCommas(state.shown.length)}`;
}

function jumpTo(node) {
  node?.scrollIntoView({ block: "start" });
  node?.focus({ preventScroll: true });
}

/** Go to the next turn in which something was lost, after the last one to the first. */
function jumpToNextLoss() {
  const lost = [...document.querySelectorAll(".turn.lost-here")];
  const place = lost.indexOf(document.activeElement?.closest?.(".turn.lost-here"));
  jumpTo(lost[(place + 1) % lost.length]);
}
