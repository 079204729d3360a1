import type { Condition } from '../../../../src/api/conditions.ts';
import { Machine } from '../../../../src/api/machine.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { Secret } from '../../../../src/kube/core-types.ts';
import { Event } from '../../../../src/kube/event-recorder.ts';
import { Reflector } from '../../../../src/kube/reflector/reflector.ts';
import {
  formatObjectKey,
  type KubeObject,
  type ObjectKey,
  objectKeyOf,
  type ResourceType,
} from '../../../../src/kube/resource.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { noLog } from '../../../../src/lib/log.ts';

/** One version of an object, from a watch. */
export interface RecordedVersion<T extends KubeObject = KubeObject> {
  readonly at: Date;
  readonly kind: string;
  readonly object: T;
  readonly deleted: boolean;
}

const recordedKinds: readonly ResourceType[] = [
  ProviderConfig,
  ClusterProfile,
  Cluster,
  Machine,
  AccessRequest,
  Event,
  Secret,
];

/** Records every version of all objects on the platform cluster that concern the provider. */
export class ObjectRecorder {
  readonly sightings: RecordedVersion[] = [];
  readonly #stop = new AbortController();
  readonly #watches: Promise<void>[] = [];
  /** Callbacks that wait for the next event. */
  readonly #waiting = new Set<() => void>();

  /** Resolves once all existing objects are recorded. */
  async start(platform: KubeClient): Promise<void> {
    const reflectors = recordedKinds.map((type) => new Reflector(platform, type, { clock: systemClock, log: noLog }));
    for (const reflector of reflectors) {
      reflector.onChange(({ kind, object }) => {
        if (kind === 'resync') return;
        this.sightings.push({ at: new Date(), kind: reflector.type.kind, object, deleted: kind === 'deleted' });
        for (const wake of this.#waiting) wake();
      });
      this.#watches.push(reflector.start(this.#stop.signal));
    }
    await Promise.all(reflectors.map((reflector) => reflector.synced));
  }

  /** All versions of one object, or of all objects of a kind, oldest first. */
  of<T extends KubeObject>(type: ResourceType<T>, key?: ObjectKey): RecordedVersion<T>[] {
    return this.sightings.filter(
      (observed): observed is RecordedVersion<T> =>
        observed.kind === type.kind && (!key || formatObjectKey(objectKeyOf(observed.object)) === formatObjectKey(key)),
    );
  }

  /** The last recorded version of an object; undefined when it was never recorded or is gone. */
  last<T extends KubeObject>(type: ResourceType<T>, key: ObjectKey): T | undefined {
    const seen = this.#lastSighting(type, key);
    return seen?.deleted ? undefined : (seen?.object as T | undefined);
  }

  /** Whether the deletion of an object was recorded. */
  isGone(type: ResourceType, key: ObjectKey): boolean {
    return this.#lastSighting(type, key)?.deleted === true;
  }

  #lastSighting(type: ResourceType, key: ObjectKey): RecordedVersion | undefined {
    const text = formatObjectKey(key);
    return this.sightings.findLast(
      ({ kind, object }) => kind === type.kind && formatObjectKey(objectKeyOf(object)) === text,
    );
  }

  /** Repeats `look` after each event until it finds something, for at most `seconds`. */
  async until<T>(what: string, look: () => T | undefined, seconds = 30): Promise<T> {
    const end = performance.now() + seconds * 1000;
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      const left = end - performance.now();
      if (left <= 0) throw new Error(`after ${seconds} s it is still not so that ${what}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, left);
        const waiting = this.#waiting;
        waiting.add(done);
        function done(): void {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        }
      });
    }
  }

  /** The different values of a property of an object, in the order of their appearance. */
  values<T extends KubeObject, V>(type: ResourceType<T>, key: ObjectKey, of: (object: T) => V): V[] {
    const all = this.of(type, key).map(({ object }) => of(object));
    return all.filter((value, i) => i === 0 || value !== all[i - 1]);
  }

  /** The Events of an object: `reason: message`. */
  events(involved: { readonly kind: string; readonly name: string }): string[] {
    const messages = this.of(Event)
      .map(({ object }) => object)
      .filter(({ involvedObject }) => involvedObject.kind === involved.kind && involvedObject.name === involved.name)
      .map(({ reason, message }) => `${reason}: ${message}`);
    return [...new Set(messages)];
  }

  /** The messages of objects that are not ready: `Machine first-cp-0 Joined: await-member: …`. */
  waiting(): string[] {
    const last = new Map<string, RecordedVersion>();
    for (const observed of this.sightings)
      last.set(
        `${observed.kind} ${observed.object.metadata.namespace ?? ''}/${observed.object.metadata.name}`,
        observed,
      );
    return [...last].flatMap(([name, { object, deleted }]) => {
      const { status } = object as { status?: { conditions?: readonly Condition[] } };
      const unmet = deleted ? [] : (status?.conditions ?? []).filter((condition) => condition.status !== 'True');
      return unmet.map(({ type, message }) => `${name} ${type}: ${message}`);
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#watches);
  }
}
