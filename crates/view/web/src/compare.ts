// The page of two datasets side by side, matched by their keys.

import * as address from "./address";
import type { App, Page } from "./app";
import { failure, fill, h, say } from "./dom";
import { count } from "./format";
import { PairList, Pairs } from "./pairlist";
import { poll } from "./server";
import type { State } from "./types";

const POLL_MS = 800;
const NOTE_MS = 300;
const STATES: [State, string][] = [
    ["changed", "changed"],
    ["only_a", "only in A"],
    ["only_b", "only in B"],
    ["same", "the same"],
];
/** What one compares for. */
const AT_FIRST: State[] = ["changed", "only_a", "only_b"];

export class CompareView implements Page {
    readonly title: string;
    readonly root = h("div", { class: "compare" }, h("h1", { tabindex: "-1" }, "Compare"));
    private readonly boxes = STATES.map(([state, text]) => ({
        state,
        text,
        box: h("input", { type: "checkbox" }),
        label: h("span", null, text),
    }));
    private readonly progress = h("p", { class: "muted", role: "status" });
    private readonly message = h("div", { class: "message" });
    private readonly over = h("input", { type: "checkbox" });
    private readonly cut = h("input", {
        type: "range",
        min: 0,
        max: 100,
        value: 50,
        "aria-label": "Share of the second image",
    });
    private pairs = new Pairs([]);
    private readonly list = new PairList(this.pairs, () => this.moved());
    private polling = new AbortController();
    private unlisten: () => void = () => undefined;
    private noteTimer = 0;

    constructor(
        private readonly app: App,
        to: address.Address,
    ) {
        this.title = `Compare · ${app.dataset.name}`;
        const { second } = app.dataset;
        if (second === null) {
            const what =
                "There is one dataset. Give fdconvert view two of them to compare their samples.";
            this.root.append(h("p", { class: "empty" }, what));
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
            h(
                "div",
                { class: "counts", role: "group", "aria-label": "Pairs that are shown" },
                ...this.boxes.map(({ box, label }) => h("label", { class: "check" }, box, label)),
            ),
            h(
                "div",
                { class: "toolbar" },
                h("label", { class: "check" }, this.over, "One over the other"),
                this.cut,
                h("span", { class: "muted" }, "b swaps A and B"),
                this.progress,
            ),
            this.message,
            this.list.root,
        );
        for (const { box } of this.boxes)
            box.addEventListener("change", () => this.app.shared.go(this.address(0)));
        this.over.addEventListener("change", () => this.arrange());
        this.cut.addEventListener("input", () => this.arrange());
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
        this.pairs.retry();
    }

    stop(): void {
        this.unlisten();
        this.polling.abort();
        clearTimeout(this.noteTimer);
        this.pairs.stop();
        this.list.stop();
    }

    private arrange(): void {
        this.list.arrange(this.over.checked, Number(this.cut.value));
        this.cut.disabled = !this.over.checked;
    }

    private get states(): State[] {
        return this.boxes.filter(({ box }) => box.checked).map(({ state }) => state);
    }

    private address(at: number): address.Address {
        const options: Record<string, string> = {};
        const states = this.states.join();
        if (states !== AT_FIRST.join()) options.show = states;
        if (at > 0) options.at = String(at);
        return { view: "compare", sample: 0, filters: [], options };
    }

    private use(to: address.Address): void {
        const wanted = to.options.show?.split(",") ?? AT_FIRST;
        for (const { state, box } of this.boxes) box.checked = wanted.includes(state);
        this.app.shared.compared = address.format(to);
        this.unlisten();
        this.polling.abort();
        this.pairs.stop();
        this.pairs = new Pairs(this.states);
        fill(this.message);
        say(this.progress, "");
        this.unlisten = this.pairs.onChange(() => this.changed());
        this.list.use(this.pairs, address.whole(to.options.at) ?? 0);
        this.follow();
    }

    /** Looks again while the datasets are compared, and once more at the end. */
    private follow(): void {
        const { pairs } = this;
        const { signal } = (this.polling = new AbortController());
        void poll(POLL_MS, signal, async () => {
            const { complete } = pairs;
            pairs.refresh();
            return Promise.resolve(complete);
        });
    }

    private changed(): void {
        const { last, total, error, states } = this.pairs;
        if (last !== null) {
            for (const { state, text, label } of this.boxes)
                say(label, `${count(last.counts[state])} ${text}`);
            const of = `${count(last.scanned)} of ${count(this.app.dataset.samples)} compared`;
            say(this.progress, last.complete ? "" : of);
        }
        if (error !== null) {
            const again = () => this.pairs.retry();
            fill(this.message, failure("The datasets cannot be compared", error, again));
        } else if (total === 0) {
            const none =
                states.length === 0
                    ? "Choose which pairs are shown."
                    : this.pairs.growing
                      ? "Nothing found so far."
                      : "No pairs match.";
            fill(this.message, h("p", { class: "empty" }, none));
        } else {
            fill(this.message);
        }
    }

    /** Keeps the fragment at what is in sight, once it rests. */
    private moved(): void {
        clearTimeout(this.noteTimer);
        this.noteTimer = window.setTimeout(() => {
            const to = this.address(this.list.place);
            this.app.shared.compared = address.format(to);
            this.app.shared.note(to);
        }, NOTE_MS);
    }
}
