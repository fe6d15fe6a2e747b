// What the pages share: the dataset, where to go, and what was chosen last.

import { type Address, type Filter, query } from "./address";
import { Selection } from "./selection";
import type { Dataset } from "./types";

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

export class App {
    private last: Selection | null = null;
    private lastFilters = "";

    constructor(
        readonly dataset: Dataset,
        /** Goes to an address; with `replace`, without a step in the history. */
        readonly go: (address: Address, replace?: boolean) => void,
        /** Writes an address that is shown already into the fragment. */
        readonly note: (address: Address) => void,
        readonly retitle: (title: string) => void,
    ) {}

    /** The selection of these filters; the last one is kept for the way back from a sample. */
    selection(filters: readonly Filter[]): Selection {
        const text = query(filters);
        if (this.last === null || this.lastFilters !== text) {
            this.last?.stop();
            this.last = new Selection(filters, this.dataset.samples);
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
        if (name === "class") return `class: ${this.className(Number(value))}`;
        if (name === "text") return `key has “${value}”`;
        if (name === "damaged") return "damaged";
        return `${name.replace(/^f\./, "")}: ${value}`;
    }
}
