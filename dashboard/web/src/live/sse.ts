/** Reads the text of an event stream, in whatever pieces it arrives. */
export interface SseMessage {
  id?: string;
  event: string;
  data: string;
}

export class SseParser {
  #rest = '';
  #id: string | undefined;
  #event = '';
  #data: string[] = [];

  /** The messages that this piece completes. A message without data still moves the id. */
  push(text: string): SseMessage[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    const messages: SseMessage[] = [];
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') {
        const message = this.#take();
        if (message) messages.push(message);
      } else {
        this.#field(line);
      }
    }
    return messages;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    // A line that begins with a colon is a comment.
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'id') this.#id = value;
    else if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
  }

  #take(): SseMessage | null {
    const message: SseMessage = { event: this.#event || 'message', data: this.#data.join('\n') };
    if (this.#id !== undefined) message.id = this.#id;
    const empty = this.#data.length === 0 && this.#event === '' && this.#id === undefined;
    this.#id = undefined;
    this.#event = '';
    this.#data = [];
    return empty ? null : message;
  }
}
