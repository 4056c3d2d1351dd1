// The list of items: what the viewer has chosen, which items pass the filter, their rows, and export.

/**
 * The filter; an empty string chooses everything. `outcome` is JSON, [result, name]; `reason` is the name of a kind;
 * `differs` is "1" for any difference, or a place in the pair and an outcome that only this system keeps ("0/solved").
 */
const filter = { search: "", scope: "", outcome: "", reason: "", which: "", differs: "" };
const CHOICES = ["scope", "outcome", "reason", "which", "differs"];

/**
 * The systems side by side, the items that pass the filter, the chosen place among these, and the open item: null for
 * none, -1 for one that does not exist.
 */
const state = { pair: systems.length > 1 ? [0, 1] : [0], shown: [], cursor: -1, opened: null };

const isPair = () => state.pair.length > 1;

/** Return the searched words, in any order, or phrases in quotation marks. */
function searchedWords() {
  return Array.from(filter.search.matchAll(/"([^"]+)"?|[^\s"]+/g), ([word, phrase]) => phrase ?? word);
}

// Addresses: `#name` is an item, `#?…` the overview under a filter.

const itemNumbers = new Map(names.map((name, item) => [name, item]));
const lowerCaseNumbers = new Map(names.map((name, item) => [name.toLowerCase(), item]));

function hashOf(item) {
  try {
    if (names[item]) return `#${encodeURIComponent(names[item])}`;
  } catch { /* a name that is not proper Unicode */ }
  return `#@${item}`;
}

/** Return the name in the address, decoded if possible. */
function nameInHash() {
  const name = location.hash.slice(1);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Return the item that the address names: null where it names none, undefined if there is no such item. */
function itemOfHash() {
  const hash = location.hash.slice(1);
  if (!hash || hash.startsWith("?")) return null;
  if (hash.startsWith("@")) return /^@\d+$/.test(hash) && names[hash.slice(1)] !== undefined ? Number(hash.slice(1)) : undefined;
  const name = nameInHash();
  return itemNumbers.get(name) ?? lowerCaseNumbers.get(name.toLowerCase().replace(/\.json$/, ""));
}

/** Return the address of the filter, so that a filtered list can be shared. */
function filterHash() {
  const chosen = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  return chosen.size ? `#?${chosen}` : "";
}

/** Take the filter from the address; a value that the page does not have means "any". */
function readFilterHash() {
  if (!location.hash.startsWith("#?")) return;
  const chosen = new URLSearchParams(location.hash.slice(2));
  for (const key of Object.keys(filter)) filter[key] = chosen.get(key) ?? "";
  filter.search = filter.search.toLowerCase();
  fillControls();
  for (const key of CHOICES) filter[key] = byId(key).value;
}

function differ(item, scope) {
  const [first, second] = state.pair.map((system) => explanations[item][system]);
  if (!first || !second) return first !== second;
  const compared = scope ? [scope] : [...first.outcomes.keys(), ...second.outcomes.keys()];
  return compared.some((part) => [...outcomes].some((outcome) =>
    resultOf(first, part, outcome) !== resultOf(second, part, outcome)));
}

function explanationPasses(explanation, { outcome, kind }) {
  if (!explanation) return !filter.scope && !outcome && !filter.reason;
  if (filter.scope && !explanation.outcomes.has(filter.scope)) return false;
  if (outcome && resultOf(explanation, filter.scope, outcome[1]) !== outcome[0]) return false;
  return !filter.reason || explanation.reasons.some((reason) => reason.outcome === kind?.outcome
    && (reason.code === kind.code || familyOf(reason.code) === kind.code)
    && (!filter.scope || reason.scope === filter.scope));
}

/** Return the items that pass the filter, in their order. */
function filtered() {
  const words = searchedWords();
  const texts = words.length ? searchableTexts() : [];
  const difference = isPair() ? filter.differs : "";
  const [, winner, won] = difference.match(/^(\d)\/(.*)$/s) ?? [];
  const wanted = {
    outcome: filter.outcome ? JSON.parse(filter.outcome) : null,
    kind: kinds[kindNames.indexOf(filter.reason)],
  };
  const looked = filter.which === "" ? state.pair : [Number(filter.which)];
  return [...names.keys()].filter((item) =>
    words.every((word) => texts[item].includes(word))
    && (difference !== "1" || differ(item, filter.scope))
    && (winner === undefined || state.pair.every((system, place) =>
      resultOf(explanations[item][system], filter.scope, won) === (place === Number(winner))))
    && looked.some((system) => explanationPasses(explanations[item][system], wanted)));
}

// Rows: only those in sight are in the document.

const OVERSCAN = 6;
const rows = byId("rows");
const sizer = byId("sizer");
const painted = new Map();
const rowHeight = () => 3.5 * parseFloat(getComputedStyle(root).fontSize);

function rowOf(item) {
  const parts = new Set(state.pair.flatMap((system) => [...(explanations[item][system]?.outcomes.keys() ?? [])]));
  parts.delete(whole);
  const marks = element("span", { class: "row-marks" });
  for (const system of state.pair) {
    const explanation = explanations[item][system];
    marks.append(element("span", { class: "row-system" }, isPair() ? badge(systems[system]) : null,
      ...(explanation
        ? [...outcomes].map((outcome) => outcomeSign(resultOf(explanation, filter.scope, outcome), outcome))
        : [element("span", { class: "muted" }, "missing")])));
  }
  return element(
    "div", { role: "listitem", class: "row-item", "aria-setsize": state.shown.length },
    element("a", { class: "row", href: hashOf(item), "data-item": item },
      element("span", { class: "row-text" },
        textElement("span", { class: "row-name" }, names[item]),
        textElement("span", { class: "row-scopes" }, [...parts].join(" · "))),
      marks));
}

/** Put the rows in sight into the document, in their order, and remove the others. */
function paintRows() {
  const height = rowHeight();
  sizer.style.height = `${state.shown.length * height}px`;
  const first = Math.max(0, Math.floor(rows.scrollTop / height) - OVERSCAN);
  const bottom = rows.scrollTop + (rows.clientHeight || 800);
  const last = Math.min(state.shown.length, Math.ceil(bottom / height) + OVERSCAN);
  const inSight = new Set(state.shown.slice(first, last));
  for (const [item, node] of painted) {
    if (!inSight.has(item)) {
      node.remove();
      painted.delete(item);
    }
  }
  // One row is a tab stop: the chosen one, or the nearest to it that is in the document.
  const stop = Math.min(Math.max(state.cursor, first), last - 1);
  let place = sizer.firstChild;
  for (let position = first; position < last; position += 1) {
    const item = state.shown[position];
    const node = painted.get(item) ?? rowOf(item);
    painted.set(item, node);
    node.style.top = `${position * height}px`;
    node.setAttribute("aria-posinset", position + 1);
    const link = node.firstChild;
    link.classList.toggle("cursor", position === state.cursor);
    link.tabIndex = position === stop ? 0 : -1;
    link.ariaCurrent = item === state.opened ? "true" : null;
    if (node === place) place = place.nextSibling;
    else sizer.insertBefore(node, place);
  }
}

/** Scroll the list until the row at a place is in sight. */
function reveal(position) {
  const height = rowHeight();
  const top = position * height;
  if (top < rows.scrollTop) rows.scrollTop = top;
  else if (top + height > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + height - rows.clientHeight;
  paintRows();
}

function focusRow(item) {
  painted.get(item)?.firstChild.focus({ preventScroll: true });
}

const option = ([key, label]) => element("option", { value: key }, plain(label));

function options(name, nodes, value) {
  const select = byId(name);
  select.replaceChildren(...nodes);
  select.value = value;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

/** Show in the controls what is chosen. */
function fillControls() {
  const ofOutcomes = [...outcomes].flatMap((outcome) => [false, true, null].map((result) => {
    const { sign, name } = RESULTS.get(result);
    return [JSON.stringify([result, outcome]), `${sign} ${labelOf(outcome)} ${name}`];
  }));
  const pair = state.pair.map((place) => systems[place].letter);
  const winners = [...outcomes].flatMap((outcome) => pair.map((letter, place) =>
    [`${place}/${outcome}`, `${letter} wins: ${labelOf(outcome)}`]));
  const named = systems.map(({ letter, name }, place) => [String(place), `${letter} ${name}`]);
  const groups = Array.from(Map.groupBy(kinds, ({ outcome }) => outcome), ([outcome, ofOutcome]) =>
    element("optgroup", { label: labelOf(outcome) }, ...ofOutcome.map(({ code }) =>
      option([`${outcome}/${code}`, code === familyOf(code) ? code : `\u2003${code}`]))));
  const any = ["", "any"];
  options("scope", [any, ...Array.from(scopes, (scope) => [scope, scope])].map(option), filter.scope);
  options("outcome", [any, ...ofOutcomes].map(option), filter.outcome);
  options("reason", [option(any), ...groups], filter.reason);
  options("which", [["", "either"], ...state.pair.map((place) => named[place])].map(option), filter.which);
  options("differs", [any, ["1", `${pair.join(" and ")} differ`], ...winners].map(option), filter.differs);
  options("left", named.map(option), String(state.pair[0]));
  options("right", [...named, ["", "nothing"]].map(option), String(state.pair[1] ?? ""));
  byId("which-label").hidden = byId("differs-label").hidden = !isPair();
  byId("pair").hidden = systems.length < 3;
  byId("search").value = filter.search;
  byId("list-legend").replaceChildren(...Array.from(outcomes, (outcome) => element("span", {}, labelOf(outcome))));
}

/** Show the items that pass the filter, from the first one. */
function refilter() {
  state.shown = filtered();
  state.cursor = state.opened === null ? -1 : state.shown.indexOf(state.opened);
  painted.forEach((node) => node.remove());
  painted.clear();
  rows.scrollTop = 0;
  paintRows();
  const total = `${withCommas(names.length)} ${names.length === 1 ? words.unit : words.units}`;
  byId("count").textContent = state.shown.length === names.length
    ? total
    : `${withCommas(state.shown.length)} of ${withCommas(names.length)} ${words.units}`;
  byId("clear").hidden = !Object.values(filter).some(Boolean);
  for (const bar of document.querySelectorAll(".reason")) {
    bar.setAttribute("aria-pressed", String(kindNames[bar.dataset.kind] === filter.reason));
  }
  paintPosition();
}

/** Change parts of the filter, show what passes it, and put it into the address. */
function changeFilter(change) {
  Object.assign(filter, change);
  refilter();
  if (state.opened === null) history.replaceState(null, "", filterHash() || "#");
}

function changePair() {
  const [left, right] = [byId("left").value, byId("right").value];
  state.pair = right === "" || right === left ? [Number(left)] : [Number(left), Number(right)];
  if (filter.which !== "" && !state.pair.includes(Number(filter.which))) filter.which = "";
  if (!isPair()) filter.differs = "";
  fillControls();
  refilter();
  if (state.opened !== null) route();
}

function exportedLine(item) {
  const found = state.pair.map((system) => {
    const explanation = explanations[item][system];
    return [systems[system].name, explanation && {
      outcomes: Object.fromEntries(Array.from(explanation.outcomes, ([scope, named]) =>
        [scope, Object.fromEntries(named)])),
      reasons: explanation.reasons,
    }];
  });
  return `${JSON.stringify({ [words.unit]: names[item], systems: Object.fromEntries(found) })}\n`;
}

/** Download the items that pass the filter as JSON lines. */
function exportItems() {
  const address = URL.createObjectURL(new Blob(state.shown.map(exportedLine), { type: "application/jsonl" }));
  element("a", { href: address, download: `${words.units}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address));
}

// The row that gets the focus is the one from which arrow keys move.
sizer.addEventListener("focusin", ({ target }) => {
  state.cursor = state.shown.indexOf(Number(target.closest(".row")?.dataset.item));
  paintRows();
});
rows.addEventListener("scroll", paintRows, { passive: true });
window.addEventListener("resize", paintRows);
byId("search").addEventListener("input", (event) => changeFilter({ search: event.target.value.toLowerCase() }));
for (const key of CHOICES) {
  byId(key).addEventListener("change", (event) => changeFilter({ [key]: event.target.value }));
}
for (const name of ["left", "right"]) byId(name).addEventListener("change", changePair);
byId("clear").addEventListener("click", () => {
  changeFilter(Object.fromEntries(Object.keys(filter).map((key) => [key, ""])));
  fillControls();
});
byId("export").addEventListener("click", exportItems);
for (const bar of document.querySelectorAll(".reason")) {
  bar.disabled = false;
  bar.addEventListener("click", () => {
    const name = kindNames[bar.dataset.kind];
    changeFilter({ reason: filter.reason === name ? "" : name });
    fillControls();
    if (filter.reason !== "" && narrow.matches) showList();
  });
}
