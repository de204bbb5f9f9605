import { useSyncExternalStore } from 'react';

/** `public/theme.js` reads the same name before the page is drawn. */
const STORED_AS = 'forge-theme';
const THEMES = ['system', 'dark', 'light'] as const;

export type Theme = (typeof THEMES)[number];

const listeners = new Set<() => void>();

function current(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === 'dark' || theme === 'light' ? theme : 'system';
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(STORED_AS, theme);
  } catch {
    // Storage is closed to this page; the choice lasts until it is left.
  }
  for (const listener of listeners) listener();
}

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, current);
}
