/** What the browser refused to store. It lives as long as the page. */
const memory = new Map<string, string>();

export function readLocal<T>(name: string, fallback: T): T {
  try {
    const value: unknown = JSON.parse(memory.get(name) ?? localStorage.getItem(`waymark.${name}`) ?? "null");
    return value !== null && typeof value === typeof fallback && Array.isArray(value) === Array.isArray(fallback) ? (value as T) : fallback;
  } catch {
    return fallback;
  }
}

export function writeLocal(name: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(`waymark.${name}`, text);
    memory.delete(name);
  } catch {
    memory.set(name, text); // private mode or a full disk
  }
}
