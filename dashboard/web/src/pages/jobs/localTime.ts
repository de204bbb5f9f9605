/** Moments as `datetime-local` inputs have them: in the viewer's zone, without saying so. */

/** 2026-11-16T13:05:09 */
export function toLocalInput(ms: number): string {
  const shifted = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}

export function fromLocalInput(text: string): number | null {
  const ms = new Date(text).getTime();
  return Number.isNaN(ms) ? null : ms;
}
