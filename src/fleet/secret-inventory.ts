import type { KubeClient } from '../kube/client/client.ts';
import { Secret } from '../kube/core-types.ts';
import { Reflector } from '../kube/reflector/reflector.ts';
import { parseEmbeddedKubeconfig } from '../kube/transport/embedded-kubeconfig.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { SecretString } from '../lib/secret-string.ts';
import type { Fleet } from './fleet.ts';
import type { ClusterEntry } from './fleet-cluster.ts';
import { RemovalGuard, type RemovalGuardOptions } from './removal-guard.ts';

export interface SecretInventoryOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Of the Secrets that are clusters. Default: the label that the kubeconfig provider of multicluster-runtime reads. */
  readonly labelSelector?: string;
  /** Key with the kubeconfig; default `kubeconfig`. */
  readonly key?: string;
  /** The ClusterSet whose members have their Secrets in this namespace, for logs. */
  readonly clusterSet?: string;
  readonly removalGuard?: RemovalGuardOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const defaultSelector = 'sigs.k8s.io/multicluster-runtime-kubeconfig=true';
const maxClusters = 5000;

/**
 * Follows Secrets that each hold the kubeconfig of a cluster, named like it. While they cannot be read, the fleet stays as it
 * is, and so it does at first when nearly all of them are missing in a list. A Secret that cannot be used is reported, and leaves
 * a cluster that was engaged before as it was. Resolves when the signal aborts.
 */
export async function followSecrets(fleet: Fleet, options: SecretInventoryOptions): Promise<void> {
  const { client, namespace, labelSelector = defaultSelector, removalGuard = {}, clock, log, signal } = options;
  const guard = new RemovalGuard(clock, removalGuard);
  const secrets = new Reflector(client, Secret, {
    ...{ name: 'inventory of the fleet', namespace, labelSelector, clock, log },
    maxObjects: maxClusters,
    checkList: (listed, known) => checkRemovals(fleet, guard, listed, known),
  });
  secrets.onChange(({ kind, object }) => {
    const { name } = object.metadata;
    if (kind === 'resync') return;
    if (kind === 'deleted') return fleet.remove(name);
    try {
      fleet.upsert(name, toEntry(object, options));
    } catch (error) {
      fleet.reject(name, error);
    }
  });
  await secrets.start(signal);
}

/** Throws if the list is uncertain, which the journal says once. */
function checkRemovals(fleet: Fleet, guard: RemovalGuard, listed: readonly Secret[], known: readonly Secret[]): void {
  const names = new Set(listed.map(({ metadata }) => metadata.name));
  const missing = known.filter(({ metadata }) => !names.has(metadata.name)).length;
  const result = guard.check({ known: known.length, missing });
  if (result === 'believed') return;
  const problem = `The list of the inventory lacks ${missing} of ${known.length} clusters. They stay until later lists lack them too.`;
  if (result === 'uncertain') fleet.reportUncertainList(problem);
  throw new Error(problem);
}

/** The identity is that of the Secret: one that is created again is another cluster. */
function toEntry(
  { data = {}, metadata }: Secret,
  { key = 'kubeconfig', clusterSet }: SecretInventoryOptions,
): ClusterEntry {
  const encoded = data[key];
  if (encoded === undefined) throw new RangeError(`The Secret has no key ${key}.`);
  const text = new SecretString(Buffer.from(encoded, 'base64').toString('utf8'));
  return {
    id: metadata.uid ?? '',
    ...(clusterSet === undefined ? {} : { clusterSet }),
    connection: parseEmbeddedKubeconfig(text),
  };
}
