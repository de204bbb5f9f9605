/** Holds the one stream for all tabs of a browser, which may keep only six connections open. */
import type { FromTab, LiveMessage, ToTab } from './messages';
import { LiveStream } from './stream';

/** A tab that is silent for longer is gone; hidden tabs may run a timer only once a minute. */
const GONE_AFTER_MS = 150_000;
const LOOK_EVERY_MS = 30_000;

interface Tab {
  logs: string[];
  heardAt: number;
}

const tabs = new Map<MessagePort, Tab>();

function broadcast(message: ToTab): void {
  for (const port of tabs.keys()) port.postMessage(message);
}

const stream = new LiveStream({
  messages: (messages) => broadcast({ kind: 'messages', messages }),
  state: (connection) => broadcast({ kind: 'state', connection }),
});

function apply(joinsLog = false): void {
  if (tabs.size === 0) stream.stop();
  else
    stream.start(
      [...tabs.values()].flatMap((tab) => tab.logs),
      joinsLog,
    );
}

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<FromTab>) => {
    const before = tabs.get(port);
    if (data.kind === 'bye') {
      tabs.delete(port);
      apply();
      return;
    }
    tabs.set(port, { logs: data.logs, heardAt: Date.now() });
    apply(data.logs.some((id) => !before?.logs.includes(id)));
    if (before) return;
    const recent: LiveMessage[] = [{ topic: 'recent', events: stream.recent }];
    port.postMessage({ kind: 'joined', connection: stream.connection } satisfies ToTab);
    port.postMessage({ kind: 'messages', messages: recent } satisfies ToTab);
  };
};

setInterval(() => {
  const oldest = Date.now() - GONE_AFTER_MS;
  for (const [port, tab] of tabs) if (tab.heardAt < oldest) tabs.delete(port);
  apply();
}, LOOK_EVERY_MS);
