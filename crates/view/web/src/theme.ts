// Light or dark: as the system has it, until one is chosen.

import { store, stored } from "./storage";

const dark = matchMedia("(prefers-color-scheme: dark)");

export function isDark(): boolean {
    const { theme } = document.documentElement.dataset;
    return theme === undefined ? dark.matches : theme === "dark";
}

export function applyTheme(): void {
    const theme = stored("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

export function swapTheme(): void {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    store("theme", theme);
}
