import assert from "node:assert/strict";
import { test } from "node:test";
import {
    drawn,
    inSight,
    lateHashchange,
    MAX_NODES,
    nodes,
    ONLY_MOCK,
    stand,
    until,
    visit,
} from "./browser.mjs";

const its = stand();

test("keys that are markup are shown as text, and nothing of them runs", async (t) => {
    const { samples } = await its.ask("api/samples?start=0&count=1000");
    const hostile = samples.filter(({ key }) => key.includes("<"));
    if (hostile.length === 0) return t.skip("the dataset has no such keys");
    await visit(its, "", async (page) => {
        await drawn(page);
        for (const { sample, key } of hostile) {
            await page.evaluate((hash) => (location.hash = hash), `#/sample/${sample}`);
            await page.getByRole("heading", { level: 1 }).getByText(key).waitFor();
        }
        const [{ sample, key }] = hostile;
        await page.evaluate((hash) => (location.hash = hash), `#/?key=${encodeURIComponent(key)}`);
        await page.locator(`.tile[data-sample="${sample}"]`).waitFor();
        assert.ok((await page.locator(".chip").first().innerText()).includes(key));
        assert.equal(await page.locator("img[src=x], main script").count(), 0);
        if (its.dataset.second !== null) {
            await page.evaluate(
                () => (location.hash = "#/compare?show=changed,only_a,only_b,same"),
            );
            await page.locator(".pair").nth(3).waitFor();
        }
        await page.waitForTimeout(300);
    });
});

test("links restore what they were made of", async (t) => {
    const { facets } = await its.ask("api/facets");
    const facet = facets.find(({ kind, values }) => kind === "values" && values.length > 0);
    if (facet === undefined) return t.skip("the dataset has no facet of values");
    const [{ value, n }] = facet.values;
    const filter = `${encodeURIComponent(facet.name)}=${encodeURIComponent(value)}`;
    const where = `where=${encodeURIComponent(`${facet.name} == ${value}`)}`;
    const place = Math.floor(n / 2);
    const { samples } = await its.ask(`api/samples?${where}&start=${place}&count=2`);
    const [{ sample, key }, next] = samples;
    await visit(its, `#/?${filter}&at=${sample}`, async (page) => {
        await page.locator(`.tile[data-sample="${sample}"][aria-selected="true"]`).waitFor();
        assert.ok((await inSight(page)).includes(sample));
        assert.equal(await page.locator(".chip").count(), 1);
        await page.locator(`.tile[data-sample="${sample}"]`).click();
        await page.getByRole("heading", { level: 1 }).getByText(key).waitFor();
        assert.ok(page.url().includes(filter));
    });
    await visit(its, `#/sample/${sample}?${filter}`, async (page) => {
        await page.getByRole("heading", { level: 1 }).getByText(key).waitFor();
        if (next !== undefined) {
            const link = page.getByRole("link", { name: "Next" });
            await until(page, "the neighbour", () =>
                document.querySelector('a[aria-keyshortcuts="ArrowRight"]')?.hasAttribute("href"),
            );
            assert.equal(await link.getAttribute("href"), `#/sample/${next.sample}?${filter}`);
        }
        await page.getByRole("link", { name: "Back" }).click();
        await page.locator(`.tile[data-sample="${sample}"]`).waitFor();
        await page.goBack();
        await page.getByRole("heading", { level: 1 }).getByText(key).waitFor();
    });
});

test("the place that the grid notes does not take a followed link's place", async () => {
    const { samples } = await its.ask("api/samples?start=2&count=1");
    const prepare = (page) => page.addInitScript(lateHashchange);
    await visit(
        its,
        "",
        async (page) => {
            await drawn(page);
            await page.locator('.tile[data-index="0"]').focus();
            await page.keyboard.press("ArrowRight");
            await page.locator('.tile[data-index="2"]').click();
            await page.getByRole("heading", { level: 1 }).getByText(samples[0].key).waitFor();
        },
        { prepare },
    );
});

test("a sample's page has the image, its fields, and the way to it from Python", async () => {
    await visit(its, "#/sample/0", async (page) => {
        const sample = await its.ask("api/sample/0");
        await page.getByRole("button", { name: "Copy as Python" }).waitFor();
        assert.ok(
            (await page.locator(".facts").innerText()).includes(sample.python.split("\n")[0]),
        );
        for (const { name } of sample.values)
            await page.getByRole("rowheader", { name }).first().waitFor();
        if (its.dataset.image !== null) {
            await until(
                page,
                "the image",
                () => document.querySelector(".frame img")?.naturalWidth > 0,
            );
            await page.getByRole("button", { name: "100 %" }).click();
            const { width } = await page.locator(".frame").boundingBox();
            assert.equal(
                Math.round(width),
                await page.locator(".frame img").evaluate((image) => image.naturalWidth),
            );
        }
    });
});

test("objects lie over the image, and can be taken away", ONLY_MOCK, async () => {
    await visit(its, "#/sample/6", async (page) => {
        await until(
            page,
            "the image",
            () => document.querySelector(".frame img")?.naturalWidth > 0,
        );
        const { objects } = await its.ask("api/sample/6");
        assert.equal(
            await page.locator(".overlay rect.boxes:not(.edge)").count(),
            objects.items.filter(({ box }) => box).length,
        );
        const frame = await page.locator(".frame").boundingBox();
        const box = await page.locator(".overlay rect.boxes:not(.edge)").first().boundingBox();
        const areas = objects.items
            .map((item) => item.box)
            .sort((a, b) => b[2] - b[0] - (a[2] - a[0]));
        const expected = frame.x + (areas[0][0] / objects.size[0]) * frame.width;
        assert.ok(Math.abs(box.x - expected) < 3, `${box.x} and not ${expected}`);
        await page.getByLabel("boxes").uncheck();
        assert.ok(await page.locator(".overlay rect.boxes:not(.edge)").first().isHidden());
        assert.equal(await page.locator(".overlay image.masks").count(), 1);
    });
});

test("documents take few lines, and sizes have the units of the command", ONLY_MOCK, async () => {
    await visit(its, "#/sample/6", async (page) => {
        const text = await page.getByRole("group", { name: "meta" }).innerText();
        const lines = [
            "{",
            '  "source": "generated",',
            '  "tags": ["outdoor", "day"],',
            '  "bbox": [',
            "    [10, 20, 300, 200],",
            "    [214, 35, 143, 43]",
            "  ],",
            '  "camera": { "iso": 200 }',
            "}",
        ];
        assert.equal(text, lines.join("\n"));
        const { bytes } = (await its.ask("api/sample/6")).values[0];
        const image = page.getByRole("row", { name: /^image/ });
        assert.ok((await image.innerText()).includes(`${(bytes / 1024).toFixed(2)} KiB`));
        for (const box of await page.locator(".facts pre").all()) {
            const rest = await box.evaluate((it) => it.scrollHeight - it.clientHeight);
            assert.ok(rest <= 0, `${rest} px of a box are hidden`);
        }
    });
});

test("errors of the server are shown in place, with their cause", ONLY_MOCK, async () => {
    await visit(its, "#/sample/70001", async (page) => {
        await page.getByText("the sample's row lies behind the end of the file").waitFor();
    });
    await visit(its, "#/sample/666", async (page) => {
        await page.getByText("the checksum of the image is not that of its bytes").waitFor();
        await page.getByText("DAMAGED").waitFor();
    });
    await visit(its, "#/?at=666", async (page) => {
        await page.locator('.tile[data-sample="666"][data-error*="checksum"]').waitFor();
        await page.locator('.tile[data-sample="667"][data-error*="header"]').waitFor();
    });
    await visit(its, "#/?f.nothing=3", async (page) => {
        await page.locator(".message .failure").waitFor();
    });
});

test("a server that is gone is said once, and found again", ONLY_MOCK, async () => {
    const { serve } = await import("./mock/server.mjs");
    const other = await serve();
    await visit({ ...its, address: other.address }, "", async (page) => {
        await drawn(page);
        await other.stop();
        await page.evaluate(() => (location.hash = "#/sample/12"));
        await page.locator(".notice").getByText("The server does not answer").waitFor();
        assert.equal(await page.getByRole("alert").count(), 1);
        await page.getByRole("button", { name: "Try again" }).click();
        await page.waitForTimeout(300);
        assert.ok(await page.locator(".notice").isVisible());
        await other.again();
        await page.getByRole("button", { name: "Try again" }).click();
        await page.locator(".notice").waitFor({ state: "hidden" });
        await page.getByRole("button", { name: "Copy as Python" }).waitFor();
    });
    await other.stop();
});

test("a batch is cut into its rows and their views", async () => {
    await visit(its, "#/batch?rows=4&views=2", async (page) => {
        await page.locator(".batch a").nth(3).waitFor();
        assert.equal(await page.locator(".batch a").count(), 4);
        assert.equal(await page.locator(".batch a .crop").count(), 8);
        const { rows } = await its.ask("api/batch?step=0&seed=0&epoch=0&rows=4&views=2");
        const links = await page
            .locator(".batch a")
            .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
        assert.deepEqual(
            links,
            rows.map(({ sample }) => `#/sample/${sample}`),
        );
        const applied = page.locator(".applied li");
        assert.match(await applied.first().innerText(), /^RandomResizedCrop\(size=\[224, 224\]/);
        await page.getByLabel("Usual lists").selectOption("Letterbox");
        await page.waitForURL(
            (url) => url.hash.includes("Letterbox") && url.hash.includes("rows=4"),
        );
        await page.locator(".applied").getByText("Letterbox(").waitFor();
        await page.getByRole("button", { name: "Next step" }).click();
        await page.waitForURL((url) => url.hash.includes("step=1"));
        await page.locator(".batch:not([aria-busy]) a").nth(3).waitFor();
        const text = page.getByLabel("Transforms, by their names");
        await text.fill('[{"CenterCrop": {"size": [32, 64]}}]');
        await text.blur();
        await page.locator(".applied").getByText("CenterCrop(size=[32, 64])").waitFor();
        assert.equal(await page.getByLabel("Usual lists").inputValue(), "");
        const { width, height } = await page.locator(".crop").first().boundingBox();
        assert.ok(Math.abs(width - 2 * height) < 2, `${width} x ${height}`);
    });
});

test("the objects of a batch lie over its images", ONLY_MOCK, async () => {
    await visit(its, "#/batch?rows=2&views=2", async (page) => {
        await page.locator(".batch a").nth(1).waitFor();
        const { rows } = await its.ask("api/batch?step=0&seed=0&epoch=0&rows=2&views=2");
        const items = rows.flatMap(({ objects }) => objects.flat());
        const boxes = page.locator(".batch rect.boxes:not(.edge)");
        assert.equal(await boxes.count(), items.length);
        assert.equal(await page.locator(".batch .crop .masks").count(), 4);
        const crop = await page.locator(".batch .crop").first().boundingBox();
        const box = await boxes.first().boundingBox();
        const widths = rows[0].objects[0].map(({ box }) => box[2] - box[0]);
        const scale = crop.width / 224;
        assert.ok(Math.abs(box.width - Math.max(...widths) * scale) < 4, `${box.width}`);
        assert.ok(await page.locator(".batch .names").first().isHidden());
        await page.getByRole("checkbox", { name: "names" }).check();
        assert.ok(await page.locator(".batch .names").first().isVisible());
        for (const kind of ["boxes", "masks"]) {
            await page.getByRole("checkbox", { name: kind }).uncheck();
            assert.ok(await page.locator(`.batch .${kind}`).first().isHidden(), kind);
        }
    });
});

test("label images of a batch lie over its images, also without objects", ONLY_MOCK, async () => {
    const prepare = (page) =>
        page.route("**/api/batch?*", async (route) => {
            const response = await route.fetch();
            const batch = await response.json();
            for (const row of batch.rows) delete row.objects;
            await route.fulfill({ response, json: batch });
        });
    const body = async (page) => {
        const masks = page.locator(".batch .crop .masks");
        await masks.nth(3).waitFor();
        assert.equal(await masks.count(), 4);
        const [crop, mask] = [page.locator(".batch .crop").first(), masks.first()];
        assert.deepEqual(await mask.boundingBox(), await crop.boundingBox());
        assert.equal(await page.locator(".drawn").getByRole("checkbox").count(), 1);
        await page.getByRole("checkbox", { name: "masks" }).uncheck();
        assert.ok(await mask.isHidden());
    };
    await visit(its, "#/batch?rows=2&views=2", body, { prepare });
});

test("the damage check tells how far it is and what it found", async (t) => {
    if (!its.dataset.checksums) return t.skip("the dataset has no checksums");
    await visit(its, "#/about", async (page) => {
        await page.getByRole("button", { name: "Check all checksums" }).click();
        await page.getByText(/samples? checked, /).waitFor({ timeout: 60_000 });
        const { damaged } = await its.ask("api/damage");
        assert.equal(await page.locator(".damage li a").count(), damaged.length);
        if (damaged.length === 0) return;
        await page.getByText(damaged[0].cause).first().waitFor();
        await page.getByRole("link", { name: "Show them in the grid" }).click();
        await page.locator(`.tile[data-sample="${damaged[0].sample}"]`).waitFor();
        assert.deepEqual(
            (await inSight(page)).slice(0, 3),
            damaged.slice(0, 3).map(({ sample }) => sample),
        );
    });
});

test("of two datasets those that differ are shown, beside or over each other", async (t) => {
    if (its.dataset.second === null) return t.skip("there is no second dataset");
    await visit(its, "#/compare", async (page) => {
        await page.locator(".counts", { hasText: "changed" }).waitFor();
        await page.locator(".pair, .compare .empty").first().waitFor();
        assert.equal(await page.locator(".state.the-same").count(), 0);
        await page.getByLabel(/the same/).check();
        await page.waitForURL((url) => decodeURIComponent(url.hash).includes("only_b,same"));
        await page.locator(".state").first().waitFor();
        await page.keyboard.press("Escape");
        await page.locator("h1").click();
        await page.keyboard.press("b");
        await page.locator(".pairs.over").waitFor();
        const cut = () =>
            page.locator(".pairs").evaluate((pairs) => pairs.style.getPropertyValue("--cut"));
        const first = await cut();
        await page.keyboard.press("b");
        assert.notEqual(await cut(), first);
    });
});

/** Index, position, total and state of the pairs that are in sight. */
const pairsInSight = (page) =>
    page.evaluate(() => {
        const view = document.querySelector(".compare .scroller").getBoundingClientRect();
        return [...document.querySelectorAll(".pair")]
            .filter((pair) => {
                const box = pair.getBoundingClientRect();
                return box.bottom > view.top + 1 && box.top < view.bottom - 1;
            })
            .map((pair) => ({
                index: Number(pair.dataset.index),
                size: Number(pair.getAttribute("aria-setsize")),
                state: pair.querySelector(".state")?.textContent ?? null,
            }));
    });
const toShare = (page, share) =>
    page.locator(".compare .scroller").evaluate((scroller, share) => {
        scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * share;
    }, share);

test("pairs of some states alone are asked for, listed and counted", async (t) => {
    if (its.dataset.second === null) return t.skip("there is no second dataset");
    const { counts } = await its.ask("api/compare?count=1");
    const state = ["changed", "same"].find((state) => counts[state] > 0);
    if (state === undefined) return t.skip("no pairs of one key");
    await visit(its, `#/compare?show=${state}`, async (page) => {
        const asked = [];
        page.on("request", (request) => {
            if (request.url().includes("api/compare")) asked.push(new URL(request.url()));
        });
        await page.locator(".pair .state").first().waitFor();
        await toShare(page, 1);
        await until(
            page,
            "the last pair",
            (total) => document.querySelector(`.pair[data-index="${total - 1}"] .state`) !== null,
            counts[state],
        );
        const pairs = await pairsInSight(page);
        assert.equal(pairs.at(-1).index, counts[state] - 1);
        const text = state === "same" ? "the same" : state;
        for (const pair of pairs) assert.deepEqual([pair.state, pair.size], [text, counts[state]]);
        assert.ok((await nodes(page)) <= MAX_NODES, `${await nodes(page)} elements`);
        for (const url of asked) assert.deepEqual(url.searchParams.getAll("state"), [state]);
        assert.ok(asked.length < 8, `${asked.length} requests`);
    });
});

test("the scrollbar spans a million pairs, and links lead into them", ONLY_MOCK, async () => {
    await visit(its, "#/compare?show=changed,only_a,only_b,same", async (page) => {
        await page.locator(".pair .state").first().waitFor();
        await toShare(page, 0.5);
        await page.waitForTimeout(300);
        const [{ index, size }] = await pairsInSight(page);
        assert.equal(size, its.dataset.samples);
        assert.ok(Math.abs(index / size - 0.5) < 0.001, `the middle is ${index}`);
        // The first that is seen for the most part, which may be of the next row.
        await page.waitForURL((url) => {
            const at = Number(new URLSearchParams(url.hash.split("?")[1]).get("at"));
            return at >= index && at < index + 8;
        });
        assert.ok((await nodes(page)) <= MAX_NODES);
    });
    await visit(its, "#/compare?show=changed&at=2000", async (page) => {
        await page.locator('.pair[data-index="2000"] .state').waitFor();
        assert.ok((await pairsInSight(page)).some(({ index }) => index === 2000));
        await page.locator('.pair[data-index="2000"] a.B').click();
        await page.waitForURL((url) => url.hash.includes("set=b") && url.hash.includes("/sample/"));
        await page.getByRole("link", { name: "Back" }).click();
        await page.locator('.pair[data-index="2000"] .state').waitFor();
    });
    await visit(its, "#/compare?show=", async (page) => {
        await page.getByText("Choose which pairs are shown.").waitFor();
        assert.equal(await page.locator(".pair").count(), 0);
        await page.getByLabel(/only in B/).check();
        await page.locator(".state.only-in-B").first().waitFor();
        assert.equal((await pairsInSight(page))[0].size, 1282);
    });
});

test("pairs become more while the datasets are compared", ONLY_MOCK, async () => {
    const growing = await import("./mock/server.mjs").then(({ serve }) => serve({ compare: 4000 }));
    try {
        await visit({ ...its, address: growing.address }, "#/compare?at=3000", async (page) => {
            await page.getByText(/^[\d,]+ of 1,281,167 compared$/).waitFor();
            await page.locator('.pair[data-index="3000"] .state').waitFor();
            await page.getByText("1,282 only in B").waitFor();
            await page.getByText(/compared$/).waitFor({ state: "detached" });
            const [{ size }] = await pairsInSight(page);
            const { counts } = await its.ask("api/compare?count=1");
            assert.equal(size, counts.changed + counts.only_a + counts.only_b);
        });
    } finally {
        await growing.stop();
    }
});

test("the second dataset has a grid of its own", async (t) => {
    if (its.dataset.second === null) return t.skip("there is no second dataset");
    await visit(its, "#/?key=1&split=%22train%22", async (page) => {
        const asked = [];
        page.on("request", (request) => asked.push(new URL(request.url())));
        await page.locator(".total", { hasText: "of" }).waitFor();
        const sets = page.getByRole("navigation", { name: "Dataset" });
        assert.equal(await sets.getByText("A").getAttribute("aria-current"), "true");
        asked.length = 0;
        await sets.getByText("B").click();
        // Classes of one dataset may be others in the other one.
        await page.waitForURL((url) => /^#\/\?key=1&set=b/.test(url.hash));
        await drawn(page);
        assert.equal(await sets.getByText("B").getAttribute("aria-current"), "true");
        assert.ok((await page.title()).includes(its.dataset.second.name));
        const { total } = await its.ask(`api/samples?set=b&where=${encodeURIComponent('key contains "1"')}&count=1`);
        await page
            .locator(".total", { hasText: new Intl.NumberFormat("en").format(total) })
            .waitFor();
        // Until B is shown, images of A are still asked for.
        const all = asked.filter(({ pathname }) => /(api|image)\//.test(pathname));
        const about = all.slice(all.findIndex((url) => url.searchParams.has("set")));
        assert.ok(about.length > 3);
        for (const url of about) assert.equal(url.searchParams.get("set"), "b", url.href);
        const [sample] = await inSight(page);
        await page.locator(`.tile[data-sample="${sample}"]`).click();
        await page.waitForURL((url) => url.hash === `#/sample/${sample}?key=1&set=b`);
        const { key } = await its.ask(`api/sample/${sample}?set=b`);
        await page.getByRole("heading", { level: 1 }).getByText(key).waitFor();
        await page.getByRole("link", { name: "Back" }).click();
        await page.locator(`.tile[data-sample="${sample}"][aria-selected="true"]`).waitFor();
        assert.ok(page.url().includes("set=b"));
        await page.getByText("Export").click();
        for (const link of await page.locator(".sheet a").all())
            assert.ok((await link.getAttribute("href")).includes("set=b"));
    });
});

test("at 400 px nothing scrolls sideways, and filters open over the tiles", async () => {
    const options = { viewport: { width: 400, height: 800 } };
    const hashes = ["", "#/?key=1", "#/sample/0", "#/batch?rows=4", "#/about"];
    if (its.dataset.second !== null) hashes.push("#/compare");
    for (const hash of hashes) {
        await visit(
            its,
            hash,
            async (page) => {
                await page.locator("h1").waitFor({ state: "attached" });
                await page.waitForTimeout(600);
                const wide = await page.evaluate(() => {
                    const scrolls = [document.documentElement, document.querySelector("main")];
                    return scrolls.map((element) => element.scrollWidth - element.clientWidth);
                });
                assert.deepEqual(wide, [0, 0], `${hash} is too wide`);
                const outside = await page.evaluate(() =>
                    [...document.querySelectorAll("button, input, select, summary, h1, h2")]
                        .filter(
                            (element) =>
                                element.checkVisibility() &&
                                !element.closest(".controls, .wide, .unseen"),
                        )
                        .filter(
                            (element) =>
                                element.getBoundingClientRect().right > innerWidth + 1 &&
                                !element.classList.contains("unseen"),
                        )
                        .map((element) => element.outerHTML.slice(0, 120)),
                );
                assert.deepEqual(outside, [], `${hash} has controls outside of the screen`);
                if (hash !== "") return;
                assert.ok(await page.locator(".panel").isHidden());
                await page.getByRole("button", { name: "Filters" }).click();
                await page.locator(".facet").first().waitFor();
                await page.keyboard.press("Escape");
                assert.ok(await page.locator(".panel").isHidden());
            },
            options,
        );
    }
});
