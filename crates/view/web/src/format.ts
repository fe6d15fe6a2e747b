// Numbers as people read them.

const WHOLE = new Intl.NumberFormat("en");
const ROUNDED = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export function count(n: number): string {
    return WHOLE.format(n);
}

export function number(value: number): string {
    return Number.isInteger(value) ? WHOLE.format(value) : ROUNDED.format(value);
}

export function bytes(n: number): string {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let value = n;
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) {
        value /= 1000;
        unit += 1;
    }
    return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
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
