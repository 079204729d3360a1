import { systemClock } from '../../../src/lib/clock.ts';
import { listen } from '../../../src/server/listen.ts';
import type { ServerProtection } from '../../../src/server/token-authorizer.ts';
import type { EventJson } from '../../../src/status/api-types.ts';
import { loadPageFiles } from '../../../src/status/page/build-page.mjs';
import { ChangeSignal } from '../../../src/status/server/change-signal.ts';
import { EventStreams } from '../../../src/status/server/event-streams.ts';
import { createStatusServer } from '../../../src/status/server/status-server.ts';
import { ViewRouter } from '../../../src/status/server/view-router.ts';
import type { StatusFleet } from '../fixtures/status-fleet.ts';

export interface ServedStatusPage {
  readonly url: string;
  close(): Promise<void>;
}

export interface StatusPageHarnessOptions {
  readonly host?: string;
  readonly events?: readonly EventJson[];
  readonly protection?: ServerProtection;
}

/** Serves the page of a fleet, from source. */
export async function serveStatusPage(
  fleet: StatusFleet,
  { host = '127.0.0.1', events = [], protection }: StatusPageHarnessOptions = {},
): Promise<ServedStatusPage> {
  const changes = new ChangeSignal();
  fleet.onChange(() => changes.notify());
  const end = new AbortController();
  const router = new ViewRouter({
    sources: () => fleet.sources(),
    events: { of: async () => events },
    measurements: { refresh: () => {} },
    changes,
    clock: systemClock,
  });
  const streams = new EventStreams(changes, systemClock, end.signal);
  const app = createStatusServer({ router, streams, files: await loadPageFiles(), protection });
  const url = await listen(app, { host, port: 0 });
  return {
    url,
    close: async () => {
      end.abort();
      await app.close();
    },
  };
}
