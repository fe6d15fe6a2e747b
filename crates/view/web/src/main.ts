// Starts the page: asks for the dataset, and shows what the fragment names.

import * as address from "./address";
import { AboutView } from "./about";
import { App, type Page, type Shared } from "./app";
import { BatchView } from "./batch";
import { CompareView } from "./compare";
import { failure, fill, h } from "./dom";
import { GridView } from "./gridview";
import { showKeys } from "./keys";
import { SampleView } from "./sampleview";
import { ask, Lost, onLost } from "./server";
import { applyTheme, swapTheme } from "./theme";
import type { Dataset } from "./types";

const main = h("main", { id: "main", tabindex: "-1" });
const brand = h(
    "a",
    { class: "brand", href: "#/" },
    h("img", { src: "icon.svg", alt: "", width: 20, height: 20 }),
    h("span", null, "fdconvert"),
);
const pages = h("nav", { class: "pages", "aria-label": "Pages" });
const notice = h("div", { class: "notice", role: "alert", hidden: true });
/** The dataset, and the second one of a comparison. */
let apps: [App, App | null] | null = null;
let page: Page | null = null;
/** The fragment that names what is shown. */
let shown = "";

function show(to: address.Address): void {
    if (apps === null) return;
    shown = location.hash;
    const from = page;
    if (from?.show?.(to) !== true) {
        from?.stop();
        page = open(apps, to);
        fill(main, page.root);
        if (from !== null) takeFocus(page);
    }
    document.title = page?.title ?? "";
    const above = to.options.from === "compare" ? "compare" : "grid";
    const view = to.view === "sample" ? above : to.view;
    for (const link of pages.querySelectorAll("a")) {
        if (link.dataset.view === view) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
}

function open([first, second]: [App, App | null], to: address.Address): Page {
    const app = (address.isSecond(to) ? second : null) ?? first;
    switch (to.view) {
        case "sample":
            return new SampleView(app, to);
        case "batch":
            return new BatchView(first, to);
        case "compare":
            return new CompareView(first, to);
        case "about":
            return new AboutView(first);
        case "grid":
            return new GridView(app, to);
    }
}

/** Where the keyboard is after a page has taken the place of another. */
function takeFocus(page: Page): void {
    if (page instanceof GridView) page.takeFocus();
    else page.root.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
}

function go(to: address.Address, replace = false): void {
    const hash = address.format(to);
    if (hash === location.hash) return show(to);
    if (!replace) {
        location.hash = hash;
        return;
    }
    history.replaceState(null, "", hash);
    show(to);
}

function note(to: address.Address): void {
    // A link was followed, and its hashchange is still to come: that address must stay.
    if (location.hash !== shown) return;
    const hash = address.format(to);
    if (hash === shown) return;
    history.replaceState(null, "", hash);
    shown = location.hash;
}

/** Shows what the fragment names, unless it is shown: a key may come before its hashchange. */
function follow(): void {
    if (location.hash !== shown) show(address.parse(location.hash));
}

/** Kinds of inputs into which no letter goes. */
const NO_TEXT = new Set(["checkbox", "range"]);

function key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const { target } = event;
    const types =
        target instanceof HTMLSelectElement ||
        (target instanceof HTMLInputElement && !NO_TEXT.has(target.type));
    if (types && event.key !== "Escape") return;
    follow();
    if (page?.key?.(event) === true) return event.preventDefault();
    if (event.key === "?") showKeys();
    else if (event.key === "t") swapTheme();
    else if (event.key === "/" || event.key === "g") toGrid(event);
    else return;
    event.preventDefault();
}

/** Search and jump are tools of the grid. */
function toGrid(event: KeyboardEvent): void {
    const from = address.parse(location.hash);
    const to = address.grid(from.filters, undefined, address.isSecond(from));
    history.pushState(null, "", address.format(to));
    show(to);
    page?.key?.(event);
}

function drawLost(lost: boolean): void {
    notice.hidden = !lost;
    if (!lost) {
        fill(notice);
        page?.retry?.();
        return;
    }
    const again = h("button", { type: "button", onclick: () => void retry(again) }, "Try again");
    fill(
        notice,
        h("span", null, "The server does not answer. Has fdconvert view been ended?"),
        again,
    );
}

async function retry(button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    try {
        if (apps === null) return await start();
        await ask<Dataset>("api/dataset");
    } catch {
        // It is said above the page already.
    } finally {
        button.disabled = false;
    }
}

function drawPages({ second }: Dataset): void {
    const links: [address.View, string, string][] = [
        ["grid", "Samples", "#/"],
        ["batch", "Batch", "#/batch"],
        ["about", "About", "#/about"],
    ];
    if (second !== null) links.splice(2, 0, ["compare", "Compare", "#/compare"]);
    fill(pages, ...links.map(([view, text, href]) => h("a", { href, "data-view": view }, text)));
}

async function start(): Promise<void> {
    try {
        const dataset = await ask<Dataset>("api/dataset");
        const retitle = (title: string) => (document.title = title);
        const shared: Shared = { go, note, retitle, compared: "#/compare" };
        const first = new App(dataset, false, shared);
        const b = dataset.second === null ? null : await ask<Dataset>("api/dataset?set=b");
        apps = [first, b && new App(b, true, shared)];
        brand.setAttribute("aria-label", dataset.name);
        fill(
            brand,
            ...brand.querySelectorAll("img"),
            h("span", { title: dataset.path }, dataset.name),
        );
        drawPages(dataset);
        show(address.parse(location.hash));
    } catch (error) {
        if (!(error instanceof Lost))
            fill(
                main,
                failure("The dataset cannot be shown", error, () => void start()),
            );
    }
}

applyTheme();
document.body.append(
    h(
        "a",
        {
            class: "skip",
            href: "#main",
            onclick: (event: Event) => (event.preventDefault(), main.focus()),
        },
        "Skip to content",
    ),
    h(
        "header",
        { class: "bar" },
        brand,
        pages,
        h(
            "button",
            {
                type: "button",
                class: "icon",
                "aria-label": "Light or dark",
                title: "Light or dark (t)",
                onclick: swapTheme,
            },
            "◐",
        ),
        h(
            "button",
            {
                type: "button",
                class: "icon",
                "aria-label": "Keys",
                title: "Keys (?)",
                onclick: showKeys,
            },
            "?",
        ),
    ),
    notice,
    main,
);
onLost(drawLost);
addEventListener("hashchange", follow);
addEventListener("keydown", key);
void start();
