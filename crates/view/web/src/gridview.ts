// The page of the grid: filters beside it, tools above it.

import * as address from "./address";
import type { App, Page } from "./app";
import { drawChips, drawExpression, drawSets } from "./chips";
import { failure, fill, h, say } from "./dom";
import { exportMenu, type Menu } from "./exports";
import { count, plural } from "./format";
import { Grid } from "./grid";
import { Panel } from "./panel";
import { ask, isQuiet } from "./server";
import type { Selection } from "./selection";
import { stored, store } from "./storage";

const NOTE_MS = 300;
const TYPING_MS = 250;

export class GridView implements Page {
    private readonly search = h("input", {
        type: "search",
        placeholder: "Search keys",
        "aria-label": "Search keys",
        "aria-keyshortcuts": "/",
        autocomplete: "off",
        spellcheck: "false",
        maxlength: 1024,
    });
    private readonly jump = h("input", {
        type: "text",
        inputmode: "numeric",
        placeholder: "# number",
        "aria-label": "Jump to sample number",
        "aria-keyshortcuts": "g",
        autocomplete: "off",
        maxlength: 15,
    });
    private readonly size = h("input", {
        type: "range",
        min: 64,
        max: 384,
        step: 8,
        "aria-label": "Size of thumbnails",
    });
    private readonly boxes = h("input", { type: "checkbox", checked: stored("boxes") !== "off" });
    private readonly total = h("span", { class: "total", role: "status" });
    private readonly chips = h("ul", { class: "chips", "aria-label": "Filters in use" });
    private readonly where = h("div", { class: "where" });
    private readonly message = h("div", { class: "message" });
    private readonly exports: Menu;
    private readonly toggle = h(
        "button",
        { type: "button", class: "toggle", "aria-expanded": "false", "aria-controls": "panel" },
        "Filters",
    );
    private readonly sets = h("nav", { class: "sets", "aria-label": "Dataset" });
    private readonly grid: Grid;
    private readonly panel: Panel;
    readonly root: HTMLElement;
    private filters: address.Filter[];
    private selection: Selection;
    private unlisten: () => void = () => undefined;
    private noteTimer = 0;
    private typing = 0;
    private coming: AbortController | null = null;
    private focusThere = false;
    /** A sample that an address names, and that the catalog has not come to yet. */
    private waitingFor: number | null = null;

    constructor(
        private readonly app: App,
        to: address.Address,
    ) {
        this.filters = to.filters;
        this.exports = exportMenu(app, () => this.filters);
        this.selection = app.selection(this.filters);
        this.size.value = stored("side") ?? "160";
        this.grid = new Grid(app, this.selection, Number(this.size.value), () => this.moved());
        this.panel = new Panel(app, (filters) => this.filter(filters), {
            found: () => this.selection.growing && this.selection.refresh(),
            drawn: () => this.grid.keepBudget(),
        });
        this.root = h(
            "div",
            { class: "gridview" },
            this.panel.root,
            h(
                "section",
                { class: "results", "aria-label": "Samples" },
                h("h1", { class: "unseen" }, app.dataset.name),
                h(
                    "div",
                    { class: "toolbar" },
                    app.dataset.second !== null && this.sets,
                    this.toggle,
                    this.search,
                    this.total,
                    this.jumpForm(),
                    app.dataset.objects !== null &&
                        h("label", { class: "check" }, this.boxes, "Boxes"),
                    this.size,
                    this.exports.root,
                ),
                this.chips,
                this.where,
                this.message,
                this.grid.root,
            ),
        );
        this.listen();
        this.use(to);
    }

    get title(): string {
        return [
            ...this.filters.map((filter) => this.app.filterText(filter)),
            this.app.dataset.name,
        ].join(" · ");
    }

    show(to: address.Address): boolean {
        if (to.view !== "grid" || address.isSecond(to) !== this.app.second) return false;
        this.filters = to.filters;
        this.selection = this.app.selection(this.filters);
        this.grid.use(this.selection);
        this.use(to);
        return true;
    }

    key(event: KeyboardEvent): boolean {
        if (event.key === "/") this.search.focus();
        else if (event.key === "g") this.jump.focus();
        else if (event.key === "Escape") return this.escape();
        else return document.activeElement === document.body && this.grid.key(event);
        return true;
    }

    retry(): void {
        this.grid.retry();
        this.panel.show(this.filters);
    }

    /** Brings the keyboard to the tiles. */
    takeFocus(): void {
        // On the way to a place, the focus follows there.
        if (this.coming === null) this.grid.takeFocus();
        else this.focusThere = true;
    }

    stop(): void {
        this.unlisten();
        this.coming?.abort();
        clearTimeout(this.noteTimer);
        clearTimeout(this.typing);
        this.grid.stop();
        this.panel.stop();
    }

    private jumpForm(): HTMLElement {
        const submit = (event: Event) => {
            event.preventDefault();
            const sample = address.whole(this.jump.value.replace(/[#,\s]/g, ""));
            if (sample === null)
                return this.complain("A sample's number is needed, counted from 0.");
            void this.jumpTo(sample, true);
        };
        return h("form", { class: "jump", onsubmit: submit }, this.jump);
    }

    private listen(): void {
        // Who looks around meanwhile is not taken elsewhere.
        for (const own of ["wheel", "pointerdown", "keydown"]) {
            this.root.addEventListener(own, () => (this.waitingFor = null), { passive: true });
        }
        this.search.addEventListener("input", () => {
            clearTimeout(this.typing);
            this.typing = window.setTimeout(() => this.searchNow(), TYPING_MS);
        });
        this.search.addEventListener("keydown", (event) => {
            if (event.key !== "Enter" && event.key !== "ArrowDown") return;
            event.preventDefault();
            clearTimeout(this.typing);
            this.searchNow();
            this.grid.takeFocus();
        });
        this.size.addEventListener("input", () => {
            this.grid.resize(Number(this.size.value));
            store("side", this.size.value);
        });
        const drawBoxes = () =>
            this.grid.showBoxes(this.app.dataset.objects !== null && this.boxes.checked);
        this.boxes.addEventListener("change", () => {
            store("boxes", this.boxes.checked ? "on" : "off");
            drawBoxes();
        });
        drawBoxes();
        this.toggle.addEventListener("click", () =>
            this.openPanel(!this.panel.root.classList.contains("open")),
        );
        this.panel.closer.addEventListener("click", () => {
            this.openPanel(false);
            this.toggle.focus();
        });
    }

    private openPanel(open: boolean): void {
        this.panel.root.classList.toggle("open", open);
        this.toggle.setAttribute("aria-expanded", String(open));
        if (open) this.panel.closer.focus();
    }

    private escape(): boolean {
        if (this.exports.close()) return true;
        if (this.panel.root.classList.contains("open")) {
            this.openPanel(false);
            this.toggle.focus();
            return true;
        }
        if (document.activeElement instanceof HTMLInputElement) {
            this.grid.takeFocus();
            return true;
        }
        return false;
    }

    /** Takes over the filters of an address, and goes to the place it names. */
    private use(to: address.Address): void {
        this.unlisten();
        this.waitingFor = null;
        this.unlisten = this.selection.onChange(() => {
            this.changed();
            if (this.waitingFor !== null) void this.jumpTo(this.waitingFor, false);
        });
        if (document.activeElement !== this.search) {
            this.search.value = address.values(this.filters, "key").at(-1) ?? "";
        }
        drawSets(this.sets, this.app, this.filters);
        drawChips(this.chips, this.app, this.filters, (filters) => this.filter(filters));
        drawExpression(this.where, this.filters);
        // What is damaged is known from the check, which begins when it is asked for.
        if (address.values(this.filters, "damaged").length > 0)
            ask(`api/damage${this.app.query([])}`).catch(() => undefined);
        this.panel.show(this.filters);
        this.changed();
        const at = address.whole(to.options.at);
        if (at !== null) void this.jumpTo(at, false);
    }

    private filter(filters: address.Filter[], replace = false): void {
        this.app.shared.go(this.app.grid(filters), replace);
    }

    private searchNow(): void {
        const before = address.values(this.filters, "key");
        const text = this.search.value.trim();
        if (text === (before.at(-1) ?? "")) return;
        const rest = address.without(this.filters, "key");
        // Letters of one word are one step of the history.
        this.filter(text === "" ? rest : [...rest, ["key", text]], before.length > 0);
    }

    private async jumpTo(sample: number, byHand: boolean): Promise<void> {
        this.coming?.abort();
        if (this.waitingFor !== sample) this.waitingFor = null;
        if (sample >= this.app.dataset.samples) return this.complain(this.notThere(sample));
        const coming = new AbortController();
        this.coming = coming;
        try {
            const place = await this.selection.position(sample, coming.signal);
            if (coming.signal.aborted) return;
            if (place === null) {
                this.complain(this.notThere(sample));
                this.waitingFor = this.selection.growing ? sample : null;
                return;
            }
            // The range of the scrollbar must reach there.
            if (this.selection.total === null) await this.selection.find(place, coming.signal);
            if (coming.signal.aborted) return;
            this.waitingFor = null;
            this.changed();
            this.coming = null;
            this.jump.value = "";
            this.grid.jump(place, byHand || this.focusThere);
            this.focusThere = false;
        } catch (error) {
            if (coming.signal.aborted) return;
            this.coming = null;
            if (!isQuiet(error))
                this.complain(error instanceof Error ? error.message : String(error));
        }
    }

    private notThere(sample: number): string {
        const last = this.app.dataset.samples - 1;
        if (sample > last)
            return `There is no sample #${count(sample)}: the last is #${count(last)}.`;
        if (this.selection.growing)
            return `Sample #${count(sample)} is not among those found so far.`;
        return `Sample #${count(sample)} is not among those that the filters keep.`;
    }

    private complain(text: string): void {
        this.coming = null;
        // What is read out already is not read out again.
        if (this.message.textContent === text) return;
        fill(this.message, h("p", { class: "failure", role: "alert" }, text));
    }

    private changed(): void {
        const { total, growing, error } = this.selection;
        const { samples } = this.app.dataset;
        if (total === null) say(this.total, "");
        else if (this.filters.length === 0) say(this.total, plural(total, "sample"));
        else say(this.total, `${count(total)} of ${count(samples)}${growing ? " so far" : ""}`);
        if (error !== null) {
            fill(
                this.message,
                failure("The samples cannot be listed", error, () => this.selection.retry()),
            );
        } else if (this.waitingFor !== null) {
            // That is said, until it is found.
        } else if (total === 0) {
            const none = growing
                ? "Nothing found so far."
                : samples === 0
                  ? "The dataset has no samples."
                  : "No samples match. ";
            const all = h("a", { href: address.format(this.app.grid([])) }, "Clear filters");
            fill(this.message, h("p", { class: "empty" }, none, !growing && samples > 0 && all));
        } else {
            fill(this.message);
        }
    }

    /** Keeps the fragment at what is in sight, once it rests. */
    private moved(): void {
        clearTimeout(this.noteTimer);
        this.noteTimer = window.setTimeout(() => {
            if (this.coming !== null || this.waitingFor !== null) return;
            const place = this.grid.place;
            const at = place === 0 ? undefined : (this.selection.sampleAt(place) ?? undefined);
            this.app.shared.note(this.app.grid(this.filters, at));
        }, NOTE_MS);
    }
}
