/** Short news about what was done, read out politely and gone by itself. */
import { X } from 'lucide-react';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';
import { messageOf } from '../api/errors';
import { IconButton } from './Button';
import { cx } from './classes';
import styles from './Toasts.module.css';

const SHOWN_MS = 6_000;
/** Older ones make room. */
const TOASTS_MAX = 4;

interface Toast {
  id: number;
  tone: 'ok' | 'bad';
  text: string;
}

interface Toaster {
  ok(text: string): void;
  /** `what` could not be done, and why. */
  failed(what: string, error: unknown): void;
}

const ToastContext = createContext<Toaster | null>(null);

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const nextId = useRef(0);
  const remove = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const toaster = useMemo<Toaster>(() => {
    const add = (tone: Toast['tone'], text: string) => {
      const id = nextId.current++;
      setToasts((all) => [...all, { id, tone, text }].slice(-TOASTS_MAX));
      // What went wrong stays until it is closed.
      if (tone === 'ok') setTimeout(() => remove(id), SHOWN_MS);
    };
    return {
      ok: (text) => add('ok', text),
      failed: (what, error) => add('bad', `${what}: ${messageOf(error)}`),
    };
  }, [remove]);
  return (
    <ToastContext value={toaster}>
      {children}
      <div className={styles.toasts} role="status" aria-live="polite">
        {toasts.map((toast) => (
          <div key={toast.id} className={cx(styles.toast, styles[toast.tone])}>
            <span>{toast.text}</span>
            <IconButton label="Close this message" icon={<X />} onClick={() => remove(toast.id)} />
          </div>
        ))}
      </div>
    </ToastContext>
  );
}

export function useToast(): Toaster {
  const toaster = useContext(ToastContext);
  if (!toaster) throw new Error('toasts are used outside of ToastProvider');
  return toaster;
}
