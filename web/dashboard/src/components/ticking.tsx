import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount } from "../lib/format";

const MS = 400;

/** A count that runs to its new value. Without motion, it is there at once. */
export function Ticking({ count }: { count: number }) {
  const [shown, setShown] = useState(count);
  const from = useRef(count);
  useEffect(() => {
    if (from.current === count) return;
    const [first, begun] = [from.current, performance.now()];
    from.current = count;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return setShown(count);
    let frame = 0;
    const draw = (now: number) => {
      const share = Math.min(1, (now - begun) / MS);
      setShown(Math.round(first + (count - first) * (1 - (1 - share) ** 3)));
      if (share < 1) frame = requestAnimationFrame(draw);
    };
    frame = requestAnimationFrame(draw);
    return () => {
      cancelAnimationFrame(frame);
      setShown(count);
    };
  }, [count]);
  return <>{formatCount(shown)}</>;
}
