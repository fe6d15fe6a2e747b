// The filters in use, each of which a click takes away.

import { type Filter, without } from "./address";
import type { App } from "./app";
import { fill, h } from "./dom";

/** More of them than these have no chip: the page must not grow without end. */
const MAX_CHIPS = 12;

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
