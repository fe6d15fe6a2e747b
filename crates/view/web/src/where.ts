// The filters as an expression of fdconvert, which `pack --where` takes as well.

import { type Filter, range, values } from "./address";

/** A text as it stands in an expression. */
export function quoted(text: string): string {
    return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

/** The text of what stands in an expression. */
export function unquoted(value: string): string {
    return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/gs, "$1") : value;
}

export function expression(filters: readonly Filter[]): string {
    const names = [...new Set(filters.map(([name]) => name))];
    const parts = names.map((name) => part(name, values(filters, name)));
    return parts.filter((text) => text !== "").join(" && ");
}

/** The filters as parameters of a request. */
export function asked(filters: readonly Filter[]): Filter[] {
    const text = expression(filters);
    const where: Filter[] = text === "" ? [] : [["where", text]];
    return [...where, ...filters.filter(([name]) => name === "damaged")];
}

function part(name: string, chosen: string[]): string {
    const last = chosen.at(-1) ?? "";
    // Found by the check, and no property of samples.
    if (name === "damaged") return "";
    // One of the objects in an image has it.
    const property = /^any\((\w+)\)$/.exec(name)?.[1];
    if (property !== undefined) return `any(${part(property, chosen)})`;
    if (name === "key") return `key contains ${quoted(last)}`;
    if (!last.startsWith('"') && last.includes("..")) {
        const [from, to] = range(last);
        const ends = [from !== null && `${name} >= ${from}`, to !== null && `${name} <= ${to}`];
        return ends.filter((end) => end !== false).join(" && ");
    }
    return chosen.length === 1 ? `${name} == ${last}` : `${name} in [${chosen.join(", ")}]`;
}
