/**
 * Colours of terminal output, as data. Text stays text: nothing here makes HTML. Colours are reduced
 * to the eight basic ones, which each theme draws readably; everything else a terminal would obey is
 * left out.
 */

export interface AnsiStyle {
  color?: AnsiColor;
  background?: AnsiColor;
  bold?: true;
  dim?: true;
  italic?: true;
  underline?: true;
  inverse?: true;
}

export interface AnsiSpan {
  text: string;
  style: AnsiStyle;
}

export const ANSI_COLORS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;
export type AnsiColor = (typeof ANSI_COLORS)[number];

export const PLAIN: AnsiStyle = {};

const ESCAPE = '\u001b';
const BELL = '\u0007';

/** The pieces of one line, and the style in which the next one begins. */
export function parseAnsi(line: string, start: AnsiStyle = PLAIN): { spans: AnsiSpan[]; end: AnsiStyle } {
  if (!line.includes(ESCAPE)) return { spans: line === '' ? [] : [{ text: line, style: start }], end: start };
  const spans: AnsiSpan[] = [];
  let style = start;
  let at = 0;
  while (at < line.length) {
    const begin = line.indexOf(ESCAPE, at);
    const text = line.slice(at, begin < 0 ? undefined : begin);
    if (text !== '') spans.push({ text, style });
    if (begin < 0) break;
    const sequence = readSequence(line, begin);
    if (sequence.codes !== null) style = applyCodes(style, sequence.codes);
    at = sequence.end;
  }
  return { spans, end: style };
}

export function stripAnsi(text: string): string {
  return parseAnsi(text)
    .spans.map((span) => span.text)
    .join('');
}

/** Where a sequence ends, and its codes if it sets a style. */
function readSequence(line: string, begin: number): { end: number; codes: number[] | null } {
  const kind = line[begin + 1];
  if (kind === '[') {
    let end = begin + 2;
    while (end < line.length && !isFinal(line.charCodeAt(end))) end += 1;
    const codes =
      line[end] === 'm'
        ? line
            .slice(begin + 2, end)
            .split(/[;:]/)
            .map(Number)
        : null;
    return { end: end + 1, codes };
  }
  if (kind === ']') {
    // A title or a link: ends with a bell or with ESC \.
    const bell = line.indexOf(BELL, begin);
    const closing = line.indexOf(`${ESCAPE}\\`, begin + 2);
    const ends = [bell < 0 ? null : bell + 1, closing < 0 ? null : closing + 2].filter((end) => end !== null);
    return { end: ends.length > 0 ? Math.min(...ends) : line.length, codes: null };
  }
  return { end: begin + 2, codes: null };
}

const isFinal = (code: number) => code >= 0x40 && code <= 0x7e;

function applyCodes(style: AnsiStyle, codes: number[]): AnsiStyle {
  const next: AnsiStyle = { ...style };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      const { color, used } = extendedColor(codes.slice(index + 1));
      if (color) next[code === 38 ? 'color' : 'background'] = color;
      index += used;
    } else {
      applyCode(next, code);
    }
  }
  return next;
}

function applyCode(style: AnsiStyle, code: number): void {
  const color = ANSI_COLORS[code % 10];
  if (code === 0) for (const name of Object.keys(style)) delete style[name as keyof AnsiStyle];
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 3) style.italic = true;
  else if (code === 4) style.underline = true;
  else if (code === 7) style.inverse = true;
  else if (code === 22) {
    delete style.bold;
    delete style.dim;
  } else if (code === 23) delete style.italic;
  else if (code === 24) delete style.underline;
  else if (code === 27) delete style.inverse;
  else if (code === 39) delete style.color;
  else if (code === 49) delete style.background;
  else if (color && ((code >= 30 && code < 38) || (code >= 90 && code < 98))) style.color = color;
  else if (color && ((code >= 40 && code < 48) || (code >= 100 && code < 108))) style.background = color;
}

/** `5;n` of 256 colours or `2;r;g;b`, as the nearest basic one. */
function extendedColor(codes: number[]): { color?: AnsiColor; used: number } {
  if (codes[0] === 5) {
    const n = codes[1] ?? 0;
    if (n < 16) return { color: ANSI_COLORS[n % 8] ?? 'white', used: 2 };
    if (n >= 232) return { color: n < 244 ? 'black' : 'white', used: 2 };
    const cube = n - 16;
    const level = (value: number) => (value % 6) * 51;
    return {
      color: nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6)), level(cube)),
      used: 2,
    };
  }
  if (codes[0] === 2) return { color: nearest(codes[1] ?? 0, codes[2] ?? 0, codes[3] ?? 0), used: 4 };
  return { used: 1 };
}

/** Bit by bit: red 1, green 2, blue 4, each on when it is near the strongest. */
function nearest(red: number, green: number, blue: number): AnsiColor {
  const strongest = Math.max(red, green, blue);
  if (strongest < 64) return 'black';
  const bit = (value: number, weight: number) => (value > strongest * 0.6 ? weight : 0);
  return ANSI_COLORS[bit(red, 1) + bit(green, 2) + bit(blue, 4)] ?? 'white';
}
