// The page about the dataset: what it is, how it was made, and whether it is whole.

import * as address from "./address";
import type { App, Page } from "./app";
import { DamageCheck } from "./damage";
import { h, longText } from "./dom";
import { count, plural, short } from "./format";
import type { Dataset, Field } from "./types";
import { quoted } from "./where";

/** Classes that are listed. */
const MAX_NAMES = 5000;

export class AboutView implements Page {
    readonly root: HTMLElement;
    readonly title: string;
    private readonly damage: DamageCheck;

    constructor(app: App) {
        const { dataset } = app;
        this.title = `About · ${dataset.name}`;
        this.damage = new DamageCheck(dataset);
        this.root = h(
            "div",
            { class: "about" },
            h("h1", { tabindex: "-1" }, dataset.name),
            section("Dataset", summary(dataset)),
            section("Fields", schema(dataset.schema)),
            dataset.splits.length > 0 && section("Splits", splits(dataset)),
            section("Damage", this.damage.root),
            Object.keys(dataset.details).length > 0 && section("Details", tree(dataset.details)),
            section(
                "Provenance",
                dataset.provenance === null
                    ? h("p", { class: "muted" }, "None is recorded.")
                    : tree(dataset.provenance),
            ),
        );
    }

    show(to: address.Address): boolean {
        return to.view === "about";
    }

    retry(): void {
        this.damage.retry();
    }

    stop(): void {
        this.damage.stop();
    }
}

function section(title: string, ...children: HTMLElement[]): HTMLElement {
    return h("section", null, h("h2", null, title), ...children);
}

function summary(dataset: Dataset): HTMLElement {
    const facts: [string, string][] = [
        ["Path", dataset.path],
        ["Format", dataset.format],
        ["Samples", count(dataset.samples)],
        ["Checksums", dataset.checksums ? "of every sample" : "none"],
        ["fdconvert", dataset.version],
    ];
    if (dataset.second !== null)
        facts.push([
            "Compared with",
            `${dataset.second.path} (${plural(dataset.second.samples, "sample")})`,
        ]);
    return h(
        "dl",
        null,
        ...facts.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
    );
}

function schema(fields: Field[]): HTMLElement {
    const classes = ({ name, classes }: Field) => {
        if (!Array.isArray(classes) || classes.length === 0) return "";
        const root = h(
            "details",
            null,
            h("summary", null, plural(classes.length, "class", "classes")),
        );
        // A million names are not put into the page before they are looked for, and not all then.
        root.addEventListener("toggle", () => {
            if (!root.open || root.childElementCount > 1) return;
            const names = classes.slice(0, MAX_NAMES).map((text, label) => `${label}: ${text}`);
            if (classes.length > MAX_NAMES)
                names.push(`and ${count(classes.length - MAX_NAMES)} more`);
            root.append(longText(`Classes of ${name}`, names.join("\n")));
        });
        return root;
    };
    const rows = fields.map((field) =>
        h(
            "tr",
            null,
            h("th", { scope: "row" }, field.name),
            h("td", null, field.kind),
            h("td", null, classes(field)),
        ),
    );
    return table(["Field", "Kind", "Classes"], rows);
}

function splits(dataset: Dataset): HTMLElement {
    const rows = dataset.splits.map(({ name, samples }) =>
        h(
            "tr",
            null,
            h(
                "th",
                { scope: "row" },
                h("a", { href: address.format(address.grid([["split", quoted(name)]])) }, name),
            ),
            h("td", { class: "n" }, count(samples)),
        ),
    );
    return table(["Split", "Samples"], rows);
}

export function table(heads: string[], rows: HTMLElement[]): HTMLElement {
    const head = h("tr", null, ...heads.map((text) => h("th", { scope: "col" }, text)));
    return h(
        "div",
        { class: "wide", tabindex: "0", role: "group", "aria-label": heads.join(", ") },
        h("table", null, h("thead", null, head), h("tbody", null, ...rows)),
    );
}

/** A JSON document as nested lists. */
function tree(value: unknown, depth = 0): HTMLElement {
    if (Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null)) {
        return h(
            "ol",
            { class: "tree" },
            ...value.map((item) => h("li", null, tree(item, depth + 1))),
        );
    }
    if (Array.isArray(value)) return h("span", null, value.map(short).join(", "));
    if (typeof value !== "object" || value === null) return h("span", null, short(value));
    if (depth > 6) return h("code", null, JSON.stringify(value));
    const parts = Object.entries(value).flatMap(([name, item]) => [
        h("dt", null, name),
        h("dd", null, tree(item, depth + 1)),
    ]);
    return h("dl", { class: "tree" }, ...parts);
}
