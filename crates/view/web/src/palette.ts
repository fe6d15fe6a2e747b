// Colours of classes: neighbours in number are far apart in hue, and a text on each is readable.

export interface Colour {
    fill: string;
    /** Black or white, whichever is further from the colour. */
    text: string;
}

const GOLDEN_ANGLE = 137.508;

export function colour(label: number | null): Colour {
    const hue = ((label ?? 0) * GOLDEN_ANGLE + 205) % 360;
    const [red, green, blue] = rgb(hue, 0.85, 0.6);
    const light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    return { fill: `hsl(${hue.toFixed(1)} 85% 60%)`, text: light > 0.179 ? "#000" : "#fff" };
}

function rgb(hue: number, saturation: number, lightness: number): [number, number, number] {
    const reach = saturation * Math.min(lightness, 1 - lightness);
    const channel = (n: number) => {
        const k = (n + hue / 30) % 12;
        return lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    };
    return [channel(0), channel(8), channel(4)];
}

function linear(channel: number): number {
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}
