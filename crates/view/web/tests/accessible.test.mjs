import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";
import { stand, until, visit } from "./browser.mjs";

const its = stand();
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const PAGES = {
    grid: ["", ".tile img[src]"],
    "grid with filters": ["#/?key=1", ".chip"],
    sample: ["#/sample/0", ".facts"],
    batch: ["#/batch?rows=4&views=2", ".batch a"],
    compare: ["#/compare?show=changed,same", "h1"],
    "compare, nothing chosen": ["#/compare?show=", "h1"],
    about: ["#/about", ".about table"],
    "a sample that is not there": ["#/sample/999999999", ".failure"],
};

for (const colorScheme of ["light", "dark"]) {
    for (const [name, [hash, ready]] of Object.entries(PAGES)) {
        test(`axe finds nothing serious: ${name}, ${colorScheme}`, async () => {
            await visit(
                its,
                hash,
                async (page) => {
                    await page.locator(ready).first().waitFor({ state: "attached" });
                    await page.waitForTimeout(500);
                    assert.deepEqual(await serious(page), []);
                },
                { colorScheme },
            );
        });
    }
}

test("axe finds nothing serious: keys, export menu and panel on a narrow screen", async () => {
    await visit(
        its,
        "",
        async (page) => {
            await page.locator(".facet").first().waitFor({ state: "attached" });
            await page.getByText("Export").click();
            await page.locator(".sheet").waitFor();
            assert.deepEqual(await serious(page), []);
            await page.keyboard.press("Escape");
            await page.getByRole("button", { name: "Filters" }).click();
            assert.deepEqual(await serious(page), []);
            await page.keyboard.press("Escape");
            await page.keyboard.press("?");
            await until(page, "the dialog", () => document.querySelector("dialog[open]") !== null);
            assert.deepEqual(await serious(page), []);
        },
        { viewport: { width: 400, height: 800 } },
    );
});

async function serious(page) {
    await page.evaluate(axe);
    return page.evaluate(async () => {
        const { violations } = await window.axe.run(document);
        return violations
            .filter(({ impact }) => impact === "serious" || impact === "critical")
            .map(
                ({ id, nodes }) =>
                    `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`,
            );
    });
}
