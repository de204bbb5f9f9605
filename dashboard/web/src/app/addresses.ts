/** Leads addresses of old links and other systems to the page that has taken their place. */
import { type PageEntry, pages } from './pages';

const OLD = Object.assign({}, ...pages.map((page) => page.old ?? {})) as Record<string, string>;

/** Where an address leads, or `null` when it is right as it is. */
export function newAddress(path: string, search: string, hash: string): string | null {
  // `#/jobs?status=failed`: the whole address stands behind the hash.
  if (hash.startsWith('#/')) {
    const inner = new URL(hash.slice(1), 'http://hub');
    return newAddress(inner.pathname, inner.search, '') ?? inner.pathname + inner.search;
  }
  const trimmed = path.length > 1 ? path.replace(/\/+$/, '') || '/' : path;
  for (const [pattern, target] of Object.entries(OLD)) {
    const found = match(pattern, trimmed);
    if (!found) continue;
    const filled = target.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(found[name] ?? ''));
    const [address = '/', own = ''] = filled.split('?');
    const query = [own, search.replace(/^\?/, '')].filter(Boolean).join('&');
    return query ? `${address}?${query}` : address;
  }
  return trimmed === path ? null : trimmed + search;
}

/** The page that an address shows; the first that fits, as when it is drawn. */
export function pageAt(path: string): PageEntry | undefined {
  return pages.find((page) => match(page.path, path));
}

/** Matches `/a/:name`, and `/a/:name*` with all the rest. */
function match(pattern: string, path: string): Record<string, string> | null {
  const parts = path.split('/');
  const wanted = pattern.split('/');
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const actual = parts[index];
    if (actual === undefined) return null;
    if (part.startsWith(':') && part.endsWith('*')) {
      found[part.slice(1, -1)] = decode(parts.slice(index).join('/'));
      return found;
    }
    if (part.startsWith(':')) found[part.slice(1)] = decode(actual);
    else if (part !== actual) return null;
  }
  return parts.length === wanted.length ? found : null;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Rewrites the page's own address, now and whenever somebody follows an old link within it. */
export function keepAddressesNew(): void {
  const rewrite = () => {
    const target = newAddress(location.pathname, location.search, location.hash);
    if (target !== null) history.replaceState(history.state, '', target);
  };
  rewrite();
  addEventListener('hashchange', rewrite);
}
