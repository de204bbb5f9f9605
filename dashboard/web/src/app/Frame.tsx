import { useQuery } from '@tanstack/react-query';
import { Command, Ellipsis, Keyboard, LogOut, Monitor, Moon, Sun } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { queries } from '../api/queries';
import { mayCall, useLogOut } from '../api/session';
import type { Session } from '../api/types';
import { IconButton } from '../ui/Button';
import { cx } from '../ui/classes';
import { formatNumber, formatShort } from '../ui/format';
import { ConnectionBanner, ConnectionPill } from './ConnectionState';
import styles from './Frame.module.css';
import { Palette, type PaletteEntry } from './Palette';
import { ProblemsBanner } from './Problems';
import { type PageEntry, pages } from './pages';
import { ShortcutHelp } from './ShortcutHelp';
import { useShortcut, useShortcutKeys } from './shortcuts';
import { nextTheme, setTheme, useTheme } from './theme';

const PHONE_PAGES = 4;
const THEME_ICONS = { system: Monitor, dark: Moon, light: Sun };

export function Frame({ session, children }: { session: Session; children: ReactNode }) {
  const [location, navigate] = useLocation();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const logOut = useLogOut();
  const theme = useTheme();
  const main = useRef<HTMLElement>(null);
  const visible = pages.filter((page) => mayCall(session.scope, page.needs));
  const inNavigation = visible.filter((page) => page.inNavigation);
  const close = () => setOpen(null);
  const switchTheme = () => setTheme(nextTheme(theme));
  const ThemeIcon = THEME_ICONS[theme];

  useShortcutKeys();
  useShortcut('mod+k', 'Go to anything', () => setOpen('palette'));
  useShortcut('?', 'List the shortcuts', () => setOpen('help'));

  // A screen reader goes on reading at the new page, and scrolling starts over.
  const shownAt = useRef(location);
  useEffect(() => {
    if (shownAt.current === location) return;
    shownAt.current = location;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [location]);

  const commands: PaletteEntry[] = [
    { label: 'Switch theme', kind: 'Command', icon: ThemeIcon, run: switchTheme },
    { label: 'Keyboard shortcuts', kind: 'Command', icon: Keyboard, keys: '?', run: () => setOpen('help') },
    { label: 'Log out', kind: 'Command', icon: LogOut, run: () => logOut.mutate() },
  ];

  return (
    <div className={styles.frame}>
      <a href="#main" className={styles.skip}>
        Skip to the page
      </a>
      {visible.map(
        (page) => page.key && <GoTo key={page.path} page={page} onGo={() => navigate(page.path)} />,
      )}
      <header className={styles.side}>
        <Link href="/" className={styles.brand}>
          <img src="/mark.svg" alt="" width="24" height="24" />
          <span>Forge Fleet</span>
        </Link>
        <button type="button" className={styles.search} onClick={() => setOpen('palette')}>
          <Command aria-hidden="true" />
          <span>Go to…</span>
          <kbd>Ctrl K</kbd>
        </button>
        <nav aria-label="Pages" className={styles.nav}>
          {inNavigation.map((page) => (
            <NavLink key={page.path} page={page} />
          ))}
        </nav>
        <div className={styles.foot}>
          <div className={styles.connection}>
            <ConnectionPill />
          </div>
          <div className={styles.who}>
            <span className={styles.name} title={`Logged in as ${session.name} (${session.scope})`}>
              {session.name}
              <span className={styles.scope}>{session.scope}</span>
            </span>
            <IconButton
              label={`Theme: ${theme}. Switch to ${nextTheme(theme)}`}
              icon={<ThemeIcon />}
              onClick={switchTheme}
            />
            <IconButton label="Log out" icon={<LogOut />} onClick={() => logOut.mutate()} />
          </div>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1} className={styles.main}>
        <ConnectionBanner />
        <ProblemsBanner />
        {children}
      </main>
      <nav aria-label="Main pages" className={styles.bottom}>
        {inNavigation.slice(0, PHONE_PAGES).map((page) => (
          <NavLink key={page.path} page={page} />
        ))}
        <button type="button" className={styles.link} onClick={() => setOpen('palette')}>
          <Ellipsis aria-hidden="true" />
          <span>More</span>
        </button>
      </nav>
      {open === 'palette' && <Palette commands={commands} onClose={close} />}
      {open === 'help' && <ShortcutHelp onClose={close} />}
    </div>
  );
}

function GoTo({ page, onGo }: { page: PageEntry; onGo: () => void }) {
  useShortcut(`g ${page.key}`, page.title, onGo);
  return null;
}

function NavLink({ page }: { page: PageEntry }) {
  const [location] = useLocation();
  const isHere =
    page.path === '/' ? location === '/' : location === page.path || location.startsWith(`${page.path}/`);
  const overview = useQuery({ ...queries.overview(), enabled: page.count !== undefined });
  const count = overview.data && page.count ? page.count(overview.data) : 0;
  return (
    <Link
      href={page.path}
      className={cx(styles.link, isHere && styles.here)}
      aria-current={isHere ? 'page' : undefined}
    >
      <page.icon aria-hidden="true" />
      <span>{page.title}</span>
      {count > 0 && (
        <span className={styles.count} title={formatNumber(count)}>
          {formatShort(count)}
        </span>
      )}
    </Link>
  );
}
