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
  const probe = document.createElement('span');
  document.body.append(probe);
  const colours = Object.fromEntries(
    NAMES.map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  ) as Colours;
  probe.remove();
  return colours;
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
