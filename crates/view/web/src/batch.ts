// The page of a batch: what a loader would give, with its transforms and views.

import * as address from "./address";
import type { App, Page } from "./app";
import { failure, fill, h } from "./dom";
import { count, tail } from "./format";
import { controls, drawing } from "./overlay";
import { ask, askBytes, isQuiet } from "./server";
import type { Batch, Transform } from "./types";

interface Choice {
    name: string;
    title: string;
    value: string;
    most?: number;
    least?: number;
}

const CHOICES: Choice[] = [
    { name: "step", title: "Step", value: "0", most: 1e9 },
    { name: "epoch", title: "Epoch", value: "0", most: 1e9 },
    { name: "seed", title: "Seed", value: "0", most: 1e15 },
    { name: "rows", title: "Rows", value: "16", least: 1, most: 64 },
    { name: "views", title: "Views", value: "1", least: 1, most: 64 },
];

const CUT = '{"RandomResizedCrop": {"size": [224, 224]}}';
const FLIP = '{"RandomHorizontalFlip": {}}';

/** Usual lists, by what they are for; the first is the default. */
const LISTS: [string, string][] = [
    ["Training", list(CUT, FLIP)],
    ["Evaluation", list('{"Resize": {"size": 256}}', '{"CenterCrop": {"size": [224, 224]}}')],
    ["Letterbox", list('{"Letterbox": {"size": [224, 224]}}')],
    ["AutoAugment", list(CUT, FLIP, '{"AutoAugment": {}}')],
    ["RandAugment", list(CUT, FLIP, '{"RandAugment": {}}')],
    ["TrivialAugment", list(CUT, FLIP, '{"TrivialAugmentWide": {}}')],
];
const DEFAULT = LISTS[0]?.[1] ?? "";

function list(...transforms: string[]): string {
    return `[\n${transforms.map((transform) => `  ${transform}`).join(",\n")}\n]`;
}

/** Transforms as code: `RandomHorizontalFlip(p=0.5)`; lists within them likewise. */
function code(transform: Transform): string {
    return Object.entries(transform)
        .map(([name, its]) => {
            const given = Object.entries(its).filter(([, value]) => value !== null);
            const text = (key: string, value: unknown) =>
                key === "transforms"
                    ? `[${(value as Transform[]).map(code).join(", ")}]`
                    : JSON.stringify(value).replaceAll(",", ", ");
            return `${name}(${given.map(([key, value]) => `${key}=${text(key, value)}`).join(", ")})`;
        })
        .join(", ");
}

export class BatchView implements Page {
    readonly title: string;
    private readonly inputs = new Map<string, HTMLInputElement>();
    private readonly text = h("textarea", {
        name: "transform",
        rows: 4,
        spellcheck: "false",
        required: true,
    });
    private readonly usual = h(
        "select",
        { name: "list" },
        ...LISTS.map(([title]) => h("option", { value: title }, title)),
        h("option", { value: "", disabled: true }, "As written"),
    );
    private readonly result = h("div", {
        class: "batch",
        role: "list",
        "aria-label": "Rows of the batch",
    });
    private readonly problem = h("div");
    private readonly applied = h("ol", { class: "applied", "aria-label": "Transforms" });
    readonly root: HTMLElement;
    private asking = new AbortController();
    /** Switches for what is drawn over the images. */
    private readonly under = h("div", { class: "drawn" });
    private blob = "";
    private masks = "";

    constructor(
        private readonly app: App,
        to: address.Address,
    ) {
        this.title = `Batch · ${app.dataset.name}`;
        const form = h(
            "form",
            {
                class: "batch-form",
                "aria-label": "How the batch is made",
                onsubmit: (event: Event) => event.preventDefault(),
            },
            ...CHOICES.map((choice) => this.control(choice)),
            h("label", { class: "field" }, h("span", null, "Usual lists"), this.usual),
            h(
                "label",
                { class: "field list" },
                h("span", null, "Transforms, by their names in torchvision.transforms.v2"),
                this.text,
            ),
            h(
                "div",
                { class: "line steps" },
                this.stepper("‹ Previous step", -1),
                this.stepper("Next step ›", 1),
            ),
        );
        this.usual.addEventListener("change", () => {
            const [, text] = LISTS.find(([title]) => title === this.usual.value) ?? [];
            if (text !== undefined) this.text.value = text;
        });
        form.addEventListener("change", () => this.go());
        this.root = h(
            "div",
            { class: "batch-view" },
            h("h1", { tabindex: "-1" }, "What a batch looks like"),
            form,
            this.problem,
            this.applied,
            this.under,
            this.result,
        );
        this.use(to);
    }

    show(to: address.Address): boolean {
        if (to.view !== "batch") return false;
        this.use(to);
        return true;
    }

    retry(): void {
        void this.load();
    }

    stop(): void {
        this.asking.abort();
        this.forget();
    }

    private control({ name, title, value, least, most }: Choice): HTMLElement {
        const input = h("input", {
            name,
            type: "number",
            min: least ?? 0,
            max: most,
            step: 1,
            required: true,
        });
        input.value = value;
        this.inputs.set(name, input);
        return h("label", { class: "field" }, h("span", null, title), input);
    }

    private stepper(text: string, by: number): HTMLElement {
        const step = () => {
            const input = this.inputs.get("step");
            if (!input) return;
            input.value = String(Math.max(0, Number(input.value) + by));
            this.go();
        };
        return h("button", { type: "button", onclick: step }, text);
    }

    private use(to: address.Address): void {
        for (const { name, value } of CHOICES) {
            const input = this.inputs.get(name);
            const wanted = to.options[name] ?? value;
            if (input) input.value = address.whole(wanted) === null ? value : wanted;
        }
        this.text.value = to.options.transform ?? DEFAULT;
        const [title] = LISTS.find(([, text]) => text === this.text.value) ?? [""];
        this.usual.value = title;
        void this.load();
    }

    private chosen(): Record<string, string> {
        const numbers = CHOICES.map(({ name }) => [name, this.inputs.get(name)?.value ?? ""]);
        return { ...Object.fromEntries(numbers), transform: this.text.value };
    }

    private go(): void {
        for (const input of [...this.inputs.values(), this.text]) {
            if (!input.reportValidity()) return;
        }
        const usual = new Map(CHOICES.map(({ name, value }) => [name, value]));
        usual.set("transform", DEFAULT);
        const changed = Object.entries(this.chosen()).filter(
            ([name, value]) => usual.get(name) !== value,
        );
        const options = Object.fromEntries(changed);
        this.app.shared.go({ view: "batch", sample: 0, filters: [], options });
    }

    private async load(): Promise<void> {
        this.asking.abort();
        const { signal } = (this.asking = new AbortController());
        const parameters = address.query([], this.chosen());
        this.result.setAttribute("aria-busy", "true");
        try {
            const [batch, picture] = await Promise.all([
                ask<Batch>(`api/batch${parameters}`, signal),
                askBytes(`batch.png${parameters}`, signal),
            ]);
            if (signal.aborted) return;
            const masks = batch.masks
                ? await askBytes(`batch-masks.png${parameters}`, signal)
                : null;
            if (signal.aborted) return;
            this.forget();
            this.blob = URL.createObjectURL(picture);
            this.masks = masks === null ? "" : URL.createObjectURL(masks);
            fill(this.problem);
            const last = this.inputs.get("step");
            if (batch.steps !== undefined && last)
                last.max = String(Math.max(0, batch.steps - 1));
            fill(this.applied, ...batch.transform.map((its) => h("li", null, code(its))));
            fill(this.result, ...batch.rows.map((_, at) => this.tile(batch, at)));
            this.result.style.setProperty("--views", String(batch.views));
            this.result.style.setProperty("--tile", `${tileSide(batch)}px`);
            this.switches(batch);
        } catch (error) {
            if (isQuiet(error)) return;
            fill(this.applied);
            fill(this.under);
            fill(this.result);
            fill(
                this.problem,
                failure("The batch cannot be made", error, () => void this.load()),
            );
        } finally {
            if (!signal.aborted) this.result.removeAttribute("aria-busy");
        }
    }

    private forget(): void {
        URL.revokeObjectURL(this.blob);
        URL.revokeObjectURL(this.masks);
    }

    private switches({ rows, masks = false }: Batch): void {
        const items = rows.flatMap(({ objects }) => objects?.flat() ?? []);
        const some = masks || items.length > 0;
        // Names of all objects would hide images of this size.
        fill(this.under, some && controls(this.result, items, masks, false));
    }

    /** A row: its views beside each other. The picture has all of them below each other. */
    private tile({ rows, views, width, height }: Batch, at: number): HTMLElement {
        const row = rows[at];
        if (row === undefined) return h("div");
        const name = row.label === null ? "" : this.app.className(row.label);
        const images = rows.length * views;
        const pictures = Array.from({ length: views }, (_, view) => {
            const place = at * views + view;
            const cut = (name: string, url: string) => {
                const picture = h("span", { class: name });
                picture.style.backgroundImage = `url("${url}")`;
                picture.style.backgroundSize = `100% ${images * 100}%`;
                const down = images > 1 ? (place / (images - 1)) * 100 : 0;
                picture.style.backgroundPosition = `0 ${down}%`;
                return picture;
            };
            const picture = cut("crop", this.blob);
            picture.style.maxWidth = `${width}px`;
            picture.style.aspectRatio = `${width} / ${height}`;
            const items = row.objects?.[view];
            if (items !== undefined || this.masks !== "") {
                const over = drawing({ size: [width, height], items: items ?? [] }, []);
                if (this.masks !== "") over.prepend(cut("masks", this.masks));
                picture.append(over);
            }
            return picture;
        });
        const lines = [row.failed ? "failed" : name || `#${count(row.sample)}`, tail(row.key)];
        const caption = h("span", { class: "caption" }, lines.join("\n"));
        const link = {
            href: address.format(address.sample(row.sample)),
            title: row.key,
            "aria-label": `Row ${at}: ${lines.join(" ")}`,
        };
        const all = h("span", { class: "views" }, ...pictures);
        return h("div", { role: "listitem" }, h("a", link, all, caption));
    }
}

/** The least side of an image: the fewer there are, the larger. */
function tileSide({ rows, views }: Batch): number {
    const images = rows.length * views;
    return images <= 8 ? 224 : images <= 16 ? 176 : 136;
}
