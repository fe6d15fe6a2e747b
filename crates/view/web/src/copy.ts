// A button that copies what an element shows.

import { fill, h } from "./dom";

export function copier(label: string, shown: HTMLElement): HTMLElement {
    const said = h("span", { role: "status", class: "muted" });
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(shown.textContent ?? "");
            fill(said, "copied");
        } catch {
            getSelection()?.selectAllChildren(shown);
            fill(said, "selected; copy it with Ctrl+C");
        }
    };
    const button = h("button", { type: "button", onclick: () => void copy() }, label);
    return h("div", { class: "line" }, button, said);
}
