// What needs none of the dialogues: the theme, the order of the systems in tables, and printing.

const root = document.documentElement;

/** Return the element of the template with this name. */
const byId = (name) => document.getElementById(`page-${name}`);

/** Matches where there is room for one column only. */
const narrow = matchMedia("(max-width: 56rem)");

const THEME = "mwzeval-theme";
const preference = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ?? (preference.matches ? "dark" : "light")) === "dark";

function showTheme() {
  byId("theme").setAttribute("aria-pressed", String(isDark()));
}

try {
  const stored = localStorage.getItem(THEME);
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
} catch { /* some browsers store nothing for local files */ }
showTheme();
preference.addEventListener("change", showTheme);
byId("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
  try {
    localStorage.setItem(THEME, root.dataset.theme);
  } catch { /* as above */ }
});

const systemCells = (row) => [...row.querySelectorAll(".of-system")];

/** Put the cells of all rows of scores in the order of the values of one row, the best first. */
function sortBy(row) {
  const sign = "lower" in row.dataset ? -1 : 1;
  const values = systemCells(row).map((cell) => {
    const value = sign * Number.parseFloat((cell.dataset.value ?? "").replace("\u2212", "-"));
    return Number.isNaN(value) ? -Infinity : value;
  });
  const order = [...values.keys()].sort((a, b) => (values[b] > values[a]) - (values[b] < values[a]) || a - b);
  for (const other of scoreRows) {
    const cells = systemCells(other);
    other.cells[0].removeAttribute("aria-sort");
    other.cells[0].after(...order.map((place) => cells[place]));
  }
  row.cells[0].setAttribute("aria-sort", sign < 0 ? "ascending" : "descending");
}

const scoreRows = [...document.querySelectorAll(".sortable tr")];
for (const row of scoreRows) {
  const heading = row.cells[0];
  if (heading.tagName !== "TH" || systemCells(row).length < 2) continue;
  const sorting = button("", { class: "sort", title: "Order the systems by this score" }, () => sortBy(row));
  sorting.append(...heading.childNodes);
  heading.append(sorting);
}

// On paper all details are open.
let closedDetails = [];
window.addEventListener("beforeprint", () => {
  closedDetails = [...document.querySelectorAll("details:not([open], .details)")];
  for (const node of closedDetails) node.open = true;
});
window.addEventListener("afterprint", () => {
  for (const node of closedDetails) node.open = false;
});
