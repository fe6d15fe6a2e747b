// A facet of values: the most frequent first, ten at a time, each with its count and a bar.

import { type Filter, toggled, values } from "./address";
import type { App } from "./app";
import { fill, h, say } from "./dom";
import { count } from "./format";
import type { Facet, FacetValue } from "./types";
import { quoted, unquoted } from "./where";

const AT_ONCE = 8;
/** Classes that are listed by their name alone. */
const MAX_NAMED = 200;

interface Shown {
    value: string;
    title: string;
    n: number | null;
}

export class ValuesBody {
    private readonly find = h("input", {
        type: "search",
        class: "find",
        placeholder: "Find",
        autocomplete: "off",
        spellcheck: "false",
    });
    private readonly list = h("div", { class: "values", role: "group" });
    private readonly back = h("button", { type: "button", "aria-label": "Values before" }, "‹");
    private readonly next = h("button", { type: "button", "aria-label": "Values after" }, "›");
    private readonly where = h("span");
    private readonly pager = h("div", { class: "pager" }, this.back, this.where, this.next);
    readonly root = h("div", null, this.find, this.list, this.pager);
    private readonly buttons = new Map<string, HTMLButtonElement>();
    private known: FacetValue[] = [];
    private more = 0;
    private start = 0;

    constructor(
        private readonly app: App,
        private readonly name: string,
        private readonly filters: () => readonly Filter[],
        private readonly choose: (filters: Filter[]) => void,
    ) {
        this.find.addEventListener("input", () => this.turn(0));
        this.back.addEventListener("click", () => this.turn(this.start - AT_ONCE));
        this.next.addEventListener("click", () => this.turn(this.start + AT_ONCE));
    }

    update(facet: Facet): void {
        if (facet.kind !== "values") return;
        this.known = facet.values;
        this.more = facet.more;
        this.find.setAttribute("aria-label", `Find in ${facet.title}`);
        this.list.setAttribute("aria-label", facet.title);
        this.draw();
    }

    private turn(start: number): void {
        this.start = Math.max(0, start);
        this.draw();
    }

    private draw(): void {
        const text = this.find.value.trim().toLowerCase();
        const all = this.all(text);
        const found = all.filter((value) => fits(value, text));
        if (this.start >= found.length) this.start = 0;
        const shown = found.slice(this.start, this.start + AT_ONCE);
        const most = Math.max(1, ...all.map(({ n }) => n ?? 0));
        const focused = document.activeElement;
        fill(this.list, ...shown.map((value) => this.button(value, most)));
        // Moving an element takes the focus from it.
        if (focused instanceof HTMLElement && this.list.contains(focused))
            focused.focus({ preventScroll: true });

        this.find.hidden = all.length <= AT_ONCE;
        const last = this.start + shown.length;
        const isShort = found.length <= AT_ONCE && (this.more === 0 || text !== "");
        this.pager.hidden = isShort && shown.length > 0;
        const rest = this.more > 0 && text === "" ? `, ${count(this.more)} rarer` : "";
        say(
            this.where,
            shown.length === 0
                ? text === ""
                    ? "No samples match."
                    : "none"
                : `${this.start + 1}–${last} of ${count(found.length)}${rest}`,
        );
        this.back.hidden = this.next.hidden = shown.length === 0;
        this.back.disabled = this.start === 0;
        this.next.disabled = last >= found.length;
    }

    /** What was counted, what is chosen without having been counted, and classes that have a name. */
    private all(text: string): Shown[] {
        const all: Shown[] = [...this.known];
        const have = new Set(all.map(({ value }) => value));
        const chosen = new Set(values(this.filters(), this.name));
        for (const value of chosen) {
            if (!have.has(value)) all.push({ value, title: unquoted(value), n: null });
            have.add(value);
        }
        if (this.name === "label" && text !== "") all.push(...this.named(text, have));
        // Of many, those that are chosen must not be looked for.
        const isChosen = ({ value }: Shown) => chosen.has(value);
        return all.length <= AT_ONCE
            ? all
            : [...all.filter(isChosen), ...all.filter((value) => !isChosen(value))];
    }

    /** Classes with such a name that were not counted; of a million of them, the first few. */
    private named(text: string, have: Set<string>): Shown[] {
        const found: Shown[] = [];
        for (const title of this.app.classes()) {
            const shown = { value: quoted(title), title, n: null };
            if (fits(shown, text) && !have.has(shown.value)) found.push(shown);
            if (found.length === MAX_NAMED) break;
        }
        return found;
    }

    private button({ value, title, n }: Shown, most: number): HTMLButtonElement {
        let button = this.buttons.get(value);
        if (button === undefined) {
            const choose = () => this.choose(toggled(this.filters(), this.name, value));
            button = h(
                "button",
                { type: "button", class: "value", onclick: choose },
                h("span"),
                h("span", { class: "n" }),
            );
            this.buttons.set(value, button);
        }
        const [name, number] = button.children;
        if (name) say(name, title === "" ? "(empty)" : title);
        if (number) say(number, n === null ? "" : count(n));
        button.title = title;
        button.setAttribute(
            "aria-pressed",
            String(values(this.filters(), this.name).includes(value)),
        );
        button.style.setProperty("--share", `${((n ?? 0) / most) * 100}%`);
        return button;
    }
}

function fits({ title }: Shown, text: string): boolean {
    return title.toLowerCase().includes(text);
}
