"use strict";
(() => {
  // Texts may come from anybody. They enter the document as text nodes and nowhere else.
  const byId = (name) => document.getElementById(`page-${name}`);
  const data = JSON.parse(byId("data").textContent);
  const { strings, facts, utterances, reasons, kinds, units, words, whole } = data;
  const labels = new Map(data.labels);
  const root = document.documentElement;
  const OVERSCAN = 6;
  const COLOURS = 6;
  const SEPARATOR = ", ";

  // The data, unpacked: numbers stand for places in the tables of strings, facts and so on.

  const KEPT = 1;
  const LOST = 0;
  const SIGN = new Map([[KEPT, "✓"], [LOST, "✗"], [-1, "–"]]);
  const NAMED = new Map([[KEPT, "kept"], [LOST, "lost"], [-1, "not asked for"]]);
  const CLASS = new Map([[KEPT, "kept"], [LOST, "lost"], [-1, "unasked"]]);

  const scopes = new Set();
  const outcomes = new Set();
  const patterns = data.outcomes.map((flat) => {
    const pattern = new Map();
    for (let i = 0; i < flat.length; i += 3) {
      const [scope, outcome] = [strings[flat[i]], strings[flat[i + 1]]];
      if (!pattern.has(scope)) pattern.set(scope, new Map());
      pattern.get(scope).set(outcome, flat[i + 2]);
      if (scope !== whole) scopes.add(scope);
      outcomes.add(outcome);
    }
    return pattern;
  });
  const parents = kinds.map(([, , parent]) => parent);
  const kindOf = new Map(kinds.map(([outcome, code], kind) => [JSON.stringify([outcome, code]), kind]));
  const reasonTable = [];
  for (let i = 0; i < reasons.length; i += 4) {
    const [code, outcome, scope, text] = [0, 1, 2, 3].map((place) => strings[reasons[i + place]]);
    reasonTable.push({ code, outcome, scope, text, kind: kindOf.get(JSON.stringify([outcome, code])) });
  }
  const factOf = (number) => ({
    label: strings[facts[3 * number]],
    value: strings[facts[3 * number + 1]],
    scope: facts[3 * number + 2] < 0 ? null : strings[facts[3 * number + 2]],
  });
  const utteranceOf = (number) => ({
    label: strings[utterances[2 * number]],
    value: strings[utterances[2 * number + 1]],
    scope: null,
  });
  const systems = data.systems.map(([letter, name], index) => ({
    letter,
    name,
    colour: `s${index % COLOURS}`,
    explanations: data.explanations[index].map((packed) => {
      if (!packed) return null;
      const [pattern, goal, turns, flat] = packed;
      const found = [];
      for (let i = 0; i < flat.length; i += 2) {
        found.push({ ...reasonTable[flat[i]], turn: flat[i + 1] < 0 ? null : flat[i + 1] });
      }
      return { pattern, outcomes: patterns[pattern], goal, turns, reasons: found };
    }),
  }));
  const numbers = new Map(units.map((unit, number) => [unit, number]));
  const folded = new Map(units.map((unit, number) => [unit.toLowerCase(), number]));

  /** What the search looks through, one lower-case text per unit; made when first needed. */
  let haystacks = null;
  function searchable() {
    if (haystacks) return haystacks;
    const lower = strings.map((text) => text.toLowerCase());
    haystacks = units.map((unit, number) => {
      const used = new Set();
      for (const system of systems) {
        const explanation = system.explanations[number];
        if (!explanation) continue;
        for (const [said, stated] of explanation.turns) {
          for (const u of said) used.add(utterances[2 * u + 1]);
          for (const f of stated) used.add(facts[3 * f + 1]);
        }
        for (const f of explanation.goal) used.add(facts[3 * f + 1]);
      }
      return [unit.toLowerCase(), ...Array.from(used, (text) => lower[text])].join("\n");
    });
    return haystacks;
  }

  // Building the document.

  const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  /** Text with what cannot be seen, or would turn its neighbours around, spelled out. */
  function plain(text) {
    return text.replace(INVISIBLE, (char) => `\\x${char.codePointAt(0).toString(16).padStart(2, "0")}`);
  }

  /** An element that holds a text of unknown origin, with the searched words marked. */
  function textElement(tag, attributes, text) {
    const node = element(tag, { dir: "auto", ...attributes });
    const shown = plain(text);
    const needle = filter.search;
    const hay = needle ? shown.toLowerCase() : "";
    if (!needle || hay.length !== shown.length) {
      node.append(shown);
      return node;
    }
    let from = 0;
    for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, from)) {
      node.append(shown.slice(from, at), element("mark", {}, shown.slice(at, at + needle.length)));
      from = at + needle.length;
    }
    node.append(shown.slice(from));
    return node;
  }

  const badge = (system) => element("span", { class: `badge ${system.colour}`, title: plain(system.name) }, system.letter);
  const labelOf = (outcome) => plain(labels.get(outcome) ?? outcome);
  const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

  function mark(value, outcome) {
    const known = value !== undefined;
    return element(
      "span",
      { class: `sign ${known ? CLASS.get(value) : "absent"}`, title: `${labelOf(outcome)}: ${known ? NAMED.get(value) : "none"}` },
      element("span", { "aria-hidden": "true" }, known ? SIGN.get(value) : "·"),
      element("span", { class: "sr" }, `${labelOf(outcome)} ${known ? NAMED.get(value) : "none"}`),
    );
  }

  // The state: two systems side by side, a filter, the units that pass it, and the open unit.

  let pair = systems.length > 1 ? [0, 1] : [0];
  const filter = { search: "", scope: "", outcome: "", kind: "", which: "", differs: false };
  let shown = units.map((_, number) => number);
  let cursor = -1;
  let opened = null;

  function differ(unit, scope) {
    const [first, second] = pair.map((system) => systems[system].explanations[unit]);
    if (!first || !second) return first !== second;
    if (first.pattern === second.pattern) return false;
    const compared = scope ? [scope] : new Set([...first.outcomes.keys(), ...second.outcomes.keys()]);
    for (const part of compared) {
      const [mine, theirs] = [first.outcomes.get(part), second.outcomes.get(part)];
      for (const outcome of outcomes) {
        if (mine?.get(outcome) !== theirs?.get(outcome)) return true;
      }
    }
    return false;
  }

  function passes(unit, wanted) {
    if (wanted.texts && !wanted.texts[unit].includes(filter.search)) return false;
    if (filter.differs && pair.length > 1 && !differ(unit, filter.scope)) return false;
    const looked = filter.which === "" ? pair : [Number(filter.which)];
    return looked.some((system) => {
      const explanation = systems[system].explanations[unit];
      if (!explanation) return !filter.scope && !wanted.outcome && wanted.kind === null;
      if (filter.scope && !explanation.outcomes.has(filter.scope)) return false;
      if (wanted.outcome) {
        const [value, outcome] = wanted.outcome;
        if (explanation.outcomes.get(filter.scope || whole)?.get(outcome) !== value) return false;
      }
      return wanted.kind === null || explanation.reasons.some(
        (reason) => (reason.kind === wanted.kind || parents[reason.kind] === wanted.kind) && (!filter.scope || reason.scope === filter.scope));
    });
  }

  function refilter() {
    const wanted = {
      texts: filter.search ? searchable() : null,
      outcome: filter.outcome ? JSON.parse(filter.outcome) : null,
      kind: filter.kind === "" ? null : Number(filter.kind),
    };
    shown = [];
    for (let unit = 0; unit < units.length; unit += 1) if (passes(unit, wanted)) shown.push(unit);
    cursor = opened === null ? -1 : shown.indexOf(opened);
    painted.forEach((node) => node.remove());
    painted.clear();
    rows.scrollTop = 0;
    paintRows();
    const total = units.length.toLocaleString("en");
    byId("count").textContent = shown.length === units.length
      ? `${total} ${units.length === 1 ? words.unit : words.units}`
      : `${shown.length.toLocaleString("en")} of ${total} ${words.units}`;
    byId("clear").hidden = !Object.values(filter).some(Boolean);
    for (const button of document.querySelectorAll(".reason")) {
      button.setAttribute("aria-pressed", String(button.dataset.kind === filter.kind));
    }
    paintPosition();
  }

  // The list: only the rows in sight are in the document.

  const rows = byId("rows");
  const sizer = byId("sizer");
  const painted = new Map();
  const rowHeight = () => 3.5 * parseFloat(getComputedStyle(root).fontSize);

  function rowOf(unit) {
    const parts = new Set();
    const marks = element("span", { class: "row-marks" });
    for (const index of pair) {
      const explanation = systems[index].explanations[unit];
      explanation?.outcomes.forEach((_, scope) => scope !== whole && parts.add(scope));
      const group = element("span", { class: "row-system" }, pair.length > 1 ? badge(systems[index]) : null);
      for (const outcome of outcomes) {
        if (explanation) group.append(mark(explanation.outcomes.get(filter.scope || whole)?.get(outcome), outcome));
      }
      if (!explanation) group.append(element("span", { class: "muted" }, "missing"));
      marks.append(group);
    }
    return element(
      "div", { role: "listitem", class: "row-item", "aria-setsize": shown.length },
      element("a", { class: "row", href: hashOf(unit), "data-unit": unit },
        element("span", { class: "row-text" },
          textElement("span", { class: "row-name" }, units[unit]),
          textElement("span", { class: "row-scopes" }, [...parts].join(" · "))),
        marks));
  }

  function paintRows() {
    const height = rowHeight();
    sizer.style.height = `${shown.length * height}px`;
    const first = Math.max(0, Math.floor(rows.scrollTop / height) - OVERSCAN);
    const last = Math.min(shown.length, Math.ceil((rows.scrollTop + (rows.clientHeight || 800)) / height) + OVERSCAN);
    const wanted = new Set(shown.slice(first, last));
    for (const [unit, node] of painted) {
      if (!wanted.has(unit)) {
        node.remove();
        painted.delete(unit);
      }
    }
    let place = sizer.firstChild;
    for (let position = first; position < last; position += 1) {
      const unit = shown[position];
      let node = painted.get(unit);
      if (!node) {
        node = rowOf(unit);
        painted.set(unit, node);
      }
      node.style.top = `${position * height}px`;
      node.setAttribute("aria-posinset", position + 1);
      const link = node.firstChild;
      link.classList.toggle("cursor", position === cursor);
      if (unit === opened) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      if (node === place) place = place.nextSibling;
      else sizer.insertBefore(node, place);
    }
  }

  function reveal(position) {
    const height = rowHeight();
    const top = position * height;
    if (top < rows.scrollTop) rows.scrollTop = top;
    else if (top + height > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + height - rows.clientHeight;
    paintRows();
  }

  function moveCursor(step) {
    if (!shown.length) return;
    cursor = Math.min(shown.length - 1, Math.max(0, cursor < 0 && step < 0 ? shown.length - 1 : cursor + step));
    if (opened === null) {
      reveal(cursor);
      painted.get(shown[cursor])?.firstChild.focus({ preventScroll: true });
    } else {
      history.replaceState(null, "", hashOf(shown[cursor]));
      route();
    }
  }

  // Addresses: `#name` is a unit, `#?…` the overview under a filter.

  function hashOf(unit) {
    try {
      if (units[unit]) return `#${encodeURIComponent(units[unit])}`;
    } catch { /* a name that is not proper Unicode */ }
    return `#@${unit}`;
  }

  function unitOfHash() {
    const raw = location.hash.slice(1);
    if (!raw || raw.startsWith("?")) return null;
    if (raw.startsWith("@")) return units[raw.slice(1)] === undefined ? undefined : Number(raw.slice(1));
    let name = raw;
    try {
      name = decodeURIComponent(raw);
    } catch { /* a stray percent sign: taken as it stands */ }
    return numbers.get(name) ?? folded.get(name.toLowerCase().replace(/\.json$/, ""));
  }

  function route() {
    const unit = unitOfHash();
    if (unit === null) return close();
    return open(unit);
  }

  function go(hash) {
    if (hash === "") history.pushState(null, "", "#");
    else history.pushState(null, "", hash);
    route();
  }

  function setView(view) {
    root.dataset.view = view;
    byId("tab-overview").setAttribute("aria-current", String(view === "overview"));
    byId("tab-list").setAttribute("aria-current", String(view === "list"));
    if (view === "list") paintRows();
  }

  function close() {
    const last = opened;
    opened = null;
    byId("dialogue").hidden = true;
    byId("dialogue").replaceChildren();
    document.title = title;
    if (last !== null) {
      setView(matchMedia("(max-width: 56rem)").matches ? "list" : "overview");
      window.scrollTo(0, 0);
      const position = shown.indexOf(last);
      if (position >= 0) {
        cursor = position;
        reveal(position);
        painted.get(last)?.firstChild.focus({ preventScroll: true });
      }
    }
    paintRows();
  }

  function open(unit) {
    opened = unit ?? -1;
    cursor = shown.indexOf(unit);
    const article = byId("dialogue");
    article.replaceChildren(...(unit === undefined ? unknown() : dialogueOf(unit)));
    article.hidden = false;
    setView("dialogue");
    document.title = unit === undefined ? title : `${plain(units[unit])} – ${title}`;
    paintPosition();
    if (cursor >= 0) reveal(cursor);
    else paintRows();
    window.scrollTo(0, 0);
    article.querySelector("h2").focus({ preventScroll: true });
  }

  function unknown() {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch { /* shown as it stands */ }
    return [
      element("h2", { tabindex: "-1" }, `No such ${words.unit}`),
      element("p", {}, `There is no ${words.unit} called `, textElement("strong", {}, name), " on this page."),
    ];
  }

  // A dialogue: every line is one cell where the systems agree and a cell each where they do not.

  /** Line up lists of things with the same key; a key that comes twice is paired in order. */
  function aligned(lists, keyOf) {
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

  function line(kind, head, cells, columns, carried) {
    const present = columns.map((column, index) => (column.explanation ? index : -1)).filter((index) => index >= 0);
    const values = present.map((index) => cells[index]?.value);
    const same = values.every((value) => value === values[0]);
    const classes = ["line", kind, same ? "same" : "differs", carried ? "carried" : ""].filter(Boolean);
    const node = element("div", { class: classes.join(" ") }, head);
    if (same) {
      node.append(element("div", { class: "cell span" }, textElement("span", { class: "text" }, values[0] ?? "")));
      return node;
    }
    for (const index of present) {
      const { system } = columns[index];
      const value = cells[index]?.value;
      let text = element("span", { class: "muted" }, "–");
      if (value !== undefined) {
        const others = present.filter((other) => other !== index).map((other) => cells[other]?.value);
        text = kind === "fact" ? apart(value, others) : textElement("span", { class: "text" }, value);
      }
      node.append(element("div", { class: `cell ${system.colour}` }, badge(system), text));
    }
    return node;
  }

  function head(scope, label) {
    return element("div", { class: "head" },
      scope === null ? null : textElement("span", { class: "scope" }, scope),
      textElement("span", { class: "label" }, label));
  }

  const keyOfFact = (fact) => JSON.stringify([fact.scope, fact.label]);

  function factLines(lists, columns, before) {
    return aligned(lists, keyOfFact).map(({ item, cells }) => {
      const carried = before !== null && cells.every((cell, index) =>
        cell === null ? !before[index].has(keyOfFact(item)) : before[index].get(keyOfFact(cell)) === cell.value);
      return line("fact", head(item.scope, item.label), cells, columns, carried);
    });
  }

  function reasonMark(reason, jump = null) {
    return element("li", { class: "lost-mark" },
      element("span", { class: "sign lost", "aria-hidden": "true" }, "✗"),
      element("div", {},
        element("div", { class: "lost-head" },
          element("span", { class: "lost-what" }, `${labelOf(reason.outcome)} lost`,
            reason.scope === whole ? null : " · ", reason.scope === whole ? null : textElement("span", {}, reason.scope)),
          jump,
          textElement("span", { class: "lost-code" }, reason.code)),
        textElement("p", { class: "lost-text" }, reason.text)));
  }

  function turnOf(number, columns, before) {
    const turns = columns.map(({ explanation }) => explanation?.turns[number] ?? [[], []]);
    const said = turns.map(([numbers_]) => numbers_.map(utteranceOf));
    const stated = turns.map(([, numbers_]) => numbers_.map(factOf));
    const losses = columns.map(({ explanation }) =>
      (explanation?.reasons ?? []).filter((reason) => reason.turn === number));
    const lost = losses.some((list) => list.length);
    const section = element("section", { class: `turn${lost ? " lost-here" : ""}`, id: `page-turn-${number}`, "aria-label": `Turn ${number}`, tabindex: "-1" },
      element("h4", { class: "turn-number" }, element("span", { class: "muted" }, "turn "), String(number)));
    for (const { item, cells } of aligned(said, (u) => u.label)) {
      const speaker = ["user", "system", "reference"].includes(item.label) ? item.label : "other";
      section.append(line(`said ${speaker}`, head(null, item.label), cells, columns, false));
    }
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

  function reasonList({ system, explanation }, several) {
    const box = element("div", { class: "reasons-box" },
      several ? element("h4", {}, badge(system), " ", textElement("span", {}, system.name)) : null);
    if (!explanation) box.append(element("p", { class: "muted" }, `This ${words.unit} is missing here.`));
    else if (!explanation.reasons.length) box.append(element("p", { class: "nothing-lost" }, "✓ nothing lost"));
    else {
      box.append(element("ul", { class: "lost-marks" }, ...explanation.reasons.map((reason) => {
        if (reason.turn === null) return reasonMark(reason);
        const jump = element("button", { type: "button", class: "jump" }, `turn ${reason.turn}`);
        jump.addEventListener("click", () => jumpTo(reason.turn));
        return reasonMark(reason, jump);
      })));
    }
    return box;
  }

  function jumpTo(turn) {
    const node = byId(`turn-${turn}`);
    node?.scrollIntoView({ block: "start" });
    node?.focus({ preventScroll: true });
  }

  function jumpToNextLoss() {
    const lost = [...document.querySelectorAll(".turn.lost-here")];
    if (!lost.length) return;
    const at = lost.indexOf(document.activeElement?.closest?.(".turn.lost-here"));
    const node = lost[(at + 1) % lost.length];
    node.scrollIntoView({ block: "start" });
    node.focus({ preventScroll: true });
  }

  function dialogueOf(unit) {
    const columns = pair.map((index) => ({ system: systems[index], explanation: systems[index].explanations[unit] }));
    const several = columns.length > 1;
    const present = columns.filter(({ explanation }) => explanation).length;
    const back = element("button", { type: "button", class: "quiet back", "aria-keyshortcuts": "Escape" }, "‹ Back");
    back.addEventListener("click", goBack);
    const previous = element("button", { type: "button", class: "quiet", "aria-label": `Previous ${words.unit}`, "aria-keyshortcuts": "k" }, "↑");
    const next = element("button", { type: "button", class: "quiet", "aria-label": `Next ${words.unit}`, "aria-keyshortcuts": "j" }, "↓");
    previous.addEventListener("click", () => moveCursor(-1));
    next.addEventListener("click", () => moveCursor(1));
    const nodes = [
      element("div", { class: "dialogue-head" }, back,
        textElement("h2", { tabindex: "-1" }, units[unit]),
        element("div", { class: "dialogue-steps" }, element("span", { class: "muted", id: "page-position" }), previous, next)),
      element("div", { class: "verdict" },
        outcomeTable(columns),
        element("div", { class: `verdict-reasons columns-${columns.length}` }, ...columns.map((column) => reasonList(column, several)))),
    ];
    const goals = columns.map(({ explanation }) => (explanation?.goal ?? []).map(factOf));
    if (goals.some((goal) => goal.length)) {
      nodes.push(element("h3", {}, words.goal[0].toUpperCase() + words.goal.slice(1)),
        element("div", { class: `lines goal columns-${present}` }, ...factLines(goals, columns, null)));
    }
    const count = Math.max(0, ...columns.map(({ explanation }) => explanation?.turns.length ?? 0));
    if (count) {
      const lines = element("div", { class: `lines columns-${present}` });
      if (several) {
        lines.append(element("div", { class: "line legend", "aria-hidden": "true" }, element("div", { class: "head" }),
          ...columns.filter(({ explanation }) => explanation).map(({ system }) =>
            element("div", { class: "cell" }, badge(system), textElement("span", {}, system.name)))));
      }
      let before = null;
      for (let number = 0; number < count; number += 1) {
        const [section, now] = turnOf(number, columns, before);
        lines.append(section);
        before = now;
      }
      nodes.push(element("h3", {}, "Turns"), lines);
    }
    return nodes;
  }

  function paintPosition() {
    const node = byId("position");
    if (!node || opened === null) return;
    const position = shown.indexOf(opened);
    node.textContent = position < 0 ? "" : `${(position + 1).toLocaleString("en")} of ${shown.length.toLocaleString("en")}`;
  }

  function goBack() {
    if (opened !== null) go(filterHash());
    else if (root.dataset.view === "list") setView("overview");
  }

  // Controls.

  function options(select, entries, value) {
    select.replaceChildren(...entries.map(([key, label]) => element("option", { value: key }, plain(label))));
    select.value = value;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
  }

  function fillControls() {
    options(byId("scope"), [["", "any"], ...Array.from(scopes, (scope) => [scope, scope])], filter.scope);
    const values = [[LOST, "✗", "lost"], [KEPT, "✓", "kept"], [-1, "–", "not asked for"]];
    options(byId("outcome"), [["", "any"], ...[...outcomes].flatMap((outcome) =>
      values.map(([value, sign, name]) => [JSON.stringify([value, outcome]), `${sign} ${labelOf(outcome)} ${name}`]))], filter.outcome);
    const reason = byId("reason");
    reason.replaceChildren(element("option", { value: "" }, "any"));
    let group = null;
    kinds.forEach(([outcome, code, parent], kind) => {
      if (group?.label !== labelOf(outcome)) reason.append(group = element("optgroup", { label: labelOf(outcome) }));
      group.append(element("option", { value: kind }, (parent === null ? "" : "\u2003") + plain(code)));
    });
    reason.value = filter.kind;
    options(byId("which"), [["", pair.length > 2 ? "any" : "either"], ...pair.map((index) =>
      [String(index), `${systems[index].letter} ${systems[index].name}`])], filter.which);
    byId("which-label").hidden = pair.length < 2;
    byId("differs-label").hidden = pair.length < 2;
    byId("differs-names").textContent = pair.map((index) => systems[index].letter).join(" and ");
    byId("differs").checked = filter.differs;
    byId("search").value = filter.search;
    const names = systems.map((system, index) => [String(index), `${system.letter} ${system.name}`]);
    byId("pair").hidden = systems.length < 3;
    options(byId("left"), names, String(pair[0]));
    options(byId("right"), [...names, ["", "nothing"]], String(pair[1] ?? ""));
    byId("list-legend").replaceChildren(...[...outcomes].map((outcome) => element("span", {}, labelOf(outcome))));
  }

  /** The filter as an address, so that a filtered list can be passed on too. */
  function filterHash() {
    const parts = new URLSearchParams();
    for (const [key, value] of Object.entries(filter)) if (value) parts.set(key, value === true ? "1" : value);
    const text = parts.toString();
    return text ? `#?${text}` : "";
  }

  function readFilterHash() {
    if (!location.hash.startsWith("#?")) return;
    const parts = new URLSearchParams(location.hash.slice(2));
    for (const key of Object.keys(filter)) filter[key] = parts.get(key) ?? "";
    filter.differs = Boolean(filter.differs);
    fillControls();
    // What the address says and the page does not know falls back to "any".
    for (const key of ["scope", "outcome", "which"]) filter[key] = byId(key).value;
    filter.kind = byId("reason").value;
  }

  function changeFilter(change) {
    Object.assign(filter, change);
    refilter();
    if (opened === null) history.replaceState(null, "", filterHash() || "#");
  }

  function changePair(left, right) {
    pair = right === "" || Number(right) === left ? [left] : [left, Number(right)];
    if (filter.which !== "" && !pair.includes(Number(filter.which))) filter.which = "";
    if (pair.length < 2) filter.differs = false;
    fillControls();
    refilter();
    if (opened !== null) route();
  }

  function showList() {
    setView("list");
    window.scrollTo(0, 0);
  }

  function connect() {
    byId("search").addEventListener("input", (event) => changeFilter({ search: event.target.value.toLowerCase() }));
    byId("scope").addEventListener("change", (event) => changeFilter({ scope: event.target.value }));
    byId("outcome").addEventListener("change", (event) => changeFilter({ outcome: event.target.value }));
    byId("reason").addEventListener("change", (event) => changeFilter({ kind: event.target.value }));
    byId("which").addEventListener("change", (event) => changeFilter({ which: event.target.value }));
    byId("differs").addEventListener("change", (event) => changeFilter({ differs: event.target.checked }));
    byId("left").addEventListener("change", () => changePair(Number(byId("left").value), byId("right").value));
    byId("right").addEventListener("change", () => changePair(Number(byId("left").value), byId("right").value));
    byId("clear").addEventListener("click", () => {
      changeFilter({ search: "", scope: "", outcome: "", kind: "", which: "", differs: false });
      fillControls();
    });
    for (const button of document.querySelectorAll(".reason")) {
      button.disabled = false;
      button.addEventListener("click", () => {
        changeFilter({ kind: filter.kind === button.dataset.kind ? "" : button.dataset.kind });
        fillControls();
        if (filter.kind !== "" && narrow.matches) showList();
      });
    }
    rows.addEventListener("scroll", paintRows, { passive: true });
    window.addEventListener("resize", paintRows);
    window.addEventListener("hashchange", route);
    window.addEventListener("popstate", route);
    byId("tab-overview").addEventListener("click", () => {
      if (opened !== null) go(filterHash());
      setView("overview");
    });
    byId("tab-list").addEventListener("click", () => {
      if (opened !== null) go(filterHash());
      showList();
    });
    byId("home").addEventListener("click", (event) => {
      event.preventDefault();
      if (opened !== null) go(filterHash());
      setView("overview");
      window.scrollTo(0, 0);
    });
    byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
    byId("keys").addEventListener("click", () => byId("help").showModal());
    byId("help-close").addEventListener("click", () => byId("help").close());
    document.addEventListener("keydown", onKey);
    let unfolded = [];
    window.addEventListener("beforeprint", () => {
      unfolded = [...document.querySelectorAll("details:not([open], .details)")];
      for (const node of unfolded) node.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const node of unfolded) node.open = false;
    });
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const target = event.target;
    const inSearch = target === byId("search");
    const typing = inSearch || target.matches?.("input[type=search], select, textarea");
    const inBrowser = byId("browser").contains(target) && !target.matches?.("select");
    const actions = {
      "/": () => {
        if (narrow.matches && root.dataset.view === "overview") showList();
        byId("search").focus();
        byId("search").select();
      },
      j: () => moveCursor(1),
      k: () => moveCursor(-1),
      d: () => {
        if (pair.length < 2) return;
        changeFilter({ differs: !filter.differs });
        fillControls();
      },
      x: jumpToNextLoss,
      "?": () => byId("help").showModal(),
    };
    let action = null;
    if (event.key === "Escape") {
      action = inSearch ? () => {
        if (filter.search) changeFilter({ search: "" });
        else byId("search").blur();
        fillControls();
      } : goBack;
    } else if (event.key === "Enter" && inSearch) {
      action = () => shown.length && go(hashOf(shown[Math.max(0, cursor)]));
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (inBrowser || target === document.body)) {
      // In a dialogue the arrows scroll; in the list and in the search field they choose.
      if (inBrowser || opened === null) action = () => moveCursor(event.key === "ArrowDown" ? 1 : -1);
    } else if (!typing) action = actions[event.key] ?? null;
    if (!action) return;
    event.preventDefault();
    action();
  }

  // Light and dark.

  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  function showTheme() {
    byId("theme").setAttribute("aria-pressed", String(isDark()));
  }

  function setTheme(theme) {
    root.dataset.theme = theme;
    try {
      localStorage.setItem("mwzeval-theme", theme);
    } catch { /* some browsers keep nothing for local files */ }
    showTheme();
  }

  const narrow = matchMedia("(max-width: 56rem)");
  const title = document.title;
  try {
    const stored = localStorage.getItem("mwzeval-theme");
    if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  } catch { /* as above */ }
  showTheme();
  for (const name of ["browser", "tools", "tabs"]) byId(name).hidden = false;
  for (const node of document.querySelectorAll(".scripted")) node.hidden = false;
  fillControls();
  readFilterHash();
  connect();
  refilter();
  setView("overview");
  route();
  (window.requestIdleCallback ?? setTimeout)(searchable);
  root.dataset.ready = "";
})();
