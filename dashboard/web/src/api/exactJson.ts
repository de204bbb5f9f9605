/**
 * JSON whose numbers come back digit for digit. A JavaScript number keeps some 16 digits and
 * forgets how it was written; one that would change is kept as an `ExactNumber` instead.
 */

/** A number as it was written, because a JavaScript number cannot hold it. */
export class ExactNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return MARK + this.text;
  }
}

/** Stands before an exact number while it travels as a string. Random, so that no text of a job can pose as one. */
const MARK = `exact-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

export function parseExact(text: string): unknown {
  // Checked as it is first: the marks must not make valid what is not.
  const plain: unknown = JSON.parse(text);
  let inexact = false;
  const marked = text.replace(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"') || String(Number(token)) === token) return token;
    inexact = true;
    return `"${MARK}${token}"`;
  });
  if (!inexact) return plain;
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

export function stringifyExact(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? '').replace(MARKED, '$1');
}
