// What the script finds in the document.

export const root = document.documentElement;

/** Return the element of the template with this name. */
export const byId = (name) => document.getElementById(`page-${name}`);

/** Matches where there is room for one column only. */
export const narrow = matchMedia("(max-width: 56rem)");
