// The page of two datasets side by side, matched by their keys.

import * as address from "./address";
import type { App, Page } from "./app";
import { failure, fill, h, say } from "./dom";
import { count } from "./format";
import { pairRow } from "./pairs";
import { ask, isQuiet } from "./server";
import type { Comparison } from "./types";

const SHOWN = 24;
/** Rows that one request looks at when only those that differ are wanted. */
const LOOKED_AT_ONCE = 1000;
const POLL_MS = 800;

export class CompareView implements Page {
    readonly title: string;
    readonly root: HTMLElement;
    private readonly counts = h("p", { class: "counts", role: "status" });
    private readonly progress = h("div", { class: "line" });
    private readonly rows = h("div", {
        class: "pairs beside",
        role: "list",
        "aria-label": "Pairs of samples",
    });
    private readonly before = h("button", { type: "button" }, "‹ Back");
    private readonly next = h("a", { class: "button" }, "Next ›");
    private readonly all = h("input", { type: "checkbox" });
    private readonly over = h("input", { type: "checkbox" });
    private readonly cut = h("input", {
        type: "range",
        min: 0,
        max: 100,
        value: 50,
        "aria-label": "Share of the second image",
    });
    private asking = new AbortController();
    private at = 0;

    constructor(
        private readonly app: App,
        to: address.Address,
    ) {
        this.title = `Compare · ${app.dataset.name}`;
        const { second } = app.dataset;
        this.root = h("div", { class: "compare" }, h("h1", { tabindex: "-1" }, "Compare"));
        if (second === null) {
            this.root.append(
                h(
                    "p",
                    { class: "empty" },
                    "There is one dataset. Give fdconvert view two of them to compare their samples.",
                ),
            );
            return;
        }
        this.root.append(
            h(
                "p",
                { class: "versus" },
                h("b", null, "A"),
                ` ${app.dataset.path} `,
                h("b", null, "B"),
                ` ${second.path}`,
            ),
            this.counts,
            h(
                "div",
                { class: "toolbar" },
                h("label", { class: "check" }, this.all, "Also those that are the same"),
                h("label", { class: "check" }, this.over, "One over the other"),
                this.cut,
                h("span", { class: "muted" }, "b swaps A and B"),
            ),
            this.progress,
            this.rows,
            h("nav", { class: "line", "aria-label": "Parts of the list" }, this.before, this.next),
        );
        this.all.addEventListener("change", () => this.app.go(this.address(0)));
        this.over.addEventListener("change", () => this.arrange());
        this.cut.addEventListener("input", () => this.arrange());
        this.before.addEventListener("click", () => history.back());
        this.arrange();
        this.use(to);
    }

    show(to: address.Address): boolean {
        if (to.view !== "compare") return false;
        if (this.app.dataset.second !== null) this.use(to);
        return true;
    }

    key(event: KeyboardEvent): boolean {
        if (event.key !== "b" || this.app.dataset.second === null) return false;
        this.over.checked = true;
        this.cut.value = Number(this.cut.value) < 50 ? "100" : "0";
        this.arrange();
        return true;
    }

    retry(): void {
        void this.load();
    }

    stop(): void {
        this.asking.abort();
    }

    private arrange(): void {
        this.rows.classList.toggle("over", this.over.checked);
        this.rows.classList.toggle("beside", !this.over.checked);
        this.rows.style.setProperty("--cut", `${100 - Number(this.cut.value)}%`);
        this.cut.disabled = !this.over.checked;
    }

    private address(at: number): address.Address {
        const options: Record<string, string> = {};
        if (at > 0) options.at = String(at);
        if (this.all.checked) options.all = "1";
        return { view: "compare", sample: 0, filters: [], options };
    }

    private use(to: address.Address): void {
        this.at = address.whole(to.options.at) ?? 0;
        this.all.checked = to.options.all === "1";
        this.before.disabled = this.at === 0;
        void this.load();
    }

    private async load(): Promise<void> {
        this.asking.abort();
        const { signal } = (this.asking = new AbortController());
        fill(this.rows);
        this.next.hidden = true;
        try {
            await this.walk(signal);
        } catch (error) {
            if (!isQuiet(error))
                fill(
                    this.progress,
                    failure("The datasets cannot be compared", error, () => void this.load()),
                );
        }
    }

    /** Looks at rows from here on until enough of them are to be shown, or no more are there. */
    private async walk(signal: AbortSignal): Promise<void> {
        let at = this.at;
        let shown = 0;
        while (shown < SHOWN) {
            const size = this.all.checked ? SHOWN : LOOKED_AT_ONCE;
            const answer = await ask<Comparison>(
                `api/compare${address.query([], { start: at, count: size })}`,
                signal,
            );
            this.tell(answer);
            for (const pair of answer.rows) {
                at += 1;
                if (!this.all.checked && pair.same) continue;
                this.rows.append(pairRow(pair));
                shown += 1;
                if (shown === SHOWN) break;
            }
            if (shown < SHOWN && answer.rows.length === 0) {
                if (answer.scanned >= this.app.dataset.samples) return this.ended(shown);
                await new Promise((wake) => setTimeout(wake, POLL_MS));
                if (signal.aborted) return;
            }
            if (!this.all.checked) this.looking(at, answer.total);
        }
        fill(this.progress);
        this.next.href = address.format(this.address(at));
        this.next.hidden = false;
    }

    private looking(at: number, total: number): void {
        const stop = h("button", { type: "button", onclick: () => this.stop() }, "Stop");
        fill(
            this.progress,
            h(
                "span",
                { class: "muted" },
                `${count(at)} of ${count(total)} rows looked at for differences`,
            ),
            stop,
        );
    }

    private ended(shown: number): void {
        const none = this.at > 0 ? "No more differ." : "No samples differ.";
        fill(
            this.progress,
            shown === 0 && h("p", { class: "empty" }, this.all.checked ? "No more rows." : none),
        );
    }

    private tell({ counts }: Comparison): void {
        const { same, changed, only_a, only_b } = counts;
        say(
            this.counts,
            `${count(changed)} changed, ${count(only_a)} only in A, ${count(only_b)} only in B, ${count(same)} the same`,
        );
    }
}
