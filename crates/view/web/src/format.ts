// Numbers as people read them.

const WHOLE = new Intl.NumberFormat("en");
const ROUNDED = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export function count(n: number): string {
    return WHOLE.format(n);
}

export function number(value: number): string {
    return Number.isInteger(value) ? WHOLE.format(value) : ROUNDED.format(value);
}

/** In units of 1024, as the command writes them: `12.31 MiB`. */
export function bytes(n: number): string {
    if (n < 1024) return `${n} B`;
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let value = n / 1024;
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit += 1;
    }
    return `${value.toFixed(2)} ${units[unit]}`;
}

/** Columns of a JSON document beside the image. */
const JSON_WIDTH = 32;

/** A JSON document in few lines: what fits a line is on one, and long lists of numbers fill lines. */
export function compact(value: unknown, indent = ""): string {
    const line = flat(value);
    if (indent.length + line.length <= JSON_WIDTH || !isTree(value)) return line;
    const inner = `${indent}  `;
    if (!Array.isArray(value)) {
        const parts = Object.entries(value).map(([name, item]) => {
            const key = `${inner}${JSON.stringify(name)}: `;
            const rest = flat(item);
            const fits = key.length + rest.length <= JSON_WIDTH;
            return key + (fits ? rest : compact(item, inner));
        });
        return `{\n${parts.join(",\n")}\n${indent}}`;
    }
    const lines: string[] = [];
    for (const item of value) {
        const text = compact(item, inner);
        const last = lines.at(-1);
        const joined = `${last}, ${text}`;
        if (last !== undefined && !isTree(item) && joined.length < JSON_WIDTH)
            lines[lines.length - 1] = joined;
        else lines.push(inner + text);
    }
    return `[\n${lines.join(",\n")}\n${indent}]`;
}

function isTree(value: unknown): value is object {
    return typeof value === "object" && value !== null;
}

/** On one line, with spaces as people write them. */
function flat(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map(flat).join(", ")}]`;
    if (!isTree(value)) return JSON.stringify(value) ?? "";
    const parts = Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${flat(item)}`,
    );
    return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
    return `${count(n)} ${n === 1 ? one : many}`;
}

/** The end of a key: what tells samples of one folder apart. */
export function tail(key: string): string {
    return key.slice(key.lastIndexOf("/") + 1) || key;
}

/** One line of text for a value of a JSON document. */
export function short(value: unknown): string {
    if (typeof value === "number") return number(value);
    if (typeof value === "string") return value;
    return JSON.stringify(value) ?? "";
}
