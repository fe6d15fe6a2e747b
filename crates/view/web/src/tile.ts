// One tile of the grid: a link with an image and two lines of text.

import { format, sample as sampleAddress } from "./address";
import type { App } from "./app";
import { h, set } from "./dom";
import { count, tail } from "./format";
import { load } from "./images";
import { outlines } from "./overlay";
import { ask, isAbort, Lost } from "./server";
import type { Selection } from "./selection";
import type { Objects } from "./types";

/** Elements of a tile, for the budget of the grid. */
export const TILE_NODES = 3;
export const BARE_TILE_NODES = 2;

export class Tile {
    readonly root = h("a", {
        class: "tile",
        role: "option",
        tabindex: "-1",
        "aria-selected": "false",
    });
    private readonly image = h("img", { alt: "", draggable: "false", decoding: "async" });
    private readonly caption = h("span", { class: "caption" });
    private request: AbortController | null = null;
    private url = "";
    private boxes = false;
    private isFocus = false;
    private described = "";

    constructor(
        private readonly app: App,
        readonly index: number,
        withCaption: boolean,
    ) {
        this.root.append(this.image);
        if (withCaption) this.root.append(this.caption);
        this.root.dataset.index = String(index);
    }

    /** Says what is known of the sample. */
    describe(selection: Selection): void {
        const row = selection.row(this.index);
        const sample = selection.sampleAt(this.index);
        const total = selection.total ?? -1;
        const state = `${sample} ${row?.key} ${total}`;
        if (state === this.described) return;
        this.described = state;
        const name = row?.label == null ? "" : this.app.className(row.label);
        const key = row === null ? "" : tail(row.key);
        const number = sample === null ? "" : `#${count(sample)}`;
        const lines = row === null ? [number] : [name || number, key];
        this.caption.textContent = lines.join("\n");
        set(this.root, {
            "aria-setsize": total,
            "aria-posinset": this.index + 1,
            // What is seen stands in it as it is seen, for those who speak to their computer.
            "aria-label":
                number === ""
                    ? "not read yet"
                    : `${lines.join(" ")}${name === "" ? "" : `, ${number}`}`,
            title: row === null ? null : `${row.key}\n${number}`,
            href:
                sample === null
                    ? null
                    : format(sampleAddress(sample, selection.filters, selection.second)),
            "data-sample": sample,
        });
        if (row?.error !== undefined) this.fail(row.error);
    }

    /** Asks for the image and, if wanted, for the boxes over it, unless that was asked for already. */
    draw(sample: number, side: number, boxes: boolean): void {
        const url = `image/${sample}${this.app.query([], { side })}`;
        if (url === this.url && boxes === this.boxes) return;
        this.stop();
        this.url = url;
        this.boxes = boxes;
        this.root.style.removeProperty("--boxes");
        const request = new AbortController();
        this.request = request;
        load(url, request.signal).then(
            (blob) => {
                if (request.signal.aborted) return;
                this.image.src = blob;
                if (boxes) void this.drawBoxes(sample, request.signal);
            },
            (error: unknown) => {
                if (isAbort(error) || request.signal.aborted) return;
                if (error instanceof Lost) this.url = "";
                else this.fail(error instanceof Error ? error.message : String(error));
            },
        );
    }

    /** Draws the boxes after the image. Where they cannot be read, the sample's page says why. */
    private async drawBoxes(sample: number, signal: AbortSignal): Promise<void> {
        const make = async (url: string) => {
            const objects = await ask<Objects>(url, signal);
            const [width, height] = objects.size;
            const { naturalWidth, naturalHeight } = this.image;
            // Those of an image that EXIF turns may refer to it as it is stored: not as it is here.
            const isTurned = (width - height) * (naturalWidth - naturalHeight) < 0;
            return outlines(isTurned ? { ...objects, items: [] } : objects);
        };
        try {
            await this.image.decode();
            const url = await load(`api/boxes/${sample}${this.app.query([])}`, signal, make);
            if (!signal.aborted) this.root.style.setProperty("--boxes", `url("${url}")`);
        } catch (error) {
            if (error instanceof Lost) this.url = "";
        }
    }

    /** Breaks off the requests for what is not there yet. */
    stop(): void {
        this.request?.abort();
        this.request = null;
    }

    select(isFocus: boolean): void {
        if (isFocus === this.isFocus) return;
        this.isFocus = isFocus;
        set(this.root, { tabindex: isFocus ? 0 : -1, "aria-selected": String(isFocus) });
    }

    private fail(cause: string): void {
        this.root.dataset.error = cause;
        const label = this.root.getAttribute("aria-label") ?? "";
        if (!label.includes(cause))
            this.root.setAttribute("aria-label", `${label}, not shown: ${cause}`);
    }
}
