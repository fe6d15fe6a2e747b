// The page of one sample.

import * as address from "./address";
import type { App, Page } from "./app";
import { copier } from "./copy";
import { failure, fill, h, longText } from "./dom";
import { fieldsTable } from "./fields";
import { bytes, count, short, tail } from "./format";
import { type Overlay, overlay } from "./overlay";
import type { Selection } from "./selection";
import { ask, isQuiet } from "./server";
import { Stage } from "./stage";
import type { Objects, Sample, Value } from "./types";

export class SampleView implements Page {
    readonly root = h("div", { class: "sample" });
    title: string;
    private readonly heading = h("h1", { tabindex: "-1" });
    private readonly before = h(
        "a",
        { class: "button", "aria-keyshortcuts": "ArrowLeft" },
        "‹ Previous",
    );
    private readonly after = h(
        "a",
        { class: "button", "aria-keyshortcuts": "ArrowRight" },
        "Next ›",
    );
    private readonly where = h("span", { class: "muted" });
    private readonly body = h("div", { class: "sample-body" });
    private readonly asking = new AbortController();
    private readonly selection: Selection;
    private readonly second: boolean;
    private stage: Stage | null = null;
    private over: Overlay | null = null;

    constructor(
        private readonly app: App,
        private readonly at: address.Address,
    ) {
        this.title = `#${at.sample} · ${app.dataset.name}`;
        this.second = address.isSecond(at);
        this.selection = app.selection(at.filters);
        const back = h(
            "a",
            { class: "button", href: this.backTo(), "aria-keyshortcuts": "Escape" },
            "Back",
        );
        fill(this.heading, h("span", { class: "muted" }, `#${count(at.sample)}`));
        this.root.append(
            h(
                "header",
                { class: "sample-head" },
                back,
                this.heading,
                h(
                    "nav",
                    { class: "line", "aria-label": "Samples beside" },
                    this.where,
                    this.before,
                    this.after,
                ),
            ),
            this.body,
        );
        void this.load();
        void this.findNeighbours();
    }

    key(event: KeyboardEvent): boolean {
        const steps: Record<string, HTMLAnchorElement> = {
            ArrowLeft: this.before,
            ArrowRight: this.after,
        };
        // There the arrows scroll.
        const scrolls =
            event.target instanceof Element &&
            event.target.closest(".room:not(.fitted), pre") !== null;
        const step = scrolls ? undefined : steps[event.key];
        if (event.key === "Escape") location.hash = this.backTo();
        else if (event.key === "f") this.stage?.swap();
        else if (event.key === "o") this.over?.toggle();
        else if (step !== undefined && step.hasAttribute("href")) step.click();
        else return false;
        return true;
    }

    takeFocus(): void {
        this.heading.focus({ preventScroll: true });
    }

    retry(): void {
        void this.load();
        void this.findNeighbours();
    }

    stop(): void {
        this.asking.abort();
        this.stage?.stop();
    }

    private get set(): string {
        return this.second ? "?set=b" : "";
    }

    private backTo(): string {
        if (this.at.options.from === "compare") return this.app.shared.compared;
        return address.format(this.app.grid(this.at.filters, this.at.sample));
    }

    private async load(): Promise<void> {
        try {
            const sample = await ask<Sample>(
                `api/sample/${this.at.sample}${this.set}`,
                this.asking.signal,
            );
            this.draw(sample);
        } catch (error) {
            if (!isQuiet(error))
                fill(
                    this.body,
                    failure(`Sample #${count(this.at.sample)} cannot be read`, error, () =>
                        this.retry(),
                    ),
                );
        }
    }

    private async findNeighbours(): Promise<void> {
        const link = (anchor: HTMLAnchorElement, sample: number | undefined) => {
            if (sample === undefined) anchor.removeAttribute("href");
            else anchor.href = address.format({ ...this.at, sample });
            anchor.toggleAttribute("aria-disabled", sample === undefined);
        };
        try {
            const { signal } = this.asking;
            const place = await this.selection.position(this.at.sample, signal);
            const beside = async (step: number) => {
                const index = (place ?? 0) + step;
                if (place === null || index < 0) return undefined;
                if (this.selection.filters.length === 0)
                    return this.selection.sampleAt(index) ?? undefined;
                return (await this.selection.find(index, signal))?.sample;
            };
            const [before, after] = await Promise.all([beside(-1), beside(1)]);
            link(this.before, before);
            link(this.after, after);
            const of = this.selection.total === null ? "" : ` of ${count(this.selection.total)}`;
            fill(
                this.where,
                place === null ? "not among the filtered" : `${count(place + 1)}${of}`,
            );
        } catch (error) {
            if (!isQuiet(error)) fill(this.where, "neighbours unknown");
        }
    }

    private draw(sample: Sample): void {
        this.title = `${tail(sample.key)} · #${sample.sample} · ${this.app.dataset.name}`;
        this.app.shared.retitle(this.title);
        fill(this.heading, h("span", { class: "muted" }, `#${count(sample.sample)} `), sample.key);
        const images = sample.values.flatMap((value, at) =>
            value.kind === "image" && !value.mask ? [{ value, at }] : [],
        );
        const room = h("div", { class: "pictures" });
        const choose = (chosen: number) => {
            const image = images[chosen];
            if (image !== undefined)
                fill(room, ...this.picture(sample, image.value, image.at, chosen === 0));
        };
        if (images.length === 0) fill(room, h("p", { class: "empty" }, "The sample has no image."));
        choose(0);
        const choice = h(
            "select",
            { "aria-label": "Image field" },
            ...images.map(({ value }, at) => h("option", { value: at }, value.name)),
        );
        choice.addEventListener("change", () => choose(Number(choice.value)));
        fill(
            this.body,
            h("div", { class: "main" }, images.length > 1 && choice, room),
            this.facts(sample),
        );
    }

    /** The image with what is known of it drawn over it; objects are of the first image. */
    private picture(sample: Sample, image: Value, at: number, first: boolean): Node[] {
        this.stage?.stop();
        const size: [number, number] | null =
            image.width && image.height ? [image.width, image.height] : null;
        const masks = sample.values.flatMap((value, field) =>
            value.mask ? [`mask/${sample.sample}/${field}${this.set}`] : [],
        );
        let objects: Objects | null = first ? sample.objects : null;
        if (objects === null && first && masks.length > 0 && size !== null)
            objects = { size, items: [] };
        this.over = objects === null ? null : overlay(objects, masks);
        const label = `Image ${image.name} of ${sample.key}`;
        // Coordinates may be of the image as it is stored, or of the upright one.
        const asStored =
            objects !== null &&
            size !== null &&
            objects.size[0] === size[0] &&
            objects.size[1] === size[1];
        this.stage = new Stage(
            `image/${sample.sample}/${at}${this.set}`,
            label,
            objects?.size ?? size,
            this.over?.root ?? null,
            asStored,
        );
        return [
            this.stage.root,
            h("div", { class: "under" }, this.stage.tools, this.over?.controls ?? ""),
        ];
    }

    private facts(sample: Sample): HTMLElement {
        const { place } = sample;
        const split = sample.split === null ? null : fact("Split", sample.split);
        const stored = place && [
            fact("File", place.path),
            fact("Offset", `${count(place.offset)}, ${bytes(place.bytes)} long`),
            place.xxh3 === null ? null : fact("XXH3", place.xxh3, true),
        ];
        const damaged = `DAMAGED: ${sample.cause ?? "the bytes are not those that were stored"}`;
        const verified =
            sample.verified === null
                ? "none is stored"
                : sample.verified
                  ? "fits the bytes"
                  : damaged;
        return h(
            "div",
            { class: "facts" },
            sample.objects_error !== undefined &&
                h("p", { class: "failure" }, `Objects cannot be drawn: ${sample.objects_error}`),
            h("section", null, h("h2", null, "Fields"), fieldsTable(sample, this.set)),
            h(
                "section",
                null,
                h("h2", null, "Stored"),
                h("dl", null, ...flat([split, ...(stored ?? []), fact("Checksum", verified)])),
            ),
            sample.exif.length > 0 &&
                h(
                    "section",
                    null,
                    h("h2", null, "EXIF"),
                    h(
                        "dl",
                        null,
                        ...flat(sample.exif.map(({ name, value }) => fact(name, short(value)))),
                    ),
                ),
            this.python(sample.python),
        );
    }

    private python(text: string): HTMLElement {
        const code = longText("Python", text);
        return h(
            "section",
            null,
            h("h2", null, "Python"),
            code,
            copier("Copy as Python", code),
        );
    }
}

function fact(name: string, value: string, isCode = false): [HTMLElement, HTMLElement] {
    return [h("dt", null, name), h("dd", null, isCode ? h("code", null, value) : value)];
}

function flat(facts: ([HTMLElement, HTMLElement] | null)[]): HTMLElement[] {
    return facts.flatMap((pair) => pair ?? []);
}
