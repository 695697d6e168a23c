import { useEffect, useRef, useState } from "preact/hooks";

/** The value, but renewed at most once in a time. */
export function useThrottled<T>(value: T, waitMs: number): T {
  const [shown, setShown] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const rest = Math.max(0, last.current + waitMs - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setShown(value);
    }, rest);
    return () => clearTimeout(timer);
  }, [value, waitMs]);
  return shown;
}
