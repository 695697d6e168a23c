import { useLayoutEffect, useReducer } from "preact/hooks";

/** A value outside of the components that they can follow. */
export interface Store<T> {
  get(): T;
  set(next: T): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const shown = store.get();
  useLayoutEffect(() => {
    // It may have changed between rendering and subscribing.
    if (!Object.is(shown, store.get())) render(undefined);
    return store.subscribe(() => render(undefined));
  }, [store]);
  return store.get();
}
