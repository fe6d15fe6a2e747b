// Stands in for the server of `fdconvert view`, as crates/view/API.md describes it.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "./data.mjs";
import {
    batchMasks,
    batchObjects,
    batchPicture,
    batchRows,
    batchSize,
    mask,
    picture,
    sample,
} from "./sample.mjs";

const DIST = join(dirname(fileURLToPath(import.meta.url)), "../../dist");
const PAGE = {
    "": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
};
const HEADERS = {
    "Content-Security-Policy":
        "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
};

class Refusal extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

/**
 * `latency` in milliseconds is waited before each answer; `scan` is how long the catalog takes, and
 * `compare` the comparison.
 */
export async function serve({ latency = 0, scan = 0, compare = 0, second = true, port = 0 } = {}) {
    const token = randomBytes(16).toString("hex");
    const started = Date.now();
    const come = (takes) =>
        takes === 0
            ? data.SAMPLES
            : Math.min(data.SAMPLES, Math.floor(((Date.now() - started) / takes) * data.SAMPLES));
    const state = {
        scanned: () => come(scan),
        compared: () => come(compare),
        second,
        checked: 0,
        requests: [],
        aborted: 0,
        latency,
    };
    const server = createServer(async (request, response) => {
        const url = new URL(request.url, "http://localhost");
        state.requests.push(url.pathname.slice(token.length + 2) + url.search);
        response.on("close", () => (state.aborted += response.writableEnded ? 0 : 1));
        if (state.latency > 0) await new Promise((wake) => setTimeout(wake, state.latency));
        if (response.destroyed) return;
        try {
            if (!url.pathname.startsWith(`/${token}/`))
                throw new Refusal(403, "the token is not of this run");
            const [type, body, more] = await answer(
                url.pathname.slice(token.length + 2),
                url.searchParams,
                state,
            );
            response.writeHead(200, {
                ...HEADERS,
                "Content-Type": type,
                "Cache-Control": "no-cache",
                ...more,
            });
            response.end(body);
        } catch (error) {
            response.writeHead(error.status ?? 500, {
                ...HEADERS,
                "Content-Type": "application/json",
            });
            response.end(JSON.stringify({ error: error.message }));
        }
    });
    await new Promise((ready) => server.listen(port, "127.0.0.1", ready));
    const stop = () => {
        server.closeAllConnections();
        return new Promise((done) => server.close(done));
    };
    const listening = server.address().port;
    return {
        address: `http://127.0.0.1:${listening}/${token}/`,
        state,
        stop,
        again: () => new Promise((ready) => server.listen(listening, "127.0.0.1", ready)),
    };
}

const json = (value) => ["application/json", JSON.stringify(value)];

async function answer(path, parameters, state) {
    if (path in PAGE) return [PAGE[path], await readFile(join(DIST, path || "index.html"))];
    const [root, first, second] = path.split("/");
    if (root === "image" || root === "mask" || root === "field")
        return bytesOf(root, first, second, parameters);
    if (path === "batch-masks.png") return ["image/png", batchMasks(parameters)];
    if (path === "batch.png") return ["image/png", batchPicture(parameters)];
    if (path === "keys.txt") {
        const kept = data.keep(data.filtersOf(parameters)) ?? [0, 1, 2];
        return [
            "text/plain",
            kept.map(data.key).join("\n"),
            { "Content-Disposition": "attachment" },
        ];
    }
    if (path.startsWith("sheet."))
        return ["image/png", picture(1, 128), { "Content-Disposition": "attachment" }];
    if (root !== "api") throw new Refusal(404, `there is no ${path}`);
    return json(api(first, second, parameters, state));
}

function numberOf(text) {
    const i = Number(text);
    if (!Number.isInteger(i) || i < 0 || i >= data.SAMPLES)
        throw new Refusal(404, `there is no sample ${text}`);
    return i;
}

function bytesOf(kind, number, field, parameters) {
    const i = numberOf(number);
    if (kind === "image" && data.DAMAGED.includes(i))
        throw new Refusal(422, "the checksum of the image is not that of its bytes");
    if (kind === "mask") return ["image/png", mask(i)];
    if (kind === "field")
        return [
            "application/octet-stream",
            Buffer.from("<html>"),
            { "Content-Disposition": "attachment" },
        ];
    const side = parameters.has("side") ? Number(parameters.get("side")) : undefined;
    return ["image/png", picture(i, side, parameters.get("set") === "b")];
}

function api(name, number, parameters, state) {
    const start = Number(parameters.get("start") ?? 0);
    const count = Number(parameters.get("count") ?? 200);
    switch (name) {
        case "dataset":
            return { ...dataset(state), ...(parameters.get("set") === "b" ? SECOND : {}) };
        case "facets":
            if (data.keep(data.filtersOf(parameters)) === null)
                throw new Refusal(400, `${parameters.get("where")} means nothing`);
            return data.facets(data.filtersOf(parameters), state.scanned());
        case "samples":
            return samples(parameters, start, count, state.scanned());
        case "position": {
            const i = Number(parameters.get("sample"));
            const kept = data.keep(data.filtersOf(parameters));
            const at = kept === undefined ? i : kept.indexOf(i);
            return {
                position:
                    at < 0 || i >= (kept === undefined ? data.SAMPLES : state.scanned())
                        ? null
                        : at,
            };
        }
        case "sample": {
            const i = numberOf(number);
            if (i === 70_001)
                throw new Refusal(422, "the sample's row lies behind the end of the file");
            return sample(i);
        }
        case "boxes": {
            const { objects, values } = sample(numberOf(number));
            return objects ?? { size: [values[0].width, values[0].height], items: [] };
        }
        case "batch": {
            const rows = batchRows(parameters).map((i) => ({
                sample: i,
                key: data.key(i),
                label: data.label[i],
                objects: batchObjects(parameters, i),
            }));
            const [width, height] = batchSize(parameters);
            const transform = JSON.parse(parameters.get("transform") ?? "[]");
            const views = Number(parameters.get("views") ?? 1);
            return { rows, views, masks: true, width, height, transform };
        }
        case "damage": {
            state.checked = Math.min(data.SAMPLES, state.checked + 700_000);
            const damaged = data.DAMAGED.filter((i) => i < state.checked).map((sample) => ({
                sample,
                key: data.key(sample),
                cause: "checksum differs",
            }));
            return { checked: state.checked, samples: data.SAMPLES, damaged };
        }
        case "compare":
            return compare(parameters.getAll("state"), start, count, state.compared());
        default:
            throw new Refusal(404, `there is no api/${name}`);
    }
}

function samples(parameters, start, count, scanned) {
    const kept = data.keep(data.filtersOf(parameters));
    if (kept === null) throw new Refusal(400, `${parameters.get("where")} means nothing`);
    const total = kept === undefined ? data.SAMPLES : kept.filter((i) => i < scanned).length;
    const rows = [];
    for (let at = start; at < Math.min(total, start + count); at += 1)
        rows.push(data.row(kept === undefined ? at : kept[at]));
    return { scanned, total, start, samples: rows };
}

const SECOND = {
    name: "imagenet-q50.beton",
    path: "/data/imagenet-q50.beton",
    samples: data.SAMPLES,
};
const STATES = ["same", "changed", "only_a", "only_b"];
const stateOf = (i) =>
    i % 1000 === 3 ? "only_b" : i % 1000 === 5 ? "only_a" : i % 500 === 7 ? "changed" : "same";
const numbers = Object.fromEntries(STATES.map((state) => [state, []]));
for (let i = 0; i < data.SAMPLES; i += 1) numbers[stateOf(i)].push(i);
const merged = new Map();

/** The numbers of some states in the order of the first dataset, without those of the second. */
function ofFirst(states) {
    const name = states.join();
    if (!merged.has(name)) {
        const all = states.filter((state) => state !== "only_b").flatMap((state) => numbers[state]);
        merged.set(name, Uint32Array.from(all).sort());
    }
    return merged.get(name);
}

function below(sorted, end) {
    let [low, high] = [0, sorted.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (sorted[middle] < end) low = middle + 1;
        else high = middle;
    }
    return low;
}

function compare(asked, start, count, compared) {
    const unknown = asked.find((state) => !STATES.includes(state));
    if (unknown !== undefined) throw new Refusal(400, `\`state=${unknown}\` is none of them`);
    const states = asked.length === 0 ? STATES : STATES.filter((state) => asked.includes(state));
    const complete = compared >= data.SAMPLES;
    const n = (state) => (state === "only_b" && !complete ? 0 : below(numbers[state], compared));
    const first = ofFirst(states);
    const inFirst = below(first, compared);
    const total = inFirst + (states.includes("only_b") ? n("only_b") : 0);
    const rows = [];
    for (let at = start; at < Math.min(total, start + count); at += 1) {
        const i = at < inFirst ? first[at] : numbers.only_b[at - inFirst];
        const state = stateOf(i);
        const [a, b] = [state === "only_b" ? null : i, state === "only_a" ? null : i];
        rows.push({ key: data.key(i), a, b, same: state === "same" });
    }
    const counts = Object.fromEntries(STATES.map((state) => [state, n(state)]));
    return { scanned: compared, complete, total, start, rows, counts };
}

function dataset(state) {
    return {
        name: "imagenet.beton",
        path: "/data/imagenet.beton",
        samples: data.SAMPLES,
        format: "beton",
        schema: [
            { name: "image", kind: "image", classes: null },
            { name: "label", kind: "int", classes: data.CLASSES },
            { name: "score", kind: "float", classes: null },
            { name: "caption", kind: "text", classes: null },
            { name: "meta", kind: "json", classes: null },
            { name: "embedding", kind: "array", classes: null },
            { name: "raw", kind: "bytes", classes: null },
            { name: "objects", kind: "json", classes: null },
        ],
        splits: [
            { name: "train", samples: 1_231_167 },
            { name: "val", samples: 50_000 },
        ],
        details: { page_bytes: 8_388_608, pages: 17_904, index: "complete" },
        provenance: {
            tool: "fdconvert 0.3.0",
            source: "/data/imagenet",
            parameters: { jpeg_quality: 90, max_side: null, codecs: ["jpg", "png"] },
            skipped: [{ key: "n01440764/x.jpg", cause: "truncated" }],
        },
        checksums: true,
        image: 0,
        label: 1,
        objects: 7,
        second: state.second ? SECOND : null,
        version: "0.3.0",
    };
}
