import { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Reflector } from '../../kube/reflector/reflector.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { Clock } from '../../lib/clock.ts';
import { whenAborted } from '../../lib/deadline.ts';
import { noLog } from '../../lib/log.ts';
import { ChangeSignal } from '../../status/server/change-signal.ts';
import type { FleetLists } from '../../status/views/fleet-overview.ts';

/** Shortest time between two states that are shown. */
const minSeconds = 1;
/** Ages grow without a change. */
const maxSeconds = 10;

export interface WatchedFleet extends FleetLists {
  /** Why the lists may be old: the last error of a watch that does not work now. */
  readonly problem?: string;
}

/** What a watch needs. */
export interface FleetWatch {
  readonly kube: KubeClient;
  /** Only the Clusters of this namespace. Absent: all. */
  readonly namespace: string | undefined;
  readonly clock: Clock;
}

/**
 * Calls `show` with the first state, and then after changes, at most once a second, until the signal aborts. Watches that
 * end are begun again.
 */
export async function watchFleet(
  { kube, namespace, clock }: FleetWatch,
  show: (fleet: WatchedFleet) => void,
  signal: AbortSignal,
): Promise<void> {
  const changes = new ChangeSignal();
  const stopping = new AbortController();
  const within = AbortSignal.any([signal, stopping.signal]);
  const follow = <T extends KubeObject>(type: ResourceType<T>, scope: { namespace?: string | undefined } = {}) => {
    // Its log would be written into the table.
    const observer = { listed: () => {}, watched: () => {}, event: () => {}, failed: () => changes.notify() };
    const reflector = new Reflector(kube, type, { ...scope, clock, log: noLog, observer });
    reflector.onChange(({ kind }) => kind !== 'resync' && changes.notify());
    return reflector;
  };
  const caches = {
    clusters: follow(Cluster, { namespace }),
    machines: follow(Machine),
    configs: follow(ProviderConfig),
    hosts: follow(Host),
  };
  const all = Object.values(caches);
  const running = all.map((reflector) => reflector.start(within));
  try {
    await Promise.race([Promise.all(all.map(({ synced }) => synced)), whenAborted(signal)]);
    while (!signal.aborted) {
      const seen = changes.version;
      const problem = all.find(({ health }) => health.failures > 0)?.health.lastError;
      const [clusters, machines, configs, hosts] = [caches.clusters, caches.machines, caches.configs, caches.hosts];
      show({
        ...{ clusters: clusters.list(), machines: machines.list(), configs: configs.list(), hosts: hosts.list() },
        ...(problem === undefined ? {} : { problem }),
      });
      await pause(clock, minSeconds, signal);
      await changeOrPause(changes, seen, { clock, signal });
    }
  } finally {
    stopping.abort();
    await Promise.allSettled(running);
  }
}

/** The sleep rejects only when the signal aborts, which the loop checks next. */
const pause = async (clock: Clock, seconds: number, signal: AbortSignal): Promise<void> =>
  await clock.sleep(seconds * 1000, signal).catch(() => {});

async function changeOrPause(
  changes: ChangeSignal,
  seen: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  await Promise.race([changes.after(seen, within), pause(clock, maxSeconds - minSeconds, within)]);
  over.abort();
}
