// The filters in use, each of which a click takes away, and the dataset that they choose from.

import { type Filter, format, grid, without } from "./address";
import type { App } from "./app";
import { fill, h } from "./dom";

/** More of them than these have no chip: the page must not grow without end. */
const MAX_CHIPS = 12;

/** What means the same in any two datasets: classes and fields of one may be others in the other. */
const COMMON = new Set(["text", "codec", "width", "height", "bytes", "aspect"]);

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
