// The values of a sample, each as its kind is read best.

import { h, longText } from "./dom";
import { bytes, compact, count, number } from "./format";
import type { Sample, Value } from "./types";

export function fieldsTable(sample: Sample, set: string): HTMLElement {
    const rows = sample.values.map((value, at) =>
        h(
            "tr",
            null,
            h(
                "th",
                { scope: "row" },
                value.name,
                h("span", { class: "kind" }, value.mask ? "mask" : value.kind),
            ),
            h("td", null, ...contents(value, `${sample.sample}/${at}${set}`)),
        ),
    );
    return h("table", { class: "fields" }, h("tbody", null, ...rows));
}

function contents(value: Value, place: string): (Node | string)[] {
    const download = (text: string) => h("a", { href: `field/${place}`, download: true }, text);
    switch (value.kind) {
        case "image": {
            const size =
                value.width && value.height
                    ? `${count(value.width)} × ${count(value.height)}`
                    : null;
            const stored = value.bytes == null ? null : bytes(value.bytes);
            const facts = [value.codec, size, stored].filter(Boolean).join(", ");
            return [
                facts,
                h(
                    "div",
                    { class: "line" },
                    h("a", { href: `image/${place}`, target: "_blank", rel: "noopener" }, "Open"),
                    download("Download"),
                ),
            ];
        }
        case "bytes":
        case "array": {
            const shape = value.shape ? ` [${value.shape.join(", ")}]` : "";
            const facts = [
                `${value.dtype ?? ""}${shape}`.trim(),
                value.bytes == null ? "" : bytes(value.bytes),
            ].filter(Boolean);
            const parts: Node[] = [];
            if (value.numbers)
                parts.push(
                    longText(
                        `Numbers of ${value.name}`,
                        numbers(value.numbers, value.shape ?? null),
                    ),
                );
            if (value.hex)
                parts.push(longText(`First bytes of ${value.name}`, hexDump(value.hex), "hex"));
            return [facts.join(", "), h("div", { class: "line" }, download("Download")), ...parts];
        }
        case "json": {
            const text =
                typeof value.value === "string" ? parsed(value.value) : compact(value.value);
            return [longText(value.name, text), ...cut(value, download)];
        }
        case "text":
            return [
                longText(value.name, String(value.value ?? ""), "text"),
                ...cut(value, download),
            ];
        default: {
            const its =
                typeof value.value === "number" ? plain(value.value) : String(value.value ?? "");
            return value.class == null ? [its] : [h("strong", null, value.class), ` ${its}`];
        }
    }
}

function cut(value: Value, download: (text: string) => Node): Node[] {
    return value.cut
        ? [
              h(
                  "div",
                  { class: "line" },
                  h("span", { class: "muted" }, "Only its beginning."),
                  download("Download all"),
              ),
          ]
        : [];
}

function plain(value: number): string {
    return Number.isInteger(value) ? String(value) : number(value);
}

function parsed(text: string): string {
    try {
        return compact(JSON.parse(text));
    } catch {
        // Texts that were cut are no documents.
        return text;
    }
}

function numbers(all: (number | boolean | null)[], shape: number[] | null): string {
    const columns = shape && shape.length > 1 ? Math.max(1, shape.at(-1) ?? 8) : 8;
    const lines: string[] = [];
    for (let at = 0; at < all.length; at += columns) {
        lines.push(
            all
                .slice(at, at + columns)
                .map((value) => (typeof value === "number" ? plain(value) : String(value ?? "nan")))
                .join(", "),
        );
    }
    return lines.join("\n");
}

function hexDump(hex: string): string {
    const pairs = hex.match(/[0-9a-f]{2}/gi) ?? [];
    const lines: string[] = [];
    for (let at = 0; at < pairs.length; at += 16) {
        const line = pairs.slice(at, at + 16);
        const text = line.map((pair) => {
            const code = Number.parseInt(pair, 16);
            return code >= 32 && code < 127 ? String.fromCharCode(code) : "·";
        });
        lines.push(
            `${at.toString(16).padStart(4, "0")}  ${line.join(" ").padEnd(47)}  ${text.join("")}`,
        );
    }
    return lines.join("\n");
}
