// The grid of tiles: only the rows in sight, and two on either side, are in the page.

import type { App } from "./app";
import { h } from "./dom";
import { side as sideOf } from "./images";
import { Scroll } from "./scroll";
import type { Selection } from "./selection";
import { BARE_TILE_NODES, Tile, TILE_NODES } from "./tile";

const GAP = 8;
const OVERSCAN = 2;
/** Two lines of text, and the space above them. */
const CAPTION = 36;
/** Tiles below this side have no caption. */
const CAPTION_FROM = 104;
/** Elements in the page at most, and those that the rest of it may come to need. */
const NODES = 490;
const REST_OF_PAGE = 190;
/** Scrolling that jumps further than half a view waits so long before anything is asked for. */
const FLYING_MS = 80;

export class Grid {
    /** Has the tiles; its parents carry the scroll range. */
    readonly tiles = h("div", { class: "tiles", role: "listbox", tabindex: "-1" });
    private readonly canvas = h("div", { class: "canvas" }, this.tiles);
    readonly root = h("div", { class: "scroller" }, this.canvas);
    focus = 0;
    private readonly shown = new Map<number, Tile>();
    private readonly scroll = new Scroll(this.root, this.canvas, () => this.render());
    private readonly observer = new ResizeObserver(() => this.layout());
    private columns = 1;
    private cell = 160;
    private pitch = 200;
    private captions = true;
    /** Sizes are known as soon as the grid is in the page. */
    private measured = false;
    private drawnTop = 0;
    private boxes = false;
    private flying = 0;
    private stopListening: () => void = () => undefined;

    constructor(
        private readonly app: App,
        private selection: Selection,
        private side: number,
        /** Hears that another part is in sight, or another tile has the focus. */
        private readonly moved: () => void,
    ) {
        this.tiles.setAttribute("aria-label", `Samples of ${app.dataset.name}`);
        this.tiles.addEventListener("keydown", (event) => {
            if (this.key(event)) event.preventDefault();
        });
        this.tiles.addEventListener("focusin", (event) => {
            const index = (event.target as HTMLElement).dataset.index;
            if (index !== undefined) this.setFocus(Number(index));
        });
        this.observer.observe(this.root);
        this.use(selection);
    }

    /** Shows another selection from its start. */
    use(selection: Selection): void {
        this.stopListening();
        this.selection = selection;
        this.stopListening = selection.onChange(() => this.layout());
        for (const index of [...this.shown.keys()]) this.drop(index);
        this.focus = 0;
        this.bring(0);
        this.layout();
    }

    resize(side: number): void {
        this.side = side;
        this.layout();
    }

    /** Draws the boxes of objects, or none. */
    showBoxes(on: boolean): void {
        this.boxes = on;
        if (this.measured) this.render();
    }

    /** Puts a place at the top, with the focus on it. */
    jump(index: number, takeFocus: boolean): void {
        // The number of samples may be known and not laid out yet: the place would be cut off.
        this.layout();
        this.focus = this.clamp(index);
        this.bring(Math.floor(this.focus / this.columns) * this.pitch);
        this.scroll.to(this.scroll.top);
        if (takeFocus) this.takeFocus();
    }

    /** What a link to here names: the focus, or what is on top where that is out of sight. */
    get place(): number {
        const row = Math.floor(this.focus / this.columns);
        const first = Math.ceil(this.scroll.top / this.pitch - 0.5);
        const last = Math.floor((this.scroll.top + this.scroll.view) / this.pitch);
        return row >= first && row <= last ? this.focus : this.clamp(first * this.columns);
    }

    takeFocus(): void {
        if (!this.measured) this.layout();
        this.reveal(this.focus);
        (this.shown.get(this.focus)?.root ?? this.tiles).focus({ preventScroll: true });
    }

    key(event: KeyboardEvent): boolean {
        const page = Math.max(1, Math.floor(this.scroll.view / this.pitch)) * this.columns;
        const end = (this.selection.total ?? 0) - 1;
        const steps: Record<string, number> = {
            ArrowLeft: this.focus - 1,
            ArrowRight: this.focus + 1,
            ArrowUp: this.focus - this.columns,
            ArrowDown: this.focus + this.columns,
            PageUp: this.focus - page,
            PageDown: this.focus + page,
            Home: 0,
            End: end,
        };
        if (event.key === " " || (event.key === "Enter" && event.target === this.tiles)) {
            this.shown.get(this.focus)?.root.click();
            return true;
        }
        const to = steps[event.key];
        if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
        // Up from the first row and down from the last one stay, and do not slide along the row.
        const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
        if (!(vertical && (to < 0 || to > end))) this.setFocus(this.clamp(to));
        this.takeFocus();
        return true;
    }

    /** Lays out afresh if the rest of the page has grown too much beside the tiles. */
    keepBudget(): void {
        if (document.getElementsByTagName("*").length > NODES) this.layout();
    }

    retry(): void {
        this.selection.retry();
        this.render();
    }

    stop(): void {
        this.stopListening();
        this.observer.disconnect();
        this.scroll.stop();
        clearTimeout(this.flying);
        for (const tile of this.shown.values()) tile.stop();
    }

    /** Takes a place as the next to be drawn: it was asked for, and is not scrolled past. */
    private bring(top: number): void {
        this.scroll.top = top;
        this.drawnTop = Math.min(top, this.scroll.max);
    }

    private clamp(index: number): number {
        return Math.max(0, Math.min(index, (this.selection.total ?? 1) - 1));
    }

    private setFocus(index: number): void {
        if (index !== this.focus) {
            this.shown.get(this.focus)?.select(false);
            this.focus = index;
            this.moved();
        }
        this.rove();
    }

    /** One tile takes the tab key: that of the focus, or the first where that is out of sight. */
    private rove(): void {
        const first = this.tiles.firstElementChild;
        const inSight =
            this.shown.has(this.focus) || !(first instanceof HTMLElement)
                ? this.focus
                : Number(first.dataset.index);
        for (const [index, tile] of this.shown) tile.select(index === inSight);
    }

    private reveal(index: number): void {
        const top = Math.floor(index / this.columns) * this.pitch;
        const { view } = this.scroll;
        if (top < this.scroll.top) this.scroll.to(top);
        else if (top + this.pitch + GAP > this.scroll.top + view)
            this.scroll.to(top + this.pitch + GAP - view);
    }

    private layout(): void {
        const width = this.root.clientWidth - 2 * GAP;
        if (width <= 0) return;
        this.measured = true;
        const place = this.scroll.top > 0 ? this.place : 0;
        const before = [this.columns, this.pitch, this.captions].join();
        this.measure(width);
        const rows = Math.ceil((this.selection.total ?? 0) / this.columns);
        const changed = before !== [this.columns, this.pitch, this.captions].join();
        if (changed) {
            for (const index of [...this.shown.keys()]) this.drop(index);
            this.tiles.style.gridTemplateColumns = `repeat(${this.columns}, 1fr)`;
            this.tiles.style.gridAutoRows = `${this.pitch - GAP}px`;
            this.root.style.setProperty("--cell", `${this.cell}px`);
        }
        if (changed && this.scroll.top > 0)
            this.scroll.top = Math.floor(place / this.columns) * this.pitch;
        this.scroll.resize(rows === 0 ? 0 : rows * this.pitch + GAP);
    }

    /** Finds the least side, from the chosen one on, at which the page has not too many elements. */
    private measure(width: number): void {
        const others =
            document.getElementsByTagName("*").length - this.tiles.getElementsByTagName("*").length;
        const budget = NODES - Math.max(others, REST_OF_PAGE);
        const { view } = this.scroll;
        for (let side = this.side; ; side += 8) {
            this.columns = Math.max(1, Math.floor((width + GAP) / (side + GAP)));
            this.cell = (width - GAP * (this.columns - 1)) / this.columns;
            this.captions = side >= CAPTION_FROM;
            this.pitch = Math.round(this.cell) + (this.captions ? CAPTION : 0) + GAP;
            const rows = Math.ceil(view / this.pitch) + 1 + 2 * OVERSCAN;
            const nodes = rows * this.columns * (this.captions ? TILE_NODES : BARE_TILE_NODES);
            if (nodes <= budget || this.columns === 1) return;
        }
    }

    private render(): void {
        const total = this.selection.total ?? 0;
        const { top, view } = this.scroll;
        const firstRow = Math.max(0, Math.floor(top / this.pitch) - OVERSCAN);
        const endRow = Math.ceil((top + view) / this.pitch) + OVERSCAN;
        const first = Math.min(firstRow * this.columns, total);
        const end = Math.min(endRow * this.columns, total);
        this.arrange(first, end);
        this.tiles.style.transform = `translateY(${this.scroll.offset(firstRow * this.pitch + GAP)}px)`;
        this.tiles.hidden = total === 0;
        this.rove();

        const far = Math.abs(top - this.drawnTop) > view / 2;
        this.drawnTop = top;
        clearTimeout(this.flying);
        if (far && this.shown.size > 0)
            this.flying = window.setTimeout(() => this.draw(first, end), FLYING_MS);
        else this.draw(first, end);
        this.moved();
    }

    /** Puts the tiles of a range into the page, in order, and takes the others out. */
    private arrange(first: number, end: number): void {
        for (const index of [...this.shown.keys()]) {
            if (index < first || index >= end) this.drop(index);
        }
        let after: Element | null = this.tiles.firstElementChild;
        for (let index = first; index < end; index += 1) {
            let tile = this.shown.get(index);
            if (tile === undefined) {
                tile = new Tile(this.app, index, this.captions);
                this.shown.set(index, tile);
                this.tiles.insertBefore(tile.root, after);
            } else {
                after = tile.root.nextElementSibling;
            }
            tile.describe(this.selection);
        }
    }

    /** Asks for rows and images: first those in sight, then those around them. */
    private draw(first: number, end: number): void {
        if (end > first || this.selection.total === null)
            this.selection.want(first, Math.max(end, first + 1));
        const { top, view } = this.scroll;
        const from = Math.floor(top / this.pitch) * this.columns;
        const to = Math.ceil((top + view) / this.pitch) * this.columns;
        const inSight = (tile: Tile) => tile.index >= from && tile.index < to;
        const tiles = [...this.shown.values()];
        const pixels = sideOf(this.cell);
        for (const tile of [...tiles.filter(inSight), ...tiles.filter((tile) => !inSight(tile))]) {
            const sample = this.selection.sampleAt(tile.index);
            if (sample !== null && this.app.dataset.image !== null)
                tile.draw(sample, pixels, this.boxes);
        }
    }

    private drop(index: number): void {
        const tile = this.shown.get(index);
        if (tile === undefined) return;
        const hadFocus = document.activeElement === tile.root;
        tile.stop();
        tile.root.remove();
        this.shown.delete(index);
        if (hadFocus) this.tiles.focus({ preventScroll: true });
    }
}
