// A dataset as large as ImageNet that is nowhere stored: everything follows from the number.
export const SAMPLES = 1_281_167;
export const DAMAGED = [666, 70_001, 1_000_000];
export const HOSTILE = [
    "<img src=x onerror=window.hacked=1>.jpg",
    "<script>window.hacked=1</script>.jpg",
    '"><svg onload=window.hacked=1>.jpg',
];
const HOSTILE_AT = 3;

export const CLASSES = Array.from({ length: 1000 }, (_, label) => {
    const adjectives = [
        "grey",
        "red",
        "small",
        "wild",
        "old",
        "green",
        "long",
        "round",
        "striped",
        "white",
    ];
    const nouns = [
        "cat",
        "dog",
        "boat",
        "kite",
        "lamp",
        "fern",
        "heron",
        "teapot",
        "truck",
        "shell",
    ];
    if (label === 999) return "<b onmouseover=window.hacked=1>bold</b>";
    return `${adjectives[label % 10]} ${nouns[Math.floor(label / 10) % 10]}${label < 100 ? "" : ` ${Math.floor(label / 100)}`}`;
});

const mix = (i) => Math.imul(i ^ (i >>> 15), 0x2c1b3c6d) >>> 0;
const CODECS = ["jpg", "jpg", "jpg", "jpg", "jpg", "jpg", "jpg", "png", "webp", "jpg"];

export const label = Uint16Array.from({ length: SAMPLES }, (_, i) =>
    Math.min(999, Math.floor(i / 1281.2)),
);
export const width = Uint16Array.from(
    { length: SAMPLES },
    (_, i) => [500, 375, 500, 640, 333, 800][mix(i) % 6] + (mix(i + 1) % 40),
);
export const height = Uint16Array.from(
    { length: SAMPLES },
    (_, i) => [375, 500, 333, 480, 500, 600][mix(i) % 6] + (mix(i + 2) % 40),
);
export const bytes = Uint32Array.from(
    { length: SAMPLES },
    (_, i) => 20_000 + Math.floor((mix(i + 3) % 400) ** 2 * 1.4),
);
export const codec = (i) => CODECS[mix(i + 4) % 10];
export const split = (i) => (i < 1_231_167 ? "train" : "val");

export function key(i) {
    const hostile = HOSTILE[i - HOSTILE_AT];
    if (hostile !== undefined) return hostile;
    return `n${String(1_440_764 + label[i] * 317).padStart(8, "0")}/img_${String(i).padStart(8, "0")}.${codec(i)}`;
}

const column = {
    label: (i) => CLASSES[label[i]],
    codec,
    split,
    key,
    width: (i) => width[i],
    height: (i) => height[i],
    bytes: (i) => bytes[i],
    "width / height": (i) => width[i] / height[i],
    score: (i) => (mix(i + 5) % 1000) / 1000,
};
const NUMBERS = ["width", "height", "bytes", "width / height", "score"];

const OPERATORS = {
    "==": (value, other) => value === other,
    ">=": (value, other) => value >= other,
    "<=": (value, other) => value <= other,
    in: (value, list) => list.includes(value),
    contains: (value, other) => value.includes(other),
};

/** A part of an expression as the page writes it; null where it means nothing. */
function test([name, operator, literal]) {
    if (name === "damaged") return (i) => DAMAGED.includes(i);
    const [get, holds] = [column[name], OPERATORS[operator]];
    if (get === undefined || holds === undefined) return null;
    const other = JSON.parse(literal);
    return (i) => holds(get(i), other);
}

/** The parts of a filter: names, operators and literals. */
export function filtersOf(parameters) {
    const parts = (parameters.get("where") ?? "").split(" && ").filter((part) => part !== "");
    const words = (part) => /^(.*?) (==|>=|<=|in|contains) (.*)$/s.exec(part)?.slice(1) ?? [part];
    const filters = parts.map(words);
    return parameters.has("damaged") ? [...filters, ["damaged"]] : filters;
}

const kept = new Map();

/** The samples that the filters keep, as numbers; undefined where nothing is filtered. */
export function keep(filters, without) {
    const used = filters.filter(([name]) => name !== without);
    if (used.length === 0) return undefined;
    const name = JSON.stringify(used);
    if (!kept.has(name)) {
        const tests = used.map(test);
        if (tests.includes(null)) return null;
        const found = [];
        for (let i = 0; i < SAMPLES; i += 1) if (tests.every((holds) => holds(i))) found.push(i);
        kept.set(name, found);
    }
    return kept.get(name);
}

export function row(i) {
    const its = {
        sample: i,
        key: key(i),
        label: label[i],
        codec: codec(i),
        width: width[i],
        height: height[i],
        bytes: bytes[i],
    };
    return i === 667 ? { ...its, error: "the header claims 70,000 x 70,000 pixels" } : its;
}

const counted = new Map();

function facet(name, title, filters, scanned) {
    const among = keep(filters, name);
    const end = among === undefined ? scanned : among.length;
    const get = column[name];
    const at = (n) => (among === undefined ? n : among[n]);
    if (NUMBERS.includes(name)) {
        const [min, max] = {
            width: [333, 839],
            height: [333, 639],
            bytes: [20_000, 242_881],
            "width / height": [0.6, 1.6],
            score: [0, 1],
        }[name];
        const bins = Array.from({ length: 24 }, (_, bin) => ({
            from: min + ((max - min) * bin) / 24,
            to: min + ((max - min) * (bin + 1)) / 24,
            n: 0,
        }));
        for (let n = 0; n < end; n += 1) {
            if (at(n) >= scanned) break;
            bins[
                Math.max(0, Math.min(23, Math.floor(((get(at(n)) - min) / (max - min)) * 24)))
            ].n += 1;
        }
        if (name !== "width / height" && name !== "score")
            for (const bin of bins)
                Object.assign(bin, { from: Math.round(bin.from), to: Math.round(bin.to) });
        return { name, title, kind: "numbers", min, max, bins };
    }
    const counts = new Map();
    for (let n = 0; n < end; n += 1) {
        if (at(n) >= scanned) break;
        const value = get(at(n));
        counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const values = sorted
        .slice(0, 200)
        .map(([title, n]) => ({ value: JSON.stringify(title), title, n }));
    return { name, title, kind: "values", values, more: Math.max(0, sorted.length - 200) };
}

export function facets(filters, scanned) {
    const titles = {
        label: "Class",
        codec: "Codec",
        split: "Split",
        width: "Width",
        height: "Height",
        bytes: "Bytes",
        "width / height": "Aspect",
        score: "score",
    };
    const all = Object.entries(titles).map(([name, title]) => {
        const known = JSON.stringify([name, scanned, filters]);
        if (!counted.has(known)) counted.set(known, facet(name, title, filters, scanned));
        return counted.get(known);
    });
    return { scanned, samples: SAMPLES, facets: all };
}
