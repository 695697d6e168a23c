/** Values in localStorage. A browser may refuse it; then they live as long as the page. */
const memory = new Map<string, string>();

export function readLocal<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(`waymark.${name}`) ?? memory.get(name);
    return text === undefined ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

export function writeLocal(name: string, value: unknown): void {
  const text = JSON.stringify(value);
  memory.set(name, text);
  try {
    localStorage.setItem(`waymark.${name}`, text);
  } catch {
    // Private mode or a full disk.
  }
}
