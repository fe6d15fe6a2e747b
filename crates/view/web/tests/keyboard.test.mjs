import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, focusedSample, inSight, lateHashchange, stand, until, visit } from "./browser.mjs";

const its = stand();

test("everything is reached by the keyboard alone", async (t) => {
    if (its.dataset.samples < 4) return t.skip("the dataset is too small to walk through");
    await visit(its, "", async (page) => {
        const { keyboard } = page;
        await drawn(page);
        for (const key of ["ArrowRight", "ArrowRight"]) await keyboard.press(key);
        assert.equal(await focusedSample(page), 2);
        await keyboard.press("Enter");
        await page.waitForURL((url) => url.hash.startsWith("#/sample/2"));
        const { key } = await its.ask("api/sample/2");
        await page.getByRole("heading", { level: 1 }).getByText(key).waitFor();
        assert.ok((await page.title()).includes("#2"));

        await until(page, "the way on", () =>
            document.querySelector('a[aria-keyshortcuts="ArrowRight"]')?.hasAttribute("href"),
        );
        await keyboard.press("ArrowRight");
        await page.waitForURL((url) => url.hash.startsWith("#/sample/3"));
        await keyboard.press("Escape");
        await until(
            page,
            "the tile has the focus",
            () => document.activeElement?.dataset.sample === "3",
        );

        await keyboard.press("/");
        const text = key.slice(-8);
        await keyboard.type(text);
        await keyboard.press("Enter");
        await page.waitForURL((url) => url.hash.includes("key="));
        await until(
            page,
            "the found are shown",
            (sample) => document.querySelector(`.tile[data-sample="${sample}"]`) !== null,
            2,
        );
        const { total } = await its.ask(`api/samples?where=${encodeURIComponent(`key contains "${text}"`)}&count=1`);
        await page
            .locator(".total", {
                hasText: new RegExp(`^${new Intl.NumberFormat("en").format(total)} of`),
            })
            .waitFor();
        await keyboard.press("/");
        await keyboard.press("Control+A");
        await keyboard.press("Delete");
        await keyboard.press("Escape");
        await page.waitForURL((url) => !url.hash.includes("key="));
        await drawn(page);
    });
});

test("a key after a followed link is one of the page that it leads to", async (t) => {
    if (its.dataset.samples < 4) return t.skip("the dataset is too small to walk through");
    await visit(
        its,
        "#/sample/2",
        async (page) => {
            await until(page, "the way on", () =>
                document.querySelector('a[aria-keyshortcuts="ArrowRight"]')?.hasAttribute("href"),
            );
            await page.keyboard.press("ArrowRight");
            await page.keyboard.press("Escape");
            await page.waitForURL((url) => url.hash === "#/?at=3");
            await until(
                page,
                "the tile has the focus",
                () => document.activeElement?.dataset.sample === "3",
            );
        },
        { prepare: (page) => page.addInitScript(lateHashchange) },
    );
});

test("tab reaches a filter, and Enter takes it", async (t) => {
    const { facets } = await its.ask("api/facets");
    if (!facets.some(({ kind, values }) => kind === "values" && values.length > 0))
        return t.skip("no facet of values");
    await visit(its, "", async (page) => {
        await page.locator(".value").first().waitFor();
        const onValue = () =>
            page.evaluate(() => document.activeElement?.classList.contains("value"));
        for (let turn = 0; turn < 40 && !(await onValue()); turn += 1)
            await page.keyboard.press("Tab");
        assert.ok(await onValue(), "no value was reached");
        await page.keyboard.press("Enter");
        await page.locator('.value[aria-pressed="true"]').waitFor();
        assert.ok(await onValue(), "the focus stays where it was");
        const ring = await page.evaluate(
            () => getComputedStyle(document.activeElement).outlineStyle,
        );
        assert.notEqual(ring, "none", "the focus is visible");
    });
});

test("one tile alone takes the tab key", async () => {
    await visit(its, "", async (page) => {
        await drawn(page);
        assert.equal(await page.locator('.tile[tabindex="0"]').count(), 1);
        await page.locator(".scroller").evaluate((scroller) => (scroller.scrollTop = 3000));
        await page.waitForTimeout(300);
        assert.equal(await page.locator('.tile[tabindex="0"]').count(), 1);
    });
});

test("? shows the keys, Esc closes them, t swaps the theme and is remembered", async () => {
    await visit(its, "", async (page) => {
        await drawn(page);
        await page.keyboard.press("?");
        await page.getByRole("dialog", { name: "Keys" }).waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const light = await ground();
        await page.keyboard.press("t");
        const dark = await ground();
        assert.notEqual(dark, light);
        await page.reload();
        await drawn(page);
        assert.equal(await ground(), dark);
        assert.equal(await page.evaluate(() => localStorage.length), 1);
    });
});

test("pages up and down move by screens", async (t) => {
    if (its.dataset.samples < 200) return t.skip("the dataset fits into one screen");
    await visit(its, "", async (page) => {
        await drawn(page);
        await page.keyboard.press("ArrowDown");
        const row = await focusedSample(page);
        await page.keyboard.press("PageDown");
        const down = await focusedSample(page);
        assert.ok(down >= row * 2, `from ${row} to ${down}`);
        assert.ok((await inSight(page)).includes(down));
        await page.keyboard.press("PageUp");
        assert.equal(await focusedSample(page), row);
    });
});
