import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/client";
import { ErrorBox, Skeleton } from "../components/feedback";
import { loadMoreTexts } from "../i18n";
import { loadCode } from "./load_code";

/** A component whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<{ default: ComponentType<P> }>, lines: number): ComponentType<P> {
  let Loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [, setReady] = useState(Loaded !== undefined);
    const [error, setError] = useState<ApiError>();
    useEffect(() => {
      if (Loaded) return;
      loadCode(() => Promise.all([load(), loadMoreTexts()])).then(
        ([module]) => {
          Loaded = module.default;
          setReady(true);
        },
        (cause) => setError(asApiError(cause)),
      );
    }, []);
    if (error) return <ErrorBox error={error} retry={() => location.reload()} />;
    return Loaded ? <Loaded {...props} /> : <Skeleton lines={lines} height={32} />;
  };
}
