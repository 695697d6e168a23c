import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Skeleton } from "../components/feedback";

/** A component whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<{ default: ComponentType<P> }>, lines: number): ComponentType<P> {
  let Loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [, setReady] = useState(Loaded !== undefined);
    useEffect(() => {
      if (Loaded) return;
      void load().then((module) => {
        Loaded = module.default;
        setReady(true);
      });
    }, []);
    return Loaded ? <Loaded {...props} /> : <Skeleton lines={lines} height={32} />;
  };
}
