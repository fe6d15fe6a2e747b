// The menu of files that the filters lead to.

import type { Filter } from "./address";
import type { App } from "./app";
import { h } from "./dom";

export interface Menu {
    root: HTMLElement;
    /** Closes it; false where it was closed. */
    close(): boolean;
}

export function exportMenu(app: App, filters: () => readonly Filter[]): Menu {
    const summary = h("summary", null, "Export");
    const root = h("details", { class: "menu" }, summary);
    let body: HTMLElement | null = null;

    const outside = (event: Event) => {
        if (event.target instanceof Node && !root.contains(event.target)) root.open = false;
    };
    root.addEventListener("toggle", () => {
        body?.remove();
        if (root.open) document.addEventListener("pointerdown", outside);
        else document.removeEventListener("pointerdown", outside);
        body = root.open ? contents(app, filters()) : null;
        if (body !== null) root.append(body);
    });
    root.addEventListener("focusout", (event) => {
        const to = event.relatedTarget;
        if (to instanceof Node && !root.contains(to)) root.open = false;
    });
    return {
        root,
        close() {
            if (!root.open) return false;
            root.open = false;
            summary.focus();
            return true;
        },
    };
}

function contents(app: App, filters: readonly Filter[]): HTMLElement {
    const how = h(
        "select",
        { id: "sheet-count" },
        ...[25, 100, 400, 1000].map((n) => h("option", { value: n, selected: n === 100 }, n)),
    );
    const side = h(
        "select",
        { id: "sheet-side" },
        ...[64, 128, 256].map((n) => h("option", { value: n, selected: n === 128 }, `${n} px`)),
    );
    const png = h("a", { download: "sheet.png" }, "Contact sheet, PNG");
    const html = h("a", { download: "sheet.html" }, "Contact sheet, HTML");
    const link = () => {
        const more = { count: how.value, side: side.value };
        png.href = `sheet.png${app.query(filters, more)}`;
        html.href = `sheet.html${app.query(filters, more)}`;
    };
    how.addEventListener("change", link);
    side.addEventListener("change", link);
    link();
    return h(
        "div",
        { class: "sheet" },
        h(
            "a",
            { href: `keys.txt${app.query(filters)}`, download: "keys.txt" },
            "Keys, for pack --keys",
        ),
        png,
        html,
        h(
            "div",
            { class: "line" },
            h("label", { for: "sheet-count" }, "First"),
            how,
            h("label", { for: "sheet-side" }, "at"),
            side,
        ),
    );
}
