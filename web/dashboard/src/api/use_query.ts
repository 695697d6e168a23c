import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError, isAbort } from "./client";

export interface Query<T> {
  /** The last result. While another key loads, it is that of the previous key. */
  data: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  /** The data is from before the last call of reload. */
  isStale: boolean;
  reload: () => void;
}

interface State<T> {
  key: string | null;
  turn: number;
  data?: T;
  error?: ApiError;
}

const RETRY_MS = 5_000;

/**
 * Loads what the key names, and again when it changes. With pollMs it loads again while the page is visible, and keeps showing
 * the last result if that fails. While the service is unavailable, it tries again. A key of null loads nothing.
 */
export function useQuery<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>, pollMs = 0): Query<T> {
  const [state, setState] = useState<State<T>>({ key: null, turn: 0 });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    let timer = 0;
    const run = async (isPoll: boolean) => {
      let nextMs = pollMs;
      try {
        const data = await latest.current(controller.signal);
        if (!controller.signal.aborted) setState({ key, turn, data });
      } catch (error) {
        if (controller.signal.aborted || isAbort(error)) return;
        const apiError = asApiError(error);
        if (!isPoll) setState((last) => ({ key, turn, data: last.data, error: apiError }));
        if (apiError.isTemporary) nextMs ||= RETRY_MS;
      }
      if (nextMs > 0 && !controller.signal.aborted) timer = window.setTimeout(poll, nextMs);
    };
    const poll = () => {
      if (document.visibilityState === "visible") void run(true);
      else timer = window.setTimeout(poll, pollMs || RETRY_MS);
    };
    void run(false);
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [key, turn, pollMs]);

  const reload = useCallback(() => setTurn((count) => count + 1), []);
  const isCurrent = state.key === key;
  return { data: state.data, error: isCurrent ? state.error : undefined, isLoading: key !== null && !isCurrent, isStale: state.turn !== turn, reload };
}
