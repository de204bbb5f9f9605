/** Words along the axes of charts. */
const DAY_S = 86_400;

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** In the viewer's zone: times within a day, and the date where a new one begins. */
export function timeLabels(seconds: number[], step: number): string[] {
  return seconds.map((second) => {
    const date = new Date(second * 1_000);
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
    return step >= DAY_S || isMidnight ? day.format(date) : clock.format(date);
  });
}

/** "50.0 MiB/s" is "50 MiB/s" on a scale, where room is short. */
export function withoutZeros(text: string): string {
  return text.replace(/\.0+(?= |$)/, '');
}
