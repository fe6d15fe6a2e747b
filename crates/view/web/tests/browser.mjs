// A browser, and a server to look at: the mock, or a real one whose address VIEW_ADDRESS gives.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "./mock/server.mjs";

export const REAL = process.env.VIEW_ADDRESS;
export const ONLY_MOCK = REAL ? { skip: "needs what only the mock has" } : {};
export const MAX_NODES = 500;
const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

export async function launch() {
    assert.ok(
        existsSync(EXECUTABLE),
        `${EXECUTABLE} is missing; scripts/check-view.sh installs it`,
    );
    // Without a folder of its own named, it gets a fresh one that is removed at the end.
    return chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS });
}

/** What the tests of a file share; made before the first and ended after the last. */
export function stand(options = {}) {
    const its = { browser: null, server: null, address: "", dataset: null };
    before(async () => {
        if (!REAL) its.server = await serve(options);
        its.address = REAL ? REAL.replace(/\/?$/, "/") : its.server.address;
        its.dataset = await (await fetch(`${its.address}api/dataset`)).json();
        its.browser = await launch();
    });
    after(async () => {
        await its.browser?.close();
        await its.server?.stop();
    });
    its.ask = async (path) => (await fetch(its.address + path)).json();
    return its;
}

/**
 * Runs `body` with a page at a fragment, and then looks whether anything was asked of other hosts,
 * failed in a script, or ran that came with the data.
 */
export async function visit(its, hash, body, { prepare, ...options } = {}) {
    const context = await its.browser.newContext({
        viewport: { width: 1280, height: 800 },
        ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const foreign = [];
    const failed = [];
    const allowed = new URL(its.address).origin;
    page.on("request", (request) => {
        const { origin, protocol } = new URL(request.url());
        if (origin !== allowed && protocol !== "blob:" && protocol !== "data:")
            foreign.push(request.url());
    });
    page.on("pageerror", (error) => failed.push(String(error)));
    page.on("console", (message) => {
        // The browser itself tells of answers that are errors, which pages here show on purpose.
        if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
            failed.push(message.text());
    });
    try {
        await prepare?.(page);
        await page.goto(`${its.address}${hash}`);
        await body(page);
        assert.equal(
            await page.evaluate(() => window.hacked),
            undefined,
            "a script of the data ran",
        );
    } finally {
        await context.close();
    }
    assert.deepEqual(foreign, [], "requests to other hosts");
    assert.deepEqual(failed, [], "errors of scripts, or of the policy");
}

export const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

/** Waits until the tiles in sight have their images. */
export async function drawn(page) {
    await page.waitForFunction(() => {
        const images = [...document.querySelectorAll(".tile:not([data-error]) img")];
        return (
            images.length > 0 &&
            images.filter((image) => image.naturalWidth > 0).length >= Math.min(images.length, 8)
        );
    });
}

/** Samples of the tiles that are in sight, in order. */
export const inSight = (page) =>
    page.evaluate(() => {
        const view = document.querySelector(".scroller").getBoundingClientRect();
        return [...document.querySelectorAll(".tile")]
            .filter((tile) => {
                const box = tile.getBoundingClientRect();
                return box.top >= view.top - 1 && box.bottom <= view.bottom + 1;
            })
            .map((tile) => Number(tile.dataset.sample));
    });

export const focusedSample = (page) =>
    page.evaluate(() => Number(document.activeElement?.dataset.sample ?? -1));

export async function until(page, what, test, argument) {
    try {
        await page.waitForFunction(test, argument);
    } catch (error) {
        throw new Error(`${what}: ${error.message}`);
    }
}

/** Runs in the page: its script hears of another fragment late, as on a busy machine. */
export const lateHashchange = () => {
    const listen = window.addEventListener.bind(window);
    window.addEventListener = (name, heard, ...rest) =>
        listen(
            name,
            name === "hashchange" ? (event) => setTimeout(heard, 800, event) : heard,
            ...rest,
        );
};
