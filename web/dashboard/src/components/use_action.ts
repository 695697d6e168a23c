import { useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/client";

/** A form's request: whether it is running, and its error, until forget(). run() returns whether it succeeded. */
export function useAction() {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const run = async (action: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setError(undefined);
    try {
      await action();
      return true;
    } catch (cause) {
      setError(asApiError(cause));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { error, isBusy, run, forget: () => setError(undefined) };
}
