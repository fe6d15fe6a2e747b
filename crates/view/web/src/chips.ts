// The filters in use, each of which a click takes away, the expression that they are together, and
// the dataset that they choose from.

import { type Filter, format, grid, without } from "./address";
import type { App } from "./app";
import { copier } from "./copy";
import { fill, h } from "./dom";
import { expression } from "./where";

/** More of them than these have no chip: the page must not grow without end. */
const MAX_CHIPS = 12;

/** What means the same in any two datasets: classes and fields of one may be others in the other. */
const COMMON = new Set(["key", "codec", "width", "height", "bytes", "width / height"]);

/** Links to the grids of the two datasets of a comparison. */
export function drawSets(nav: HTMLElement, app: App, filters: readonly Filter[]): void {
    const common = filters.filter(([name]) => COMMON.has(name));
    const link = (letter: string, second: boolean) => {
        const current = second === app.second;
        const href = format(grid(current ? filters : common, undefined, second));
        const label = `Samples of ${letter}`;
        return h("a", { href, "aria-current": current && "true", "aria-label": label }, letter);
    };
    fill(nav, link("A", false), link("B", true));
}

export function drawChips(
    list: HTMLElement,
    app: App,
    filters: readonly Filter[],
    choose: (filters: Filter[]) => void,
): void {
    const chip = (filter: Filter) => {
        const text = app.filterText(filter);
        const remove = () => choose(without(filters, filter[0], filter[1]));
        const label = `Remove the filter ${text}`;
        const props = { type: "button", class: "chip", onclick: remove, "aria-label": label };
        return h("li", null, h("button", props, text));
    };
    fill(list, ...filters.slice(0, MAX_CHIPS).map(chip));
    if (filters.length > 1) {
        const props = { type: "button", class: "plain", onclick: () => choose([]) };
        list.append(h("li", null, h("button", props, "Clear all")));
    }
    list.hidden = filters.length === 0;
}

/** What one may give to `pack --where`, or to `keys.txt` without the page. */
export function drawExpression(root: HTMLElement, filters: readonly Filter[]): void {
    const text = expression(filters);
    const code = h("code", { tabindex: "0", role: "group", "aria-label": "Expression" }, text);
    fill(root, code, copier("Copy for pack --where", code));
    root.hidden = text === "";
}
