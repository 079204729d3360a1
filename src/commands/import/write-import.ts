import { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { finalizers, installationName, managedByLabels, openmcpKeys } from '../../api/names.ts';
import { NodePool } from '../../api/node-pool.ts';
import { Cluster, openmcpPhases } from '../../api/openmcp/types.ts';
import { type ImportedIdentity, importedIdentityKey } from '../../controllers/cluster/identity.ts';
import { type Installation, installationKey } from '../../controllers/shared/installation.ts';
import { clusterRecordKey } from '../../controllers/shared/secrets/cluster-record.ts';
import { ConfigMap, Lease, Namespace, Secret } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { apiVersionOf, type KubeObject, objectKeyOf, type ResourceType } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { AccessSession } from '../access/access-session.ts';
import type { ImportedCluster } from './read-files.ts';
import { withoutRequests } from './without-requests.ts';

/** Keeps the controllers away from an object until all that it needs is there. */
const ignored = { [openmcpKeys.operation]: 'ignore' } as const;

/**
 * Creates what a backup has and the platform cluster lacks, and completes what is incomplete: it can be repeated after any
 * interruption. The Cluster and its Machines are ignored by the provider until everything is written, because a Machine
 * without its status would be provisioned again. `note` is called with each object that was written.
 */
export async function writeImport(
  session: AccessSession,
  { objects, secrets }: ImportedCluster,
  installation: Installation,
  note: (text: string) => void,
): Promise<void> {
  const write = new ImportWriter(session, note);
  const { namespace } = session;
  if (installation.id !== objects.installation) await write.installation(objects.installation);
  await write.ensure(Namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: objects.cluster.metadata.namespace },
  });
  const cluster = await write.cluster(objects.cluster);
  for (const { metadata, type, data } of secrets) {
    const { name, labels, annotations: notes } = metadata;
    const own = { name, namespace, ...(labels && { labels }), ...(notes && { annotations: notes }) };
    await write.ensure(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: own,
      ...(type && { type }),
      ...(data && { data }),
    });
  }
  for (const { metadata, spec } of objects.addresses)
    await write.ensure(Lease, { ...typeOf(Lease), metadata: { ...metadata, namespace }, spec });
  for (const { metadata, spec } of objects.nodePools)
    await write.ensure(NodePool, { ...typeOf(NodePool), metadata, spec });
  const machines: Machine[] = [];
  for (const machine of objects.machines) machines.push(await write.machine(machine));
  for (const host of objects.hosts) await write.host(host, machines);
  const operationOf = (
    metadata: Objects['cluster']['metadata'] | Objects['machines'][number]['metadata'] | undefined,
  ) => metadata?.annotations[openmcpKeys.operation];
  for (const [i, machine] of machines.entries())
    await write.release(Machine, machine, operationOf(objects.machines[i]?.metadata));
  await write.release(Cluster, cluster, operationOf(objects.cluster.metadata));
}

const typeOf = (type: ResourceType) => ({ apiVersion: apiVersionOf(type), kind: type.kind });

type Objects = ImportedCluster['objects'];

class ImportWriter {
  readonly #session: AccessSession;
  readonly #note: (text: string) => void;

  constructor(session: AccessSession, note: (text: string) => void) {
    this.#session = session;
    this.#note = note;
  }

  /** The object as it is on the platform cluster, created if it was missing. */
  async ensure<T extends KubeObject>(type: ResourceType<T>, object: T): Promise<T> {
    const { kube, signal } = this.#session;
    const key = objectKeyOf(object);
    const found = await kube.find(type, key, signal);
    if (found) return found;
    try {
      const created = await kube.create(type, object, signal);
      this.#note(`${type.kind} ${key.namespace ? `${key.namespace}/` : ''}${key.name}`);
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return await kube.get(type, key, signal);
    }
  }

  /** Immutable: a second identity would make everything that has the first one unknown. */
  async installation(id: string): Promise<void> {
    const { namespace } = this.#session;
    const metadata = { name: installationName, namespace, labels: { ...managedByLabels } };
    const map = await this.ensure(ConfigMap, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata, immutable: true },
      data: { [installationKey]: id },
    });
    if (map.data?.[installationKey] !== id)
      throw new ProviderError('IMPORT_REJECTED', `ConfigMap ${namespace}/${installationName} has another identity.`);
  }

  /** The identity first: what the Machines name is the Cluster of the former platform cluster. */
  async cluster({ metadata, spec, record }: Objects['cluster']): Promise<Cluster> {
    const { kube, signal } = this.#session;
    const { uid, ...own } = metadata;
    const notes = { ...withoutRequests(own.annotations), ...ignored };
    const present = await this.ensure(Cluster, {
      ...typeOf(Cluster),
      metadata: { ...own, annotations: notes },
      spec,
    });
    const key = objectKeyOf(present);
    if (present.status) return present;
    await kube.merge(Cluster, key, { metadata: { annotations: ignored } }, {}, signal);
    const identity: ImportedIdentity = { uid, importedAs: present.metadata.uid ?? '' };
    const providerStatus = {
      ...(present.metadata.uid === uid ? {} : { [importedIdentityKey]: identity }),
      [clusterRecordKey]: record,
    };
    const status = { observedGeneration: 0, phase: openmcpPhases.progressing, conditions: [], providerStatus };
    return await kube.merge(Cluster, key, { status }, { subresource: 'status' }, signal);
  }

  async machine({ metadata, spec, status }: Objects['machines'][number]): Promise<Machine> {
    const { kube, signal } = this.#session;
    const { uid: _, ...own } = metadata;
    const present = await this.ensure<Machine>(Machine, {
      ...typeOf(Machine),
      metadata: {
        ...own,
        annotations: { ...withoutRequests(own.annotations), ...ignored },
        finalizers: [finalizers.machine],
      },
      spec,
    });
    if (present.status?.progress) return present;
    return await kube.merge(Machine, objectKeyOf(present), { status }, { subresource: 'status' }, signal);
  }

  /** A Host names the object that holds it, which is another one than before. */
  async host({ metadata, spec, status }: Objects['hosts'][number], machines: readonly Machine[]): Promise<void> {
    const { kube, signal } = this.#session;
    const present = await this.ensure<Host>(Host, { ...typeOf(Host), metadata, spec });
    const holder = machines.find((machine) => machine.metadata.name === status.machineRef?.name);
    const { machineRef: former } = status;
    if (!holder || !former || present.status?.machineRef?.uid === holder.metadata.uid) return;
    const machineRef = { ...former, uid: holder.metadata.uid ?? '' };
    await kube.merge(
      Host,
      objectKeyOf(present),
      { status: { ...status, machineRef } },
      { subresource: 'status' },
      signal,
    );
  }

  /** Lets the provider have an object, unless a user had set it aside before. */
  async release<T extends KubeObject>(type: ResourceType<T>, object: T, operation: string | undefined): Promise<void> {
    const { kube, signal } = this.#session;
    const metadata = { annotations: { [openmcpKeys.operation]: operation ?? null } };
    await kube.merge(type, objectKeyOf(object), { metadata }, {}, signal);
  }
}
