// Two images of one key, side by side or one over the other.

import * as address from "./address";
import { h } from "./dom";
import { count } from "./format";
import type { Pair } from "./types";

const SIDE = 384;

export function pairRow(pair: Pair): HTMLElement {
    const state = pair.same
        ? "the same"
        : pair.a === null
          ? "only in B"
          : pair.b === null
            ? "only in A"
            : "changed";
    return h(
        "div",
        { class: "pair", role: "listitem" },
        h(
            "div",
            { class: "pair-head" },
            h("span", { class: `state ${state.replaceAll(" ", "-")}` }, state),
            h("span", { class: "key" }, pair.key),
        ),
        h("div", { class: "images" }, side("A", pair.a, false), side("B", pair.b, true)),
    );
}

function side(letter: string, sample: number | null, second: boolean): HTMLElement {
    if (sample === null) return h("div", { class: `none ${letter}` }, `not in ${letter}`);
    const to = address.sample(sample, [], second);
    const image = h("img", {
        src: `image/${sample}?side=${SIDE}${second ? "&set=b" : ""}`,
        loading: "lazy",
        alt: "",
    });
    const link = {
        class: letter,
        href: address.format({ ...to, options: { ...to.options, from: "compare" } }),
        "aria-label": `${letter} #${count(sample)}`,
    };
    const its = h("a", link, image, h("span", { class: "letter" }, `${letter} #${count(sample)}`));
    image.addEventListener("error", () =>
        image.replaceWith(h("span", { class: "none" }, "cannot be shown; open it for the cause")),
    );
    return its;
}
