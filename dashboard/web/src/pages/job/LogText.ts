/** The log of one attempt: lines, each with the style it begins in, grown by bytes as they come. */
import { type AnsiSpan, type AnsiStyle, PLAIN, parseAnsi } from '../../ui/ansi';

export interface LogLine {
  raw: string;
  start: AnsiStyle;
}

export class LogText {
  /** Complete lines, and at the end the one that is still being written. */
  lines: LogLine[] = [];
  /** Bytes of the log up to here; where to read on. */
  end = 0;
  /** Bytes at the beginning that the hub no longer has. */
  missing = 0;
  #decoder = new TextDecoder();
  #style: AnsiStyle = PLAIN;
  #open = false;

  /** Adds bytes that start at `offset`; later than expected when the hub has dropped what was before. */
  append(offset: number, bytes: Uint8Array): void {
    if (offset > this.end) {
      this.missing += offset - this.end;
      this.#decoder = new TextDecoder();
      this.#open = false;
    }
    this.end = offset + bytes.length;
    const parts = this.#decoder.decode(bytes, { stream: true }).split('\n');
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1;
      if (index === 0 && this.#open) this.#extend(part);
      else if (!isLast || part !== '') this.#add(part);
      if (!isLast) this.#close();
    }
  }

  #add(raw: string): void {
    this.lines.push({ raw, start: this.#style });
    this.#open = true;
  }

  #extend(more: string): void {
    const last = this.lines.at(-1);
    if (last && more !== '') this.lines[this.lines.length - 1] = { ...last, raw: last.raw + more };
  }

  #close(): void {
    const last = this.lines.at(-1);
    if (last) this.#style = parseAnsi(last.raw, last.start).end;
    this.#open = false;
  }
}

/** What a terminal would show of a line: after a carriage return it is written over. */
function shown(raw: string): string {
  if (!raw.includes('\r')) return raw;
  return (
    raw
      .split('\r')
      .filter((part) => part !== '')
      .at(-1) ?? ''
  );
}

export function spansOf(line: LogLine): AnsiSpan[] {
  return parseAnsi(shown(line.raw), line.start).spans;
}

export function textOf(line: LogLine): string {
  return spansOf(line)
    .map((span) => span.text)
    .join('');
}

/** Lines that contain the text, by their place. */
export function linesWith(lines: readonly LogLine[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return [];
  return lines.flatMap((line, index) => (textOf(line).toLowerCase().includes(wanted) ? [index] : []));
}

/** The spans of a line, cut where the text that is searched for begins and ends. */
export function marked(spans: readonly AnsiSpan[], text: string): (AnsiSpan & { found: boolean })[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return spans.map((span) => ({ ...span, found: false }));
  const whole = spans
    .map((span) => span.text)
    .join('')
    .toLowerCase();
  const cuts: { at: number; found: boolean }[] = [];
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + wanted.length)) {
    cuts.push({ at, found: true }, { at: at + wanted.length, found: false });
  }
  const pieces: (AnsiSpan & { found: boolean })[] = [];
  let position = 0;
  let found = false;
  for (const span of spans) {
    let rest = span.text;
    while (cuts[0] && cuts[0].at <= position + rest.length) {
      const cut = cuts.shift() as { at: number; found: boolean };
      const head = rest.slice(0, cut.at - position);
      if (head !== '') pieces.push({ text: head, style: span.style, found });
      rest = rest.slice(head.length);
      position += head.length;
      found = cut.found;
    }
    if (rest !== '') pieces.push({ text: rest, style: span.style, found });
    position += rest.length;
  }
  return pieces;
}
