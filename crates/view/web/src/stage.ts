// An image at its size or fitted into the room there is, with what is drawn over it.

import { failure, fill, h, say } from "./dom";
import { askBytes, isQuiet } from "./server";

/** Small images are shown so many times as large at most. */
const MAX_ENLARGED = 12;

export class Stage {
    private readonly image = h("img", { alt: "" });
    private readonly frame = h("div", { class: "frame" }, this.image);
    private readonly room = h("div", { class: "room", tabindex: "0", role: "group" }, this.frame);
    private readonly toggle = h("button", { type: "button", "aria-keyshortcuts": "f" });
    private readonly zoom = h("span", { class: "muted" });
    readonly root = h("div", { class: "stage" }, this.room);
    readonly tools = h("div", { class: "line" }, this.toggle, this.zoom);
    private readonly observer = new ResizeObserver(() => this.fit());
    private readonly request = new AbortController();
    private size: [number, number] | null = null;
    private fitted = true;
    private blob = "";
    private readonly isGiven: boolean;

    constructor(
        url: string,
        label: string,
        size: [number, number] | null,
        over: HTMLElement | null,
        /** Shows the image as it is stored, and not as its EXIF turns it. */
        asStored: boolean,
    ) {
        this.size = size;
        this.image.alt = label;
        this.room.setAttribute("aria-label", label);
        this.toggle.addEventListener("click", () => this.swap());
        this.frame.classList.toggle("stored", asStored);
        if (over !== null) this.frame.append(over);
        this.isGiven = over !== null && size !== null;
        this.observer.observe(this.room);
        this.fit();
        void this.load(url);
    }

    /** Fitted or at its size, whichever it is not. */
    swap(): void {
        this.fitted = !this.fitted;
        this.fit();
    }

    stop(): void {
        this.observer.disconnect();
        this.request.abort();
        if (this.blob !== "") URL.revokeObjectURL(this.blob);
    }

    private async load(url: string): Promise<void> {
        try {
            this.blob = URL.createObjectURL(await askBytes(url, this.request.signal));
            if (this.request.signal.aborted) return URL.revokeObjectURL(this.blob);
            this.image.src = this.blob;
            await this.image.decode();
            // Without anything drawn over it, the image knows best.
            if (!this.isGiven) this.size = [this.image.naturalWidth, this.image.naturalHeight];
            this.fit();
        } catch (error) {
            if (isQuiet(error) || this.request.signal.aborted) return;
            fill(this.room, failure("The image cannot be shown", error));
        }
    }

    private fit(): void {
        say(this.toggle, this.fitted ? "100 %" : "Fit");
        this.room.classList.toggle("fitted", this.fitted);
        if (this.size === null) return;
        const [width, height] = this.size;
        const room = Math.min(this.room.clientWidth / width, this.room.clientHeight / height);
        const scale = this.fitted && room > 0 ? Math.min(room, MAX_ENLARGED) : 1;
        this.frame.style.width = `${Math.max(1, Math.floor(width * scale))}px`;
        this.frame.style.height = `${Math.max(1, Math.floor(height * scale))}px`;
        this.frame.classList.toggle("enlarged", scale >= 4);
        say(this.zoom, `${Math.round(scale * 100)} %`);
    }
}
