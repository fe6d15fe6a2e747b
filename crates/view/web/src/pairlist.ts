// The list of pairs: as of the grid, only the rows in sight, and one on either side, are in the page.

import * as address from "./address";
import { h, set } from "./dom";
import { Pages } from "./pages";
import { pairRow } from "./pairs";
import { Scroll } from "./scroll";
import { ask } from "./server";
import type { Comparison, Pair, State } from "./types";

/** Pairs of one request. */
const PAGE = 100;
const GAP = 16;
const OVERSCAN = 1;
/** The least width of a pair. */
const WIDTH = 320;
/** Of a pair without its images: the line of its key, spaces and edges. */
const AROUND = 46;
const SIDES = 18;
/** Between two images of a pair. */
const BETWEEN = 8;
/** Scrolling that jumps further than half a view waits so long before anything is asked for. */
const FLYING_MS = 80;

/** The pairs of some states. */
export class Pairs extends Pages<Pair> {
    complete = false;
    /** The last answer, which counts all states. */
    last: Comparison | null = null;

    constructor(readonly states: readonly State[]) {
        super(PAGE);
    }

    get growing(): boolean {
        return !this.complete;
    }

    protected async request(start: number, count: number, signal?: AbortSignal): Promise<Pair[]> {
        const states = this.states.map((state): address.Filter => ["state", state]);
        const path = `api/compare${address.query(states, { start, count })}`;
        const answer = await ask<Comparison>(path, signal);
        this.last = answer;
        this.complete = answer.complete;
        // To the server no state is all of them.
        this.total = this.states.length === 0 ? 0 : answer.total;
        return this.states.length === 0 ? [] : answer.rows;
    }
}

export class PairList {
    private readonly rows = h("div", {
        class: "pairs beside",
        role: "list",
        "aria-label": "Pairs of samples",
    });
    private readonly canvas = h("div", { class: "canvas" }, this.rows);
    readonly root = h("div", { class: "scroller", tabindex: "-1" }, this.canvas);
    private readonly shown = new Map<number, HTMLElement>();
    private readonly scroll = new Scroll(this.root, this.canvas, () => this.render());
    private readonly observer = new ResizeObserver(() => this.layout());
    private columns = 1;
    private pitch = 300;
    private over = false;
    private measured = false;
    private drawnTop = 0;
    private flying = 0;
    /** A place that comes into sight when the list reaches there. */
    private target: number | null = null;
    private unlisten: () => void = () => undefined;

    constructor(
        private pairs: Pairs,
        /** Hears that another part is in sight. */
        private readonly moved: () => void,
    ) {
        this.observer.observe(this.root);
    }

    /** Shows other pairs, from a place on. */
    use(pairs: Pairs, at: number): void {
        this.unlisten();
        this.pairs = pairs;
        this.unlisten = pairs.onChange(() => this.layout());
        this.clear();
        this.scroll.top = 0;
        this.target = at > 0 ? at : null;
        this.layout();
        this.draw(0, 1);
    }

    /** Both images in one place, of the second one the part right of `cut` percent. */
    arrange(over: boolean, cut: number): void {
        this.rows.classList.toggle("over", over);
        this.rows.classList.toggle("beside", !over);
        this.rows.style.setProperty("--cut", `${100 - cut}%`);
        if (over === this.over) return;
        this.over = over;
        this.layout();
    }

    /** The first pair in sight. */
    get place(): number {
        if (this.target !== null) return this.target;
        const row = Math.max(0, Math.ceil(this.scroll.top / this.pitch - 0.5));
        return Math.min(row * this.columns, Math.max(0, (this.pairs.total ?? 0) - 1));
    }

    stop(): void {
        this.unlisten();
        this.observer.disconnect();
        this.scroll.stop();
        clearTimeout(this.flying);
    }

    private clear(): void {
        for (const row of this.shown.values()) row.remove();
        this.shown.clear();
    }

    private layout(): void {
        const width = this.root.clientWidth - 2 * GAP;
        if (width <= 0) return;
        const place = this.place;
        const before = `${this.columns} ${this.pitch}`;
        this.columns = Math.max(1, Math.floor((width + GAP) / (WIDTH + GAP)));
        const inner = (width - GAP * (this.columns - 1)) / this.columns - SIDES;
        const image = this.over ? inner : (inner - BETWEEN) / 2;
        this.pitch = Math.round(image) + AROUND + GAP;
        this.rows.style.gridTemplateColumns = `repeat(${this.columns}, minmax(0, 1fr))`;
        this.rows.style.gridAutoRows = `${this.pitch - GAP}px`;
        const total = this.pairs.total ?? 0;
        const top = Math.floor(place / this.columns) * this.pitch;
        const arrived = this.target !== null && (this.target < total || !this.pairs.growing);
        if (arrived) this.target = null;
        if (arrived || (this.measured && before !== `${this.columns} ${this.pitch}`))
            this.scroll.top = top;
        this.measured = true;
        const rows = Math.ceil(total / this.columns);
        this.scroll.resize(rows === 0 ? 0 : rows * this.pitch + GAP);
    }

    private render(): void {
        const total = this.pairs.total ?? 0;
        const { top, view } = this.scroll;
        const firstRow = Math.max(0, Math.floor(top / this.pitch) - OVERSCAN);
        const endRow = Math.ceil((top + view) / this.pitch) + OVERSCAN;
        const first = Math.min(firstRow * this.columns, total);
        const end = Math.min(endRow * this.columns, total);
        this.put(first, end);
        this.rows.style.transform = `translateY(${this.scroll.offset(firstRow * this.pitch + GAP)}px)`;
        const far = Math.abs(top - this.drawnTop) > view / 2;
        this.drawnTop = top;
        clearTimeout(this.flying);
        if (far) this.flying = window.setTimeout(() => this.draw(first, end), FLYING_MS);
        else this.draw(first, end);
        this.moved();
    }

    private draw(first: number, end: number): void {
        // A place that is to come is asked for before the list is known to reach there.
        const from = this.target ?? first;
        this.pairs.want(from, Math.max(end, from + 1));
    }

    /** Puts the pairs of a range into the page, in order, and takes the others out. */
    private put(first: number, end: number): void {
        for (const [index, row] of this.shown) {
            if (index >= first && index < end) continue;
            const hadFocus = row.contains(document.activeElement);
            row.remove();
            this.shown.delete(index);
            if (hadFocus) this.root.focus({ preventScroll: true });
        }
        let after: Element | null = this.rows.firstElementChild;
        for (let index = first; index < end; index += 1) {
            const known = this.shown.get(index);
            const pair = this.pairs.row(index);
            let row = known;
            if (row === undefined || (row.dataset.waits !== undefined && pair !== null)) {
                row = pair === null ? waiting() : pairRow(pair);
                if (known === undefined) this.rows.insertBefore(row, after);
                else known.replaceWith(row);
                this.shown.set(index, row);
            }
            after = row.nextElementSibling;
            set(row, {
                "data-index": index,
                "aria-posinset": index + 1,
                "aria-setsize": this.pairs.total ?? -1,
            });
        }
    }
}

/** A place whose pair is asked for. */
function waiting(): HTMLElement {
    return h("div", { class: "pair", role: "listitem", "data-waits": true });
}
