// What the server answers, as crates/view/API.md has it.

export interface Field {
    name: string;
    kind: string;
    classes?: string[] | null;
}

export interface Second {
    name: string;
    path: string;
    samples: number;
}

export interface Dataset {
    name: string;
    path: string;
    samples: number;
    format: string;
    schema: Field[];
    splits: { name: string; samples: number }[];
    details: Record<string, unknown>;
    provenance: Record<string, unknown> | null;
    checksums: boolean;
    image: number | null;
    label: number | null;
    objects: number | null;
    second: Second | null;
    version: string;
}

export interface FacetValue {
    /** As it stands in an expression. */
    value: string;
    title: string;
    n: number;
}

export interface ValuesFacet {
    /** As it stands in an expression. */
    name: string;
    title: string;
    kind: "values";
    values: FacetValue[];
    more: number;
}

export interface Bin {
    from: number;
    to: number;
    n: number;
}

export interface NumbersFacet {
    name: string;
    title: string;
    kind: "numbers";
    min: number;
    max: number;
    bins: Bin[];
}

export type Facet = ValuesFacet | NumbersFacet;

export interface Facets {
    scanned: number;
    samples: number;
    facets: Facet[];
}

export interface Row {
    sample: number;
    key: string;
    label: number | null;
    codec: string | null;
    width: number | null;
    height: number | null;
    bytes: number | null;
    error?: string;
}

export interface Rows {
    scanned: number;
    total: number;
    start: number;
    samples: Row[];
}

export interface Value {
    name: string;
    kind: string;
    codec?: string | null;
    width?: number | null;
    height?: number | null;
    bytes?: number | null;
    mask?: boolean;
    value?: unknown;
    cut?: boolean;
    class?: string | null;
    dtype?: string | null;
    shape?: number[] | null;
    hex?: string | null;
    numbers?: (number | boolean | null)[] | null;
}

export interface Item {
    class: number | null;
    name: string | null;
    box?: [number, number, number, number] | null;
    polygons?: number[][] | null;
    keypoints?: [number, number, number][] | null;
    mask?: string | null;
}

export interface Objects {
    size: [number, number];
    items: Item[];
}

export interface Sample {
    sample: number;
    key: string;
    split: string | null;
    values: Value[];
    place: { path: string; offset: number; bytes: number; xxh3: string | null } | null;
    exif: { name: string; value: unknown }[];
    objects: Objects | null;
    verified: boolean | null;
    python: string;
    /** Why it is not as it was stored. */
    cause?: string;
    objects_error?: string;
}

/** One name, and its arguments. */
export type Transform = Record<string, Record<string, unknown>>;

export interface BatchRow {
    sample: number;
    key: string;
    label: number | null;
    failed?: boolean;
    /** Those in each view. */
    objects?: Item[][];
}

export interface Batch {
    rows: BatchRow[];
    /** Images of each row. */
    views: number;
    /** `batch-masks.png` has masks, of objects or label images. */
    masks?: boolean;
    width: number;
    height: number;
    transform: Transform[];
    steps?: number;
}

export interface Damage {
    checked: number;
    samples: number;
    /** How many are damaged; those below are the first of them. */
    found?: number;
    damaged: { sample: number; key: string; cause: string }[];
}

export interface Pair {
    key: string;
    a: number | null;
    b: number | null;
    same: boolean;
}

export type State = "changed" | "only_a" | "only_b" | "same";

export interface Comparison {
    scanned: number;
    complete: boolean;
    total: number;
    start: number;
    rows: Pair[];
    counts: Record<State, number>;
}
