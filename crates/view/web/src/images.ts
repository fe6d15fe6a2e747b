// Images of tiles, and what lies over them: a few requests at a time, in the order asked for, and
// none for tiles that have been scrolled past.

import { askBytes } from "./server";

/** Browsers open six connections to a server; requests for rows must find one free. */
const AT_ONCE = 5;
/** More than twice the images of the tiles that are in the page at once. */
const KEPT = 1024;

interface Waiting {
    url: string;
    signal: AbortSignal;
    make: typeof askBytes;
    done: (blob: string) => void;
    failed: (error: unknown) => void;
}

const waiting: Waiting[] = [];
const kept = new Map<string, string>();
let running = 0;

/** The address of a blob that holds the image: that of the answer, or what `make` makes of it. */
export function load(url: string, signal: AbortSignal, make = askBytes): Promise<string> {
    const known = kept.get(url);
    if (known !== undefined) {
        kept.delete(url);
        kept.set(url, known);
        return Promise.resolve(known);
    }
    return new Promise((done, failed) => {
        waiting.push({ url, signal, make, done, failed });
        next();
    });
}

function next(): void {
    while (running < AT_ONCE) {
        const request = waiting.shift();
        if (request === undefined) return;
        if (request.signal.aborted) {
            request.failed(new DOMException("scrolled past", "AbortError"));
            continue;
        }
        running += 1;
        request
            .make(request.url, request.signal)
            .then((blob) => request.done(keep(request.url, blob)), request.failed)
            .finally(() => {
                running -= 1;
                next();
            });
    }
}

function keep(url: string, blob: Blob): string {
    const address = kept.get(url) ?? URL.createObjectURL(blob);
    kept.set(url, address);
    for (const [oldest, its] of kept) {
        if (kept.size <= KEPT) break;
        kept.delete(oldest);
        URL.revokeObjectURL(its);
    }
    return address;
}

const SIDES = [64, 96, 128, 192, 256, 384, 512, 768, 1024];

/** The smallest of a few sides that fills so many pixels, so that caches of sizes stay small. */
export function side(pixels: number): number {
    const wanted = pixels * Math.min(window.devicePixelRatio || 1, 2);
    return SIDES.find((size) => size >= wanted) ?? 1024;
}
