// The page of a batch: what a loader would give, with its crops and augmentations.

import * as address from "./address";
import type { App, Page } from "./app";
import { failure, fill, h } from "./dom";
import { count, tail } from "./format";
import { ask, askBytes, isQuiet } from "./server";
import type { Batch } from "./types";

interface Choice {
    name: string;
    title: string;
    value: string;
    options?: [string, string][];
    most?: number;
    least?: number;
}

const CHOICES: Choice[] = [
    { name: "step", title: "Step", value: "0", most: 1e9 },
    { name: "epoch", title: "Epoch", value: "0", most: 1e9 },
    { name: "seed", title: "Seed", value: "0", most: 1e15 },
    { name: "rows", title: "Rows", value: "16", least: 1, most: 64 },
    { name: "side", title: "Side", value: "224", least: 16, most: 512 },
    {
        name: "crop",
        title: "Crop",
        value: "random",
        options: [
            ["random", "Random"],
            ["center", "Centre"],
            ["letterbox", "Letterbox"],
        ],
    },
    {
        name: "flip",
        title: "Flip",
        value: "1",
        options: [
            ["1", "At random"],
            ["0", "Never"],
        ],
    },
    {
        name: "augment",
        title: "Augment",
        value: "none",
        options: [
            ["none", "Nothing"],
            ["auto", "AutoAugment"],
            ["rand", "RandAugment"],
            ["trivial", "TrivialAugment"],
        ],
    },
];

export class BatchView implements Page {
    readonly title: string;
    private readonly inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
    private readonly result = h("div", {
        class: "batch",
        role: "list",
        "aria-label": "Rows of the batch",
    });
    private readonly problem = h("div");
    readonly root: HTMLElement;
    private asking = new AbortController();
    private blob = "";

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
            h(
                "div",
                { class: "line steps" },
                this.stepper("‹ Previous step", -1),
                this.stepper("Next step ›", 1),
            ),
        );
        form.addEventListener("change", () => this.go());
        this.root = h(
            "div",
            { class: "batch-view" },
            h("h1", { tabindex: "-1" }, "What a batch looks like"),
            form,
            this.problem,
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
        URL.revokeObjectURL(this.blob);
    }

    private control({ name, title, options, value, least, most }: Choice): HTMLElement {
        const input = options
            ? h(
                  "select",
                  { name },
                  ...options.map(([its, text]) => h("option", { value: its }, text)),
              )
            : h("input", {
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
        for (const { name, value, options } of CHOICES) {
            const input = this.inputs.get(name);
            const wanted = to.options[name] ?? value;
            const known =
                options === undefined
                    ? address.whole(wanted) !== null
                    : options.some(([its]) => its === wanted);
            if (input) input.value = known ? wanted : value;
        }
        void this.load();
    }

    private chosen(): Record<string, string> {
        return Object.fromEntries(
            CHOICES.map(({ name }) => [name, this.inputs.get(name)?.value ?? ""]),
        );
    }

    private go(): void {
        for (const input of this.inputs.values()) {
            if (!input.reportValidity()) return;
        }
        const changed = CHOICES.filter(({ name, value }) => this.chosen()[name] !== value);
        const options = Object.fromEntries(
            changed.map(({ name }) => [name, this.chosen()[name] ?? ""]),
        );
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
            URL.revokeObjectURL(this.blob);
            this.blob = URL.createObjectURL(picture);
            fill(this.problem);
            const last = this.inputs.get("step");
            if (batch.steps !== undefined && last instanceof HTMLInputElement)
                last.max = String(Math.max(0, batch.steps - 1));
            fill(
                this.result,
                ...batch.rows.map((row, at) => this.tile(row, at, batch.rows.length, batch.side)),
            );
        } catch (error) {
            if (isQuiet(error)) return;
            fill(this.result);
            fill(
                this.problem,
                failure("The batch cannot be made", error, () => void this.load()),
            );
        } finally {
            if (!signal.aborted) this.result.removeAttribute("aria-busy");
        }
    }

    /** A row of the picture, which has all rows below each other. */
    private tile(row: Batch["rows"][number], at: number, rows: number, side: number): HTMLElement {
        const name = row.label === null ? "" : this.app.className(row.label);
        const picture = h("span", { class: "crop" });
        picture.style.maxWidth = `${side}px`;
        picture.style.backgroundImage = `url("${this.blob}")`;
        picture.style.backgroundSize = `100% ${rows * 100}%`;
        picture.style.backgroundPosition = `0 ${rows > 1 ? (at / (rows - 1)) * 100 : 0}%`;
        const lines = [row.failed ? "failed" : name || `#${count(row.sample)}`, tail(row.key)];
        const caption = h("span", { class: "caption" }, lines.join("\n"));
        const link = {
            href: address.format(address.sample(row.sample)),
            title: row.key,
            "aria-label": `Row ${at}: ${lines.join(" ")}`,
        };
        return h("div", { role: "listitem" }, h("a", link, picture, caption));
    }
}
