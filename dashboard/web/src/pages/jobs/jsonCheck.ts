/** Finds where a text stops being JSON, and says it so that a person can mend it. */

export interface JsonMistake {
  /** Both from 1. */
  line: number;
  column: number;
  message: string;
}

class Mistake extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

/** `null` when the text is JSON. */
export function checkJson(text: string): JsonMistake | null {
  try {
    new Checker(text).check();
    return null;
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const before = text.slice(0, error.at).split('\n');
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message: error.message };
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS = ['true', 'false', 'null'];
/** Deeper than anybody writes; the hub stops at 128. */
const DEPTH_MAX = 128;

class Checker {
  #at = 0;

  constructor(readonly text: string) {}

  check(): void {
    this.#space();
    if (this.#at === this.text.length) throw new Mistake(0, 'Nothing is here; {} is an empty object');
    this.#value(0);
    this.#space();
    if (this.#at < this.text.length) this.#fail('The value has ended; nothing may follow it');
  }

  #fail(message: string, at = this.#at): never {
    throw new Mistake(at, message);
  }

  #space(): void {
    while (' \t\r\n'.includes(this.text[this.#at] ?? 'x')) this.#at += 1;
  }

  #value(depth: number): void {
    if (depth > DEPTH_MAX) this.#fail(`Nested deeper than ${DEPTH_MAX} levels`);
    const next = this.text[this.#at];
    if (next === '{') this.#object(depth);
    else if (next === '[') this.#array(depth);
    else if (next === '"') this.#string();
    else if (next !== undefined && '-0123456789'.includes(next)) this.#number();
    else this.#word();
  }

  #object(depth: number): void {
    this.#each('}', () => {
      if (this.text[this.#at] !== '"') {
        this.#fail(
          this.text[this.#at] === "'" ? 'Names stand in double quotes' : 'Expected a name in double quotes',
        );
      }
      this.#string();
      this.#space();
      if (this.text[this.#at] !== ':') this.#fail('Expected a colon after the name');
      this.#at += 1;
      this.#space();
      this.#value(depth + 1);
    });
  }

  #array(depth: number): void {
    this.#each(']', () => this.#value(depth + 1));
  }

  #each(close: string, one: () => void): void {
    this.#at += 1;
    this.#space();
    if (this.text[this.#at] === close) {
      this.#at += 1;
      return;
    }
    for (;;) {
      one();
      this.#space();
      const next = this.text[this.#at];
      if (next === undefined) this.#fail(`The text ends before its ${close}`);
      if (next !== ',' && next !== close) this.#fail(`Expected a comma or ${close}`);
      const comma = this.#at;
      this.#at += 1;
      if (next === close) return;
      this.#space();
      if (this.text[this.#at] === close) this.#fail(`A comma too many before ${close}`, comma);
    }
  }

  #string(): void {
    const start = this.#at;
    for (this.#at += 1; this.#at < this.text.length; this.#at += 1) {
      const next = this.text[this.#at] as string;
      if (next === '"') {
        this.#at += 1;
        return;
      }
      if (next === '\n') this.#fail('A text must end on its line; a line break in it is \\n', start);
      if (next < ' ') this.#fail('A control character must be written as \\u and four digits');
      if (next === '\\') this.#escape();
    }
    this.#fail('This text has no closing quote', start);
  }

  #escape(): void {
    const kind = this.text[this.#at + 1] ?? '';
    if (kind === 'u') {
      if (!/^[0-9a-fA-F]{4}$/.test(this.text.slice(this.#at + 2, this.#at + 6))) {
        this.#fail('\\u needs four hex digits');
      }
      this.#at += 5;
    } else if (kind !== '' && '"\\/bfnrt'.includes(kind)) {
      this.#at += 1;
    } else {
      this.#fail('A backslash itself is written \\\\');
    }
  }

  #number(): void {
    NUMBER.lastIndex = this.#at;
    const [found] = NUMBER.exec(this.text) ?? [];
    if (found === undefined) this.#fail('Expected digits');
    const start = this.#at;
    this.#at += found.length;
    if (/[\w.+]/.test(this.text[this.#at] ?? '')) this.#fail('This is no number as JSON writes it', start);
  }

  #word(): void {
    const word = WORDS.find((candidate) => this.text.startsWith(candidate, this.#at));
    if (word !== undefined && !/\w/.test(this.text[this.#at + word.length] ?? '')) {
      this.#at += word.length;
      return;
    }
    if (this.text[this.#at] === undefined) this.#fail('The text ends where a value should be');
    if (this.text[this.#at] === "'") this.#fail('Texts stand in double quotes');
    this.#fail('Expected a value: a text in double quotes, a number, true, false, null, [ or {');
  }
}
