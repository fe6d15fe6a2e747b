// The samples that the filters keep, fetched in pages where they are looked at.

import { type Filter, query } from "./address";
import { ask, isAbort, Lost } from "./server";
import type { Row, Rows } from "./types";

const PAGE = 200;
const PAGES_KEPT = 60;

interface Page {
    rows: Row[];
    /** Its rows may become more while the catalog is made. */
    stale: boolean;
}

export class Selection {
    /** How many there are, as far as is known. */
    total: number | null;
    scanned = 0;
    error: unknown = null;
    private readonly pages = new Map<number, Page>();
    private readonly asked = new Map<number, AbortController>();
    private readonly listeners = new Set<() => void>();
    private wanted: [number, number] = [0, 0];

    constructor(
        readonly filters: readonly Filter[],
        private readonly samples: number,
    ) {
        this.total = filters.length === 0 ? samples : null;
    }

    /** Whether more may be found yet. */
    get growing(): boolean {
        return this.filters.length > 0 && this.scanned < this.samples;
    }

    onChange(listener: () => void): () => void {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }

    row(index: number): Row | null {
        return this.pages.get(Math.floor(index / PAGE))?.rows[index % PAGE] ?? null;
    }

    /** The sample at a place; known without asking where nothing is filtered. */
    sampleAt(index: number): number | null {
        if (this.filters.length === 0) return index < this.samples ? index : null;
        return this.row(index)?.sample ?? null;
    }

    /** Fetches the rows of a range of places, and breaks off what was fetched for others. */
    want(first: number, end: number): void {
        this.wanted = [first, end];
        const firstPage = Math.floor(first / PAGE);
        const lastPage = Math.floor(Math.max(first, end - 1) / PAGE);
        for (const [page, request] of this.asked) {
            if (page < firstPage || page > lastPage) {
                request.abort();
                this.asked.delete(page);
            }
        }
        for (let page = firstPage; page <= lastPage; page += 1) {
            const known = this.pages.get(page);
            if ((known === undefined || known.stale) && !this.asked.has(page))
                void this.fetch(page);
        }
    }

    /** Looks once more for what may have been found since. */
    refresh(): void {
        for (const page of this.pages.values()) {
            if (page.rows.length < PAGE) page.stale = true;
        }
        const page = this.pages.get(Math.floor(this.wanted[0] / PAGE));
        if (page !== undefined) page.stale = true;
        this.want(...this.wanted);
    }

    retry(): void {
        this.error = null;
        this.want(...this.wanted);
    }

    /** The row at a place, waited for; null behind the last. */
    async find(index: number, signal?: AbortSignal): Promise<Row | null> {
        const known = this.row(index);
        if (known !== null) return known;
        if (index < 0 || (this.total !== null && index >= this.total)) return null;
        const answer = await this.request(index, 1, signal);
        return answer.samples[0] ?? null;
    }

    /** The place of a sample, or null where the filters leave it out. */
    async position(sample: number, signal?: AbortSignal): Promise<number | null> {
        if (this.filters.length === 0) return sample < this.samples ? sample : null;
        const path = `api/position${query(this.filters, { sample })}`;
        return (await ask<{ position: number | null }>(path, signal)).position;
    }

    stop(): void {
        for (const request of this.asked.values()) request.abort();
        this.asked.clear();
        this.listeners.clear();
    }

    private async fetch(page: number): Promise<void> {
        const request = new AbortController();
        this.asked.set(page, request);
        try {
            const answer = await this.request(page * PAGE, PAGE, request.signal);
            this.keep(page, answer.samples);
            this.error = null;
        } catch (error) {
            if (isAbort(error)) return;
            if (!(error instanceof Lost)) this.error = error;
        } finally {
            if (this.asked.get(page) === request) this.asked.delete(page);
        }
        for (const listener of this.listeners) listener();
    }

    private async request(start: number, count: number, signal?: AbortSignal): Promise<Rows> {
        const path = `api/samples${query(this.filters, { start, count })}`;
        const answer = await ask<Rows>(path, signal);
        this.total = answer.total;
        this.scanned = answer.scanned;
        return answer;
    }

    private keep(page: number, rows: Row[]): void {
        this.pages.delete(page);
        this.pages.set(page, { rows, stale: false });
        for (const oldest of this.pages.keys()) {
            if (this.pages.size <= PAGES_KEPT) break;
            this.pages.delete(oldest);
        }
    }
}
