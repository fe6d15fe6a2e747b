// Pictures that look like something: a sky, a ground, and a few round things, by a number.
import { crc32 as nodeCrc32, deflateSync } from "node:zlib";

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
    let value = n;
    for (let bit = 0; bit < 8; bit += 1)
        value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value >>> 0;
});

function crc32(bytes) {
    if (nodeCrc32) return nodeCrc32(bytes);
    let crc = 0xffffffff;
    for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
    return (crc ^ 0xffffffff) >>> 0;
}

function chunk(name, data) {
    const bytes = Buffer.alloc(12 + data.length);
    bytes.writeUInt32BE(data.length, 0);
    bytes.write(name, 4, "latin1");
    data.copy(bytes, 8);
    bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
    return bytes;
}

/** `pixel(x, y)` gives red, green, blue and, with four channels, alpha. */
export function png(width, height, channels, pixel) {
    const rows = Buffer.alloc(height * (1 + width * channels));
    let at = 0;
    for (let y = 0; y < height; y += 1) {
        at += 1;
        for (let x = 0; x < width; x += 1) {
            const values = pixel(x, y);
            for (let channel = 0; channel < channels; channel += 1) rows[at++] = values[channel];
        }
    }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, channels === 4 ? 6 : 2, 0, 0, 0], 8);
    const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
    const data = deflateSync(rows, { level: 1 });
    return Buffer.concat([
        signature,
        chunk("IHDR", head),
        chunk("IDAT", data),
        chunk("IEND", Buffer.alloc(0)),
    ]);
}

export function random(seed) {
    let state = (seed * 2654435761 + 12345) >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

export function things(seed) {
    const next = random(seed);
    return Array.from({ length: 2 + (seed % 3) }, () => ({
        x: 0.15 + 0.7 * next(),
        y: 0.3 + 0.5 * next(),
        r: 0.08 + 0.14 * next(),
        colour: [60 + 180 * next(), 60 + 180 * next(), 60 + 180 * next()],
    }));
}

export function scene(seed, width, height) {
    const next = random(seed + 7);
    const sky = [90 + 120 * next(), 130 + 90 * next(), 170 + 80 * next()];
    const ground = [60 + 90 * next(), 90 + 80 * next(), 40 + 60 * next()];
    const horizon = 0.4 + 0.3 * next();
    const round = things(seed);
    return (x, y) => {
        const [u, v] = [x / width, y / height];
        const hit = round.find(
            (it) =>
                ((u - it.x) * width) ** 2 + ((v - it.y) * height) ** 2 <
                (it.r * Math.min(width, height)) ** 2,
        );
        if (hit) {
            const shade = 1.1 - (v - hit.y + hit.r) * 1.5;
            return hit.colour.map((channel) => Math.max(0, Math.min(255, channel * shade)));
        }
        const [from, shade] =
            v < horizon ? [sky, 1.1 - 0.4 * (horizon - v)] : [ground, 1 - 0.6 * (v - horizon)];
        return from.map((channel) => Math.max(0, Math.min(255, channel * shade)));
    };
}
