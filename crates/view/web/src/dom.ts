// Elements are made by these functions alone: texts from a dataset become text nodes and attribute
// values, and never markup.

export type Child = Node | string | number | null | undefined | false;
export type Props = Record<string, unknown> | null;

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. `onNAME` properties are listeners; true is an attribute without a value. */
export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    props?: Props,
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    set(element, props ?? null);
    add(element, children);
    return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
    tag: K,
    props?: Props,
    ...children: Child[]
): SVGElementTagNameMap[K] {
    const element = document.createElementNS(SVG, tag);
    set(element, props ?? null);
    add(element, children);
    return element;
}

export function set(element: Element, props: Props): void {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (name.startsWith("on")) {
            element.addEventListener(name.slice(2), value as EventListener);
        } else if (value === null || value === undefined || value === false) {
            element.removeAttribute(name);
        } else {
            element.setAttribute(name, value === true ? "" : String(value));
        }
    }
}

export function add(element: Element, children: Child[]): void {
    for (const child of children) {
        if (child !== null && child !== undefined && child !== false) {
            element.append(child instanceof Node ? child : String(child));
        }
    }
}

/** A long text in a box that scrolls, which keyboards must reach then. */
export function longText(label: string, text: string, className = ""): HTMLPreElement {
    return h(
        "pre",
        { class: className || null, role: "group", tabindex: "0", "aria-label": label },
        text,
    );
}

/** Puts the children in place of all that the element has. */
export function fill(element: Element, ...children: Child[]): void {
    element.replaceChildren();
    add(element, children);
}

/** Sets the text only where it differs, so that screen readers hear changes only. */
export function say(element: Element, text: string): void {
    if (element.textContent !== text) element.textContent = text;
}

/** What a failure looks like where its result would have been. */
export function failure(what: string, error: unknown, retry?: () => void): HTMLElement {
    return h(
        "div",
        { class: "failure", role: "alert" },
        h("strong", null, what),
        h("p", null, error instanceof Error ? error.message : String(error)),
        retry && h("button", { type: "button", onclick: retry }, "Try again"),
    );
}
