/** Where somebody was in a list, kept with the entry of the browser's history that shows it. */
export interface Place {
  /** Rows that were read. */
  rows: number;
  /** How far it was scrolled, in px. */
  top: number;
}

/** Further down, the list begins at its top: reading it all again would keep people waiting. */
const ROWS_MAX = 5_000;

/** To be called before another page is opened from the list. */
export function rememberPlace(place: Place): void {
  history.replaceState({ ...history.state, place }, '');
}

export function rememberedPlace(): Place | undefined {
  const place = (history.state as { place?: Place } | null)?.place;
  return place && place.rows <= ROWS_MAX ? place : undefined;
}
