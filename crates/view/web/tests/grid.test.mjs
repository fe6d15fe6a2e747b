import assert from "node:assert/strict";
import { test } from "node:test";
import {
    drawn,
    focusedSample,
    inSight,
    MAX_NODES,
    nodes,
    ONLY_MOCK,
    stand,
    until,
    visit,
} from "./browser.mjs";

const its = stand();
const count = (n) => new Intl.NumberFormat("en").format(n);

test("the first screen has images, the total, and few elements", async () => {
    await visit(its, "", async (page) => {
        await drawn(page);
        const { samples, name } = its.dataset;
        assert.match(
            await page.locator(".total").innerText(),
            new RegExp(`^${count(samples)} sample`),
        );
        assert.match(await page.title(), new RegExp(name.replace(/[.*+?]/g, "\\$&")));
        assert.equal((await inSight(page))[0], 0);
        await page.locator(".facet").first().waitFor();
        assert.ok((await nodes(page)) <= MAX_NODES);
    });
});

test("a large screen with small tiles still has few elements", async () => {
    const options = { viewport: { width: 2560, height: 1440 } };
    await visit(
        its,
        "",
        async (page) => {
            await drawn(page);
            await page.locator(".facet .value, .histogram").first().waitFor();
            await page.locator(".toolbar input[type=range]").fill("64");
            await page.waitForTimeout(300);
            assert.ok((await nodes(page)) <= MAX_NODES, `${await nodes(page)} elements`);
            assert.ok((await inSight(page)).length >= Math.min(its.dataset.samples, 20));
        },
        options,
    );
});

test("boxes lie over the thumbnails, until they are switched off", ONLY_MOCK, async () => {
    const { size, items } = await its.ask("api/boxes/0");
    const turned = { size: [size[1], size[0]], items };
    const prepare = async (page) => {
        await page.route("**/api/boxes/1", (route) => route.fulfill({ json: turned }));
        await page.route("**/api/boxes/2", (route) =>
            route.fulfill({ status: 422, json: { error: "damaged" } }),
        );
    };
    const body = async (page) => {
        const tile = (sample) => page.locator(`.tile[data-sample="${sample}"]`);
        const { x, y, width, height } = await tile(0).locator("img").boundingBox();
        const scale = Math.min(width / size[0], height / size[1]);
        const place = (u, v) => [
            x + width / 2 + (u - size[0] / 2) * scale,
            y + height / 2 + (v - size[1] / 2) * scale,
        ];
        const [left, top, right, bottom] = items[0].box;
        const edge = place((left + right) / 2, top);
        const middle = place((left + right) / 2, (top + bottom) / 2);
        const has = (sample) => tile(sample).evaluate((it) => it.style.cssText.includes("--boxes"));
        await drawn(page);
        for (let turn = 0; turn < 100 && !((await has(0)) && (await has(1))); turn += 1)
            await page.waitForTimeout(20);
        const withBoxes = [await colours(page, edge), await colours(page, middle)];
        const ofTurned = await tile(1).screenshot();
        assert.ok(!(await has(2)) && (await tile(2).getAttribute("data-error")) === null);
        assert.ok((await nodes(page)) <= MAX_NODES);
        await page.getByRole("checkbox", { name: "Boxes" }).uncheck();
        const without = [await colours(page, edge), await colours(page, middle)];
        assert.notDeepEqual(withBoxes[0], without[0], "a line at the edge of the box");
        assert.deepEqual(withBoxes[1], without[1], "nothing within the box");
        assert.ok(ofTurned.equals(await tile(1).screenshot()), "those of a turned image");

        // Colours are those of the sample's page, and the choice is kept.
        await tile(0).click();
        const line = page.locator(`[data-class="${items[0].class}"] rect:not(.edge)`).first();
        const stroke = await line.evaluate((it) => getComputedStyle(it).stroke);
        const wanted = stroke.match(/\d+/g).map(Number);
        const far = (found) => Math.max(...wanted.map((channel, at) => Math.abs(channel - found[at])));
        assert.ok(Math.min(...withBoxes[0].map(far)) < 64, `${withBoxes[0]} and not ${stroke}`);
        its.server.state.requests.length = 0;
        await page.getByRole("link", { name: "Back" }).click();
        await drawn(page);
        assert.ok(await page.getByRole("checkbox", { name: "Boxes" }).isChecked() === false);
        assert.ok(!its.server.state.requests.some((path) => path.startsWith("api/boxes")));
    };
    await visit(its, "", body, { prepare });
});

/** Colours of the screen around a place. */
async function colours(page, [x, y]) {
    const clip = { x: Math.round(x) - 1, y: Math.round(y) - 1, width: 3, height: 3 };
    const png = (await page.screenshot({ clip })).toString("base64");
    return page.evaluate(async (png) => {
        const image = new Image();
        image.src = `data:image/png;base64,${png}`;
        await image.decode();
        const canvas = new OffscreenCanvas(3, 3).getContext("2d");
        canvas.drawImage(image, 0, 0);
        const { data } = canvas.getImageData(0, 0, 3, 3);
        return Array.from({ length: 9 }, (_, at) => [...data.slice(at * 4, at * 4 + 3)]);
    }, png);
}

test("a jump leads to any sample, and the fragment names it", async () => {
    await visit(its, "", async (page) => {
        await drawn(page);
        const last = its.dataset.samples - 1;
        for (const share of [0.37, 0.91, 0.02]) {
            const sample = Math.floor(last * share);
            await page.keyboard.press("g");
            await page.keyboard.type(String(sample));
            await page.keyboard.press("Enter");
            await until(
                page,
                `sample ${sample} has the focus`,
                (sample) => document.activeElement?.dataset.sample === String(sample),
                sample,
            );
            assert.ok((await inSight(page)).includes(sample));
            assert.ok((await nodes(page)) <= MAX_NODES);
            await drawn(page);
            if (sample > 0) await page.waitForURL((url) => url.hash.includes(`at=${sample}`));
        }
        await page.keyboard.press("g");
        await page.keyboard.type(String(last + 1));
        await page.keyboard.press("Enter");
        await page.getByText(/There is no sample/).waitFor();
    });
});

test("places that are asked for are drawn at once, and not as if they were scrolled past", async (t) => {
    if (its.dataset.samples < 200) return t.skip("the dataset fits into one screen");
    // The timers of what is scrolled past never end.
    const endless = () => {
        const start = window.setTimeout.bind(window);
        window.setTimeout = (run, after, ...rest) =>
            after === 80 ? 0 : start(run, after, ...rest);
    };
    const prepare = (page) => page.addInitScript(endless);
    await visit(
        its,
        "",
        async (page) => {
            const image = (sample) =>
                until(
                    page,
                    `the image of ${sample}`,
                    (sample) =>
                        document.querySelector(`.tile[data-sample="${sample}"] img`)?.naturalWidth >
                        0,
                    sample,
                );
            await image(0);
            const sample = its.dataset.samples - 100;
            await page.keyboard.press("g");
            await page.keyboard.type(String(sample));
            await page.keyboard.press("Enter");
            await image(sample);
            const { samples } = await its.ask(`api/samples?where=${encodeURIComponent('key contains "1"')}&count=1`);
            await page.evaluate(() => (location.hash = "#/?key=1"));
            await page.locator(".total", { hasText: " of " }).waitFor();
            await image(samples[0].sample);
        },
        { prepare },
    );
});

test("End and Home reach the ends", async () => {
    await visit(its, "", async (page) => {
        await drawn(page);
        await page.keyboard.press("ArrowRight");
        await page.keyboard.press("End");
        assert.equal(await focusedSample(page), its.dataset.samples - 1);
        const focused = page.locator(".tile:focus");
        assert.equal(
            await focused.getAttribute("aria-posinset"),
            await focused.getAttribute("aria-setsize"),
        );
        assert.ok((await inSight(page)).includes(its.dataset.samples - 1));
        await page.keyboard.press("Home");
        assert.equal(await focusedSample(page), 0);
    });
});

test("wheels move by pixels, the scrollbar in proportion", ONLY_MOCK, async () => {
    await visit(its, `#/?at=640000`, async (page) => {
        await until(
            page,
            "the place",
            () => document.querySelector('.tile[data-sample="640000"]') !== null,
        );
        const [before] = await inSight(page);
        await page.mouse.move(700, 500);
        await page.mouse.wheel(0, 400);
        await page.waitForTimeout(600);
        const [after] = await inSight(page);
        assert.ok(after > before && after - before <= 30, `from ${before} to ${after}`);
        for (let turn = 0; turn < 8; turn += 1) await page.mouse.wheel(0, -300);
        await page.waitForTimeout(600);
        const [back] = await inSight(page);
        assert.ok(back < before && before - back <= 120, `from ${before} to ${back}`);

        await page.evaluate(() => {
            const scroller = document.querySelector(".scroller");
            scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) / 4;
        });
        await page.waitForTimeout(400);
        const [quarter] = await inSight(page);
        assert.ok(
            Math.abs(quarter / its.dataset.samples - 0.25) < 0.001,
            `a quarter is ${quarter}`,
        );
        assert.ok((await nodes(page)) <= MAX_NODES);
    });
});

test("a click on a class filters, and its chip takes it back", async (t) => {
    const { facets } = await its.ask("api/facets");
    const facet = facets.find((facet) => facet.kind === "values" && facet.values.length > 0);
    if (facet === undefined) return t.skip("the dataset has no facet of values");
    const [{ value, n }] = facet.values;
    await visit(its, "", async (page) => {
        const group = page.getByRole("group", { name: facet.title, exact: true });
        await group.getByRole("button").first().click();
        await page.waitForURL((url) =>
            url.hash.includes(`${encodeURIComponent(facet.name)}=${encodeURIComponent(value)}`),
        );
        await page
            .locator(".total", { hasText: `${count(n)} of ${count(its.dataset.samples)}` })
            .waitFor();
        await drawn(page);
        const kept = await its.ask(`api/samples?where=${encodeURIComponent(`${facet.name} == ${value}`)}&start=0&count=3`);
        assert.deepEqual(
            (await inSight(page)).slice(0, kept.samples.length),
            kept.samples.map(({ sample }) => sample),
        );
        assert.equal(await group.getByRole("button", { pressed: true }).count(), 1);
        const shown = await page.locator(".where code").innerText();
        assert.equal(shown, `${facet.name} == ${value}`);
        if (facet.values.length > 1) {
            await group.getByRole("button", { pressed: false }).first().click();
            await page.locator(".chip").nth(1).waitFor();
            assert.equal(
                await page.locator(".chip").count(),
                2,
                "values of one facet are alternatives",
            );
            await page.locator(".chip").nth(1).click();
        }
        await page.locator(".chip").first().click();
        await page
            .locator(".total", { hasText: new RegExp(`^${count(its.dataset.samples)} sample`) })
            .waitFor();
        assert.ok((await nodes(page)) <= MAX_NODES);
    });
});

test("a range is drawn in a histogram, or typed", async (t) => {
    const { facets } = await its.ask("api/facets");
    const facet = facets.find(({ kind, bins }) => kind === "numbers" && bins.length > 2);
    if (facet === undefined) return t.skip("the dataset has no facet of numbers");
    await visit(its, "", async (page) => {
        const picture = page.getByRole("img", { name: `Histogram of ${facet.title}` });
        await picture.scrollIntoViewIfNeeded();
        const box = await picture.boundingBox();
        await page.mouse.move(box.x + box.width * 0.1, box.y + 20);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 });
        await page.mouse.up();
        await page.waitForURL((url) => url.hash.includes(`${facet.name}=`));
        const least = page.getByLabel(`${facet.title}, at least`);
        await until(
            page,
            "the field has the end",
            (label) => document.querySelector(`[aria-label="${label}"]`).value !== "",
            `${facet.title}, at least`,
        );
        await least.fill(String(facet.min));
        await page.getByLabel(`${facet.title}, at most`).fill("");
        await page.keyboard.press("Tab");
        await page.waitForURL((url) =>
            decodeURIComponent(url.hash).includes(`${facet.name}=${facet.min}..`),
        );
        const all = facet.bins.reduce((sum, { n }) => sum + n, 0);
        await page.locator(".total", { hasText: `${count(all)} of` }).waitFor();
    });
});

test("exports carry the filter", async () => {
    await visit(its, "#/?key=1", async (page) => {
        await page.getByText("Export").click();
        const links = await page
            .locator(".sheet a")
            .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
        assert.equal(links.length, 3);
        for (const link of links) assert.match(link, /^(keys\.txt|sheet\.png|sheet\.html)\?where=key%20contains%20%221%22/);
    });
});

test("requests of tiles scrolled past are broken off", ONLY_MOCK, async () => {
    const slow = await import("./mock/server.mjs").then(({ serve }) => serve({ latency: 65 }));
    try {
        await visit({ ...its, address: slow.address }, "", async (page) => {
            await drawn(page);
            const asked = slow.state.requests.length;
            await page.mouse.move(700, 500);
            for (let turn = 0; turn < 40; turn += 1) {
                await page.mouse.wheel(0, 1500);
                await page.waitForTimeout(16);
            }
            await page.waitForTimeout(1000);
            await drawn(page);
            const images = slow.state.requests
                .slice(asked)
                .filter((path) => path.startsWith("image/"));
            const [first] = await inSight(page);
            assert.ok(first > 200, `scrolled to ${first}`);
            assert.ok(images.length < first, `${images.length} images for ${first} tiles`);

            // Answers take long enough for the tiles to be scrolled past before they come.
            const came = slow.state.requests.length;
            const { aborted } = slow.state;
            slow.state.latency = 3000;
            await page.mouse.wheel(0, 1500);
            const due = () => slow.state.requests.slice(came).some((it) => it.startsWith("image/"));
            for (let turn = 0; turn < 100 && !due(); turn += 1) await page.waitForTimeout(20);
            assert.ok(due(), "no image was asked for");
            slow.state.latency = 0;
            await page.mouse.wheel(0, 15_000);
            for (let turn = 0; turn < 100 && slow.state.aborted === aborted; turn += 1)
                await page.waitForTimeout(20);
            assert.ok(slow.state.aborted > aborted, "none was broken off");
        });
    } finally {
        await slow.stop();
    }
});

test("where no sample matches, that is said everywhere, with the way back", ONLY_MOCK, async () => {
    await visit(its, "#/?width=1..2", async (page) => {
        await page.getByText("No samples match. Clear filters").waitFor();
        const panel = page.locator(".panel");
        await panel.getByText("No samples match.").nth(3).waitFor();
        const empty = panel.locator(".histogram:not([hidden])");
        // Its own histogram is of the samples that other filters keep.
        assert.equal(await empty.count(), 1);
        await page.getByRole("link", { name: "Clear filters" }).click();
        await drawn(page);
        assert.equal(await panel.getByText("No samples match.").count(), 0);
        assert.ok((await empty.count()) > 1);
    });
});

test("facets and totals grow while the catalog is made", ONLY_MOCK, async () => {
    const growing = await import("./mock/server.mjs").then(({ serve }) => serve({ scan: 6000 }));
    try {
        await visit({ ...its, address: growing.address }, "#/?codec=%22png%22", async (page) => {
            await page
                .locator(".scanned", { hasText: /^Counts of [\d,]+ of 1,281,167 samples so far$/ })
                .waitFor();
            await page.locator(".total", { hasText: "so far" }).waitFor();
            const before = await page.locator(".total").innerText();
            await page
                .locator(".scanned", { hasText: /^Counts of 1,281,167 samples$/ })
                .waitFor({ timeout: 60_000 });
            await page.locator(".total:not(:has-text('so far'))").waitFor();
            assert.notEqual(await page.locator(".total").innerText(), before);
        });
    } finally {
        await growing.stop();
    }
});

test(
    "a link to a sample that the catalog has not come to yet waits for it",
    ONLY_MOCK,
    async () => {
        const { samples } = await its.ask(`api/samples?where=${encodeURIComponent('codec == "png"')}&start=90000&count=1`);
        const growing = await import("./mock/server.mjs").then(({ serve }) =>
            serve({ scan: 5000 }),
        );
        try {
            const [{ sample }] = samples;
            await visit(
                { ...its, address: growing.address },
                `#/?codec=%22png%22&at=${sample}`,
                async (page) => {
                    await page.getByText("is not among those found so far").waitFor();
                    // All that is looked at before takes its time on a machine with much to do.
                    await page
                        .locator(`.tile[data-sample="${sample}"][aria-selected="true"]`)
                        .waitFor({ timeout: 60_000 });
                    assert.ok(page.url().endsWith(`at=${sample}`));
                },
            );
        } finally {
            await growing.stop();
        }
    },
);
