// What outlives the page: the theme, the size of the thumbnails and whether they have boxes, and
// nothing else.

type Name = "theme" | "side" | "boxes";

export function stored(name: Name): string | null {
    try {
        return localStorage.getItem(`fdconvert.${name}`);
    } catch {
        // Browsers may forbid it; the page does without.
        return null;
    }
}

export function store(name: Name, value: string): void {
    try {
        localStorage.setItem(`fdconvert.${name}`, value);
    } catch {
        // As above.
    }
}
