// A scroll range of any length. Browsers end at 16 to 33 million pixels, which a million samples
// exceed; beyond CAP the scrollbar is a scale of the real range, and wheels, fingers and keys still
// move by pixels. What they moved is put back into proportion when the scrolling rests.

const CAP = 8_000_000;
const REST_MS = 160;

export class Scroll {
    /** Pixels from the top of the whole range. */
    top = 0;
    private height = 0;
    private seen = 0;
    private dragging = false;
    private timer = 0;

    constructor(
        private readonly scroller: HTMLElement,
        private readonly canvas: HTMLElement,
        private readonly moved: () => void,
    ) {
        scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
        // A press on the scrollbar, which lies outside of the content.
        scroller.addEventListener("pointerdown", (event) => {
            this.dragging = event.target === scroller && event.offsetX >= scroller.clientWidth;
        });
        for (const other of ["wheel", "touchstart", "keydown"]) {
            scroller.addEventListener(other, () => (this.dragging = false), { passive: true });
        }
        scroller.addEventListener("pointermove", (event) => {
            if (event.buttons === 0) this.dragging = false;
        });
    }

    get view(): number {
        return this.scroller.clientHeight;
    }

    get max(): number {
        return Math.max(0, this.height - this.view);
    }

    /** Where a place of the whole range lies within the canvas now. */
    offset(place: number): number {
        return this.seen + place - this.top;
    }

    resize(height: number): void {
        this.height = height;
        this.canvas.style.height = `${Math.min(height, CAP)}px`;
        this.to(this.top);
    }

    to(top: number): void {
        this.top = Math.min(Math.max(0, top), this.max);
        this.settle();
        this.moved();
    }

    stop(): void {
        clearTimeout(this.timer);
    }

    private get realMax(): number {
        return Math.max(0, Math.min(this.height, CAP) - this.view);
    }

    private scrolled(): void {
        const real = this.scroller.scrollTop;
        const by = real - this.seen;
        if (by === 0) return;
        this.seen = real;
        if (this.max === this.realMax) {
            this.top = real;
        } else if (this.dragging || Math.abs(by) > 2 * this.view) {
            this.top = (real / this.realMax) * this.max;
        } else {
            this.top = Math.min(Math.max(0, this.top + by), this.max);
            const atEdge = real <= 0 || real >= this.realMax;
            if (atEdge) this.settle();
            else this.settleLater();
        }
        this.moved();
    }

    private settleLater(): void {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => {
            this.settle();
            this.moved();
        }, REST_MS);
    }

    private settle(): void {
        clearTimeout(this.timer);
        const wanted = this.max === 0 ? 0 : (this.top / this.max) * this.realMax;
        if (Math.abs(this.scroller.scrollTop - wanted) >= 1) this.scroller.scrollTop = wanted;
        this.seen = this.scroller.scrollTop;
    }
}
