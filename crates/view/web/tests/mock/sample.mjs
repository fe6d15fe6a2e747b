// What the mock says of one sample, and the pictures of it.
import * as data from "./data.mjs";
import { png, scene, things } from "./png.mjs";

export function sample(i) {
    const [width, height] = [data.width[i], data.height[i]];
    const values = [
        {
            name: "image",
            kind: "image",
            codec: data.codec(i),
            width,
            height,
            bytes: data.bytes[i],
            mask: false,
        },
        { name: "label", kind: "int", value: data.label[i], class: data.CLASSES[data.label[i]] },
        { name: "score", kind: "float", value: ((i * 7919) % 1000) / 1000 },
        {
            name: "caption",
            kind: "text",
            value: `A ${data.CLASSES[data.label[i]]} in front of a field.\nSeen from the road.`,
        },
        {
            name: "meta",
            kind: "json",
            value: JSON.stringify({
                source: "generated",
                tags: ["outdoor", "day"],
                bbox: [
                    [10, 20, 300, 200],
                    [214, 35, 143, 43],
                ],
                camera: { iso: 200 },
            }),
            cut: i % 2 === 1,
        },
        {
            name: "embedding",
            kind: "array",
            bytes: 64,
            dtype: "float32",
            shape: [4, 4],
            hex: "0000803f".repeat(16),
            numbers: Array.from({ length: 16 }, (_, n) => n / 8),
        },
        { name: "raw", kind: "bytes", bytes: 300, hex: "3c68746d6c3e00ff".repeat(32) },
    ];
    if (i % 3 === 0)
        values.push({
            name: "segments",
            kind: "image",
            codec: "png",
            width,
            height,
            bytes: 3000,
            mask: true,
        });
    return {
        sample: i,
        key: data.key(i),
        split: data.split(i),
        values,
        place: {
            path: "imagenet.beton",
            offset: 4096 * (i + 3),
            bytes: data.bytes[i],
            xxh3: ((i + 1) * 0x9e3779b9).toString(16).padStart(16, "0"),
        },
        exif:
            i % 2 === 0
                ? [
                      { name: "Make", value: "Example" },
                      { name: "ExposureTime", value: "1/250" },
                      { name: "Orientation", value: 1 },
                  ]
                : [],
        objects: i % 4 === 3 ? null : objects(i, width, height),
        verified: data.DAMAGED.includes(i) ? false : true,
        python: `import fdconvert\n\nsample = fdconvert.Dataset("imagenet.beton")[${i}]`,
    };
}

function objects(i, width, height) {
    const items = things(i).map(({ x, y, r }, at) => {
        const radius = r * Math.min(width, height);
        const [cx, cy] = [x * width, y * height];
        const corner = (n) => [
            cx + radius * Math.cos((n * Math.PI) / 6),
            cy + radius * Math.sin((n * Math.PI) / 6),
        ];
        const label = (data.label[i] + at * 3) % 998;
        return {
            class: label,
            name: data.CLASSES[label],
            box: [cx - radius, cy - radius, cx + radius, cy + radius],
            polygons: at === 0 ? [Array.from({ length: 12 }, (_, n) => corner(n)).flat()] : [],
            keypoints:
                at === 1
                    ? [
                          [cx, cy, 2],
                          [cx + radius / 2, cy, 1],
                          [cx, cy + radius / 2, 2],
                      ]
                    : [],
            mask: null,
        };
    });
    return { size: [width, height], items };
}

export function picture(i, side, second = false) {
    const [width, height] = [data.width[i], data.height[i]];
    const scale = Math.min(1, (side ?? 640) / Math.max(width, height));
    const [w, h] = [
        Math.max(1, Math.round(width * scale)),
        Math.max(1, Math.round(height * scale)),
    ];
    const draw = scene(i, w, h);
    const blur = (x, y) => draw(x - (x % 8), y - (y % 8));
    return png(w, h, 3, second && i % 500 === 7 ? blur : draw);
}

export function mask(i) {
    const [width, height] = [Math.round(data.width[i] / 4), Math.round(data.height[i] / 4)];
    const round = things(i);
    const colours = [
        [230, 60, 60, 255],
        [60, 160, 230, 255],
        [240, 200, 40, 255],
        [90, 200, 90, 255],
        [200, 90, 200, 255],
    ];
    return png(width, height, 4, (x, y) => {
        const at = round.findIndex(
            (it) =>
                (x - it.x * width) ** 2 + (y - it.y * height) ** 2 <
                (it.r * Math.min(width, height)) ** 2,
        );
        return at < 0 ? [0, 0, 0, 0] : colours[at];
    });
}

export function batchRows(parameters) {
    const rows = Number(parameters.get("rows") ?? 16);
    const first = Number(parameters.get("step") ?? 0) * rows + Number(parameters.get("seed") ?? 0);
    return Array.from(
        { length: rows },
        (_, n) => (Math.imul(first + n + 1, 7919) >>> 0) % data.SAMPLES,
    );
}

/** Width and height of its images: those of the list's last transform with a size. */
export function batchSize(parameters) {
    const list = JSON.parse(parameters.get("transform") ?? "[]");
    const sizes = list.flatMap((transform) => Object.values(transform).map(({ size }) => size));
    const [height, width] = sizes.filter(Array.isArray).at(-1) ?? [224, 224];
    return [width, height];
}

/** Those of each view. */
export function batchObjects(parameters, i) {
    const [width, height] = batchSize(parameters);
    const views = Number(parameters.get("views") ?? 1);
    return Array.from({ length: views }, (_, view) => objects(i + view, width, height).items);
}

export function batchMasks(parameters) {
    const [width, height] = batchSize(parameters);
    const images = batchRows(parameters).length * Number(parameters.get("views") ?? 1);
    const inside = (x, y) => x < width / 2 && y % height < height / 2;
    return png(width, height * images, 4, (x, y) => (inside(x, y) ? [230, 60, 60, 255] : [0, 0, 0, 0]));
}

export function batchPicture(parameters) {
    const [width, height] = batchSize(parameters);
    const views = Number(parameters.get("views") ?? 1);
    const rows = batchRows(parameters).flatMap((i) =>
        Array.from({ length: views }, (_, view) => scene(i + view, width, height)),
    );
    return png(width, height * rows.length, 3, (x, y) =>
        rows[Math.floor(y / height)](x, y % height),
    );
}
