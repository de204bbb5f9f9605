import { Check, Copy as CopyIcon } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from './Button';

const DONE_MS = 1_500;

/** Copies a text; where the browser forbids the clipboard (plain http), by selecting it. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <IconButton
      label={done ? 'Copied' : label}
      icon={done ? <Check /> : <CopyIcon />}
      onClick={async () => {
        await copyText(text);
        setDone(true);
        setTimeout(() => setDone(false), DONE_MS);
      }}
    />
  );
}

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement('textarea');
  area.value = text;
  // Inside an open dialog nothing outside of it can be selected.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
