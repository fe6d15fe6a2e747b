// A facet of numbers: a histogram in which a range can be drawn, and two fields for its ends.

import { type Filter, range, values, without } from "./address";
import { h, s, say, set } from "./dom";
import { count, number } from "./format";
import type { Bin, Facet } from "./types";

const WIDTH = 240;
const HEIGHT = 48;

export class NumbersBody {
    private readonly bars = s("path", { class: "bars" });
    private readonly chosen = s("path", { class: "bars chosen" });
    private readonly picture = s(
        "svg",
        {
            class: "histogram",
            role: "img",
            viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
            preserveAspectRatio: "none",
        },
        this.bars,
        this.chosen,
    );
    private readonly under = h("p", { class: "bin" });
    private readonly from = this.field("least");
    private readonly to = this.field("most");
    private readonly clear = h("button", { type: "button", class: "plain" }, "Clear");
    readonly root = h(
        "div",
        { class: "numbers" },
        this.picture,
        this.under,
        h("div", { class: "ends" }, this.from, "–", this.to, this.clear),
    );
    private bins: Bin[] = [];
    private drag: [number, number] | null = null;

    constructor(
        private readonly name: string,
        private readonly filters: () => readonly Filter[],
        private readonly choose: (filters: Filter[]) => void,
    ) {
        this.clear.addEventListener("click", () => this.set("", ""));
        for (const input of [this.from, this.to]) {
            input.addEventListener("change", () => this.set(this.from.value, this.to.value));
        }
        this.picture.addEventListener("pointerdown", (event) => this.press(event));
        this.picture.addEventListener("pointermove", (event) => this.move(event));
        this.picture.addEventListener("pointerup", () => this.release());
        this.picture.addEventListener("pointercancel", () => this.cancel());
        this.picture.addEventListener("pointerleave", () => this.drag ?? this.caption());
    }

    update(facet: Facet): void {
        if (facet.kind !== "numbers") return;
        this.bins = facet.bins;
        const ends = `${number(facet.min)} to ${number(facet.max)}`;
        const most = this.bins.reduce<Bin | null>(
            (best, bin) => (best && best.n >= bin.n ? best : bin),
            null,
        );
        const peak =
            most === null ? "" : `, most of them from ${number(most.from)} to ${number(most.to)}`;
        set(this.picture, { "aria-label": `Histogram of ${facet.title}, ${ends}${peak}` });
        set(this.from, { "aria-label": `${facet.title}, at least`, placeholder: short(facet.min) });
        set(this.to, { "aria-label": `${facet.title}, at most`, placeholder: short(facet.max) });
        this.draw();
    }

    private field(name: string): HTMLInputElement {
        return h("input", { type: "number", step: "any", class: name, autocomplete: "off" });
    }

    private draw(): void {
        const [low, high] = this.range();
        this.bars.setAttribute(
            "d",
            this.path(() => true),
        );
        const isChosen = (bin: Bin) =>
            bin.to >= (low ?? -Infinity) && bin.from <= (high ?? Infinity);
        const any = low !== null || high !== null || this.drag !== null;
        const dragged = (_: Bin, at: number) =>
            this.drag !== null && at >= Math.min(...this.drag) && at <= Math.max(...this.drag);
        this.chosen.setAttribute(
            "d",
            any ? this.path(this.drag === null ? isChosen : dragged) : "",
        );
        this.picture.classList.toggle("ranged", any);
        for (const [input, value] of [
            [this.from, low],
            [this.to, high],
        ] as const) {
            if (document.activeElement !== input) input.value = value === null ? "" : String(value);
        }
        this.clear.hidden = low === null && high === null;
        if (this.drag === null) this.caption();
    }

    private path(wanted: (bin: Bin, at: number) => boolean): string {
        const most = Math.max(1, ...this.bins.map(({ n }) => n));
        const step = WIDTH / Math.max(1, this.bins.length);
        return this.bins
            .map((bin, at) => {
                if (bin.n === 0 || !wanted(bin, at)) return "";
                const tall = Math.max(2, (bin.n / most) * HEIGHT);
                const x = (at * step).toFixed(2);
                return `M${x} ${HEIGHT}v${(-tall).toFixed(2)}h${(step - 1).toFixed(2)}V${HEIGHT}z`;
            })
            .join("");
    }

    private range(): [number | null, number | null] {
        const text = values(this.filters(), this.name).at(-1);
        return text === undefined ? [null, null] : range(text);
    }

    private set(from: string, to: string): void {
        const rest = without(this.filters(), this.name);
        this.choose(
            from === "" && to === ""
                ? rest
                : [...rest, [this.name, `${from}..${to}`]],
        );
    }

    private binAt(event: PointerEvent): number {
        const box = this.picture.getBoundingClientRect();
        const at = Math.floor(
            ((event.clientX - box.left) / Math.max(1, box.width)) * this.bins.length,
        );
        return Math.max(0, Math.min(at, this.bins.length - 1));
    }

    private press(event: PointerEvent): void {
        if (event.button !== 0 || this.bins.length === 0) return;
        event.preventDefault();
        this.picture.setPointerCapture(event.pointerId);
        const at = this.binAt(event);
        this.drag = [at, at];
        this.draw();
    }

    private move(event: PointerEvent): void {
        const at = this.binAt(event);
        if (this.drag !== null) {
            this.drag = [this.drag[0], at];
            this.draw();
        }
        this.caption(this.drag ?? [at, at]);
    }

    private release(): void {
        if (this.drag === null) return;
        const first = this.bins[Math.min(...this.drag)];
        const last = this.bins[Math.max(...this.drag)];
        this.drag = null;
        if (first && last) this.set(String(first.from), String(last.to));
    }

    private cancel(): void {
        this.drag = null;
        this.draw();
    }

    /** Says the ends and the number of some bins; without any, of all. */
    private caption(some?: [number, number]): void {
        const first = this.bins[some ? Math.min(...some) : 0];
        const last = this.bins[some ? Math.max(...some) : this.bins.length - 1];
        const isEmpty = this.bins.every(({ n }) => n === 0);
        this.picture.toggleAttribute("hidden", isEmpty);
        if (!first || !last || isEmpty) return say(this.under, "No samples match.");
        const n = this.bins
            .slice(this.bins.indexOf(first), this.bins.indexOf(last) + 1)
            .reduce((sum, bin) => sum + bin.n, 0);
        say(this.under, `${number(first.from)} – ${number(last.to)}${some ? `: ${count(n)}` : ""}`);
    }
}

/** As a field of numbers takes it. */
function short(value: number): string {
    return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
}
