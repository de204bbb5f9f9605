import { Dialog } from '../ui/Dialog';
import styles from './ShortcutHelp.module.css';
import { useShortcutList } from './shortcuts';

const isMac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.userAgent);

export function Keys({ keys }: { keys: string }) {
  const names = keys.split(/[ +]/).map((key) => (key === 'mod' ? (isMac ? '⌘' : 'Ctrl') : key));
  return (
    <span className={styles.keys}>
      {names.map((name) => (
        <kbd key={name}>{name.length === 1 && keys.includes('mod') ? name.toUpperCase() : name}</kbd>
      ))}
    </span>
  );
}

export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const shortcuts = useShortcutList();
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className={styles.list}>
        {shortcuts.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <Keys keys={keys} />
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
