// The panel of facets, and how far the catalog has come.

import { type Filter, values } from "./address";
import type { App } from "./app";
import { failure, fill, h, say } from "./dom";
import { NumbersBody } from "./numbers";
import { ask, isAbort, poll } from "./server";
import { count, plural } from "./format";
import type { Facet, Facets } from "./types";
import { ValuesBody } from "./values";

const POLL_MS = 800;
/** So many facets are open at first; elements of closed ones are not in the page. */
const OPEN = 6;

export type Choose = (filters: Filter[]) => void;

interface Body {
    root: HTMLElement;
    update(facet: Facet, filters: readonly Filter[]): void;
}

interface Section {
    root: HTMLDetailsElement;
    body: Body | null;
    facet: Facet;
}

export class Panel {
    readonly closer = h("button", { type: "button", class: "closer" }, "Close");
    private readonly bar = h("progress", { "aria-label": "Samples looked at" });
    private readonly scanned = h("p", { class: "scanned" });
    private readonly list = h("div", { class: "facets" });
    private readonly problem = h("div");
    readonly root = h(
        "aside",
        { class: "panel", id: "panel", "aria-label": "Filters" },
        this.closer,
        h("div", { class: "progress" }, this.bar, this.scanned),
        this.problem,
        this.list,
    );
    private readonly sections = new Map<string, Section>();
    private filters: readonly Filter[] = [];
    private polling = new AbortController();

    constructor(
        private readonly app: App,
        private readonly choose: Choose,
        private readonly heard: {
            /** More samples were looked at. */
            found: () => void;
            /** The number of elements may have changed. */
            drawn: () => void;
        },
    ) {
        this.progress(0, app.dataset.samples, false);
    }

    /** Shows the facets beside these filters, until the catalog is complete. */
    show(filters: readonly Filter[]): void {
        this.filters = filters;
        for (const section of this.sections.values()) section.body?.update(section.facet, filters);
        this.polling.abort();
        const polling = new AbortController();
        this.polling = polling;
        poll(POLL_MS, polling.signal, async () => {
            const answer = await ask<Facets>(
                `api/facets${this.app.query(filters)}`,
                polling.signal,
            );
            if (polling.signal.aborted) return true;
            this.update(answer);
            return answer.scanned >= answer.samples;
        }).catch((error: unknown) => {
            if (isAbort(error)) return;
            fill(
                this.problem,
                failure("Filters cannot be counted", error, () => this.show(this.filters)),
            );
        });
    }

    stop(): void {
        this.polling.abort();
    }

    private update({ scanned, samples, facets }: Facets): void {
        fill(this.problem);
        this.progress(scanned, samples, true);
        const names = new Set(facets.map((facet) => facet.name));
        for (const [name, section] of this.sections) {
            if (!names.has(name)) {
                section.root.remove();
                this.sections.delete(name);
            }
        }
        for (const [index, facet] of facets.entries()) {
            const section = this.sections.get(facet.name) ?? this.section(facet, index);
            section.facet = facet;
            section.body?.update(facet, this.filters);
        }
        this.heard.found();
        this.heard.drawn();
    }

    private progress(scanned: number, samples: number, known: boolean): void {
        const whole = known && scanned >= samples;
        this.bar.hidden = whole;
        this.bar.max = Math.max(1, samples);
        this.bar.value = scanned;
        say(
            this.scanned,
            whole
                ? `Counts of ${plural(samples, "sample")}`
                : `Counts of ${count(scanned)} of ${plural(samples, "sample")} so far`,
        );
    }

    private section(facet: Facet, index: number): Section {
        const root = h("details", { class: "facet" }, h("summary", null, facet.title));
        const section: Section = { root, body: null, facet };
        root.addEventListener("toggle", () => {
            section.body?.root.remove();
            section.body = root.open ? this.body(section.facet) : null;
            if (section.body !== null) root.append(section.body.root);
            this.heard.drawn();
        });
        root.open = index < OPEN || values(this.filters, facet.name).length > 0;
        this.sections.set(facet.name, section);
        this.list.append(root);
        return section;
    }

    private body(facet: Facet): Body {
        const current = () => this.filters;
        const body: Body =
            facet.kind === "values"
                ? new ValuesBody(this.app, facet.name, current, this.choose)
                : new NumbersBody(facet.name, current, this.choose);
        body.update(facet, this.filters);
        return body;
    }
}
