// The list of keys, shown while it is looked at.

import { h } from "./dom";

const KEYS: [string, string][] = [
    ["← ↑ ↓ →", "another sample; on a sample's page, the one before and the next"],
    ["Home End", "the first and the last sample"],
    ["Page Up Page Down", "a screen up and down"],
    ["Enter", "opens the sample"],
    ["Esc", "back to the grid"],
    ["/", "searches keys"],
    ["g", "jumps to a sample by its number"],
    ["f", "the image fitted, or at its size"],
    ["o", "what is drawn over the image, or not"],
    ["b", "swaps the two images of a comparison"],
    ["t", "light or dark"],
    ["?", "these keys"],
];

export function showKeys(): void {
    if (document.querySelector("dialog[open]") !== null) return;
    const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
    const list = h(
        "dl",
        { class: "keys" },
        ...KEYS.flatMap(([key, does]) => [h("dt", null, h("kbd", null, key)), h("dd", null, does)]),
    );
    const dialog: HTMLDialogElement = h(
        "dialog",
        { "aria-labelledby": "keys-title" },
        h("h2", { id: "keys-title" }, "Keys"),
        list,
        close,
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
}
