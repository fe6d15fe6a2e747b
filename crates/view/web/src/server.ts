// Requests to the server, and whether it is there at all.

/** An answer that says why there is none. */
export class Refused extends Error {
    constructor(
        readonly status: number,
        message: string,
    ) {
        super(message);
    }
}

/** No answer. It is said once, above the page, and not by each who asked. */
export class Lost extends Error {
    constructor() {
        super("The server does not answer.");
    }
}

let lost = false;
const listeners = new Set<(lost: boolean) => void>();

export function onLost(listener: (lost: boolean) => void): void {
    listeners.add(listener);
}

function setLost(now: boolean): void {
    if (lost === now) return;
    lost = now;
    for (const listener of listeners) listener(now);
}

export function isAbort(error: unknown): boolean {
    return error instanceof DOMException && error.name === "AbortError";
}

/** Nothing to say in place: broken off on purpose, or said above the page already. */
export function isQuiet(error: unknown): boolean {
    return isAbort(error) || error instanceof Lost;
}

async function answer(path: string, signal?: AbortSignal): Promise<Response> {
    let response: Response;
    try {
        response = await fetch(path, signal ? { signal } : {});
    } catch (error) {
        if (isAbort(error)) throw error;
        setLost(true);
        throw new Lost();
    }
    setLost(false);
    if (response.ok) return response;
    throw new Refused(response.status, await cause(response));
}

async function cause(response: Response): Promise<string> {
    if (response.status === 403) {
        return "The address is not of this run of the server. Open the one that fdconvert view printed last.";
    }
    try {
        const said: unknown = await response.json();
        if (typeof said === "object" && said !== null && "error" in said) return String(said.error);
    } catch {
        // The status says what there is to say.
    }
    return `The server answers ${response.status} ${response.statusText}`;
}

/** What was broken off in the middle is a server that went away. */
async function whole<T>(read: Promise<T>): Promise<T> {
    try {
        return await read;
    } catch (error) {
        if (error instanceof TypeError) {
            setLost(true);
            throw new Lost();
        }
        throw error;
    }
}

export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
    return whole((await answer(path, signal)).json() as Promise<T>);
}

export async function askBytes(path: string, signal?: AbortSignal): Promise<Blob> {
    return whole((await answer(path, signal)).blob());
}

/** Runs again and again until `ask` says that it is done, or the signal stops it. */
export async function poll(
    everyMs: number,
    signal: AbortSignal,
    once: () => Promise<boolean>,
): Promise<void> {
    while (!signal.aborted) {
        try {
            if (await once()) return;
        } catch (error) {
            if (isAbort(error)) return;
            if (!(error instanceof Lost)) throw error;
        }
        await new Promise((wake) => setTimeout(wake, everyMs));
    }
}
