// What the pages of a dataset share: the dataset, where to go, and what was chosen last.

import { type Address, type Filter, grid, query, setOf } from "./address";
import { Selection } from "./selection";
import type { Dataset } from "./types";
import { asked, expression } from "./where";

/** A page, from the moment it is shown until another takes its place. */
export interface Page {
    root: HTMLElement;
    title: string;
    /** Shows another address of the same view; false where that takes a new page. */
    show?(address: Address): boolean;
    /** Takes a key that no control took; true when it meant something. */
    key?(event: KeyboardEvent): boolean;
    /** The server is there again. */
    retry?(): void;
    stop(): void;
}

/** What the pages of two datasets share. */
export interface Shared {
    /** Goes to an address; with `replace`, without a step in the history. */
    go(address: Address, replace?: boolean): void;
    /** Writes an address that is shown already into the fragment. */
    note(address: Address): void;
    retitle(title: string): void;
    /** Where the comparison was looked at last, as a fragment. */
    compared: string;
}

export class App {
    private last: Selection | null = null;
    private lastFilters = "";

    constructor(
        readonly dataset: Dataset,
        /** It is the second one of a comparison. */
        readonly second: boolean,
        readonly shared: Shared,
    ) {}

    /** The parameters of a request about this dataset. */
    query(filters: readonly Filter[], more: Record<string, string | number> = {}): string {
        return query(asked(filters), { ...more, ...setOf(this.second) });
    }

    /** The address of its grid. */
    grid(filters: readonly Filter[], at?: number): Address {
        return grid(filters, at, this.second);
    }

    /** The selection of these filters; the last one is kept for the way back from a sample. */
    selection(filters: readonly Filter[]): Selection {
        const text = query(filters);
        if (this.last === null || this.lastFilters !== text) {
            this.last?.stop();
            this.last = new Selection(filters, this.dataset.samples, this.second);
            this.lastFilters = text;
        }
        return this.last;
    }

    /** The name of a class, or its number where it has none. */
    className(label: number): string {
        return this.classes()[label] ?? String(label);
    }

    classes(): string[] {
        const field = this.dataset.schema[this.dataset.label ?? -1];
        return Array.isArray(field?.classes) ? field.classes : [];
    }

    /** A filter as people read it. */
    filterText([name, value]: Filter): string {
        return name === "damaged" ? name : expression([[name, value]]);
    }
}
