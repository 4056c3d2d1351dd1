// The controls: the filter, the systems side by side, and the count of what passes.

import { filterHash, filterOfHash } from "./address.js";
import { KEPT, LOST, UNASKED, kindNames, kinds, outcomes, scopes, systems, units, words } from "./data.js";
import { byId, narrow } from "./document.js";
import { element, labelOf, plain } from "./elements.js";
import { filtered } from "./filter.js";
import { repaintRows } from "./list.js";
import { route, showList } from "./navigation.js";
import { filter, state } from "./state.js";
import { paintPosition } from "./unit.js";

const CHOICES = ["scope", "outcome", "reason", "which", "differs"];

function options(select, entries, value) {
  select.replaceChildren(...entries.map(([key, label]) => element("option", { value: key }, plain(label))));
  select.value = value;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

/** Make the controls say what is chosen. */
export function fillControls() {
  options(byId("scope"), [["", "any"], ...Array.from(scopes, (scope) => [scope, scope])], filter.scope);
  const values = [[LOST, "✗", "lost"], [KEPT, "✓", "kept"], [UNASKED, "–", "not asked for"]];
  const ofOutcomes = [...outcomes].flatMap((outcome) => values.map(([value, sign, name]) =>
    [JSON.stringify([value, outcome]), `${sign} ${labelOf(outcome)} ${name}`]));
  options(byId("outcome"), [["", "any"], ...ofOutcomes], filter.outcome);
  const reason = byId("reason");
  reason.replaceChildren(element("option", { value: "" }, "any"));
  let group = null;
  kinds.forEach(([outcome, code, parent], kind) => {
    if (group?.label !== labelOf(outcome)) reason.append(group = element("optgroup", { label: labelOf(outcome) }));
    group.append(element("option", { value: kindNames[kind] }, (parent === null ? "" : "\u2003") + plain(code)));
  });
  reason.value = filter.reason;
  if (reason.selectedIndex < 0) reason.selectedIndex = 0;
  options(byId("which"), [["", state.pair.length > 2 ? "any" : "either"], ...state.pair.map((index) =>
    [String(index), `${systems[index].letter} ${systems[index].name}`])], filter.which);
  byId("which-label").hidden = state.pair.length < 2;
  byId("differs-label").hidden = state.pair.length < 2;
  const pair = state.pair.map((index) => systems[index].letter);
  options(byId("differs"), [["", "any"], ["1", `${pair.join(" and ")} differ`],
    ...[...outcomes].flatMap((outcome) => pair.map((letter, place) =>
      [`${place}/${outcome}`, `${letter} wins: ${labelOf(outcome)}`]))], filter.differs);
  byId("search").value = filter.search;
  const names = systems.map((system, index) => [String(index), `${system.letter} ${system.name}`]);
  byId("pair").hidden = systems.length < 3;
  options(byId("left"), names, String(state.pair[0]));
  options(byId("right"), [...names, ["", "nothing"]], String(state.pair[1] ?? ""));
  byId("list-legend").replaceChildren(...[...outcomes].map((outcome) => element("span", {}, labelOf(outcome))));
}

/** Show what passes the filter. */
export function refilter() {
  state.shown = filtered();
  state.cursor = state.opened === null ? -1 : state.shown.indexOf(state.opened);
  repaintRows();
  const total = units.length.toLocaleString("en");
  byId("count").textContent = state.shown.length === units.length
    ? `${total} ${units.length === 1 ? words.unit : words.units}`
    : `${state.shown.length.toLocaleString("en")} of ${total} ${words.units}`;
  byId("clear").hidden = !Object.values(filter).some(Boolean);
  for (const button of document.querySelectorAll(".reason")) {
    button.setAttribute("aria-pressed", String(kindNames[button.dataset.kind] === filter.reason));
  }
  paintPosition();
}

/** Filter as the address says; what it says and the page does not know falls back to "any". */
export function readFilterHash() {
  const said = filterOfHash();
  if (!said) return;
  Object.assign(filter, said);
  fillControls();
  filter.search = filter.search.toLowerCase();
  for (const key of CHOICES) filter[key] = byId(key).value;
}

/** Change parts of the filter, show what passes it, and put it into the address. */
export function changeFilter(change) {
  Object.assign(filter, change);
  refilter();
  if (state.opened === null) history.replaceState(null, "", filterHash() || "#");
}

function changePair(left, right) {
  state.pair = right === "" || Number(right) === left ? [left] : [left, Number(right)];
  if (filter.which !== "" && !state.pair.includes(Number(filter.which))) filter.which = "";
  if (state.pair.length < 2) filter.differs = "";
  fillControls();
  refilter();
  if (state.opened !== null) route();
}

export function connectControls() {
  byId("search").addEventListener("input", (event) => changeFilter({ search: event.target.value.toLowerCase() }));
  for (const key of CHOICES) {
    byId(key).addEventListener("change", (event) => changeFilter({ [key]: event.target.value }));
  }
  for (const name of ["left", "right"]) {
    byId(name).addEventListener("change", () => changePair(Number(byId("left").value), byId("right").value));
  }
  byId("clear").addEventListener("click", () => {
    changeFilter(Object.fromEntries(Object.keys(filter).map((key) => [key, ""])));
    fillControls();
  });
  for (const button of document.querySelectorAll(".reason")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const name = kindNames[button.dataset.kind];
      changeFilter({ reason: filter.reason === name ? "" : name });
      fillControls();
      if (filter.reason !== "" && narrow.matches) showList();
    });
  }
}
