import type { Clock } from '../lib/clock.ts';
import { createLinkedController, waitAtMost, withDeadline } from '../lib/deadline.ts';
import { hashNames, shortenName } from '../lib/hash.ts';
import type { Log } from '../lib/log.ts';
import { LruMap } from '../lib/lru-map.ts';
import { RateLimit } from '../lib/resilience/rate-limit.ts';
import { formatTime } from '../lib/text.ts';
import type { KubeClient } from './client/client.ts';
import { isAlreadyExists, isObjectNotFound } from './errors.ts';
import type { KubeObject, ResourceType } from './resource.ts';

/** `core/v1` Event: listed by `kubectl describe` below an object. */
export interface Event extends KubeObject {
  involvedObject: {
    apiVersion: string;
    kind: string;
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
  };
  type: 'Normal' | 'Warning';
  /** UpperCamelCase. */
  reason: string;
  message: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  source?: { component: string };
  reportingComponent?: string;
  reportingInstance?: string;
}
export const Event: ResourceType<Event> = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
};

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'merge'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The reporting controller, e.g. the provider's name. */
  readonly component: string;
  /** The reporting instance, e.g. the pod's name. */
  readonly instance?: string;
  /** Burst of Events for one object and subject; default 25, as in client-go. */
  readonly burst?: number;
  /** Seconds until one more Event for the object; default 300, as in client-go. */
  readonly refillSeconds?: number;
  /** Burst of Events for all objects; default 50. */
  readonly totalBurst?: number;
  /** Events per second after the burst; default 10. Reconciles have precedence over Events. */
  readonly perSecond?: number;
  /** No Event is written after this signal aborts: another process may be the leader by then. */
  readonly signal?: AbortSignal;
}

type EventSubject = 'action' | 'condition';

/** An Event that is recorded and not yet written. */
interface PendingEvent {
  readonly event: Event;
  /** Number of occurrences since the last write. */
  times: number;
  lastAt: Date;
}

/** Maximum number of objects with a rate limit in the cache. */
const maxBuckets = 4096;
/** Maximum number of pending Events; the newest are dropped. */
const maxPending = 5000;
/** Maximum number of pending Events of one namespace. */
const maxPendingPerNamespace = 2500;
const maxMessageLength = 1024;

/**
 * Writes Events for users: one for each object, reason and message, with a count for repetitions, and rate-limited.
 * `record` never waits and never throws; an Event that cannot be written becomes a log line.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #log: Log;
  readonly #pending = new Map<string, PendingEvent>();
  readonly #buckets = new LruMap<string, RateLimit>(maxBuckets);
  /** Number of pending Events by namespace. */
  readonly #counts = new Map<string, number>();
  #lastNamespace: string | undefined;
  readonly #rateLimit: RateLimit;
  /** Ends the pauses between writes. */
  readonly #flushSoon = new AbortController();
  readonly #abort: AbortController;
  #writing: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#abort = createLinkedController(options.signal ?? new AbortController().signal);
    this.#log = options.log.child({ recorder: options.component });
    const { clock, totalBurst = 50, perSecond = 10 } = options;
    this.#rateLimit = new RateLimit(clock, { burst: totalBurst, perSecond });
  }

  /**
   * Records an Event about an object. `reason` is UpperCamelCase and stable, `message` a sentence without secrets. `about`:
   * an action, or a condition that has changed. Each has a limit of its own, because a condition is also in the status,
   * and what was done is nowhere else.
   */
  record(
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    about: EventSubject = 'action',
  ): void {
    const event = this.#eventOf(object, type, reason, message);
    const key = `${event.metadata.namespace}/${event.metadata.name}`;
    const pending = this.#pending.get(key);
    if (pending) {
      pending.times += 1;
      pending.lastAt = this.#options.clock.now();
    } else if (this.#isFull(event) || !this.#take(object, about)) {
      this.#log.debug({ reason, object: object.metadata.name }, 'event left out: too many');
    } else {
      this.#pending.set(key, { event, times: 1, lastAt: this.#options.clock.now() });
      this.#count(event, 1);
    }
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when every recorded Event is written or dropped. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Shuts down: writes the pending Events within `seconds`, and no Event afterwards. */
  async close(seconds = 5): Promise<void> {
    this.#flushSoon.abort();
    await waitAtMost(seconds, this.flush(), { clock: this.#options.clock });
    this.#abort.abort(new DOMException('the recorder was closed', 'AbortError'));
    await this.flush();
  }

  async #writeAll(): Promise<void> {
    // One microtask, in which the same message can be recorded again and after which `#writing` is set.
    await Promise.resolve();
    for (;;) {
      if (this.#abort.signal.aborted) {
        this.#pending.clear();
        this.#counts.clear();
      }
      if (this.#pending.size > 0) await this.#pause();
      const next = this.#next();
      if (!next) {
        this.#writing = undefined;
        return;
      }
      const [key, pending] = next;
      this.#pending.delete(key);
      this.#count(pending.event, -1);
      this.#lastNamespace = namespaceOf(pending.event);
      try {
        await withDeadline(10, this.#abort.signal, (signal) => this.#write(pending, signal));
      } catch (error) {
        if (this.#abort.signal.aborted) continue;
        const why = error instanceof Error ? error.message : String(error);
        this.#log.warn({ reason: pending.event.reason, error: why }, 'an event could not be written');
      }
    }
  }

  async #pause(): Promise<void> {
    const seconds = this.#flushSoon.signal.aborted ? 0 : this.#rateLimit.secondsUntilNext();
    if (seconds > 0) await this.#options.clock.sleep(seconds * 1000, this.#flushSoon.signal).catch(() => {});
    this.#rateLimit.take();
  }

  /** Warnings go first, and then the namespace changes with each write, so that no namespace delays the others. */
  #next(): [string, PendingEvent] | undefined {
    let best: { readonly entry: [string, PendingEvent]; readonly rank: number } | undefined;
    for (const entry of this.#pending) {
      const { event } = entry[1];
      const rank = (event.type === 'Warning' ? 0 : 2) + (namespaceOf(event) === this.#lastNamespace ? 1 : 0);
      if (rank < (best?.rank ?? 4)) best = { entry, rank };
      if (rank === 0) break;
    }
    return best?.entry;
  }

  #isFull(event: Event): boolean {
    return this.#pending.size >= maxPending || (this.#counts.get(namespaceOf(event)) ?? 0) >= maxPendingPerNamespace;
  }

  #count(event: Event, change: 1 | -1): void {
    const namespace = namespaceOf(event);
    const count = (this.#counts.get(namespace) ?? 0) + change;
    if (count > 0) this.#counts.set(namespace, count);
    else this.#counts.delete(namespace);
  }

  /** The name is derived from the content, so that a repetition, even after a restart, matches the earlier Event. */
  async #write({ event, times, lastAt }: PendingEvent, signal: AbortSignal): Promise<void> {
    const lastTimestamp = formatTime(lastAt);
    try {
      await this.#options.client.create(Event, { ...event, count: times, lastTimestamp }, signal);
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    try {
      const { name, namespace } = event.metadata;
      const earlier = await this.#options.client.get(Event, { namespace, name }, signal);
      const count = (earlier.count ?? 1) + times;
      await this.#options.client.merge(Event, { namespace, name }, { count, lastTimestamp }, {}, signal);
    } catch (error) {
      // It expired between the two calls: the API server deletes Events after an hour.
      if (!isObjectNotFound(error)) throw error;
      await this.#options.client.create(Event, { ...event, count: times, lastTimestamp }, signal);
    }
  }

  #eventOf(object: KubeObject, type: 'Normal' | 'Warning', reason: string, fullMessage: string): Event {
    const { name, uid, resourceVersion } = object.metadata;
    const message =
      fullMessage.length <= maxMessageLength ? fullMessage : `${fullMessage.slice(0, maxMessageLength - 1)}…`;
    const { component, instance } = this.#options;
    const id = hashNames(object.kind, uid ?? '', component, type, reason, message);
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${shortenName(name, 240)}.${id}`, namespace: object.metadata.namespace ?? 'default' },
      involvedObject: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name,
        ...(object.metadata.namespace && { namespace: object.metadata.namespace }),
        ...(uid && { uid }),
        ...(resourceVersion && { resourceVersion }),
      },
      type,
      reason,
      message,
      firstTimestamp: formatTime(this.#options.clock.now()),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance ?? component,
    };
  }

  /** Takes one token of the object's bucket, if one is left. */
  #take(object: KubeObject, about: EventSubject): boolean {
    const { clock, burst = 25, refillSeconds = 300 } = this.#options;
    const id = object.metadata.uid ?? `${object.kind}/${object.metadata.namespace}/${object.metadata.name}`;
    const key = `${about} ${id}`;
    const bucket = this.#buckets.get(key) ?? new RateLimit(clock, { burst, perSecond: 1 / refillSeconds });
    this.#buckets.set(key, bucket);
    return bucket.take();
  }
}

const namespaceOf = ({ metadata }: Event): string => metadata.namespace ?? '';
