/** The theme's colours for canvases, which cannot read them from a style sheet. */
import { useEffect, useState } from 'react';
import { useTheme } from '../../../app/theme';

const NAMES = [
  'info',
  'ok',
  'warn',
  'busy',
  'dead',
  'bad',
  'line',
  'text-3',
  'surface',
  'surface-3',
] as const;

export type Colours = Record<(typeof NAMES)[number], string>;

function readColours(): Colours {
  return Object.fromEntries(NAMES.map((name) => [name, readColour(name)])) as Colours;
}

/** From an element of its own: one that had another colour before may still be on its way from there. */
function readColour(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Read again when the theme changes, by the viewer's choice or the system's. */
export function useColours(): Colours {
  const theme = useTheme();
  const [colours, setColours] = useState(readColours);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme is what the colours come from.
  useEffect(() => {
    setColours(readColours());
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const onChange = () => setColours(readColours());
    dark.addEventListener('change', onChange);
    return () => dark.removeEventListener('change', onChange);
  }, [theme]);
  return colours;
}

/** The same colour, see-through. */
export function faded(colour: string, opacity: number): string {
  return `color-mix(in srgb, ${colour} ${Math.round(opacity * 100)}%, transparent)`;
}
