/** Dialogs on the browser's own `<dialog>`, which keeps the focus and closes on Escape. */
import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { messageOf } from '../api/errors';
import { Button, IconButton } from './Button';
import { cx } from './classes';
import styles from './Dialog.module.css';

interface DialogProps {
  title: string;
  onClose: () => void;
  /** Buttons at the bottom. */
  footer?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}

/** Open for as long as it is rendered. */
export function Dialog({ title, onClose, footer, wide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog closes it; the keyboard has Escape.
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      className={cx(styles.dialog, wide && styles.wide)}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className={styles.inner}>
        <header className={styles.header}>
          <h2 id={titleId}>{title}</h2>
          <IconButton label="Close" icon={<X />} onClick={onClose} />
        </header>
        <div className={styles.body}>{children}</div>
        {footer && <footer className={styles.footer}>{footer}</footer>}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What will happen, with how many. */
  children: ReactNode;
  /** The word on the button that does it. */
  verb: string;
  danger?: boolean;
  /** For what cannot be undone: has to be typed before the button works. */
  typed?: string;
  onConfirm: () => Promise<unknown> | unknown;
  onClose: () => void;
}

/** Asks before something is done, stays open while it is being done, and tells if it failed. */
export function Confirm({ title, children, verb, danger = false, typed, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const inputId = useId();
  const allowed = typed === undefined || text.trim() === typed;

  async function confirm() {
    if (!allowed || busy) return;
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  }

  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button look={danger ? 'danger' : 'primary'} disabled={!allowed} busy={busy} onClick={confirm}>
            {verb}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <div>{children}</div>
        {typed !== undefined && (
          <p className={styles.typed}>
            <label htmlFor={inputId}>
              Type <code>{typed}</code> to go on:
            </label>
            <input
              id={inputId}
              className={styles.input}
              value={text}
              autoComplete="off"
              onChange={(event) => setText(event.target.value)}
            />
          </p>
        )}
      </form>
      {error !== null && (
        <p role="alert" className={styles.error}>
          {messageOf(error)}
        </p>
      )}
    </Dialog>
  );
}
