// A long list, fetched in pages where it is looked at.

import { isAbort, Lost } from "./server";

const PAGES_KEPT = 60;

interface Page<T> {
    rows: T[];
    /** Its rows may become more, as the list grows. */
    stale: boolean;
}

export abstract class Pages<T> {
    /** How many rows there are, as far as is known. */
    total: number | null = null;
    error: unknown = null;
    private readonly pages = new Map<number, Page<T>>();
    private readonly asked = new Map<number, AbortController>();
    private readonly listeners = new Set<() => void>();
    private wanted: [number, number] = [0, 0];

    /** `size` are the rows of a page. */
    constructor(private readonly size: number) {}

    /** Whether rows may be added yet. */
    abstract get growing(): boolean;

    /** Asks for rows, and takes over what the answer says of the whole list. */
    protected abstract request(start: number, count: number, signal?: AbortSignal): Promise<T[]>;

    onChange(listener: () => void): () => void {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }

    row(index: number): T | null {
        return this.pages.get(Math.floor(index / this.size))?.rows[index % this.size] ?? null;
    }

    /** Fetches the rows of a range of places, and breaks off what was fetched for others. */
    want(first: number, end: number): void {
        this.wanted = [first, end];
        const firstPage = Math.floor(first / this.size);
        const lastPage = Math.floor(Math.max(first, end - 1) / this.size);
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
            if (page.rows.length < this.size) page.stale = true;
        }
        const page = this.pages.get(Math.floor(this.wanted[0] / this.size));
        if (page !== undefined) page.stale = true;
        this.want(...this.wanted);
    }

    retry(): void {
        this.error = null;
        this.want(...this.wanted);
    }

    /** The row at a place, waited for; null behind the last. */
    async find(index: number, signal?: AbortSignal): Promise<T | null> {
        const known = this.row(index);
        if (known !== null) return known;
        if (index < 0 || (this.total !== null && index >= this.total)) return null;
        return (await this.request(index, 1, signal))[0] ?? null;
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
            this.keep(page, await this.request(page * this.size, this.size, request.signal));
            this.error = null;
        } catch (error) {
            if (isAbort(error)) return;
            if (!(error instanceof Lost)) this.error = error;
        } finally {
            if (this.asked.get(page) === request) this.asked.delete(page);
        }
        for (const listener of this.listeners) listener();
    }

    private keep(page: number, rows: T[]): void {
        this.pages.delete(page);
        this.pages.set(page, { rows, stale: false });
        for (const oldest of this.pages.keys()) {
            if (this.pages.size <= PAGES_KEPT) break;
            this.pages.delete(oldest);
        }
    }
}
