import { isDeepStrictEqual } from 'node:util';
import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, labels } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import {
  ClusterRole,
  ClusterRoleBinding,
  Lease,
  Namespace,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from '../../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { withAdminClient, withTalosAdminClient } from '../support/access/workload-cluster.ts';
import { bootstrappedNodes } from '../support/observation/provider-calls.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { maskIds } from './mask-ids.ts';
import { triggerAnnotation } from './scenarios/trigger-reconciles.ts';

/**
 * All existing objects, by name, without values that differ between equivalent runs: two snapshots are equal when there
 * is no relevant difference.
 */
export type StateSnapshot = Readonly<Record<string, unknown>>;

export async function snapshotState(testbed: Testbed, cluster: NamespacedRef): Promise<StateSnapshot> {
  return JSON.parse(
    maskIds(
      JSON.stringify({
        ...(await snapshotPlatform(testbed)),
        ...(await withAdminClient(testbed, cluster, snapshotWorkload)),
        ...snapshotNas(testbed),
        ...snapshotRobot(testbed),
        ...(await snapshotEtcd(testbed, cluster)),
        ...countIdentities(testbed),
      }),
    ),
  ) as StateSnapshot;
}

const platformKinds = [Host, ProviderConfig, ClusterProfile, Cluster, AccessRequest, Machine] as const;

async function snapshotPlatform({ platform }: Testbed): Promise<Record<string, unknown>> {
  const lists = await Promise.all([
    ...platformKinds.map((type: ResourceType) => platform.list(type)),
    platform.list(Lease, { labelSelector: labels.address }),
    platform.list(Secret, { labelSelector: labels.cluster }),
    platform.list(Secret, { labelSelector: labels.access }),
  ]);
  return byName(
    'platform',
    lists.flatMap(({ items }) => items as KubeObject[]),
  );
}

const workloadKinds: readonly ResourceType[] = [ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding];

async function snapshotWorkload(admin: KubeClient): Promise<Record<string, unknown>> {
  const labelSelector = labels.access;
  const lists = await Promise.all(workloadKinds.map((type) => admin.list(type, { labelSelector })));
  const names = async (type: ResourceType): Promise<string[]> =>
    (await admin.list(type)).items.map(({ metadata }) => metadata.name).sort();
  return {
    ...byName(
      'workload',
      lists.flatMap(({ items }) => items),
    ),
    'workload namespaces': await names(Namespace),
    'workload nodes': await names(KubeNode),
  };
}

const byName = (where: string, objects: readonly KubeObject[]): Record<string, unknown> =>
  Object.fromEntries(
    objects.map((object) => {
      const { kind, metadata } = object;
      const key = [where, kind, ...(metadata.namespace ? [metadata.namespace] : []), metadata.name].join(' ');
      return [key, withoutVolatile(object)];
    }),
  );

/** Values chosen by a server or the clock, and secrets. */
const volatile = new Set<string>([
  ...['uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'generation', 'observedGeneration'],
  ...[
    'lastTransitionTime',
    'since',
    'finishedAt',
    'imageModified',
    'imageChanged',
    'inspectedAt',
    'acquireTime',
    'renewTime',
    'createdAt',
    'changed',
  ],
  ...[
    'markedAt',
    'rescueArmedAt',
    'rescueResetAt',
    'rebootTriedAt',
    'rebootedAt',
    'rescueHostKey',
    'sshPort',
    'rescueLostAt',
    'rescueReturns',
    'rescueResets',
    // The provider asks Robot for them only when a reset had no effect.
    'resetTypes',
    // The QEMU process that the machine was last seen in.
    'memberInRun',
    // A hash of the URL of the simulated Robot and of its user.
    'account',
  ],
  ...['openmcp.talos:modified', 'modified', 'mtime', 'serial', 'failures', 'caBundle', 'data', 'sha256'],
  ...[annotations.bootstrappedAt, annotations.bootstrapRequest],
  ...[annotations.server, annotations.signingKey, triggerAnnotation],
  // Hashes of a machine configuration, which contains the secrets of its cluster, and of a spec with ports.
  ...['revision', 'releasedFor', 'compared'],
  // From the record in the status of a Cluster.
  ...['talosCa', 'kubernetesCa', 'bootstrappedAt', 'bootstrapRequest'],
]);

const withoutVolatile = (object: object): unknown =>
  JSON.parse(
    JSON.stringify(object, (key, value: unknown) => {
      if (volatile.has(key)) return undefined;
      return key === 'conditions' ? withoutHourlyConditions(value) : withoutGuid(value);
    }),
  );

/** Databases are looked at an hour after the start of a process, which a killed one may not reach. */
const withoutHourlyConditions = (conditions: unknown): unknown =>
  Array.isArray(conditions)
    ? conditions.filter(({ type }: { readonly type?: string }) => type !== 'EtcdHasSpace')
    : conditions;

/** Pools have another guid on each NAS; the stored location of a machine contains it. */
const withoutGuid = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/\b\d{12,20}:/g, '<guid>:') : value;

/** Includes the ids of VMs: an extra VM, created and deleted, would change them. */
function snapshotNas({ world }: Testbed): Record<string, unknown> {
  const { vms, datasets, files, devices } = world.truenas.dump();
  return withoutVolatile({ vms, datasets, files, devices }) as Record<string, unknown>;
}

function snapshotRobot({ world }: Testbed): Record<string, unknown> {
  const servers = world.robot
    .servers()
    .map(({ number, name, phase, armed }) => [number, name, phase, armed ?? 'nothing']);
  return { servers, keys: world.robot.robot.accounts.map(({ keys }) => keys.size) };
}

async function snapshotEtcd(testbed: Testbed, cluster: NamespacedRef): Promise<Record<string, unknown>> {
  const [controlPlane] = await testbed.objects.machines(cluster);
  const address = controlPlane?.status?.address ?? '';
  const members = await withTalosAdminClient(testbed, cluster, address, (node) => node.etcdMembers());
  return {
    'etcd members': members.map(({ name }) => name),
    'etcd bootstraps': testbed.world.machines.bootstraps(),
    'nodes that were told to': new Set(bootstrappedNodes(testbed.calls)).size,
    nodes: testbed.world.machines.nodes().map(({ hostname, stage, ready }) => [hostname, stage, ready]),
  };
}

/** The number of different objects of each name over the whole run; these kinds must have only one. */
function countIdentities({ recorder }: Testbed): Record<string, unknown> {
  const uids = new Map<string, Set<string>>();
  for (const type of [Machine, Secret, AccessRequest] as const) {
    for (const { object } of recorder.of(type as ResourceType)) {
      if (object.metadata.name === 'truenas') continue;
      const name = `${type.kind} ${object.metadata.name}`;
      uids.set(name, (uids.get(name) ?? new Set()).add(object.metadata.uid ?? ''));
    }
  }
  return { 'ever made': Object.fromEntries([...uids].map(([name, { size }]) => [name, size])) };
}

/** The names of the entries that differ. */
export const differingKeys = (one: StateSnapshot, other: StateSnapshot): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (name) => !isDeepStrictEqual(one[name], other[name]),
  );
