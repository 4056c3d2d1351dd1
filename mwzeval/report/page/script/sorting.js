// The order of the systems in the table of scores: that of a score that the viewer presses.

import { byId } from "./document.js";
import { button } from "./elements.js";

const cellsOf = (row) => [...row.querySelectorAll(".of-system")];

/** Put the cells of every row in the order of one row's values, the best first. */
function sortBy(chosen) {
  const values = cellsOf(chosen).map((cell) => {
    const value = Number.parseFloat((cell.dataset.value ?? "").replace("\u2212", "-"));
    return Number.isNaN(value) ? -Infinity : value * ("lower" in chosen.dataset ? -1 : 1);
  });
  const order = [...values.keys()].sort((a, b) => (values[b] > values[a]) - (values[b] < values[a]) || a - b);
  for (const row of byId("scores-table").rows) {
    row.cells[0].removeAttribute("aria-sort");
    const cells = cellsOf(row);
    row.cells[0].after(...order.map((place) => cells[place]));
  }
  chosen.cells[0].setAttribute("aria-sort", "lower" in chosen.dataset ? "ascending" : "descending");
}

export function connectSorting() {
  const table = byId("scores-table");
  if (cellsOf(table.rows[0]).length < 2) return;
  for (const row of table.tBodies[0].rows) {
    const heading = row.cells[0];
    const press = button("", { class: "sort", title: "Order the systems by this score" }, () => sortBy(row));
    press.append(...heading.childNodes);
    heading.append(press);
  }
}
