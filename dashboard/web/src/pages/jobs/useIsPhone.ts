import { useSyncExternalStore } from 'react';

const PHONE = '(max-width: 720px)';

/** Whether the window is as narrow as a phone, as the styles have it. */
export function useIsPhone(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(PHONE);
      query.addEventListener('change', listener);
      return () => query.removeEventListener('change', listener);
    },
    () => matchMedia(PHONE).matches,
  );
}
