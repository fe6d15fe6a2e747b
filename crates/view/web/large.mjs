// Measures the real server and the page over a large dataset; scripts/check-view-large.sh runs it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { get } from "node:http";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { launch } from "./tests/browser.mjs";

const [programs, folder] = process.argv.slice(2);
if (folder === undefined) {
    console.error("usage: node large.mjs PROGRAMS FOLDER; FOLDER/many/many.beton is measured");
    process.exit(2);
}
const JUMPS = 20;
const CLASSES = [3, 141, 592, 653, 997];
const SCROLL_MS = 10_000;
const PATIENCE_MS = 120_000;
const over = [];

const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const mib = (value) => `${value.toFixed(1)} MiB`;
const sorted = (values) => [...values].sort((a, b) => a - b);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];

/** Prints a figure, and remembers it where it is above its bar. */
function tell(where, what, value, unit, bar) {
    const is =
        bar === undefined ? "" : value <= bar ? `  (bar ${unit(bar)})` : `  OVER ${unit(bar)}`;
    console.log(`${where}  ${what.padEnd(44)} ${unit(value).padStart(10)}${is}`);
    if (bar !== undefined && value > bar) over.push(`${where}: ${what}`);
}

/** Memory of a process in MiB: all of it in memory, its own pages, and those of mapped files. */
async function memory(pid) {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const of = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)[1]) / 1024;
    return { rss: of("VmRSS"), anon: of("RssAnon"), file: of("RssFile") };
}

async function tellMemory(where, when, pid, bar) {
    const { rss, anon, file } = await memory(pid);
    // Pages of the mapped dataset are the system's to take back, and no use of memory that grows.
    tell(where, `memory ${when}: RssAnon, the process's own`, anon, mib, bar);
    tell(where, `memory ${when}: RssFile, mapped file pages`, file, mib);
    tell(where, `memory ${when}: VmRSS, both`, rss, mib);
}

/** Starts a program, whose output is read line by line. */
async function start(program, parameters, env = {}) {
    const child = spawn(program, parameters, {
        env: { ...process.env, ...env },
        stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const failed = ended.then(([status]) => {
        throw new Error(`${program} has ended with ${status}`);
    });
    failed.catch(() => undefined);
    const line = async () => (await Promise.race([lines.next(), failed])).value;
    const stop = async () => {
        child.stdin.end();
        child.kill("SIGINT");
        await ended;
    };
    return { child, line, stop };
}

/** A document of the server; by a module that is loaded already, as fetch is not. */
const answerOf = (url) =>
    new Promise((done, failed) => {
        get(url, (response) => {
            assert.equal(response.statusCode, 200);
            const parts = [];
            response.on("data", (part) => parts.push(part));
            response.on("end", () => done(JSON.parse(Buffer.concat(parts))));
        }).on("error", failed);
    });

/** Runs in the page: waits until a test of it holds, and says how long that took. */
const helpers = () => {
    const frame = () => new Promise((wake) => requestAnimationFrame(wake));
    const inSight = () => {
        const view = document.querySelector(".scroller")?.getBoundingClientRect();
        if (view === undefined) return [];
        return [...document.querySelectorAll(".tile")].filter((tile) => {
            const box = tile.getBoundingClientRect();
            return box.bottom > view.top + 1 && box.top < view.bottom - 1;
        });
    };
    window.large = {
        inSight,
        /** All tiles in sight have their images. */
        drawn: () => {
            const tiles = inSight();
            const has = (tile) => tile.querySelector("img").naturalWidth > 0;
            return tiles.length > 0 && tiles.every(has);
        },
        until: async (test, patience) => {
            const began = performance.now();
            while (!test()) {
                if (performance.now() - began > patience) throw new Error(`waited: ${test}`);
                await frame();
            }
            return performance.now() - began;
        },
        tasks: [],
        nodes: 0,
    };
    const count = () => {
        const nodes = document.querySelectorAll("*").length;
        window.large.nodes = Math.max(window.large.nodes, nodes);
    };
    setInterval(count, 200);
    new PerformanceObserver((list) => {
        for (const { startTime, duration } of list.getEntries())
            window.large.tasks.push([startTime, duration]);
    }).observe({ type: "longtask", buffered: true });
};

/** The same numbers in every run. */
function* randoms() {
    let state = 12_345;
    for (;;) {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
        yield state / 0x80000000;
    }
}

async function firstScreen(page, address) {
    const began = performance.now();
    await page.goto(address);
    await page.evaluate(
        (patience) => window.large.until(window.large.drawn, patience),
        PATIENCE_MS,
    );
    return performance.now() - began;
}

/** Jumps by the number, as by hand, and waits until the place has its images. */
const jump = (page, sample) =>
    page.evaluate(
        ([sample, patience]) => {
            const input = document.querySelector(".jump input");
            input.value = String(sample);
            const there = () =>
                window.large.inSight().some((tile) => tile.dataset.sample === String(sample));
            const waited = window.large.until(() => there() && window.large.drawn(), patience);
            input.form.requestSubmit();
            return waited;
        },
        [sample, PATIENCE_MS],
    );

/** Filters by a class, and waits until the first tiles are described. */
const filter = (page, label) =>
    page.evaluate(
        ([label, patience]) => {
            // Sample i is of class i % 1000.
            const isOne = (tile) =>
                tile.title !== "" && Number(tile.dataset.sample) % 1000 === label;
            const described = () => {
                const tiles = window.large.inSight();
                return tiles.length > 0 && tiles.every(isOne);
            };
            const waited = window.large.until(described, patience);
            location.hash = `#/?label=${label}`;
            return waited;
        },
        [label, PATIENCE_MS],
    );

/** Scrolls by the wheel and by the scrollbar; the longest task of the page meanwhile. */
async function scroll(page) {
    const box = await page.locator(".scroller").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const begun = await page.evaluate(() => performance.now());
    const random = randoms();
    for (const end = Date.now() + SCROLL_MS; Date.now() < end;) {
        for (let turn = 0; turn < 30; turn += 1) {
            await page.mouse.wheel(0, 400);
            await page.waitForTimeout(16);
        }
        await page.evaluate((share) => {
            const scroller = document.querySelector(".scroller");
            scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * share;
        }, random.next().value);
        await page.waitForTimeout(300);
    }
    const tasks = await page.evaluate(
        (begun) => window.large.tasks.filter(([at]) => at >= begun).map(([, took]) => took),
        begun,
    );
    return { n: tasks.length, longest: Math.max(0, ...tasks) };
}

/** All figures of one dataset; what only one of this disk must reach has `bars`. */
async function measure(browser, where, path, env, bars) {
    const bar = (value) => (bars ? value : undefined);
    const began = performance.now();
    const server = await start(join(programs, "fdconvert"), ["view", path, "--no-open"], env);
    try {
        const address = await server.line();
        const { samples } = await answerOf(`${address}api/dataset`);
        tell(
            where,
            "start of the process to the first answer",
            performance.now() - began,
            ms,
            bar(200),
        );
        const { pid } = server.child;
        await tellMemory(where, "then", pid, bar(50));

        const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
        await page.addInitScript(helpers);
        tell(where, "first screen of tiles drawn", await firstScreen(page, address), ms, bar(1000));
        const first = await page.evaluate(() =>
            Math.max(0, ...window.large.tasks.map((it) => it[1])),
        );
        tell(where, "longest task of the page until then", first, ms);
        await page
            .locator(".scanned", { hasText: /^[\d,]+ looked at$/ })
            .waitFor({ timeout: PATIENCE_MS });
        tell(where, "start of the process to all samples counted", performance.now() - began, ms);

        const random = randoms();
        const jumps = [];
        for (let turn = 0; turn < JUMPS; turn += 1)
            jumps.push(await jump(page, Math.floor(random.next().value * samples)));
        tell(where, `jump to a random place, median of ${JUMPS}`, median(jumps), ms, bar(200));
        tell(where, `jump to a random place, worst of ${JUMPS}`, Math.max(...jumps), ms, bar(200));

        const filters = [];
        for (const label of CLASSES) filters.push(await filter(page, label));
        tell(where, `filter by class, median of ${CLASSES.length}`, median(filters), ms, bar(100));
        tell(
            where,
            `filter by class, worst of ${CLASSES.length}`,
            Math.max(...filters),
            ms,
            bar(100),
        );

        await page.evaluate(() => (location.hash = "#/"));
        await page.evaluate(
            (patience) => window.large.until(window.large.drawn, patience),
            PATIENCE_MS,
        );
        const { n, longest } = await scroll(page);
        tell(where, `longest of ${n} long tasks while scrolling`, longest, ms, 200);
        tell(
            where,
            "elements of the page, at most",
            await page.evaluate(() => window.large.nodes),
            String,
            500,
        );
        await page.close();
        await tellMemory(where, "at the end", pid, bar(50));
    } finally {
        await server.stop();
    }
}

const [{ model }] = cpus();
console.log(`${cpus().length} processors, ${model}; load ${loadavg()[0].toFixed(1)}`);
const browser = await launch();
console.log(`chromium ${browser.version()}`);
try {
    await measure(browser, "disk ", join(folder, "many/many.beton"), {}, true);
    const stores = await start(join(programs, "xtask"), ["stores", folder, "--latency", "65"]);
    try {
        const env = {};
        for (;;) {
            const [, name, value] = /^export (\w+)=(.*)$/.exec(await stores.line()) ?? [];
            if (name === undefined) break;
            env[name] = value;
        }
        await measure(browser, "store", "s3://many/many.beton", env, false);
    } finally {
        await stores.stop();
    }
} finally {
    await browser.close();
}
if (over.length > 0) {
    console.log(`above their bars: ${over.join("; ")}`);
    process.exitCode = 1;
}
