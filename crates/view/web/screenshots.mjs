// Writes pictures of all pages, light, dark and narrow, into the folder that is given, and those of the
// guide: docs/guide has them of a beton of the images that `fdconvert sample` writes.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launch } from "./tests/browser.mjs";
import { serve } from "./tests/mock/server.mjs";

const folder = process.argv[2];
if (folder === undefined) {
    console.error("usage: node screenshots.mjs FOLDER; VIEW_ADDRESS names a real server");
    process.exit(2);
}
const PAGES = {
    grid: "#/?at=640000",
    filtered: "#/?label=%22long%20dog%22&label=%22striped%20dog%22&width=500..540&at=22000",
    sample: "#/sample/6?label=%22grey%20cat%22",
    batch: "#/batch?rows=8&views=2",
    compare: "#/compare",
    about: "#/about",
    failure: "#/sample/70001",
    broken: "#/?at=660",
};
const LOOKS = {
    light: { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    dark: { colorScheme: "dark", viewport: { width: 1280, height: 800 } },
    narrow: { colorScheme: "light", viewport: { width: 400, height: 800 } },
};

/** Name, fragment, look and size of the pictures of the guide. */
const GUIDE = [
    ["view-light", "", "light", { width: 1000, height: 620 }],
    ["view-dark", "#/sample/0", "dark", { width: 1000, height: 620 }],
    ["view-narrow", "", "light", { width: 400, height: 640 }],
];

await mkdir(folder, { recursive: true });
const server = process.env.VIEW_ADDRESS ? null : await serve();
const address = process.env.VIEW_ADDRESS ?? server.address;
const browser = await launch();
for (const [look, options] of Object.entries(LOOKS)) {
    const context = await browser.newContext(options);
    for (const [name, hash] of Object.entries(PAGES)) {
        const page = await context.newPage();
        await page.goto(address + hash);
        await page.waitForTimeout(1800);
        await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
        await page.close();
    }
    await context.close();
}
for (const [name, hash, colorScheme, viewport] of GUIDE) {
    const page = await browser.newPage({ colorScheme, viewport });
    await page.goto(address + hash);
    await page.waitForTimeout(1800);
    const options = { type: "jpeg", quality: 80 };
    await page.screenshot({ path: join(folder, `${name}.jpg`), ...options });
    await page.close();
}
await browser.close();
await server?.stop();
