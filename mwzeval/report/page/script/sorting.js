// The order of the systems in the tables of scores: that of a score that the viewer presses.

import { button } from "./elements.js";

const rowsOf = () => [...document.querySelectorAll(".sortable tr")];
const cellsOf = (row) => [...row.querySelectorAll(".of-system")];

/** Put the cells of every row in the order of one row's values, the best first. */
function sortBy(chosen) {
  const values = cellsOf(chosen).map((cell) => {
    const value = Number.parseFloat((cell.dataset.value ?? "").replace("\u2212", "-"));
    return Number.isNaN(value) ? -Infinity : value * ("lower" in chosen.dataset ? -1 : 1);
  });
  const order = [...values.keys()].sort((a, b) => (values[b] > values[a]) - (values[b] < values[a]) || a - b);
  for (const row of rowsOf()) {
    row.cells[0].removeAttribute("aria-sort");
    const cells = cellsOf(row);
    row.cells[0].after(...order.map((place) => cells[place]));
  }
  chosen.cells[0].setAttribute("aria-sort", "lower" in chosen.dataset ? "ascending" : "descending");
}

export function connectSorting() {
  for (const row of rowsOf().filter((each) => each.parentNode.tagName === "TBODY" && cellsOf(each).length > 1)) {
    const heading = row.cells[0];
    const press = button("", { class: "sort", title: "Order the systems by this score" }, () => sortBy(row));
    press.append(...heading.childNodes);
    heading.append(press);
  }
}
