import type { KubeClient } from '../../kube/client/client.ts';
import { Event } from '../../kube/event-recorder.ts';
import type { KubeObject } from '../../kube/resource.ts';
import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { EventJson } from '../api-types.ts';
import { shorten } from '../views/status-sources.ts';

/** Number of Events that are read, and of those that are shown: the newest. Tenants may create any number. */
const maxRead = 200;
const maxShown = 30;
/** Events are read again after this time while somebody looks at the object. */
const keepSeconds = 10;
const maxObjects = 64;
const timeoutSeconds = 5;

interface KnownEvents {
  readonly until: number;
  readonly events: Promise<readonly EventJson[]>;
}

/** Reads the Events of single objects on demand: they are in no cache. */
export class EventReader {
  readonly #client: Pick<KubeClient, 'list'>;
  readonly #clock: Clock;
  /** By UID. */
  readonly #known = new LruMap<string, KnownEvents>(maxObjects);

  constructor(client: Pick<KubeClient, 'list'>, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** The newest Events of the object; empty if they cannot be read. */
  async of({ metadata }: KubeObject): Promise<readonly EventJson[]> {
    const { uid = '', namespace = 'default' } = metadata;
    const known = this.#known.get(uid);
    if (known && this.#clock.monotonic() < known.until) return await known.events;
    const events = this.#read(uid, namespace).catch(() => []);
    this.#known.set(uid, { until: this.#clock.monotonic() + keepSeconds * 1000, events });
    return await events;
  }

  async #read(uid: string, namespace: string): Promise<readonly EventJson[]> {
    const selection = { namespace, fieldSelector: `involvedObject.uid=${uid}`, maxItems: maxRead };
    const { items } = await withDeadline(timeoutSeconds, undefined, (signal) =>
      this.#client.list(Event, selection, signal),
    );
    return items
      .map(toEventJson)
      .sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
      .slice(0, maxShown);
  }
}

const toEventJson = ({ metadata, involvedObject, type, reason, message, ...event }: Event): EventJson => ({
  type: shorten(String(type), 16),
  reason: shorten(reason ?? '', 128),
  message: shorten(message ?? ''),
  object: `${involvedObject.kind} ${involvedObject.name}`,
  count: event.count ?? 1,
  at: event.lastTimestamp ?? event.firstTimestamp ?? metadata.creationTimestamp ?? '',
});
