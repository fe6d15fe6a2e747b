// The samples of a dataset that the filters keep.

import { type Filter, query, setOf } from "./address";
import { Pages } from "./pages";
import { ask } from "./server";
import type { Row, Rows } from "./types";
import { asked } from "./where";

const PAGE = 200;

export class Selection extends Pages<Row> {
    scanned = 0;

    constructor(
        readonly filters: readonly Filter[],
        private readonly samples: number,
        /** Of the second dataset of a comparison. */
        readonly second: boolean,
    ) {
        super(PAGE);
        this.total = filters.length === 0 ? samples : null;
    }

    get growing(): boolean {
        return this.filters.length > 0 && this.scanned < this.samples;
    }

    /** The sample at a place; known without asking where nothing is filtered. */
    sampleAt(index: number): number | null {
        if (this.filters.length === 0) return index < this.samples ? index : null;
        return this.row(index)?.sample ?? null;
    }

    /** The place of a sample, or null where the filters leave it out. */
    async position(sample: number, signal?: AbortSignal): Promise<number | null> {
        if (this.filters.length === 0) return sample < this.samples ? sample : null;
        const path = `api/position${query(asked(this.filters), { sample, ...setOf(this.second) })}`;
        return (await ask<{ position: number | null }>(path, signal)).position;
    }

    protected async request(start: number, count: number, signal?: AbortSignal): Promise<Row[]> {
        const more = { start, count, ...setOf(this.second) };
        const answer = await ask<Rows>(`api/samples${query(asked(this.filters), more)}`, signal);
        this.total = answer.total;
        this.scanned = answer.scanned;
        return answer.samples;
    }
}
