import { stringify } from 'yaml';
import { ClusterConfig } from '../../api/cluster-config.ts';
import { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { NodePool } from '../../api/node-pool.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../api/openmcp/types.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import { Lease } from '../../kube/core-types.ts';
import { Event } from '../../kube/event-recorder.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { BundleSession } from './bundle-session.ts';
import { redactObject } from './redact-object.ts';

/** More objects of one kind are left out. */
const maxObjects = 5000;
const maxEvents = 2000;

/** What was read, for the parts of a bundle that follow from it. Empty: there are none, or they could not be read. */
export interface CollectedObjects {
  readonly clusters: readonly Cluster[];
  readonly machines: readonly Machine[];
  readonly configs: readonly ProviderConfig[];
  readonly hosts: readonly Host[];
  readonly requests: readonly AccessRequest[];
}

/** Adds a file for each kind, and reads each once. */
export async function collectObjects(session: BundleSession): Promise<CollectedObjects> {
  const { podNamespace } = session;
  // In turn: a bundle is no reason to load an API server that is in trouble.
  const clusters = await collectKind(session, Cluster);
  const machines = await collectKind(session, Machine);
  const configs = await collectKind(session, ProviderConfig);
  const hosts = await collectKind(session, Host);
  const requests = await collectKind(session, AccessRequest);
  await collectKind(session, NodePool);
  await collectKind(session, ClusterConfig);
  await collectKind(session, ClusterProfile);
  // Who leads, and which addresses are claimed.
  await collectKind(session, Lease, podNamespace);
  return { clusters, machines, configs, hosts, requests };
}

async function collectKind<T extends KubeObject>(
  { kube, files, signal, stopped }: BundleSession,
  type: ResourceType<T>,
  namespace?: string,
): Promise<readonly T[]> {
  const path = `objects/${type.plural}.yaml`;
  const options = { namespace, maxItems: maxObjects + 1 };
  const list = await files.attempt(path, async () => await kube.list(type, options, signal), stopped);
  if (!list) return [];
  if (list.items.length > maxObjects) files.leaveOut(path, `There are more than ${maxObjects}; the rest is left out.`);
  const items = list.items.slice(0, maxObjects);
  files.add(path, formatObjects(files, items));
  return items;
}

/** A document for each object. */
function formatObjects(counter: { hidden: number }, items: readonly KubeObject[]): string {
  return items
    .map((item) => {
      const { value, hidden } = redactObject(item);
      counter.hidden += hidden;
      return `---\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })}`;
    })
    .join('');
}

const involvedKinds = [
  'Cluster',
  'Machine',
  'ProviderConfig',
  'Host',
  'AccessRequest',
  'NodePool',
  'ClusterConfig',
] as const;

/** Adds the Events of our objects in all namespaces, the oldest first, and those of the provider's Pods. */
export async function collectEvents({ kube, files, signal, stopped, podNamespace }: BundleSession): Promise<void> {
  const all: Event[] = [];
  const read = async (what: string, scope: { namespace?: string; fieldSelector: string }): Promise<void> => {
    const options = { ...scope, maxItems: maxEvents + 1 };
    const list = await files.attempt(what, async () => await kube.list(Event, options, signal), stopped);
    if (!list) return;
    if (list.items.length > maxEvents) files.leaveOut(what, `There are more than ${maxEvents}; the rest is left out.`);
    all.push(...list.items.slice(0, maxEvents));
  };
  for (const kind of involvedKinds)
    await read(`Events of kind ${kind}`, { fieldSelector: `involvedObject.kind=${kind}` });
  await read('Events of Pods', { namespace: podNamespace, fieldSelector: 'involvedObject.kind=Pod' });
  files.add(
    'events.yaml',
    formatObjects(
      files,
      all.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b))),
    ),
  );
}

const timeOf = ({ lastTimestamp, firstTimestamp, metadata }: Event): string =>
  lastTimestamp ?? firstTimestamp ?? metadata.creationTimestamp ?? '';
