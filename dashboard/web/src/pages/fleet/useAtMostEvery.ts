import { useEffect, useRef, useState } from 'react';

/** The newest value, but anew at most once in `ms`: large fleets change many times a second. */
export function useAtMostEvery<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, changedAt.current + ms - Date.now());
    const timer = setTimeout(() => {
      changedAt.current = Date.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return shown ?? value;
}
