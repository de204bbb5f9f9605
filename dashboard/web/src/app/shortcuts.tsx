/** Keys that do something, declared by whoever offers it and listed by `?`. */
import { useEffect, useRef, useSyncExternalStore } from 'react';

export interface Shortcut {
  /** `g o`: one key after the other. `mod+k`: with Ctrl, or Cmd on a Mac. */
  keys: string;
  does: string;
}

interface Registered extends Shortcut {
  run: () => void;
}

/** How long the first key of a pair waits for the second. */
const PAIR_MS = 1_500;

let registered: readonly Registered[] = [];
const listeners = new Set<() => void>();

function change(next: readonly Registered[]): void {
  registered = next;
  for (const listener of listeners) listener();
}

/** Offers a shortcut while the component is shown. */
export function useShortcut(keys: string, does: string, run: () => void): void {
  const newest = useRef(run);
  useEffect(() => {
    newest.current = run;
  });
  useEffect(() => {
    const entry: Registered = { keys, does, run: () => newest.current() };
    change([...registered, entry]);
    return () => change(registered.filter((other) => other !== entry));
  }, [keys, does]);
}

export function useShortcutList(): readonly Shortcut[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => registered,
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Listens to the keyboard for all shortcuts. */
export function useShortcutKeys(): void {
  useEffect(() => {
    let first: { key: string; at: number } | null = null;
    const onKeyDown = (event: KeyboardEvent) => {
      const mod = event.ctrlKey || event.metaKey;
      if (event.altKey || (!mod && (isTyping(event.target) || document.querySelector('dialog[open]'))))
        return;
      const key = mod ? `mod+${event.key.toLowerCase()}` : event.key;
      const pair = first && Date.now() - first.at < PAIR_MS ? `${first.key} ${key}` : null;
      first = null;
      // The newest wins: a page may take over a key of the frame.
      const found = registered.findLast((shortcut) => shortcut.keys === pair || shortcut.keys === key);
      if (found) {
        event.preventDefault();
        found.run();
      } else if (registered.some((shortcut) => shortcut.keys.startsWith(`${key} `))) {
        first = { key, at: Date.now() };
      }
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}
