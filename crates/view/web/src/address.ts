// The state that is worth a link, in the fragment of the address.

export type View = "grid" | "sample" | "batch" | "compare" | "about";
/**
 * What an expression calls a property of samples, and a value as it stands there, or a range such as
 * `256..512`; of one name they are alternatives. Beside these are `key`, a part of it, and `damaged`.
 */
export type Filter = readonly [name: string, value: string];

export interface Address {
    view: View;
    /** Of the sample page. */
    sample: number;
    filters: Filter[];
    /** Parameters that are not filters: `at`, `set` and `from`, and all of the batch and the comparison. */
    options: Record<string, string>;
}

/** Names that the page keeps; a field that is called so stands in backticks. */
const NOT_FILTERS = new Set(["at", "set", "from"]);

export function parse(hash: string): Address {
    const text = hash.replace(/^#?\/?/, "");
    const cut = text.indexOf("?");
    const [name = "", number = ""] = (cut < 0 ? text : text.slice(0, cut)).split("/");
    const parameters = [...new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1))];
    const address: Address = { view: "grid", sample: 0, filters: [], options: {} };
    if (name === "sample" && /^\d{1,15}$/.test(number)) {
        address.view = "sample";
        address.sample = Number(number);
    } else if (name === "batch" || name === "compare" || name === "about") {
        address.view = name;
    }
    const filtered = address.view === "grid" || address.view === "sample";
    for (const [key, value] of parameters) {
        if (!filtered || NOT_FILTERS.has(key)) address.options[key] = value;
        else if (value !== "") address.filters.push([key, value]);
    }
    return address;
}

export function format(address: Address): string {
    const path = {
        grid: "",
        sample: `sample/${address.sample}`,
        batch: "batch",
        compare: "compare",
        about: "about",
    }[address.view];
    return `#/${path}${query(address.filters, address.options)}`;
}

/** `?a=b&...`, or nothing where there are no parameters. */
export function query(
    filters: readonly Filter[],
    more: Record<string, string | number> = {},
): string {
    const pairs = [...filters, ...Object.entries(more)];
    const escaped = pairs.map(
        ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
    );
    return escaped.length === 0 ? "" : `?${escaped.join("&")}`;
}

/** The parameter that says which dataset of a comparison is meant. */
export function setOf(second: boolean): Record<string, string> {
    return second ? { set: "b" } : {};
}

export function isSecond(address: Address): boolean {
    return address.options.set === "b";
}

export function grid(filters: readonly Filter[], at?: number, second = false): Address {
    const options = setOf(second);
    if (at !== undefined) options.at = String(at);
    return { view: "grid", sample: 0, filters: [...filters], options };
}

export function sample(index: number, filters: readonly Filter[] = [], second = false): Address {
    return { view: "sample", sample: index, filters: [...filters], options: setOf(second) };
}

export function values(filters: readonly Filter[], name: string): string[] {
    return filters.filter(([key]) => key === name).map(([, value]) => value);
}

export function without(filters: readonly Filter[], name: string, value?: string): Filter[] {
    return filters.filter(([key, its]) => key !== name || (value !== undefined && its !== value));
}

/** The same filters with one value more, or without it where it was there. */
export function toggled(filters: readonly Filter[], name: string, value: string): Filter[] {
    const rest = without(filters, name, value);
    return rest.length < filters.length ? rest : [...filters, [name, value]];
}

/** A whole number that is not negative; null for anything else. */
export function whole(text: string | undefined): number | null {
    return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The ends of a range such as `256..512`; either may be missing. */
export function range(text: string): [number | null, number | null] {
    const [from = "", to = ""] = text.split("..");
    const end = (part: string) =>
        part === "" || !Number.isFinite(Number(part)) ? null : Number(part);
    return [end(from), end(to)];
}
