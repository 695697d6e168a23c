import type { Schemas } from "../api/client";
import { apiUrl } from "./workspace";

export type LiveVisit = Schemas["LiveVisit"];

interface Handlers {
  onVisit: (visit: LiveVisit) => void;
  /** Visits before this point may be missing. */
  onReset: () => void;
  onConnection: (isOpen: boolean) => void;
}

const RETRY_MS = 2_000;

/**
 * Follows the visits of the workspace. The browser connects again by itself, with the id of the last event, and so misses nothing. After
 * an answer that is no stream (a limit, a restart behind a proxy) it gives up; then this begins again. Returns how to stop.
 */
export function followVisits({ onVisit, onReset, onConnection }: Handlers): () => void {
  let source: EventSource;
  let timer = 0;
  const open = () => {
    source = new EventSource(apiUrl("/api/live"));
    source.addEventListener("open", () => onConnection(true));
    source.addEventListener("visit", (event) => onVisit(JSON.parse((event as MessageEvent<string>).data) as LiveVisit));
    source.addEventListener("reset", onReset);
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return; // the regular end of a stream
      onConnection(false);
      timer = window.setTimeout(open, RETRY_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
