// The check of all checksums, which the server makes when it is first asked.

import * as address from "./address";
import { failure, fill, h, say } from "./dom";
import { count, plural } from "./format";
import { ask, isAbort, poll } from "./server";
import type { Damage, Dataset } from "./types";

const POLL_MS = 700;

/** Once it was begun it is looked at again without a click, until the page is loaded again. */
let begun = false;

export class DamageCheck {
    private readonly start = h("button", { type: "button" }, "Check all checksums");
    private readonly bar = h("progress", { "aria-label": "Samples checked", hidden: true });
    private readonly said = h("p", { role: "status" });
    private readonly list = h("div");
    readonly root = h("div", { class: "damage" }, this.start, this.bar, this.said, this.list);
    private polling = new AbortController();
    private listed = -1;

    constructor(dataset: Dataset) {
        if (!dataset.checksums) {
            this.start.disabled = true;
            say(this.said, "The dataset holds no checksums, so that damage cannot be seen.");
            return;
        }
        this.start.addEventListener("click", () => this.begin());
        if (begun) this.begin();
    }

    retry(): void {
        if (begun) this.begin();
    }

    stop(): void {
        this.polling.abort();
    }

    private begin(): void {
        begun = true;
        this.start.disabled = true;
        this.bar.hidden = false;
        this.polling.abort();
        const { signal } = (this.polling = new AbortController());
        poll(POLL_MS, signal, async () => {
            const answer = await ask<Damage>("api/damage", signal);
            this.show(answer);
            return answer.checked >= answer.samples;
        }).catch((error: unknown) => {
            if (isAbort(error)) return;
            this.start.disabled = false;
            fill(
                this.list,
                failure("The check cannot be made", error, () => this.begin()),
            );
        });
    }

    private show({ checked, samples, found: n, damaged }: Damage): void {
        const done = checked >= samples;
        this.bar.max = Math.max(1, samples);
        this.bar.value = checked;
        this.bar.hidden = done;
        const total = n ?? damaged.length;
        const first =
            total > damaged.length
                ? `, of which the first ${count(damaged.length)} are listed`
                : "";
        const found = total === 0 ? "none damaged" : `${plural(total, "sample")} damaged${first}`;
        // A screen reader need not hear each step.
        this.said.setAttribute("aria-live", done ? "polite" : "off");
        say(
            this.said,
            done
                ? `${plural(samples, "sample")} checked, ${found}.`
                : `${count(checked)} of ${count(samples)} checked, ${found} so far.`,
        );
        if (damaged.length === this.listed) return;
        this.listed = damaged.length;
        const items = damaged.map(({ sample, key, cause }) =>
            h(
                "li",
                null,
                h(
                    "a",
                    { href: address.format(address.sample(sample)) },
                    `#${count(sample)} ${key}`,
                ),
                " ",
                h("span", { class: "muted" }, cause),
            ),
        );
        const all = h(
            "a",
            { href: address.format(address.grid([["damaged", "1"]])) },
            "Show them in the grid",
        );
        fill(
            this.list,
            items.length > 0 && all,
            items.length > 0 && h("ul", { class: "plain-list" }, ...items),
        );
    }
}
