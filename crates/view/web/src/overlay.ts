// What is drawn over an image: boxes, polygons, keypoints, masks, and their names.

import { h, s } from "./dom";
import { count } from "./format";
import { colour } from "./palette";
import type { Item, Objects } from "./types";

const KINDS = ["boxes", "polygons", "keypoints", "masks", "names"] as const;
type Kind = (typeof KINDS)[number];
/** More names than these hide the image. */
const MAX_NAMES = 200;

export interface Overlay {
    /** Lies over the image, as large as it. */
    root: HTMLElement;
    /** Switches for the kinds and the classes that there are. */
    controls: HTMLElement;
    /** Shows everything, or nothing. */
    toggle(): void;
}

/** `masks` are the addresses of masks that are fields of their own. */
export function overlay(objects: Objects, masks: string[]): Overlay {
    const root = drawing(objects, masks);
    return {
        root,
        controls: controls(root, objects.items, masks.length > 0),
        toggle: () => root.classList.toggle("off"),
    };
}

/** What lies over an image, without controls. */
export function drawing(objects: Objects, masks: string[]): HTMLElement {
    const [width, height] = objects.size;
    const picture = s("svg", {
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
    });
    const names = h("div", { class: "names", "aria-hidden": "true" });
    const root = h("div", { class: "overlay" }, picture, names);

    for (const mask of masks) picture.append(maskImage(mask, objects.size));
    // Large things first, so that small ones lie over them.
    const items = [...objects.items].sort((a, b) => area(b) - area(a));
    for (const item of items) picture.append(shape(item, objects.size));
    for (const item of items.slice(-MAX_NAMES)) {
        const its = name(item, objects.size);
        if (its !== null) names.append(its);
    }
    return root;
}

/** The boxes alone, as an image: an element for each box would be too many. */
export function outlines({ size: [width, height], items }: Objects): Blob {
    const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, fill: "none" });
    for (const { box, class: label } of [...items].sort((a, b) => area(b) - area(a))) {
        if (!box) continue;
        const at = { ...corners(box), "vector-effect": "non-scaling-stroke" };
        picture.append(
            s("rect", { ...at, stroke: "#000b", "stroke-width": 3 }),
            s("rect", { ...at, stroke: colour(label).fill, "stroke-width": 1.5 }),
        );
    }
    return new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
}

function area(item: Item): number {
    if (!item.box) return Infinity;
    const { width, height } = corners(item.box);
    return width * height;
}

function corners([x0, y0, x1, y1]: [number, number, number, number]) {
    return {
        x: Math.min(x0, x1),
        y: Math.min(y0, y1),
        width: Math.abs(x1 - x0),
        height: Math.abs(y1 - y0),
    };
}

function maskImage(url: string, [width, height]: [number, number]): SVGElement {
    return s("image", { class: "masks", href: url, width, height, preserveAspectRatio: "none" });
}

function shape(item: Item, size: [number, number]): SVGElement {
    const group = s("g", { "data-class": item.class ?? "" });
    group.style.setProperty("--class", colour(item.class).fill);
    if (item.mask) group.append(maskImage(item.mask, size));
    for (const polygon of item.polygons ?? []) {
        group.append(...edged("polygon", "polygons", { points: polygon.join(" ") }));
    }
    if (item.box) group.append(...edged("rect", "boxes", corners(item.box)));
    for (const [x, y, visible] of item.keypoints ?? []) {
        // A line without a length: its round ends are a point of the same size at every scale.
        if (visible > 0)
            group.append(
                ...edged("path", visible > 1 ? "keypoints" : "keypoints covered", {
                    d: `M${x} ${y}h0.001`,
                }),
            );
    }
    return group;
}

/** A line and the dark edge below it. */
function edged(
    tag: "rect" | "polygon" | "path",
    kind: string,
    at: Record<string, unknown>,
): SVGElement[] {
    return [s(tag, { class: `edge ${kind}`, ...at }), s(tag, { class: kind, ...at })];
}

function name(item: Item, [width, height]: [number, number]): HTMLElement | null {
    const first = item.polygons?.[0];
    const x = item.box?.[0] ?? first?.[0];
    const y = item.box?.[1] ?? first?.[1];
    if (x === undefined || y === undefined) return null;
    const its = h(
        "span",
        { "data-class": item.class ?? "" },
        item.name ?? (item.class === null ? "" : `class ${item.class}`),
    );
    const { fill, text } = colour(item.class);
    its.style.left = `${Math.max(0, (x / width) * 100)}%`;
    its.style.top = `${Math.max(0, (y / height) * 100)}%`;
    its.style.background = fill;
    its.style.color = text;
    return its;
}

/** Switches for what is drawn within an element; names may be off at first. */
export function controls(
    root: HTMLElement,
    items: Item[],
    fieldMasks: boolean,
    named = true,
): HTMLElement {
    const have: Record<Kind, boolean> = {
        boxes: items.some((item) => item.box),
        polygons: items.some((item) => item.polygons?.length),
        keypoints: items.some((item) => item.keypoints?.length),
        masks: fieldMasks || items.some((item) => item.mask),
        names: items.length > 0,
    };
    const kinds = KINDS.filter((kind) => have[kind]).map((kind) => {
        const show = (on: boolean) => root.classList.toggle(`no-${kind}`, !on);
        const on = kind !== "names" || named;
        show(on);
        return check(kind, show, undefined, on);
    });
    return h(
        "div",
        { class: "controls" },
        h("div", { class: "checks", role: "group", "aria-label": "What is drawn" }, ...kinds),
        h(
            "div",
            { class: "checks", role: "group", "aria-label": "Classes" },
            ...classes(root, items),
        ),
    );
}

function classes(root: HTMLElement, items: Item[]): HTMLElement[] {
    const found = new Map<number | null, { name: string; n: number }>();
    for (const item of items) {
        const known = found.get(item.class) ?? {
            name: item.name ?? `class ${item.class ?? "unknown"}`,
            n: 0,
        };
        known.n += 1;
        found.set(item.class, known);
    }
    return [...found].map(([label, { name, n }]) => {
        const toggle = (on: boolean) => {
            for (const element of root.querySelectorAll("[data-class]")) {
                if (element.getAttribute("data-class") === String(label ?? ""))
                    element.classList.toggle("hidden", !on);
            }
        };
        const swatch = h("span", { class: "swatch" });
        swatch.style.background = colour(label).fill;
        return check(`${name} (${count(n)})`, toggle, swatch);
    });
}

function check(
    text: string,
    toggle: (on: boolean) => void,
    swatch?: HTMLElement,
    checked = true,
): HTMLElement {
    const box = h("input", { type: "checkbox", checked });
    box.addEventListener("change", () => toggle(box.checked));
    return h("label", { class: "check" }, box, swatch, text);
}
