// Builds the page into dist, or into the folder that is named. With --check, builds into a scratch
// folder and compares: what is committed must be what the sources give.
import { build } from "esbuild";
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

async function bundle(folder) {
    await mkdir(folder, { recursive: true });
    await build({
        absWorkingDir: here,
        entryPoints: { app: "src/main.ts" },
        outdir: folder,
        bundle: true,
        format: "iife",
        target: "es2022",
        charset: "utf8",
        legalComments: "none",
        logLevel: "warning",
    });
    for (const name of ["index.html", "app.css", "icon.svg"]) {
        await cp(join(here, name), join(folder, name));
    }
}

async function compare(fresh) {
    const names = (await readdir(fresh)).sort();
    const committed = (await readdir(dist)).sort();
    const wrong = committed
        .filter((name) => !names.includes(name))
        .map((name) => `${name} is too many`);
    for (const name of names) {
        const bytes = committed.includes(name) ? await readFile(join(dist, name)) : null;
        if (!bytes?.equals(await readFile(join(fresh, name)))) {
            wrong.push(`${name} is not what the sources give`);
        }
    }
    return wrong;
}

if (process.argv.includes("--check")) {
    const fresh = await mkdtemp(join(tmpdir(), "fdconvert-view-"));
    try {
        await bundle(fresh);
        const wrong = await compare(fresh);
        if (wrong.length > 0) {
            console.error(`dist: ${wrong.join("; ")}. Run "npm run build" and commit dist.`);
            process.exitCode = 1;
        }
    } finally {
        await rm(fresh, { recursive: true });
    }
} else {
    await bundle(process.argv[2] ?? dist);
}
